/* SPDX-License-Identifier: Apache-2.0 */
/* data/transform.h - what happens to a sample between its file and the model: for pictures torchvision.transforms.v2's
 * names, arguments, defaults and pixels (vision/), for sound torchaudio.transforms' (audio/).
 *
 * A chain is parsed once from the config's list and then applied by many threads at a time: it is immutable,
 * and all that changes is in the sample and in the caller's scratch. Random transforms draw from a stream
 * keyed by (seed, epoch, sample, position in the chain), so neither worker nor order matters.
 * One transform is one file (or one of a small family in a file), one TRANSFORM line in vision/transforms.def or
 * audio/transforms.def, one test. */
#ifndef TT_DATA_TRANSFORM_H
#define TT_DATA_TRANSFORM_H

#include "audio/audio.h"
#include "tensor/options.h"
#include "tensor/rng.h"
#include "vision/image.h"

/* What a sample is, and what a transform can take. */
typedef enum TtMedia { TT_MEDIA_IMAGE = 1, TT_MEDIA_SOUND = 2, TT_MEDIA_ANY = 3 } TtMedia;

/* Buffers of one worker, reused from sample to sample. */
typedef struct TtTransformScratch {
    TtImage image;    /* a second picture to write into; transforms swap it with the sample's */
    TtImage spare[2]; /* for transforms that run others and keep pictures meanwhile (AugMix) */
    TtAudio audio;    /* a second clip to write into, likewise */
    TtArena arena;    /* emptied by the chain after each sample */
    void *table;      /* resize coefficients, frames of a spectrogram and the like; owned, grown by the transforms */
    size_t table_capacity;
} TtTransformScratch;
void tt_transform_scratch_free(TtTransformScratch *s);
/* SIZE bytes in the scratch's table, which grows and is kept; 64-byte aligned. */
TtStatus tt_transform_table(TtTransformScratch *s, size_t size, void **out) TT_NODISCARD;

/* One sample on its way through the chain: a picture or a clip, the other is NULL. */
typedef struct TtTransformArgs {
    TtImage *image;
    TtAudio *audio;
    TtTransformScratch *scratch;
    TtRng rng;        /* this transform's own stream for this sample */
    const char *name; /* the sample's, for messages */
} TtTransformArgs;

/* A batch on its way through MixUp and CutMix: x is (N,H,W,C) float32; targets (N,classes) float32, given as
 * one-hot rows and left as mixed rows. */
typedef struct TtBatchTransformArgs {
    TtTensor x, targets;
    TtRng rng;
} TtBatchTransformArgs;

typedef struct TtTransformDef {
    const char *name;
    const char *help;
    const TtOption *options;
    size_t size; /* of the parsed options */
    /* After parsing: checks that a table cannot say, derived fields; containers (RandomApply, RandomChoice) parse
     * their lists here, into ARENA. NODE is the argument map, or the transform's name when there are no arguments.
     * May be NULL. */
    TtStatus (*check)(void *options, const TtNode *node, TtArena *arena);
    TtStatus (*apply)(const void *options, TtTransformArgs *a);
    TtStatus (*apply_batch)(const void *options, TtBatchTransformArgs *a); /* instead of apply: MixUp, CutMix */
    /* Containers have both and say here whether this one holds batch transforms, and what they can take. Else NULL. */
    bool (*is_batch)(const void *options);
    TtMedia (*media_of)(const void *options);
    TtMedia media; /* 0: pictures */
    bool random;
    /* Output size for an input of h x w, to predict shapes (--check, bench); 0 means "depends on the input".
     * NULL: the size does not change. */
    void (*out_size)(const void *options, int *h, int *w);
} TtTransformDef;

/* All of both transforms.def, pictures' first, ended by NULL. */
extern const TtTransformDef *const tt_transforms[];
const TtTransformDef *tt_transform_find(const char *name);

typedef struct TtTransform {
    const TtTransformDef *def;
    void *options;
    const TtNode *node; /* its name in the config */
} TtTransform;

/* ---- for containers: a list of transforms as it stands in a config */

enum { TT_TRANSFORMS_MAX = 64 }; /* in one list */

typedef struct TtTransformList {
    int n;
    TtTransform *list;
} TtTransformList;

/* Each element is a map of one key, {Name: {arg: value}}, or a bare Name. Everything lives in ARENA. */
TtStatus tt_transform_list_parse(const TtNode *list, TtArena *arena, TtTransformList *out) TT_NODISCARD;
bool tt_transform_is_batch(const TtTransform *t);
TtMedia tt_transform_media(const TtTransform *t);
/* The size behind T for a size before it, 0 for unknown. */
void tt_transform_size(const TtTransform *t, int *h, int *w);

/* ---- options that transforms of all kinds take */

#define TT_OPTION_P(type, value)                                                                        \
    {                                                                                                   \
        "p", TT_OPT_FLOAT, offsetof(type, p), .def = value, .flags = TT_OPT_RANGED, .min = 0, .max = 1, \
                                              .help = "probability"                                     \
    }

/* Fail at KEY of the arguments NODE, or at NODE when it does not stand there. */
#define TT_FAIL_AT_KEY(node, key, ...) \
    tt_node_fail(tt_node_get(node, key) ? tt_node_get(node, key) : (node), __VA_ARGS__)

/* ---- the chain */

typedef struct TtTransformChain {
    int n; /* per-sample transforms */
    TtTransform *list;
    int n_batch; /* batch transforms; they must come last in the config's list */
    TtTransform *batch;
} TtTransformChain;

/* Parse a list node: each element is a map of one key, {Name: {arg: value}}, or a bare Name; NULL or an empty
 * list is an empty chain. Everything lives in ARENA. */
TtStatus tt_transform_chain_parse(const TtNode *list, TtArena *arena, TtTransformChain *out) TT_NODISCARD;
/* Every transform of the chain can take what the data set (TYPE, for the message) gives. */
TtStatus tt_transform_chain_check_media(const TtTransformChain *c, TtMedia media, const char *type) TT_NODISCARD;

/* Apply the per-sample transforms in place to the picture or the clip (the other NULL). A picture is then converted
 * to float32: uint8 and uint16 that no Normalize or ToDtype has converted are scaled to [0,1]. */
TtStatus tt_transform_chain_apply(const TtTransformChain *c, uint64_t seed, uint64_t epoch, uint64_t sample,
                                  const char *name, TtImage *image, TtAudio *audio,
                                  TtTransformScratch *scratch) TT_NODISCARD;
TtStatus tt_transform_chain_apply_batch(const TtTransformChain *c, uint64_t seed, uint64_t epoch, uint64_t step,
                                        TtTensor x, TtTensor targets) TT_NODISCARD;
/* The size that leaves the chain for an input of h x w (0: unknown before and after). */
void tt_transform_chain_size(const TtTransformChain *c, int *h, int *w);
/* Samples from frame to frame of the spectrogram that the chain makes: 0 when it makes none. *NODE (may be NULL): where. */
int64_t tt_transform_chain_hop(const TtTransformChain *c, const TtNode **node);
/* The Normalize of the chain, to show pictures again: false when there is none. */
bool tt_transform_chain_normalize(const TtTransformChain *c, float mean[3], float std[3]);

#endif
