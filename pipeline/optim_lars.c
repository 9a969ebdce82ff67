/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_lars.c - layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017, algorithm 1).
 *
 * Each parameter w with gradient g has the local rate trust_coefficient * |w| / (|g| + weight_decay * |w| + eps), or 1
 * when one of the norms is 0. Biases and norms are customarily left out: `no_decay_norm_bias: true`, or a group with
 * `adapt: false`. */
#include "pipeline/optim.h"

typedef struct Lars {
    TtOptimOptions common;
    double momentum, trust_coefficient, eps;
    bool adapt;
} Lars;

static const TtOption lars_options[] = {
    TT_OPTIM_LR(NULL),
    {"momentum", TT_OPT_FLOAT, offsetof(Lars, momentum), "0.9", TT_OPTIM_NOT_NEGATIVE, .help = "momentum"},
    TT_OPTIM_WEIGHT_DECAY("0.0", "factor of the L2 penalty"),
    {"trust_coefficient", TT_OPT_FLOAT, offsetof(Lars, trust_coefficient), "0.001",
     .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = INFINITY,
     .help = "length of a step in relation to the parameter's norm"},
    {"eps", TT_OPT_FLOAT, offsetof(Lars, eps), "1e-8", TT_OPTIM_NOT_NEGATIVE, .help = "added to the divisor"},
    {"adapt", TT_OPT_BOOL, offsetof(Lars, adapt), "true", .help = "scale the rate; without it this is SGD"},
    TT_OPTIM_MAXIMIZE,
    {0}};

static bool lars_uses_state(const void *options, int k, bool moved)
{
    return k == 0;
}

static void lars_no_decay(void *options)
{
    ((Lars *)options)->adapt = false;
}

static void lars_step(const void *options, const TtOptimStep *s)
{
    const Lars *o = options;
    double local = 1, wd = o->common.weight_decay;
    if (o->adapt && s->param_norm > 0 && s->grad_norm > 0)
        local = o->trust_coefficient * s->param_norm / (s->grad_norm + wd * s->param_norm + o->eps);
    float scale = (float)(tt_optim_scale(&o->common, s) * local), decay = (float)(wd * local), lr = (float)s->lr;
    float momentum = (float)(isnan(s->momentum) ? o->momentum : s->momentum);
    float *restrict p = s->param, *restrict buf = s->state[0];
    const float *restrict grad = s->grad;
#pragma omp simd
    for (int64_t i = 0; i < s->n; i++) {
        buf[i] = momentum * buf[i] + (grad[i] * scale + decay * p[i]);
        p[i] -= lr * buf[i];
    }
}

const TtOptimizerDef tt_optim_lars = {
    .name = "lars",
    .help = "SGD with a rate for each layer, for large batches",
    .options = lars_options,
    .options_size = sizeof(Lars),
    .state_names = {"momentum_buffer"},
    .uses_state = lars_uses_state,
    .step = lars_step,
    .norms = true,
    .no_decay = lars_no_decay,
    .has_momentum = true,
};
