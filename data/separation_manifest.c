/* SPDX-License-Identifier: Apache-2.0 */
/* data/separation_manifest.c - mixtures and the sources they are made of. */
#include <stdio.h>
#include <string.h>

#include "data/manifest.h"
#include "tensor/rng.h"

typedef struct Options {
    const char *path;
    int64_t sample_rate;
    double segment;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path),
     .help = "tab-separated file; columns: mixture source1 source2 ..."},
    {"sample_rate", TT_OPT_INT, offsetof(Options, sample_rate), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 24,
     .help = "Hz; files of another rate are resampled"},
    {"segment", TT_OPT_FLOAT, offsetof(Options, segment), .def = "null",
     .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1e6,
     .help = "seconds: longer files are cropped, at random in training and at the start in validation, shorter ones "
             "filled up with zeros; null: whole files, of one length in a batch"},
    {0}};

static const char *const columns[] = {"mixture", "source1", "source2", "source3", "source4",
                                      "source5", "source6", "source7", "source8", NULL};

static TtStatus separation_open(TtDataset *d)
{
    const Options *o = d->options;
    TtManifest *m = TT_NEW(&d->arena, TtManifest);
    d->impl = m;
    TT_TRY(tt_manifest_open(m, &d->arena, o->path, columns, 2));
    d->count = m->n;
    while (d->classes + 1 < m->columns && tt_manifest_cell(m, 0, d->classes + 1)) d->classes++;
    return TT_OK;
}

static void separation_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    tt_manifest_path(d->impl, index, 0, buf, size);
}

static TtStatus separation_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Options *o = d->options;
    const TtManifest *m = d->impl;
    const int rate = (int)o->sample_rate;
    TtAudio one = {0};
    separation_describe(d, index, s->name, sizeof s->name);
    s->label = -1;
    TT_TRY(tt_manifest_clip(m, index, 0, rate, s, &s->audio));
    const int64_t frames = s->audio.frames;
    TtStatus st = tt_audio_resize(&s->reference, d->classes, frames, 1, false);
    for (int k = 0; k < d->classes && st == TT_OK; k++) {
        st = tt_manifest_clip(m, index, k + 1, rate, s, &one);
        if (st == TT_OK && one.frames != frames)
            st = tt_manifest_fail(m, index, TT_EDATA, "%s has %lld samples and %s %lld; they must be of one length",
                                  columns[0], (long long)frames, columns[k + 1], (long long)one.frames);
        if (st == TT_OK) memcpy(s->reference.data + k * frames, one.data, (size_t)frames * sizeof(float));
    }
    tt_audio_free(&one);
    return st;
}

/* N samples from FROM on of each channel, as (N,channels), zeros beyond the end; into OUT. */
static TtStatus interleave(const TtAudio *a, int64_t from, int64_t n, TtAudio *out)
{
    TT_TRY(tt_audio_resize(out, 1, n, a->channels, false));
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < a->channels; c++)
            out->data[i * a->channels + c] = from + i < a->frames ? a->data[c * a->frames + from + i] : 0;
    return TT_OK;
}

TtStatus tt_separation_parts(TtSample *s, double segment, int rate, bool training, TtRng *rng)
{
    const bool whole = !(segment > 0);
    const int64_t n = whole ? s->audio.frames : TT_MAX((int64_t)(segment * rate + 0.5), 1), spare = s->audio.frames - n;
    const int64_t from = training && spare > 0 ? (int64_t)tt_rng_below(rng, (uint64_t)spare + 1) : 0;
    TtAudio x = {0}, target = {0};
    TtStatus st = interleave(&s->audio, from, n, &x);
    if (st == TT_OK) st = interleave(&s->reference, from, n, &target);
    tt_audio_swap(&s->audio, &x);
    tt_audio_swap(&s->reference, &target);
    tt_audio_free(&x);
    tt_audio_free(&target);
    s->parts[TT_PART_X] = (TtPart){.dtype = TT_F32, .shape = TT_SHAPE(n, 1), .data = s->audio.data};
    s->parts[TT_PART_TARGET] =
        (TtPart){.dtype = TT_F32, .shape = TT_SHAPE(n, s->reference.bins), .data = s->reference.data};
    return st;
}

static TtStatus separation_assemble(const TtDataset *d, TtSample *s, TtRng *rng)
{
    const Options *o = d->options;
    return tt_separation_parts(s, o->segment, (int)o->sample_rate, d->job.training, rng);
}

static void separation_close(TtDataset *d)
{
    if (d->impl) tt_manifest_close(d->impl);
}

const TtDatasetDef tt_dataset_separation_manifest = {
    .name = "separation_manifest",
    .help = "mixtures with their sources, listed in a tab-separated file",
    .options = options,
    .options_size = sizeof(Options),
    .task = TT_TASK_SEPARATION,
    .media = TT_MEDIA_SOUND,
    .no_transforms = true,
    .open = separation_open,
    .read = separation_read,
    .assemble = separation_assemble,
    .describe = separation_describe,
    .close = separation_close,
};
