/* SPDX-License-Identifier: Apache-2.0 */
/* data/separation_mix.c - mixtures made while training: each clip with clips of other speakers, at random levels.
 *
 * What is drawn (partners, which part of each clip, levels) hangs on the run's seed, the epoch and the position in its
 * order, so that it is the same whatever the number of workers; in validation the same mixtures come each time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/mix.h"
#include "data/manifest.h"
#include "data/strmap.h"
#include "tensor/rng.h"

enum { MOST_SOURCES = 8, TRIES = 32 };

typedef struct Options {
    const char *path;
    int64_t sample_rate, sources;
    double segment;
    TtFloats snr;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .help = "tab-separated file; columns: path speaker"},
    {"sample_rate", TT_OPT_INT, offsetof(Options, sample_rate), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 24,
     .help = "Hz; files of another rate are resampled"},
    {"segment", TT_OPT_FLOAT, offsetof(Options, segment), .def = "4.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN,
     .min = 0, .max = 1e4,
     .help = "seconds of a mixture: longer clips are cropped, at random in training and at the start in validation, "
             "shorter ones filled up with zeros"},
    {"sources", TT_OPT_INT, offsetof(Options, sources), .def = "2", .flags = TT_OPT_RANGED, .min = 2,
     .max = MOST_SOURCES, .help = "speakers in a mixture, all different"},
    {"snr", TT_OPT_FLOATS, offsetof(Options, snr), .def = "[-5, 5]", .flags = TT_OPT_RANGED, .min = -100, .max = 100,
     .min_n = 1, .max_n = 2,
     .help = "level of the first speaker above each other one in dB, or [min, max] of which it is drawn"},
    {0}};

static const char *const columns[] = {"path", "speaker", NULL};

/* Rows in the order of their speakers. */
typedef struct Mix {
    TtManifest list;
    int64_t *speaker;       /* of each row */
    int64_t *rows, *starts; /* speaker k has rows[starts[k]] ... rows[starts[k + 1] - 1] */
    int64_t speakers;
} Mix;

static void group_by_speaker(Mix *m)
{
    const int64_t n = m->list.n;
    TtStrMap map = {0};
    m->speaker = tt_realloc(NULL, (size_t)n * sizeof *m->speaker);
    m->rows = tt_realloc(NULL, (size_t)n * sizeof *m->rows);
    for (int64_t i = 0; i < n; i++) {
        m->speaker[i] = *tt_strmap_put(&map, tt_manifest_cell(&m->list, i, 1), m->speakers);
        if (m->speaker[i] == m->speakers) m->speakers++;
    }
    tt_strmap_free(&map);
    /* A counting sort: starts[k + 1] runs from the start of k to its end while the rows are put down. */
    m->starts = tt_realloc(NULL, (size_t)(m->speakers + 2) * sizeof *m->starts);
    memset(m->starts, 0, (size_t)(m->speakers + 2) * sizeof *m->starts);
    for (int64_t i = 0; i < n; i++) m->starts[m->speaker[i] + 2]++;
    for (int64_t k = 2; k <= m->speakers + 1; k++) m->starts[k] += m->starts[k - 1];
    for (int64_t i = 0; i < n; i++) m->rows[m->starts[m->speaker[i] + 1]++] = i;
}

static TtStatus mix_open(TtDataset *d)
{
    const Options *o = d->options;
    Mix *m = TT_NEW(&d->arena, Mix);
    d->impl = m;
    if (o->snr.n == 2 && o->snr.v[0] > o->snr.v[1])
        return TT_FAIL_AT_KEY(d->node, "snr", "snr must be [min, max], but %g is greater than %g", o->snr.v[0],
                              o->snr.v[1]);
    TT_TRY(tt_manifest_open(&m->list, &d->arena, o->path, columns, 2));
    group_by_speaker(m);
    if (m->speakers < o->sources)
        return TT_FAIL(TT_EDATA, "%s: mixtures of %lld speakers cannot be made of %lld (column 'speaker')", o->path,
                       (long long)o->sources, (long long)m->speakers);
    d->count = m->list.n;
    d->classes = (int)o->sources;
    return TT_OK;
}

static void mix_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    const Mix *m = d->impl;
    tt_manifest_path(&m->list, index, 0, buf, size);
}

static TtStatus mix_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Options *o = d->options;
    const Mix *m = d->impl;
    mix_describe(d, index, s->name, sizeof s->name);
    s->label = -1;
    return tt_manifest_clip(&m->list, index, 0, (int)o->sample_rate, s, &s->audio);
}

/* A row of a speaker that is none of the N in TAKEN, each such row as likely as any other. */
static int64_t draw_row(const Mix *m, const int64_t *taken, int n, TtRng *rng)
{
    int64_t order[MOST_SOURCES], left = m->list.n;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && order[at - 1] > taken[i]; at--) order[at] = order[at - 1];
        order[at] = taken[i];
        left -= m->starts[taken[i] + 1] - m->starts[taken[i]];
    }
    int64_t place = (int64_t)tt_rng_below(rng, (uint64_t)left);
    for (int i = 0; i < n && place >= m->starts[order[i]]; i++) place += m->starts[order[i] + 1] - m->starts[order[i]];
    return m->rows[place];
}

