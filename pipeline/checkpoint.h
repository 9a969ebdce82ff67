/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/checkpoint.h - checkpoints that survive being killed while they are written.
 *
 *   checkpoints/step_00001000/{model.safetensors,optimizer.safetensors,state.json,MANIFEST.json}
 *   checkpoints/last  checkpoints/best     relative symlinks
 *
 * A checkpoint is written under a hidden name, every file and the folder flushed, and renamed once; MANIFEST.json, the
 * last file, holds the size and XXH3-128 of each other one. Older ones go only after the new one has been read back and
 * found right. So at any instant there is a whole checkpoint, the older or the newer. docs/checkpoints.md tells more.
 *
 * This module knows nothing of training: it gets tensors, a JSON object and a metric. One process at a time may save
 * into a folder (the run's lock sees to it). */
#ifndef TT_PIPELINE_CHECKPOINT_H
#define TT_PIPELINE_CHECKPOINT_H

#include <jansson.h>

#include "pipeline/state_dict.h"

#define TT_CHECKPOINT_MODEL "model.safetensors"
#define TT_CHECKPOINT_EMA "model_ema.safetensors" /* the moving average of the weights, where the run keeps one */
#define TT_CHECKPOINT_OPTIMIZER "optimizer.safetensors"

/* ------------------------------------------------------------------ saving */

typedef struct TtCheckpointPolicy {
    bool async;          /* write in the background from a copy */
    int64_t keep_last;   /* keep this many of the newest; 0 is 1, negative: all */
    int64_t save_top_k;  /* keep this many of the best by the metric; 0: there is no `best` */
    const char *monitor; /* the metric's name; values of another are not compared with it */
    bool maximize;       /* mode: max */
} TtCheckpointPolicy;

typedef struct TtCheckpoints TtCheckpoints;

/* Make the folder, clear what a killed save left there and set the links right. */
TtStatus tt_checkpoints_open(const char *folder, const TtCheckpointPolicy *policy, TtCheckpoints **out) TT_NODISCARD;
/* Waits for a save in the background; an error not yet reported becomes a warning. */
void tt_checkpoints_close(TtCheckpoints *c);

typedef struct TtCheckpointPart {
    const char *file; /* TT_CHECKPOINT_MODEL, ... */
    const TtNamedTensor *list;
    int count;
} TtCheckpointPart;

typedef struct TtCheckpointSave {
    int64_t step;
    bool has_metric;
    double metric; /* of policy.monitor; not finite counts as none */
    bool keep;     /* never remove this one (every_n) */
    const TtCheckpointPart *parts;
    int part_count;
    const json_t *state; /* becomes state.json */
} TtCheckpointSave;

/* Wait for the save before this one and report its error, else save. When policy.async is set this returns once the
 * tensors and the state have been copied; the caller may go on changing them at once. A failed save leaves the older
 * checkpoints as they are. A checkpoint of the same step is replaced. */
TtStatus tt_checkpoints_save(TtCheckpoints *c, const TtCheckpointSave *save) TT_NODISCARD;
/* Wait until the last save is on disk, and report its error. */
TtStatus tt_checkpoints_wait(TtCheckpoints *c) TT_NODISCARD;

/* ------------------------------------------------------------------ resuming */

/* What `resume: auto|never|must|DIR` means for this folder; *PATH (from malloc) is NULL when training starts afresh.
 *   auto  the newest whole checkpoint; damaged ones are passed over with a warning that names them
 *   must  the same, but TT_ECHECKPOINT when there is none
 *   DIR   that checkpoint, or the newest of the run or checkpoints folder; damaged or missing is TT_ECHECKPOINT
 * Only for a process that may save into FOLDER: it also finishes what a killed save began. */
TtStatus tt_checkpoint_resume(const char *folder, const char *resume, char **path) TT_NODISCARD;

/* TT_ECHECKPOINT unless every file is there with its size and checksum. */
TtStatus tt_checkpoint_verify(const char *path) TT_NODISCARD;
/* Fill a part's tensors; the file must have exactly these. */
TtStatus tt_checkpoint_read(const char *path, const TtCheckpointPart *part) TT_NODISCARD;
TtStatus tt_checkpoint_read_state(const char *path, json_t **state) TT_NODISCARD;

#endif
