/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/state.h - what others than the trainer read of a checkpoint's state.json. */
#ifndef TT_PIPELINE_STATE_H
#define TT_PIPELINE_STATE_H

#include <jansson.h>

#include "tensor/status.h"

/* A class folder added or lost would shift the labels in silence: TT_EDATA at the first difference between the class
 * list of STATE and NAMES (N), which WHAT names. No list, or no names, agrees with anything. */
TtStatus tt_state_same_classes(const json_t *state, const char *const *names, int n, const char *what) TT_NODISCARD;

#endif
