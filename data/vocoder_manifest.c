/* SPDX-License-Identifier: Apache-2.0 */
/* data/vocoder_manifest.c - waveforms to be predicted sample by sample from their spectrograms.
 *
 * The transforms make the spectrogram of the whole file; a part of it, and the samples that belong to that part, are the
 * sample. With pad = (kernel_size - 1) / 2 of the model, S = segment_frames and an offset o: frames o ... o + S + 2 pad - 1,
 * and S * hop + 1 samples from (o + pad) * hop on, of which all but the last go in and all but the first are to come out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audio/mulaw.h"
#include "data/manifest.h"
#include "tensor/rng.h"

enum { MULAW, LINEAR };

typedef struct Options {
    const char *path;
    int64_t sample_rate, segment_frames;
    int encoding;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .help = "tab-separated file; column: path"},
    {"sample_rate", TT_OPT_INT, offsetof(Options, sample_rate), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 24,
     .help = "Hz; files of another rate are resampled"},
    {"segment_frames", TT_OPT_INT, offsetof(Options, segment_frames), .def = "5", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 20, .help = "frames whose samples are predicted"},
    {"encoding", TT_OPT_ENUM, offsetof(Options, encoding), .def = "mulaw", .choices = "mulaw|linear",
     .help = "how samples become classes"},
    {0}};

static const char *const columns[] = {"path", "frames", NULL};

static TtStatus vocoder_open(TtDataset *d)
{
    TtManifest *m = TT_NEW(&d->arena, TtManifest);
    d->impl = m;
    TT_TRY(tt_manifest_open(m, &d->arena, ((const Options *)d->options)->path, columns, 1));
    d->count = m->n;
    return TT_OK;
}

static void vocoder_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    tt_manifest_path(d->impl, index, 0, buf, size);
}

static TtStatus vocoder_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Options *o = d->options;
    vocoder_describe(d, index, s->name, sizeof s->name);
    s->label = -1;
    TT_TRY(tt_manifest_clip(d->impl, index, 0, (int)o->sample_rate, s, &s->audio));
    TT_TRY(tt_audio_resize(&s->reference, 1, s->audio.frames, 1, false));
    memcpy(s->reference.data, s->audio.data, (size_t)s->audio.frames * sizeof(float));
    return TT_OK;
}

static int64_t encode(const Options *o, float w, int classes)
{
    if (o->encoding == MULAW) return tt_mulaw_encode(w, classes);
    float c = (w + 1) * (float)(classes - 1) / 2;
    return (int64_t)fminf(fmaxf(c, 0), (float)(classes - 1));
}

static TtStatus check_clip(const TtDataset *d, const TtSample *s, int64_t frames)
{
    const Options *o = d->options;
    const int pad = (d->job.kernel_size - 1) / 2;
    if (s->audio.is_complex || s->audio.channels != 1)
        return TT_FAIL(TT_ECONFIG, "%s: the transforms must make one spectrogram of real numbers", s->name);
    if (frames < o->segment_frames + 4 * pad)
        return TT_FAIL(TT_EDATA, "%s: has %lld frames, and %lld (segment_frames + 4 x %d) are needed", s->name,
                       (long long)frames, (long long)o->segment_frames + 4 * pad, pad);
    return TT_OK;
}

static TtStatus vocoder_assemble(const TtDataset *d, TtSample *s, TtRng *rng)
{
    const Options *o = d->options;
    const int pad = (d->job.kernel_size - 1) / 2, hop = d->job.hop, classes = d->job.classes;
    const int64_t frames = s->audio.frames, bins = s->audio.bins, n = o->segment_frames * hop;
    TT_TRY(check_clip(d, s, frames));
    const int64_t places = frames - (o->segment_frames + 4 * pad) + 1;
    const int64_t at = d->job.training ? (int64_t)tt_rng_below(rng, (uint64_t)places) : 0;
    const int64_t first = (at + pad) * hop;
    TT_TRY(tt_sample_reserve_tokens(s, n + 1));
    float *w = s->reference.data;
    for (int64_t i = 0; i <= n; i++)
        s->tokens[i] = encode(o, first + i < s->reference.frames ? w[first + i] : 0, classes);
    /* In place: what goes in at step i stands at or behind w[i]. */
    for (int64_t i = 0; i < n; i++)
        w[i] = o->encoding == MULAW ? 2 * (float)s->tokens[i] / (float)(classes - 1) - 1
                                    : (first + i < s->reference.frames ? w[first + i] : 0);
    s->n_tokens = n;
    s->parts[TT_PART_X] = (TtPart){.dtype = TT_F32, .shape = TT_SHAPE(n, 1), .data = w};
    s->parts[TT_PART_EXTRA] = (TtPart){
        .dtype = TT_F32, .shape = TT_SHAPE(o->segment_frames + 2 * pad, bins), .data = s->audio.data + at * bins};
    s->parts[TT_PART_TARGET] = (TtPart){.dtype = TT_I64, .shape = TT_SHAPE(n), .data = s->tokens + 1};
    return TT_OK;
}

static double vocoder_length(const TtDataset *d, int64_t index)
{
    return 1; /* all segments are of one length */
}

static void vocoder_close(TtDataset *d)
{
    if (d->impl) tt_manifest_close(d->impl);
}

const TtDatasetDef tt_dataset_vocoder_manifest = {
    .name = "vocoder_manifest",
    .help = "waveforms to predict from their spectrograms, listed in a tab-separated file",
    .options = options,
    .options_size = sizeof(Options),
    .task = TT_TASK_VOCODER,
    .media = TT_MEDIA_SOUND,
    .open = vocoder_open,
    .read = vocoder_read,
    .assemble = vocoder_assemble,
    .length = vocoder_length,
    .describe = vocoder_describe,
    .close = vocoder_close,
};