static void crop(const TtAudio *a, int64_t n, bool training, TtRng *rng, float *out)
{
    const int64_t spare = a->frames - n;
    const int64_t from = training && spare > 0 ? (int64_t)tt_rng_below(rng, (uint64_t)spare + 1) : 0;
    const int64_t have = TT_MIN(n, a->frames);
    memcpy(out, a->data + from, (size_t)have * sizeof *out);
    memset(out + have, 0, (size_t)(n - have) * sizeof *out);
}

/* OUT becomes N samples of a clip of another speaker than those TAKEN, at its level beside FIRST. A part that is silent is no
 * partner, and with on_error: skip neither is a file that cannot be read: another is drawn. */
static TtStatus add_partner(const TtDataset *d, TtSample *s, const float *first, int64_t n, int64_t *taken, int n_taken,
                            TtRng *rng, TtAudio *clip, float *out)
{
    const Options *o = d->options;
    const Mix *m = d->impl;
    for (int i = 0; i < TRIES; i++) {
        const int64_t row = draw_row(m, taken, n_taken, rng);
        const TtStatus st = tt_manifest_clip(&m->list, row, 0, (int)o->sample_rate, s, clip);
        if (st == TT_EDATA && d->job.skip_errors) continue;
        TT_TRY(st);
        crop(clip, n, d->job.training, rng, out);
        const float gain = (float)tt_snr_gain(first, out, n, tt_rng_uniform(rng, o->snr.v[0], o->snr.v[o->snr.n - 1]));
        if (!(gain > 0)) continue;
        for (int64_t t = 0; t < n; t++) out[t] *= gain;
        taken[n_taken] = m->speaker[row];
        return TT_OK;
    }
    return TT_FAIL(TT_EDATA,
                   "%s: no clip of another speaker to mix with: %d drawn ones could not be read or are silent", s->name,
                   TRIES);
}

/* The sum of the sources; all are turned down together when it would exceed 1, as a sound file's samples may not. */
static void sum_up(const TtAudio *sources, TtAudio *mixture)
{
    const int64_t n = mixture->frames;
    float peak = 1;
    for (int64_t t = 0; t < n; t++) {
        float sum = 0;
        for (int k = 0; k < sources->channels; k++) sum += sources->data[k * n + t];
        mixture->data[t] = sum;
        peak = fmaxf(peak, fabsf(sum));
    }
    if (peak <= 1) return;
    for (int64_t t = 0; t < n; t++) mixture->data[t] /= peak;
    for (int64_t t = 0; t < n * sources->channels; t++) sources->data[t] /= peak;
}

static TtStatus mix_assemble(const TtDataset *d, TtSample *s, TtRng *rng)
{
    const Options *o = d->options;
    const Mix *m = d->impl;
    const int64_t n = TT_MAX((int64_t)(o->segment * (double)o->sample_rate + 0.5), 1);
    int64_t taken[MOST_SOURCES] = {m->speaker[s->index]};
    float *to;
    TT_TRY(tt_audio_resize(&s->reference, (int)o->sources, n, 1, false));
    to = s->reference.data;
    /* Another part when the first one drawn is silent; a clip that is silent as a whole stays what it is. */
    for (int i = 0; i < TRIES && (i == 0 || !(tt_snr_gain(to, to, n, 0) > 0)); i++)
        crop(&s->audio, n, d->job.training, rng, to);
    if (!(tt_snr_gain(to, to, n, 0) > 0)) return TT_FAIL(TT_EDATA, "%s: the clip is silent", s->name);
    TtAudio clip = {0};
    TtStatus st = TT_OK;
    for (int k = 1; k < o->sources && st == TT_OK; k++) st = add_partner(d, s, to, n, taken, k, rng, &clip, to + k * n);
    tt_audio_free(&clip);
    TT_TRY(st);
    TT_TRY(tt_audio_resize(&s->audio, 1, n, 1, false));
    sum_up(&s->reference, &s->audio);
    return tt_separation_parts(s, 0, (int)o->sample_rate, false, rng);
}

static double mix_length(const TtDataset *d, int64_t index)
{
    return 1; /* all mixtures are of one length */
}

static void mix_close(TtDataset *d)
{
    Mix *m = d->impl;
    if (!m) return;
    tt_manifest_close(&m->list);
    free(m->speaker);
    free(m->rows);
    free(m->starts);
}

const TtDatasetDef tt_dataset_separation_mix = {
    .name = "separation_mix",
    .help = "mixtures made on the fly of clips of different speakers, listed in a tab-separated file",
    .options = options,
    .options_size = sizeof(Options),
    .task = TT_TASK_SEPARATION,
    .media = TT_MEDIA_SOUND,
    .no_transforms = true,
    .open = mix_open,
    .read = mix_read,
    .assemble = mix_assemble,
    .length = mix_length,
    .describe = mix_describe,
    .close = mix_close,
};
