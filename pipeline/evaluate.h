/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/evaluate.h - metrics of given weights on the validation set. */
#ifndef TT_PIPELINE_EVALUATE_H
#define TT_PIPELINE_EVALUATE_H

#include <jansson.h>

#include "pipeline/validate.h"

/* {"val/loss": ..., "val/acc1": ..., "val/acc5": ..., "val/per_class": {...}, "samples": n}. WEIGHTS NULL: the run's
 * best checkpoint, else its last; TT_ECHECKPOINT when there is none. */
TtStatus tt_evaluate(const TtConfig *c, const char *weights, json_t **out) TT_NODISCARD;

/* Load WEIGHTS (or the run's own) into the session's network. */
TtStatus tt_load_run_weights(TtSession *s, const char *weights) TT_NODISCARD;

#endif
