/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_adagrad.c - torch.optim.Adagrad (Duchi et al. 2011). */
#include "pipeline/optim.h"

typedef struct Adagrad {
    TtOptimOptions common;
    double lr_decay, initial_accumulator_value, eps;
} Adagrad;

static const TtOption adagrad_options[] = {
    TT_OPTIM_LR("1e-2"),
    {"lr_decay", TT_OPT_FLOAT, offsetof(Adagrad, lr_decay), "0.0", TT_OPTIM_NOT_NEGATIVE,
     .help = "the rate is divided by 1 + steps * lr_decay"},
    TT_OPTIM_WEIGHT_DECAY("0.0", "factor of the L2 penalty"),
    {"initial_accumulator_value", TT_OPT_FLOAT, offsetof(Adagrad, initial_accumulator_value), "0.0",
     TT_OPTIM_NOT_NEGATIVE, .help = "what the sum of squares begins with"},
    {"eps", TT_OPT_FLOAT, offsetof(Adagrad, eps), "1e-10", TT_OPTIM_NOT_NEGATIVE, .help = "added to the divisor"},
    TT_OPTIM_MAXIMIZE,
    {0}};

static bool adagrad_uses_state(const void *options, int k, bool moved)
{
    return k == 0;
}

static float adagrad_start(const void *options, int k)
{
    return (float)((const Adagrad *)options)->initial_accumulator_value;
}

static void adagrad_step(const void *options, const TtOptimStep *s)
{
    const Adagrad *o = options;
    float scale = tt_optim_scale(&o->common, s), decay = (float)o->common.weight_decay, eps = (float)o->eps;
    float lr = (float)(s->lr / (1 + (double)(s->step - 1) * o->lr_decay));
    float *restrict p = s->param, *restrict sum = s->state[0];
    const float *restrict grad = s->grad;
#pragma omp simd
    for (int64_t i = 0; i < s->n; i++) {
        float g = grad[i] * scale + decay * p[i];
        sum[i] += g * g;
        p[i] -= lr * g / (sqrtf(sum[i]) + eps);
    }
}

const TtOptimizerDef tt_optim_adagrad = {
    .name = "adagrad",
    .help = "gradient over the root of the sum of its squares",
    .options = adagrad_options,
    .options_size = sizeof(Adagrad),
    .state_names = {"sum"},
    .uses_state = adagrad_uses_state,
    .start = adagrad_start,
    .step = adagrad_step,
};
