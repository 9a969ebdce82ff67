/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_rmsprop.c - torch.optim.RMSprop (Hinton's lecture 6e; centred: Graves 2013, eqs. 38 to 45). */
#include "pipeline/optim.h"

typedef struct RmsProp {
    TtOptimOptions common;
    double alpha, eps, momentum;
    bool centered;
} RmsProp;

static const TtOption rmsprop_options[] = {
    TT_OPTIM_LR("1e-2"),
    {"alpha", TT_OPT_FLOAT, offsetof(RmsProp, alpha), "0.99", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "decay of the mean square"},
    {"eps", TT_OPT_FLOAT, offsetof(RmsProp, eps), "1e-8", TT_OPTIM_NOT_NEGATIVE, .help = "added to the divisor"},
    TT_OPTIM_WEIGHT_DECAY("0.0", "factor of the L2 penalty"),
    {"momentum", TT_OPT_FLOAT, offsetof(RmsProp, momentum), "0.0", TT_OPTIM_NOT_NEGATIVE, .help = "momentum"},
    {"centered", TT_OPT_BOOL, offsetof(RmsProp, centered), "false", .help = "divide by the standard deviation"},
    TT_OPTIM_MAXIMIZE,
    {0}};

enum { SQUARE, BUFFER, MEAN };

static bool rmsprop_uses_state(const void *options, int k, bool moved)
{
    const RmsProp *o = options;
    return k == SQUARE || (k == BUFFER && (o->momentum > 0 || moved)) || (k == MEAN && o->centered);
}

static void rmsprop_step(const void *options, const TtOptimStep *s)
{
    const RmsProp *o = options;
    float scale = tt_optim_scale(&o->common, s), decay = (float)o->common.weight_decay, lr = (float)s->lr;
    float alpha = (float)o->alpha, w = (float)(1 - o->alpha), eps = (float)o->eps;
    float momentum = (float)(isnan(s->momentum) ? o->momentum : s->momentum);
    float *restrict p = s->param, *restrict v = s->state[SQUARE];
    float *restrict buf = s->state[BUFFER], *restrict mean = s->state[MEAN];
    const float *restrict grad = s->grad;
    /* The branches are the same for all elements; the compiler takes them out of the loop. */
#pragma omp simd
    for (int64_t i = 0; i < s->n; i++) {
        float g = grad[i] * scale + decay * p[i], square;
        v[i] = square = v[i] * alpha + w * g * g;
        if (mean) {
            mean[i] += w * (g - mean[i]);
            square -= mean[i] * mean[i];
        }
        float d = g / (sqrtf(square) + eps);
        if (buf) buf[i] = d = momentum * buf[i] + d;
        p[i] -= lr * d;
    }
}

const TtOptimizerDef tt_optim_rmsprop = {
    .name = "rmsprop",
    .help = "gradient over its root mean square",
    .options = rmsprop_options,
    .options_size = sizeof(RmsProp),
    .state_names = {"square_avg", "momentum_buffer", "grad_avg"},
    .uses_state = rmsprop_uses_state,
    .step = rmsprop_step,
    .has_momentum = true,
};
