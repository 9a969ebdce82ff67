/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/validate.h - one pass over the validation set. */
#ifndef TT_PIPELINE_VALIDATE_H
#define TT_PIPELINE_VALIDATE_H

#include "audio/edit_distance.h"
#include "pipeline/session.h"
#include "pipeline/stats.h"
#include "pipeline/task.h"

/* The worst mistakes: samples with the largest loss among those classified wrongly. */
enum { TT_WORST = 24 };
typedef struct TtMistake {
    int64_t index; /* in the validation set */
    int64_t label, predicted;
    double loss, probability; /* of the predicted class */
} TtMistake;

/* What was heard in a clip. */
enum { TT_TRANSCRIPTS = 12 };
typedef struct TtTranscript {
    int64_t index; /* in the validation set */
    char *reference, *heard;
} TtTranscript;

struct TtValidation {
    const TtTaskDef *task;
    int64_t samples;
    double loss; /* the configured loss averaged over samples */
    double seconds;
    /* separation */
    double si_snri; /* sum over samples, dB */
    /* speech */
    TtEdits chars, words;
    int n_transcripts; /* the first of the set */
    TtTranscript transcripts[TT_TRANSCRIPTS];
    /* classification */
    TtClassStats stats;
    int n_worst;
    TtMistake worst[TT_WORST]; /* largest loss first */
};

/* Evaluate the session's current weights on all batches, or the first MAX_STEPS when that is not 0. TICK (may be NULL) is
 * called after each batch; it returns TT_OK, or a code to stop with. */
TtStatus tt_validate(TtSession *s, int64_t max_steps, TtStatus (*tick)(void *user, int64_t step, int64_t steps),
                     void *user, TtValidation *out) TT_NODISCARD;
void tt_validation_free(TtValidation *v);
/* {"val/loss": ..., its task's metrics, "val/samples": n}. */
json_t *tt_validation_json(const TtValidation *v, const char *const *class_names, bool per_class);

#endif
