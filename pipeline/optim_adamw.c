/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optim_adamw.c - torch.optim.AdamW (Loshchilov and Hutter 2019). */
#include "pipeline/optim_adam.h"

static const TtOption adamw_options[] = {
    TT_ADAM_OPTIONS("1e-2", "part of the weights that each step takes away, times lr"), {0}};

static void adamw_step(const void *options, const TtOptimStep *s)
{
    tt_adam_update(options, s, true);
}

const TtOptimizerDef tt_optim_adamw = {
    .name = "adamw",
    .help = "adaptive moments with decoupled weight decay",
    .options = adamw_options,
    .options_size = sizeof(TtAdam),
    .state_names = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    .uses_state = tt_adam_uses_state,
    .step = adamw_step,
    .has_momentum = true,
};
