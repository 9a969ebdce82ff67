/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/trainer.h - the training run: from a config to a finished run directory.
 *
 * A run is a sequence of optimizer steps. Everything that a step depends on is in the checkpoint or follows from the
 * config and the step's number, so that a run killed anywhere and started again gives the same bits. */
#ifndef TT_PIPELINE_TRAINER_H
#define TT_PIPELINE_TRAINER_H

#include "pipeline/config.h"

typedef struct TtTrainerOptions {
    const char *resume;  /* auto, never, must or a checkpoint's directory; NULL: the config's */
    bool overwrite;      /* remove an earlier run first */
    const char *run_dir; /* instead of output_dir (dry run); NULL: output_dir */
    bool dry_run;        /* two steps, one validation batch */
    int argc;            /* the command line, for env.json */
    char **argv;
} TtTrainerOptions;

/* Train. TT_OK: done, or complete already. TT_ESTOPPED, TT_EINTERRUPTED: stopped with a valid checkpoint. */
TtStatus tt_train(const TtConfig *c, const TtTrainerOptions *o) TT_NODISCARD;

#endif
