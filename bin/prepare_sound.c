/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_sound.c - recordings to WAV files, and the lists of them. */
#include "bin/prepare_sound.h"

#include <math.h>
#include <stdlib.h>

#include "audio/reader.h"
#include "data/manifest.h"

TtStatus tt_clips_add(TtPrepare *p, TtClips *c, const TtClip *clip)
{
    const int64_t before = *tt_strmap_put(&c->names, clip->to, c->n);
    if (before != c->n)
        return TT_FAIL(TT_EDATA, "%s:%lld: %s is there already, of line %lld", clip->at, (long long)clip->line,
                       clip->to, (long long)c->items[before].line);
    if (c->n == c->capacity) {
        c->capacity = TT_MAX(256, 2 * c->capacity);
        c->items = tt_realloc(c->items, (size_t)c->capacity * sizeof *c->items);
    }
    TtClip *new = &c->items[c->n++];
    *new = *clip;
    new->path = tt_prepare_path(p, clip->to);
    TtStatus st = tt_prepare_input(p, clip->to, clip->from);
    return st == TT_EDATA ? tt_clip_fail(clip, st) : st;
}

void tt_clips_free(TtClips *c)
{
    free(c->items);
    tt_strmap_free(&c->names);
    *c = (TtClips){0};
}

TtStatus tt_clip_fail(const TtClip *clip, TtStatus status)
{
    return TT_FAIL(status, "%s (listed at %s:%lld)", tt_error_message(), clip->at, (long long)clip->line);
}

/* Lossy coding and resampling overshoot. What is louder than 16 bits hold is turned down as a whole, not cut off. */
static void fit_range(TtAudio *a)
{
    const float most = 32767.0F / 32768.0F;
    float peak = 0;
    for (int64_t i = 0; i < a->frames; i++) peak = fmaxf(peak, fabsf(a->data[i]));
    if (!(peak > most)) return;
    for (int64_t i = 0; i < a->frames; i++) a->data[i] *= most / peak;
}

TtStatus tt_clip_convert(TtClip *clip, int rate)
{
    TtSample file = {0};
    TtAudio a = {0};
    TtStatus st = tt_sound_read(clip->from, rate, &file, &a);
    if (st == TT_EDATA) st = tt_clip_fail(clip, st);
    if (st == TT_OK) fit_range(&a);
    if (st == TT_OK) st = tt_wav_write_as(clip->path, &a, false, TT_FS_UNFLUSHED);
    if (st == TT_OK) clip->frames = a.frames;
    tt_audio_free(&a);
    tt_sample_free(&file);
    return st;
}

static TtStatus list_part(TtPrepare *p, const TtClips *c, bool test, const char *name, bool texts)
{
    TtPrepareList l;
    TT_TRY(tt_prepare_list_open(&l, texts ? "path\ttext\tframes" : "path\tframes"));
    for (int64_t i = 0; i < c->n; i++) {
        const TtClip *clip = &c->items[i];
        if (tt_clip_is_test(i) != test) continue;
        fprintf(l.out, "%s\t%s%s%lld\n", clip->to, texts ? clip->label : "", texts ? "\t" : "",
                (long long)clip->frames);
    }
    return tt_prepare_list_close(p, &l, name, TT_OK);
}

TtStatus tt_clips_list(TtPrepare *p, const TtClips *c, const char *prefix, bool texts)
{
    TT_TRY(list_part(p, c, false, tt_arena_printf(&p->arena, "%strain.tsv", prefix), texts));
    return list_part(p, c, true, tt_arena_printf(&p->arena, "%stest.tsv", prefix), texts);
}

TtStatus tt_clips_check(const TtClips *c, const char *list)
{
    if (c->n >= 10) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: %lld recordings with a text; every tenth is for testing, so 10 are needed", list,
                   (long long)c->n);
}

void tt_clips_summary(TtPrepare *p, const TtClips *c, int rate)
{
    int64_t frames = 0, test = 0;
    for (int64_t i = 0; i < c->n; i++) frames += c->items[i].frames, test += tt_clip_is_test(i);
    snprintf(p->summary, sizeof p->summary, "%lld utterances (%lld train, %lld test), %.1f minutes", (long long)c->n,
             (long long)(c->n - test), (long long)test, (double)frames / rate / 60);
}
