/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_sound.h - what kinds of recordings share. */
#ifndef TT_BIN_PREPARE_SOUND_H
#define TT_BIN_PREPARE_SOUND_H

#include "audio/audio.h"
#include "bin/prepare.h"
#include "data/strmap.h"

typedef struct TtClip {
    const char *from;  /* the recording */
    const char *to;    /* the WAV file to write, relative to the folder */
    const char *label; /* its text, or who speaks */
    const char *at;    /* the list that names it, and the line there, for messages */
    int64_t line;
    const char *path; /* TO, in the folder being written */
    int64_t frames;   /* written; 0: left out */
} TtClip;

typedef struct TtClips {
    TtClip *items;
    int64_t n, capacity;
    TtStrMap names; /* TO to index */
} TtClips;

/* Add a recording that a list names: counts it as input under its new name. A TO that is there already (TT_EDATA) names
 * both lines. All texts must live as long as the clips. */
TtStatus tt_clips_add(TtPrepare *p, TtClips *c, const TtClip *clip) TT_NODISCARD;
void tt_clips_free(TtClips *c);

/* Decode, average the channels, bring to RATE, turn down what 16 bits cannot hold, and write 16-bit WAV; sets frames. Errors name the file and the list. */
TtStatus tt_clip_convert(TtClip *clip, int rate) TT_NODISCARD;
/* The end of an error about a clip: "... (listed at FILE:LINE)". */
TtStatus tt_clip_fail(const TtClip *clip, TtStatus status) TT_NODISCARD;

/* How speech is split: every tenth utterance, the 10th first, is for testing. */
static inline bool tt_clip_is_test(int64_t n)
{
    return n % 10 == 9;
}
/* train.tsv and test.tsv (path, text, frames), or with TEXTS false (path, frames) as PREFIXtrain.tsv ... */
TtStatus tt_clips_list(TtPrepare *p, const TtClips *c, const char *prefix, bool texts) TT_NODISCARD;
/* Too few for such a split: TT_EDATA at the list. */
TtStatus tt_clips_check(const TtClips *c, const char *list) TT_NODISCARD;
/* "620 utterances (558 train, 62 test), 99.5 minutes" */
void tt_clips_summary(TtPrepare *p, const TtClips *c, int rate);

#endif
