/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/task_speech.c - sound to text: character and word error rates of greedy decoding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/ctc_decode.h"
#include "audio/edit_distance.h"
#include "data/audio_manifest.h"
#include "pipeline/json.h"
#include "pipeline/validate.h"

static TtStatus begin(const TtSession *s, TtValidation *v)
{
    return TT_OK;
}

static TtStatus add_sample(TtValidation *v, const TtVocabulary *vocabulary, const TtBatch *b, const TtNetOutput *o,
                           int i, TtArena *arena)
{
    int64_t *heard = TT_NEWN(arena, int64_t, o->frames);
    TtLogProbs x = {.data = o->logits + i * o->frames * o->classes,
                    .frames = o->lengths[i],
                    .stride = o->classes,
                    .classes = o->classes};
    int64_t n = tt_ctc_greedy(&x, vocabulary->blank, heard, NULL, NULL);
    const int64_t *target = (const int64_t *)b->targets.data + i * b->targets.shape.dims[1];
    char *text = tt_vocabulary_decode(vocabulary, heard, n, arena);
    char *reference = tt_vocabulary_decode(vocabulary, target, b->lengths[TT_PART_TARGET][i], arena);
    TT_TRY(tt_edit_distance_chars(reference, text, &v->chars));
    TT_TRY(tt_edit_distance_words(reference, text, &v->words));
    if (v->n_transcripts < TT_TRANSCRIPTS) {
        TtTranscript *t = &v->transcripts[v->n_transcripts++];
        *t = (TtTranscript){.index = b->indices[i], .reference = strdup(reference), .heard = strdup(text)};
    }
    return TT_OK;
}

static TtStatus add(const TtSession *s, TtValidation *v, const TtBatch *b, const TtNetOutput *o)
{
    const TtVocabulary *vocabulary = tt_audio_manifest_vocabulary(s->val);
    TtArena arena = {0};
    TtStatus st = TT_OK;
    for (int i = 0; i < b->n && st == TT_OK; i++) st = add_sample(v, vocabulary, b, o, i, &arena);
    tt_arena_free(&arena);
    return st;
}

static void end(TtValidation *v)
{
    for (int i = 0; i < v->n_transcripts; i++) free(v->transcripts[i].reference), free(v->transcripts[i].heard);
}

static void json(const TtValidation *v, const char *const *names, bool per_class, json_t *o)
{
    json_object_set_new(o, "val/cer", tt_json_real(tt_edits_rate(&v->chars)));
    json_object_set_new(o, "val/wer", tt_json_real(tt_edits_rate(&v->words)));
}

static void text(const TtValidation *v, char *buf, size_t size)
{
    snprintf(buf, size, "cer %.2f %%  wer %.2f %%", 100 * tt_edits_rate(&v->chars), 100 * tt_edits_rate(&v->words));
}

static const char *const metrics[] = {"val/cer", "val/wer", NULL};

extern const TtTaskDef tt_task_speech;
const TtTaskDef tt_task_speech = {
    .task = TT_TASK_SPEECH,
    .samples = "clips",
    .monitor = "val/cer",
    .metrics = metrics,
    .chart = {.file = "error_rate",
              .title = "Error rates",
              .y_label = "errors per character or word",
              .keys = {"val/cer", "val/wer"},
              .percent = true,
              .less_is_better = true},
    .begin = begin,
    .add = add,
    .end = end,
    .json = json,
    .text = text,
};
