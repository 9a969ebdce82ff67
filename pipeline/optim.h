/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim.h - what the optimizers' files share. Formulas are torch.optim's (its "single tensor" functions),
 * in float32 with constants rounded from double as torch does. */
#ifndef TT_PIPELINE_OPTIM_H
#define TT_PIPELINE_OPTIM_H

#include <math.h>

#include "pipeline/optimizer.h"

#define TT_OPTIM_NOT_NEGATIVE .flags = TT_OPT_RANGED, .min = 0, .max = INFINITY
#define TT_OPTIM_LR(def_)                                                                                      \
    {                                                                                                          \
        "lr", TT_OPT_FLOAT, offsetof(TtOptimOptions, lr), def_, TT_OPTIM_NOT_NEGATIVE, .help = "learning rate" \
    }
#define TT_OPTIM_WEIGHT_DECAY(def_, help_)                                                                 \
    {                                                                                                      \
        "weight_decay", TT_OPT_FLOAT, offsetof(TtOptimOptions, weight_decay), def_, TT_OPTIM_NOT_NEGATIVE, \
            .help = help_                                                                                  \
    }
#define TT_OPTIM_MAXIMIZE                                                                                  \
    {                                                                                                      \
        "maximize", TT_OPT_BOOL, offsetof(TtOptimOptions, maximize), "false", .help = "go up the gradient" \
    }

/* The gradient's factor: clipping, and the sign of maximize. */
static inline float tt_optim_scale(const TtOptimOptions *o, const TtOptimStep *s)
{
    return o->maximize ? -s->grad_scale : s->grad_scale;
}

#endif
