/* SPDX-License-Identifier: Apache-2.0 */
/* data/dataset.h - sources of samples. One dataset type is one file, one DATASET line in datasets.def, one test.
 *
 * An opened dataset is immutable and read by many threads at a time; sample i is the same whoever asks and
 * whenever. Opening lists; it does not decode. */
#ifndef TT_DATA_DATASET_H
#define TT_DATA_DATASET_H

#include "data/transform.h"
#include "tensor/task.h"

typedef struct TtDataset TtDataset;

/* A tensor of one sample as the model or the loss takes it. */
typedef struct TtPart {
    TtDType dtype;
    TtShape shape;
    bool padded; /* the first axis may differ within a batch: shorter samples are filled up with zeros */
    const void *data;
} TtPart;

/* What a batch of sound is made of: (N,T,C) for the model, a second input, and what the loss compares with. */
enum { TT_PART_X, TT_PART_EXTRA, TT_PART_TARGET, TT_PARTS };

/* What one read gives. A worker keeps one and reuses its buffers. */
typedef struct TtSample {
    TtImage image;     /* sets of pictures */
    TtAudio audio;     /* sets of sound: what the transforms work on */
    TtAudio reference; /* sound that no transform touches: the sources of a mixture, the samples behind features */
    int64_t *tokens;   /* classes in order: of a text, or of the samples of a waveform; buffer reused */
    int64_t n_tokens;
    size_t tokens_capacity;
    TtPart parts[TT_PARTS]; /* sound: made by `assemble` after the transforms; data NULL where there is none */
    int64_t index;          /* in the set */
    int64_t label;          /* class index, or -1 when the set has none */
    char name[1024];        /* the file (and member or row) it came from, for messages and bad_samples.tsv */
    uint8_t *bytes;         /* the encoded file; buffer reused */
    size_t bytes_size, bytes_capacity;
} TtSample;
void tt_sample_free(TtSample *s);
TtStatus tt_sample_reserve(TtSample *s, size_t size) TT_NODISCARD;
TtStatus tt_sample_reserve_tokens(TtSample *s, int64_t n) TT_NODISCARD;
/* Read a whole file into s->bytes. TT_EDATA names the file; an empty one, and one that is no regular file, is an
 * error too. */
TtStatus tt_sample_read_file(TtSample *s, const char *path) TT_NODISCARD;

typedef struct TtDatasetDef {
    const char *name;
    const char *help;
    const TtOption *options; /* besides `type` */
    size_t options_size;
    /* List the samples. OPTIONS is the parsed struct; self->options points to it. Sets count, classes, impl. */
    TtStatus (*open)(TtDataset *self);
    TtTask task;        /* 0: classification */
    TtMedia media;      /* 0: pictures */
    bool no_transforms; /* its samples go to the model as they are */
    TtStatus (*read)(const TtDataset *self, int64_t index, TtSample *out);
    /* Sound: after the transforms, set s->parts. RNG is this sample's own in this epoch. */
    TtStatus (*assemble)(const TtDataset *self, TtSample *s, TtRng *rng);
    /* Sound: length of sample INDEX without reading it, in whatever unit; 0 when it is not known. May be NULL. */
    double (*length)(const TtDataset *self, int64_t index);
    int64_t (*label)(const TtDataset *self, int64_t index); /* without decoding; for samplers; -1 none */
    /* Name of sample INDEX as read() would give it, without reading (watchdog, messages). */
    void (*describe)(const TtDataset *self, int64_t index, char *buf, size_t size);
    /* A shell command that reads sample INDEX again. May be NULL: `ttrain decode` of its name. */
    void (*replay)(const TtDataset *self, int64_t index, char *buf, size_t size);
    void (*close)(TtDataset *self); /* also of a half-opened set: impl may be NULL */
} TtDatasetDef;

/* What a data set must know of the job it is read for. Set by the session once the set is open. */
typedef struct TtDatasetJob {
    bool training;                 /* random offsets; else the start */
    bool skip_errors;              /* on_error: skip */
    int hop, kernel_size, classes; /* vocoders: of the model */
} TtDatasetJob;

struct TtDataset {
    const TtDatasetDef *def;
    TtDatasetJob job;
    const TtNode *node; /* the config's map, for errors; borrowed */
    void *options;
    TtArena arena;        /* lives as long as the dataset */
    TtImageOptions image; /* max_pixels and orientation for the readers */
    int64_t count;
    int classes;              /* number of classes; 0 when unknown */
    const char **class_names; /* by index; NULL when the set has only numbers */
    void *impl;
};

extern const TtDatasetDef *const tt_datasets[]; /* ended by NULL */

/* The `type` of such a map; TT_ECONFIG when there is none like it. KEY (may be NULL) is the config's, for what is
 * missing. */
TtStatus tt_dataset_type(const TtNode *map, const TtNode *key, const TtDatasetDef **out) TT_NODISCARD;
/* Open what {type: ..., ...} describes. Paths in it are relative to the working directory. A missing path or
 * an empty set is TT_EDATA; a bad key TT_ECONFIG. */
TtStatus tt_dataset_open(const TtNode *map, const TtImageOptions *image, TtDataset **out) TT_NODISCARD;
void tt_dataset_close(TtDataset *d); /* NULL is fine */

/* The class list of a set is saved with a run and compared when it goes on, so that an added, empty or hidden
 * folder cannot shift the labels. Fails with TT_EDATA at the first difference; names that are NULL (a set with
 * numbers only) agree with anything. WHAT names each side in the message. */
TtStatus tt_class_names_same(const char *const *a, int na, const char *what_a, const char *const *b, int nb,
                             const char *what_b) TT_NODISCARD;
TtStatus tt_dataset_same_classes(const TtDataset *a, const TtDataset *b) TT_NODISCARD;

TtMedia tt_dataset_media(const TtDataset *d);

/* For sets of mixtures: s->audio (the mixture) and s->reference (the sources), of one length, become parts; SEGMENT seconds
 * of them when it is above 0, at random in training. Both clips are interleaved in place. */
TtStatus tt_separation_parts(TtSample *s, double segment, int rate, bool training, TtRng *rng) TT_NODISCARD;

/* Sample INDEX as the loader makes it: read, transformed, assembled. POSITION keys its random numbers: (seed, epoch,
 * position in the epoch's order). *READ_FAILED (may be NULL) tells whether the reading failed. */
TtStatus tt_dataset_load(const TtDataset *d, const TtTransformChain *chain, uint64_t seed, uint64_t epoch,
                         uint64_t position, int64_t index, TtSample *s, TtTransformScratch *scratch,
                         bool *read_failed) TT_NODISCARD;

/* For the dataset types. */

/* The option `classes`: a list of names, or the path of a file with one name a line (or, ending in .json, one
 * array of strings). Sets d->classes and d->class_names; leaves them alone when NODE is null. */
TtStatus tt_dataset_classes_option(TtDataset *d, const TtNode *node) TT_NODISCARD;
/* Read and decode a picture file into s->image; s->name must be set. */
TtStatus tt_dataset_read_image(const TtDataset *d, const char *path, TtSample *s) TT_NODISCARD;
/* TEXT as one word of a POSIX shell. */
const char *tt_shell_quote(const char *text, char *buf, size_t size);
/* The command that reads sample INDEX again. */
void tt_dataset_replay(const TtDataset *d, int64_t index, char *buf, size_t size);

#endif
