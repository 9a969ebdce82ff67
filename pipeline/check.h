/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/check.h - what can be known about a run before it is made. */
#ifndef TT_PIPELINE_CHECK_H
#define TT_PIPELINE_CHECK_H

#include <stdio.h>

#include "pipeline/config.h"

/* --check: every key, the paths, the classes of train and val, the first sample through the transforms, the batch and
 * its division, parameters, predicted peak memory, disk space for checkpoints. Prints a summary; trains nothing and
 * writes nothing. */
TtStatus tt_check_config(const TtConfig *c, FILE *out) TT_NODISCARD;
/* --dry-run: two training steps, one validation step, and a checkpoint written and read back, in a temporary folder. */
TtStatus tt_check_dry_run(const TtConfig *c) TT_NODISCARD;

#endif
