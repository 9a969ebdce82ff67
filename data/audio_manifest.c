/* SPDX-License-Identifier: Apache-2.0 */
/* data/audio_manifest.c - recordings of speech and what is said in them. */
#include "data/audio_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/manifest.h"

#define ENGLISH "* 'abcdefghijklmnopqrstuvwxyz"

typedef struct Options {
    const char *path, *labels;
    int64_t sample_rate, blank;
} Options;

static const TtOption options[] = {
    {"path", TT_OPT_STRING, offsetof(Options, path), .help = "tab-separated file; columns: path text"},
    {"sample_rate", TT_OPT_INT, offsetof(Options, sample_rate), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 24,
     .help = "Hz; files of another rate are resampled"},
    {"labels", TT_OPT_STRING, offsetof(Options, labels), .def = ENGLISH,
     .help = "the characters in class order; texts are lower-cased"},
    {"blank", TT_OPT_INT, offsetof(Options, blank), .def = "0", .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 20,
     .help = "the class of labels that means no character; as the loss's"},
    {0}};

enum { PATH, TEXT, FRAMES, SECONDS };
static const char *const columns[] = {"path", "text", "frames", "seconds", NULL};

typedef struct Speech {
    TtManifest m;
    TtVocabulary vocabulary;
} Speech;

static TtStatus speech_open(TtDataset *d)
{
    const Options *o = d->options;
    Speech *s = TT_NEW(&d->arena, Speech);
    d->impl = s;
    const TtNode *at = tt_node_get(d->node, "labels");
    TT_TRY(tt_vocabulary_new(at ? at : d->node, o->labels, o->blank, &d->arena, &s->vocabulary));
    TT_TRY(tt_manifest_open(&s->m, &d->arena, o->path, columns, 2));
    d->count = s->m.n;
    d->classes = (int)s->vocabulary.classes;
    d->class_names = TT_NEWN(&d->arena, const char *, d->classes);
    for (int64_t c = 0; c < d->classes; c++) {
        const char *text = tt_vocabulary_decode(&s->vocabulary, &c, 1, &d->arena);
        d->class_names[c] = c == o->blank ? "(blank)" : strcmp(text, " ") == 0 ? "(space)" : text;
    }
    return TT_OK;
}

static void speech_describe(const TtDataset *d, int64_t index, char *buf, size_t size)
{
    tt_manifest_path(&((const Speech *)d->impl)->m, index, PATH, buf, size);
}

static TtStatus speech_read(const TtDataset *d, int64_t index, TtSample *s)
{
    const Options *o = d->options;
    const Speech *p = d->impl;
    char where[1100];
    speech_describe(d, index, s->name, sizeof s->name);
    s->label = -1;
    const char *text = tt_manifest_cell(&p->m, index, TEXT);
    snprintf(where, sizeof where, "%s:%lld", p->m.path, (long long)p->m.lines[index]);
    TT_TRY(tt_sample_reserve_tokens(s, (int64_t)strlen(text) + 1));
    TT_TRY(tt_vocabulary_encode(&p->vocabulary, text, where, s->tokens, &s->n_tokens));
    return tt_manifest_clip(&p->m, index, PATH, (int)o->sample_rate, s, &s->audio);
}

static TtStatus speech_assemble(const TtDataset *d, TtSample *s, TtRng *rng)
{
    if (s->audio.is_complex || s->audio.channels != 1)
        return TT_FAIL(TT_ECONFIG, "%s: the transforms must leave a waveform or one spectrogram of real numbers",
                       s->name);
    if (s->audio.frames < 1) return TT_FAIL(TT_EDATA, "%s: nothing is left after the transforms", s->name);
    s->parts[TT_PART_X] = (TtPart){
        .dtype = TT_F32, .shape = TT_SHAPE(s->audio.frames, s->audio.bins), .padded = true, .data = s->audio.data};
    s->parts[TT_PART_TARGET] =
        (TtPart){.dtype = TT_I64, .shape = TT_SHAPE(s->n_tokens), .padded = true, .data = s->tokens};
    return TT_OK;
}

static double speech_length(const TtDataset *d, int64_t index)
{
    const TtManifest *m = &((const Speech *)d->impl)->m;
    const char *frames = tt_manifest_cell(m, index, FRAMES), *seconds = tt_manifest_cell(m, index, SECONDS);
    return frames ? strtod(frames, NULL) : seconds ? strtod(seconds, NULL) : 0;
}

static void speech_close(TtDataset *d)
{
    if (d->impl) tt_manifest_close(&((Speech *)d->impl)->m);
}

const TtDatasetDef tt_dataset_audio_manifest = {
    .name = "audio_manifest",
    .help = "recordings of speech and their texts, listed in a tab-separated file",
    .options = options,
    .options_size = sizeof(Options),
    .task = TT_TASK_SPEECH,
    .media = TT_MEDIA_SOUND,
    .open = speech_open,
    .read = speech_read,
    .assemble = speech_assemble,
    .length = speech_length,
    .describe = speech_describe,
    .close = speech_close,
};

const TtVocabulary *tt_audio_manifest_vocabulary(const TtDataset *d)
{
    return d->def == &tt_dataset_audio_manifest ? &((const Speech *)d->impl)->vocabulary : NULL;
}

TtStatus tt_audio_manifest_labels(const TtNode *map, TtArena *arena, int *rate, TtVocabulary *out)
{
    Options o;
    TT_TRY(tt_options_parse(options, map, "type", NULL, arena, &o));
    const TtNode *at = tt_node_get(map, "labels");
    *rate = (int)o.sample_rate;
    return tt_vocabulary_new(at ? at : map, o.labels, o.blank, arena, out);
}
