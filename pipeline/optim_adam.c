/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_adam.c - torch.optim.Adam (Kingma and Ba 2015; AMSGrad: Reddi et al. 2018). */
#include "pipeline/optim_adam.h"

static const TtOption adam_options[] = {TT_ADAM_OPTIONS("0.0", "factor of the L2 penalty"),
                                        {"decoupled_weight_decay", TT_OPT_BOOL,
                                         offsetof(TtAdam, decoupled_weight_decay), "false",
                                         .help = "decay the weights as adamw does"},
                                        {0}};

bool tt_adam_uses_state(const void *options, int k, bool moved)
{
    return k < 2 || (k == 2 && ((const TtAdam *)options)->amsgrad);
}

void tt_adam_update(const TtAdam *o, const TtOptimStep *s, bool decoupled)
{
    double beta1 = isnan(s->momentum) ? o->betas.v[0] : s->momentum, beta2 = o->betas.v[1];
    double step_size = s->lr / (1 - pow(beta1, (double)s->step));
    float root = (float)sqrt(1 - pow(beta2, (double)s->step)), size = (float)step_size, eps = (float)o->eps;
    float w1 = (float)(1 - beta1), b2 = (float)beta2, w2 = (float)(1 - beta2);
    float scale = tt_optim_scale(&o->common, s), shrink = decoupled ? (float)(1 - s->lr * o->common.weight_decay) : 1;
    float decay = decoupled ? 0 : (float)o->common.weight_decay;
    float *restrict p = s->param, *restrict m = s->state[0], *restrict v = s->state[1], *restrict top = s->state[2];
    const float *restrict grad = s->grad;
    if (top) {
#pragma omp simd
        for (int64_t i = 0; i < s->n; i++) {
            float x = p[i] * shrink, g = grad[i] * scale + decay * x;
            m[i] += w1 * (g - m[i]);
            v[i] = v[i] * b2 + w2 * g * g;
            top[i] = top[i] > v[i] ? top[i] : v[i];
            p[i] = x - size * m[i] / (sqrtf(top[i]) / root + eps);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < s->n; i++) {
            float x = p[i] * shrink, g = grad[i] * scale + decay * x;
            m[i] += w1 * (g - m[i]);
            v[i] = v[i] * b2 + w2 * g * g;
            p[i] = x - size * m[i] / (sqrtf(v[i]) / root + eps);
        }
    }
}

static void adam_step(const void *options, const TtOptimStep *s)
{
    const TtAdam *o = options;
    tt_adam_update(o, s, o->decoupled_weight_decay);
}

const TtOptimizerDef tt_optim_adam = {
    .name = "adam",
    .help = "adaptive moments",
    .options = adam_options,
    .options_size = sizeof(TtAdam),
    .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    .uses_state = tt_adam_uses_state,
    .step = adam_step,
    .has_momentum = true,
};
