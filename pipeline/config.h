/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/config.h - the whole configuration: a YAML file and overrides, typed.
 *
 * Loading goes file -> tree (yaml.h) -> overrides -> references ${...} (tree.h) -> structs, by the option tables in
 * config.c, which are also the reference page. What a model, a dataset, a transform, a loss, an optimizer or a
 * scheduler takes is its owner's business: those sections stay nodes here, and sections.h checks and prints them. */
#ifndef TT_PIPELINE_CONFIG_H
#define TT_PIPELINE_CONFIG_H

#include <stdio.h>

#include "tensor/options.h"

typedef enum TtConfigDevice { TT_DEVICE_AUTO, TT_DEVICE_CPU, TT_DEVICE_CUDA } TtConfigDevice;
typedef enum TtSamplerChoice {
    TT_SAMPLE_AUTO, /* random or sequential, as `shuffle` says */
    TT_SAMPLE_SEQUENTIAL,
    TT_SAMPLE_RANDOM,
    TT_SAMPLE_WEIGHTED,
    TT_SAMPLE_STRATIFIED
} TtSamplerChoice;
typedef enum TtPrecision { TT_PRECISION_FP32, TT_PRECISION_BF16 } TtPrecision;
typedef enum TtConvAlgorithm { TT_CONV_AUTO, TT_CONV_DIRECT, TT_CONV_WINOGRAD } TtConvAlgorithm;
typedef enum TtBackend { TT_BACKEND_AUTO, TT_BACKEND_SELF, TT_BACKEND_MPI, TT_BACKEND_NCCL } TtBackend;
typedef enum TtMode { TT_MODE_AUTO, TT_MODE_MIN, TT_MODE_MAX } TtMode;
typedef enum TtOnError { TT_ON_ERROR_FAIL, TT_ON_ERROR_SKIP } TtOnError;
typedef enum TtAutoBool { TT_AUTO_BOOL, TT_TRUE, TT_FALSE } TtAutoBool;

/* int64_t fields may be TT_NULL_INT or TT_AUTO_INT, doubles NaN for null, where the comment says so. */
typedef struct TtDataConfig {
    const TtNode *train, *val; /* NULL when absent */
    int64_t global_batch_size;
    int64_t num_workers; /* or auto; 0 means 1 */
    int64_t prefetch_factor;
    bool shuffle, drop_last;
    int on_error;       /* TtOnError */
    int64_t max_errors; /* or null */
    int64_t max_pixels;
    bool orientation;
    int sampler;            /* TtSamplerChoice; after loading never AUTO */
    TtFloats class_weights; /* n == 0: by the classes' counts */
    double fraction;        /* in (0,1] */
    int64_t folds, fold;    /* folds or null */
    int64_t val_batch_size; /* or null: global_batch_size */
    int64_t pad_multiple;   /* sound */
    double stall_timeout;   /* seconds */
} TtDataConfig;

typedef struct TtTransformsConfig {
    const TtNode *train, *val; /* lists, or NULL */
} TtTransformsConfig;

typedef struct TtEarlyStoppingConfig {
    int64_t patience; /* validations without improvement, or null: never */
    double min_delta;
} TtEarlyStoppingConfig;

typedef struct TtTrainerConfig {
    int64_t epochs;    /* null when only max_steps was given */
    int64_t max_steps; /* or null */
    const char *max_time;
    double max_seconds; /* max_time in seconds, or NaN */
    int precision;      /* TtPrecision */
    int64_t grad_accum_steps;
    double clip_grad_norm, clip_grad_value; /* or null */
    int64_t val_interval;                   /* epochs, or null: never */
    int64_t nonfinite_patience;
    int64_t threads;  /* or auto */
    double ema_decay; /* or null */
    TtEarlyStoppingConfig early_stopping;
    int conv_algorithm; /* TtConvAlgorithm */
    bool fusion, planning, reference, poison;
} TtTrainerConfig;

typedef struct TtDistributedConfig {
    int backend;           /* TtBackend */
    int64_t virtual_ranks; /* or null */
    bool sync_bn;
    double bucket_cap_mb, timeout;
} TtDistributedConfig;

typedef struct TtCheckpointConfig {
    int64_t every_n_steps, every_n_epochs; /* or null */
    bool save_last;
    int64_t keep_last;  /* newest checkpoints that stay, or null: all */
    int64_t save_top_k; /* best checkpoints that stay */
    const char *monitor;
    int mode; /* TtMode */
    bool async;
} TtCheckpointConfig;

typedef struct TtLoggingConfig {
    int64_t interval;
    bool tensorboard, jsonl, csv;
    int progress;                /* TtAutoBool */
    int64_t histograms_interval; /* steps, or null */
    bool images, plots;
} TtLoggingConfig;

typedef struct TtConfig {
    TtArena arena;
    const char *path;  /* as given */
    const char *bytes; /* the file, for the verbatim copy in the run directory */
    size_t size;
    TtNode *root; /* after overrides and references */

    const char *name;
    const char *output_dir;
    int64_t seed;
    int device; /* TtConfigDevice */
    const char *resume;
    const TtNode *model, *loss, *optimizer, *scheduler; /* NULL when absent */
    TtDataConfig data;
    TtTransformsConfig transforms;
    TtTrainerConfig trainer;
    TtDistributedConfig distributed;
    TtCheckpointConfig checkpoint;
    TtLoggingConfig logging;
} TtConfig;

/* The option table of the root, for reference pages. */
extern const TtOption tt_config_options[];

/* Read PATH, apply OVERRIDES ("key.path=YAML") in order, replace ${...}. Errors are TT_ECONFIG: "FILE:LINE:COL: ..."
 * or "argument 'key=value': ...". *OUT is NULL on failure. The sections of owners are not yet checked
 * (tt_sections_check). */
TtStatus tt_config_load(const char *path, int n_overrides, char *const *overrides, TtConfig **out) TT_NODISCARD;
/* The same from memory; PATH is for messages. */
TtStatus tt_config_parse(const char *path, const char *bytes, size_t size, int n_overrides, char *const *overrides,
                         TtConfig **out) TT_NODISCARD;
void tt_config_free(TtConfig *c); /* NULL is fine */

/* The whole tree as given, after references and overrides, as YAML that loads to the same configuration. */
TtStatus tt_config_write_resolved(const TtConfig *c, FILE *f) TT_NODISCARD;
/* Every key with its value, defaults included; with HELP its help and default behind it as a comment.
 * A section that its owner refuses is TT_ECONFIG. */
TtStatus tt_config_print(FILE *f, const TtConfig *c, bool help) TT_NODISCARD;

/* The node at a path such as "data.train" and its key, for errors about things that are missing; NULL when absent. */
const TtNode *tt_config_node(const TtConfig *c, const char *path, const TtNode **key);
/* Fail when the key at PATH is missing or null, at what should hold it. `model` is required by loading itself. */
TtStatus tt_config_require(const TtConfig *c, const char *path) TT_NODISCARD;

/* Seconds in "90", "1h30m", "2d", "01:30:00" or "1-12:00:00"; false when it is none of these or not positive. */
bool tt_duration_parse(const char *text, double *seconds);

#endif
