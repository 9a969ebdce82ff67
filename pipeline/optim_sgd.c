/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_sgd.c - torch.optim.SGD: momentum (Sutskever et al. 2013, in torch's form), Nesterov, dampening. */
#include "pipeline/optim.h"

typedef struct Sgd {
    TtOptimOptions common;
    double momentum, dampening;
    bool nesterov;
} Sgd;

static const TtOption sgd_options[] = {
    TT_OPTIM_LR("1e-3"),
    {"momentum", TT_OPT_FLOAT, offsetof(Sgd, momentum), "0.0", TT_OPTIM_NOT_NEGATIVE, .help = "momentum"},
    {"dampening", TT_OPT_FLOAT, offsetof(Sgd, dampening), "0.0", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "how much less of the gradient goes into the momentum"},
    TT_OPTIM_WEIGHT_DECAY("0.0", "factor of the L2 penalty"),
    {"nesterov", TT_OPT_BOOL, offsetof(Sgd, nesterov), "false", .help = "Nesterov momentum"},
    TT_OPTIM_MAXIMIZE,
    {0}};

static TtStatus sgd_check(const void *options, const TtNode *map)
{
    const Sgd *o = options;
    const TtNode *nesterov = tt_node_get(map, "nesterov"); /* a group may have it from the optimizer */
    if (o->nesterov && (o->momentum <= 0 || o->dampening != 0))
        return tt_node_fail(nesterov ? nesterov : map, "nesterov needs a momentum above 0 and no dampening");
    return TT_OK;
}

static bool sgd_uses_state(const void *options, int k, bool moved)
{
    return k == 0 && (((const Sgd *)options)->momentum > 0 || moved);
}

static void sgd_step(const void *options, const TtOptimStep *s)
{
    const Sgd *o = options;
    float scale = tt_optim_scale(&o->common, s), decay = (float)o->common.weight_decay, lr = (float)s->lr;
    float *restrict p = s->param, *restrict buf = s->state[0];
    const float *restrict grad = s->grad;
    if (!buf) {
#pragma omp simd
        for (int64_t i = 0; i < s->n; i++) p[i] -= lr * (grad[i] * scale + decay * p[i]);
        return;
    }
    /* torch starts the buffer with the first gradient, undampened. */
    float momentum = s->step == 1 ? 0 : (float)(isnan(s->momentum) ? o->momentum : s->momentum);
    float keep = s->step == 1 ? 1 : (float)(1 - o->dampening);
    float ahead = (float)(isnan(s->momentum) ? o->momentum : s->momentum);
    if (o->nesterov) {
#pragma omp simd
        for (int64_t i = 0; i < s->n; i++) {
            float g = grad[i] * scale + decay * p[i];
            buf[i] = momentum * buf[i] + keep * g;
            p[i] -= lr * (g + ahead * buf[i]);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < s->n; i++) {
            float g = grad[i] * scale + decay * p[i];
            buf[i] = momentum * buf[i] + keep * g;
            p[i] -= lr * buf[i];
        }
    }
}

const TtOptimizerDef tt_optim_sgd = {
    .name = "sgd",
    .help = "stochastic gradient descent with momentum",
    .options = sgd_options,
    .options_size = sizeof(Sgd),
    .state_names = {"momentum_buffer"},
    .uses_state = sgd_uses_state,
    .check = sgd_check,
    .step = sgd_step,
    .has_momentum = true,
};
