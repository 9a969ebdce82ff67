/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_adam.h - what Adam and AdamW share: they differ in their weight decay's default and kind. */
#ifndef TT_PIPELINE_OPTIM_ADAM_H
#define TT_PIPELINE_OPTIM_ADAM_H

#include "pipeline/optim.h"

typedef struct TtAdam {
    TtOptimOptions common;
    TtFloats betas;
    double eps;
    bool amsgrad, decoupled_weight_decay;
} TtAdam;

#define TT_ADAM_OPTIONS(decay, decay_help)                                                                           \
    TT_OPTIM_LR("1e-3"),                                                                                             \
        {"betas",                                                                                                    \
         TT_OPT_FLOATS,                                                                                              \
         offsetof(TtAdam, betas),                                                                                    \
         "[0.9, 0.999]",                                                                                             \
         .flags = TT_OPT_RANGED | TT_OPT_BELOW_MAX,                                                                  \
         .min = 0,                                                                                                   \
         .max = 1,                                                                                                   \
         .min_n = 2,                                                                                                 \
         .max_n = 2,                                                                                                 \
         .help = "decay of the means of the gradient and of its square"},                                            \
        {"eps", TT_OPT_FLOAT, offsetof(TtAdam, eps), "1e-8", TT_OPTIM_NOT_NEGATIVE, .help = "added to the divisor"}, \
        TT_OPTIM_WEIGHT_DECAY(decay, decay_help),                                                                    \
        {"amsgrad", TT_OPT_BOOL, offsetof(TtAdam, amsgrad), "false",                                                 \
         .help = "divide by the largest mean square so far (AMSGrad)"},                                              \
        TT_OPTIM_MAXIMIZE

bool tt_adam_uses_state(const void *options, int k, bool moved);
/* DECOUPLED: weight decay acts on the parameter and not through the gradient. */
void tt_adam_update(const TtAdam *o, const TtOptimStep *s, bool decoupled);

#endif
