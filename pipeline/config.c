/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/config.c - the tables of all configuration keys, and loading. */
#include "pipeline/config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tree.h"
#include "pipeline/yaml.h"

/* ---- the keys */

#define ABOVE(v) .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = (v), .max = INFINITY
#define ABOVE_OR_NULL(v) .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = (v), .max = INFINITY
#define RANGE(lo, hi) .flags = TT_OPT_RANGED, .min = (lo), .max = (hi)
#define RANGE_OR_NULL(lo, hi) .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = (lo), .max = (hi)
#define RANGE_OR_AUTO(lo, hi) .flags = TT_OPT_AUTO | TT_OPT_RANGED, .min = (lo), .max = (hi)
#define COUNT(lo) RANGE(lo, 1e15)
#define COUNT_OR_NULL(lo) RANGE_OR_NULL(lo, 1e15)

#define AT(field) offsetof(TtDataConfig, field)
static const TtOption data_options[] = {
    {"train", TT_OPT_NODE, AT(train), .help = "training set: {type: ..., ...}"},
    {"val", TT_OPT_NODE, AT(val), .help = "validation set, or nothing"},
    {"global_batch_size", TT_OPT_INT, AT(global_batch_size), "64", RANGE(1, 1 << 24),
     .help = "samples of one optimizer step, over all ranks and micro-batches"},
    {"num_workers", TT_OPT_INT, AT(num_workers), "auto", RANGE_OR_AUTO(0, 1024),
     .help = "loader threads; auto: by the CPUs; 0 is taken as 1"},
    {"prefetch_factor", TT_OPT_INT, AT(prefetch_factor), "2", RANGE(1, 1024),
     .help = "batches prepared ahead by each loader thread"},
    {"shuffle", TT_OPT_BOOL, AT(shuffle), "true", .help = "a new order each epoch"},
    {"drop_last", TT_OPT_BOOL, AT(drop_last), "true", .help = "leave out a last batch that is not full (training)"},
    {"on_error", TT_OPT_ENUM, AT(on_error), "fail", .choices = "fail|skip",
     .help = "what a sample that cannot be read does: end the run; or be listed in bad_samples.tsv and, in training, "
             "replaced by the next, in validation left out"},
    {"max_errors", TT_OPT_INT, AT(max_errors), "null", COUNT_OR_NULL(0),
     .help = "with on_error: skip, how many bad samples are borne"},
    {"max_pixels", TT_OPT_INT, AT(max_pixels), "268435456", RANGE(1, 1e12), .help = "largest picture that is decoded"},
    {"orientation", TT_OPT_BOOL, AT(orientation), "true", .help = "turn pictures as their EXIF data says"},
    {"sampler", TT_OPT_ENUM, AT(sampler), "auto", .choices = "auto|sequential|random|weighted|stratified",
     .help = "order of the training set; auto: random or sequential, as shuffle says; weighted: with replacement, by "
             "class_weights; stratified: each batch holds the classes in proportion"},
    {"class_weights", TT_OPT_FLOATS, AT(class_weights), "null", RANGE_OR_NULL(0, INFINITY),
     .help = "with sampler: weighted, one weight a class; null: 1 / size of the class"},
    {"fraction", TT_OPT_FLOAT, AT(fraction), "1.0", .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1,
     .help = "part of the training set to use, chosen by the seed, the same part of each class"},
    {"folds", TT_OPT_INT, AT(folds), "null", RANGE_OR_NULL(2, 10000),
     .help = "cross-validation: split the training set into this many parts and validate on part `fold`"},
    {"fold", TT_OPT_INT, AT(fold), "0", RANGE(0, 9999), .help = "the part to validate on, from 0"},
    {"val_batch_size", TT_OPT_INT, AT(val_batch_size), "null", RANGE_OR_NULL(1, 1 << 24),
     .help = "samples of a validation batch over all ranks; null: global_batch_size"},
    {"pad_multiple", TT_OPT_INT, AT(pad_multiple), "1", RANGE(1, 1 << 20),
     .help =
         "sound: fill batches up to a multiple of this many frames, so that fewer lengths need a plan of their own; "
         "1 is PyTorch's padding"},
    {"stall_timeout", TT_OPT_FLOAT, AT(stall_timeout), "60.0", ABOVE(0),
     .help = "seconds after which a sample that is still being read is reported"},
    {0}};
#undef AT

#define AT(field) offsetof(TtTransformsConfig, field)
static const TtOption transforms_options[] = {
    {"train", TT_OPT_NODE, AT(train), .help = "list of transforms for training samples"},
    {"val", TT_OPT_NODE, AT(val), .help = "list of transforms for validation samples"},
    {0}};
#undef AT

static const TtOption early_stopping_options[] = {
    {"patience", TT_OPT_INT, offsetof(TtEarlyStoppingConfig, patience), "null", COUNT_OR_NULL(1),
     .help = "stop after this many validations without improvement of checkpoint.monitor"},
    {"min_delta", TT_OPT_FLOAT, offsetof(TtEarlyStoppingConfig, min_delta), "0.0", RANGE(0, INFINITY),
     .help = "what counts as an improvement"},
    {0}};

#define AT(field) offsetof(TtTrainerConfig, field)
static const TtOption trainer_options[] = {
    {"epochs", TT_OPT_INT, AT(epochs), "90", RANGE_OR_NULL(1, 1e9),
     .help = "passes over the training set; unbounded when only max_steps is given"},
    {"max_steps", TT_OPT_INT, AT(max_steps), "null", COUNT_OR_NULL(1),
     .help = "optimizer steps; the run ends at this or at epochs, whichever comes first"},
    {"max_time", TT_OPT_STRING, AT(max_time), "null", .flags = TT_OPT_NULL,
     .help = "stop with a checkpoint and exit code 75 after this time: seconds, 1h30m or 01:30:00"},
    {"precision", TT_OPT_ENUM, AT(precision), "fp32", .choices = "fp32|bf16",
     .help = "bf16: products in bfloat16; weights, statistics and loss stay float32"},
    {"grad_accum_steps", TT_OPT_INT, AT(grad_accum_steps), "1", RANGE(1, 1 << 24),
     .help = "micro-batches of one optimizer step"},
    {"clip_grad_norm", TT_OPT_FLOAT, AT(clip_grad_norm), "null", ABOVE_OR_NULL(0),
     .help = "largest L2 norm of the gradient"},
    {"clip_grad_value", TT_OPT_FLOAT, AT(clip_grad_value), "null", ABOVE_OR_NULL(0),
     .help = "largest absolute value in the gradient"},
    {"val_interval", TT_OPT_INT, AT(val_interval), "1", COUNT_OR_NULL(1), .help = "epochs between validations"},
    {"nonfinite_patience", TT_OPT_INT, AT(nonfinite_patience), "3", COUNT(0),
     .help = "steps in a row with a loss or gradient that is not finite (they are skipped) before the run fails"},
    {"threads", TT_OPT_INT, AT(threads), "auto", RANGE_OR_AUTO(1, 4096), .help = "threads of the kernels"},
    {"ema_decay", TT_OPT_FLOAT, AT(ema_decay), "null", .flags = TT_OPT_NULL | TT_OPT_RANGED | TT_OPT_BELOW_MAX,
     .min = 0, .max = 1, .help = "keep a moving average of the weights and validate with it"},
    {"early_stopping", TT_OPT_MAP, AT(early_stopping), .sub = early_stopping_options,
     .help = "end the run when it no longer improves"},
    {"conv_algorithm", TT_OPT_ENUM, AT(conv_algorithm), "auto", .choices = "auto|direct|winograd",
     .help = "how convolutions are computed"},
    {"fusion", TT_OPT_BOOL, AT(fusion), "true", .help = "join neighbouring operations"},
    {"planning", TT_OPT_BOOL, AT(planning), "true", .help = "let activations share memory"},
    {"reference", TT_OPT_BOOL, AT(reference), "false", .help = "use the plain reference kernels (slow)"},
    {"poison", TT_OPT_BOOL, AT(poison), "false", .help = "fill memory with NaN before its use (to find faults)"},
    {0}};
#undef AT

#define AT(field) offsetof(TtDistributedConfig, field)
static const TtOption distributed_options[] = {
    {"backend", TT_OPT_ENUM, AT(backend), "auto", .choices = "auto|self|mpi|nccl", .help = "how ranks communicate"},
    {"virtual_ranks", TT_OPT_INT, AT(virtual_ranks), "null", RANGE_OR_NULL(1, 65536),
     .help = "shards of the global batch, whatever the number of ranks: the same bits at every world size that "
             "divides it"},
    {"sync_bn", TT_OPT_BOOL, AT(sync_bn), "false", .help = "batch statistics over all ranks"},
    {"bucket_cap_mb", TT_OPT_FLOAT, AT(bucket_cap_mb), "25.0", ABOVE(0), .help = "megabytes of one all-reduce"},
    {"timeout", TT_OPT_FLOAT, AT(timeout), "600.0", ABOVE(0), .help = "seconds to wait for another rank"},
    {0}};
#undef AT

#define AT(field) offsetof(TtCheckpointConfig, field)
static const TtOption checkpoint_options[] = {
    {"every_n_steps", TT_OPT_INT, AT(every_n_steps), "null", COUNT_OR_NULL(1), .help = "steps between checkpoints"},
    {"every_n_epochs", TT_OPT_INT, AT(every_n_epochs), "1", COUNT_OR_NULL(1), .help = "epochs between checkpoints"},
    {"save_last", TT_OPT_BOOL, AT(save_last), "true", .help = "write a checkpoint when the run ends or is stopped"},
    {"keep_last", TT_OPT_INT, AT(keep_last), "1", COUNT_OR_NULL(1),
     .help = "newest checkpoints that are kept; null: all"},
    {"save_top_k", TT_OPT_INT, AT(save_top_k), "1", COUNT(0), .help = "best checkpoints that are kept"},
    {"monitor", TT_OPT_STRING, AT(monitor), "auto",
     .help = "the metric that says which is best; auto: val/acc1 of classifiers, val/cer of speech, val/si_snri of "
             "separation, else val/loss"},
    {"mode", TT_OPT_ENUM, AT(mode), "auto", .choices = "auto|min|max",
     .help = "whether less or more of it is better; auto: less of a loss or an error rate, more of anything else"},
    {"async", TT_OPT_BOOL, AT(async), "true", .help = "write while training goes on"},
    {0}};
#undef AT

#define AT(field) offsetof(TtLoggingConfig, field)
static const TtOption logging_options[] = {
    {"interval", TT_OPT_INT, AT(interval), "50", COUNT(1), .help = "steps between records"},
    {"tensorboard", TT_OPT_BOOL, AT(tensorboard), "true", .help = "write tb/events.out.tfevents.*"},
    {"jsonl", TT_OPT_BOOL, AT(jsonl), "true", .help = "write metrics.jsonl"},
    {"csv", TT_OPT_BOOL, AT(csv), "true", .help = "write summary.csv"},
    {"progress", TT_OPT_ENUM, AT(progress), "auto", .choices = "auto|true|false",
     .help = "progress bar; auto: on a terminal"},
    {"histograms_interval", TT_OPT_INT, AT(histograms_interval), "null", COUNT_OR_NULL(1),
     .help = "steps between histograms of weights and gradients"},
    {"images", TT_OPT_BOOL, AT(images), "true", .help = "pictures of samples and mistakes in TensorBoard"},
    {"plots", TT_OPT_BOOL, AT(plots), "true", .help = "write plots/*.png"},
    {0}};
#undef AT

#define AT(field) offsetof(TtConfig, field)
const TtOption tt_config_options[] = {
    {"name", TT_OPT_STRING, AT(name), "null", .flags = TT_OPT_NULL,
     .help = "the run's name; null: the file's name without its extension"},
    {"output_dir", TT_OPT_STRING, AT(output_dir), "runs/${name}",
     .help = "where the run writes, relative to the working directory"},
    {"seed", TT_OPT_INT, AT(seed), "42", RANGE(0, INFINITY), .help = "of all random numbers"},
    {"device", TT_OPT_ENUM, AT(device), "auto", .choices = "auto|cpu|cuda", .help = "where the model runs"},
    {"resume", TT_OPT_STRING, AT(resume), "auto",
     .help = "auto: from the newest checkpoint if there is one; never: from the start, refused where output_dir holds "
             "a run (--overwrite removes it); must: from a checkpoint or fail; or the checkpoint's directory"},
    {"model", TT_OPT_NODE, AT(model), .help = "{name: ..., ...}"},
    {"data", TT_OPT_MAP, AT(data), .sub = data_options, .help = "data sets and how they are read"},
    {"transforms", TT_OPT_MAP, AT(transforms), .sub = transforms_options, .help = "what is done to each sample"},
    {"loss", TT_OPT_NODE, AT(loss), .help = "{name: ..., ...}"},
    {"optimizer", TT_OPT_NODE, AT(optimizer), .help = "{name: ..., ...}"},
    {"scheduler", TT_OPT_NODE, AT(scheduler), .help = "{name: ..., ...}; null: a constant rate"},
    {"trainer", TT_OPT_MAP, AT(trainer), .sub = trainer_options, .help = "how long and how to train"},
    {"distributed", TT_OPT_MAP, AT(distributed), .sub = distributed_options, .help = "several processes"},
    {"checkpoint", TT_OPT_MAP, AT(checkpoint), .sub = checkpoint_options, .help = "what is saved, and when"},
    {"logging", TT_OPT_MAP, AT(logging), .sub = logging_options, .help = "what is recorded"},
    {0}};
#undef AT

/* ---- durations */

bool tt_duration_parse(const char *text, double *seconds)
{
    static const double per_field[] = {1, 60, 3600};
    double total = 0, days = 0;
    char *end;
    const char *p = text;
    if (!isdigit((unsigned char)*p)) return false;
    if (strchr(p, ':')) { /* [days-]hours:minutes:seconds, or hours:minutes */
        double field[3];
        int n = 0;
        if (strspn(p, "0123456789-:") != strlen(p)) return false;
        const char *dash = strchr(p, '-');
        if (dash) {
            days = strtod(p, NULL);
            p = dash + 1;
        }
        for (; n < 3 && isdigit((unsigned char)*p); p = *end == ':' ? end + 1 : end)
            field[n++] = (double)strtoul(p, &end, 10);
        if (*p || p[-1] == ':' || n < 2) return false;
        for (int i = 0; i < n; i++) total += field[i] * per_field[2 - i];
        total += days * 86400;
    } else {
        while (*p) {
            static const char letters[] = "smhd";
            static const double units[] = {1, 60, 3600, 86400};
            if (!isdigit((unsigned char)*p)) return false;
            size_t n = strspn(p, "0123456789."); /* no exponent, no hexadecimal */
            char number[64];
            if (n >= sizeof number) return false;
            memcpy(number, p, n);
            number[n] = '\0';
            double v = strtod(number, &end);
            if (*end) return false;
            p += n;
            const char *letter = *p ? strchr(letters, *p) : letters;
            if (!letter) return false;
            total += v * units[letter - letters];
            p += *p != '\0';
        }
    }
    *seconds = total;
    return total > 0 && isfinite(total);
}

/* ---- checks that concern several keys */

const TtNode *tt_config_node(const TtConfig *c, const char *path, const TtNode **key)
{
    TtNode *k = NULL;
    const TtNode *n = tt_tree_find(c->root, path, &k);
    if (key) *key = k;
    return n;
}

TtStatus tt_config_require(const TtConfig *c, const char *path)
{
    const TtNode *key, *n = tt_config_node(c, path, &key);
    if (!tt_node_is_null(n)) return TT_OK;
    char parent[64];
    const char *dot = strrchr(path, '.');
    const TtNode *at = n ? n : NULL;
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - path) : 0, path);
    if (!at && dot && tt_config_node(c, parent, &key)) at = key;
    if (!at && c->root->count) at = c->root->keys[0];
    return tt_node_fail(at, "the key '%s' is missing", path);
}

static TtStatus check_data(TtConfig *c)
{
    TtDataConfig *d = &c->data;
    const TtNode *sampler = tt_config_node(c, "data.sampler", NULL), *shuffle = tt_config_node(c, "data.shuffle", NULL);
    if (d->sampler == TT_SAMPLE_AUTO)
        d->sampler = d->shuffle ? TT_SAMPLE_RANDOM : TT_SAMPLE_SEQUENTIAL;
    else if (shuffle && !d->shuffle && d->sampler != TT_SAMPLE_SEQUENTIAL)
        return tt_node_fail(sampler, "sampler: %s and shuffle: false contradict each other", sampler->text);
    else if (shuffle && d->shuffle && d->sampler == TT_SAMPLE_SEQUENTIAL)
        return tt_node_fail(sampler, "sampler: sequential and shuffle: true contradict each other");
    const TtNode *weights = tt_config_node(c, "data.class_weights", NULL);
    double sum = 0;
    for (int i = 0; i < d->class_weights.n; i++) sum += d->class_weights.v[i];
    if (d->class_weights.n && !(sum > 0)) return tt_node_fail(weights, "class_weights are all 0");
    if (d->class_weights.n && d->sampler != TT_SAMPLE_WEIGHTED)
        return tt_node_fail(weights, "class_weights need sampler: weighted");
    const TtNode *fold = tt_config_node(c, "data.fold", NULL), *folds = tt_config_node(c, "data.folds", NULL);
    if (d->folds == TT_NULL_INT && d->fold != 0) return tt_node_fail(fold, "fold needs folds, the number of parts");
    if (d->folds != TT_NULL_INT && d->fold >= d->folds)
        return tt_node_fail(fold ? fold : folds, "fold must be less than folds, %lld", (long long)d->folds);
    if (d->folds != TT_NULL_INT && !tt_node_is_null(d->val))
        return tt_node_fail(folds, "folds validates on a part of data.train; remove data.val");
    const TtNode *errors = tt_config_node(c, "data.max_errors", NULL);
    if (d->max_errors != TT_NULL_INT && d->on_error != TT_ON_ERROR_SKIP)
        return tt_node_fail(errors, "max_errors needs on_error: skip");
    return TT_OK;
}

static TtStatus check_trainer(TtConfig *c)
{
    TtTrainerConfig *t = &c->trainer;
    const TtNode *max_time = tt_config_node(c, "trainer.max_time", NULL);
    t->max_seconds = NAN;
    if (t->max_time && !tt_duration_parse(t->max_time, &t->max_seconds))
        return tt_node_fail(max_time, "max_time must be a time above 0, such as 5400, 1h30m or 01:30:00, not '%.60s'",
                            t->max_time);
    const TtNode *epochs = tt_config_node(c, "trainer.epochs", NULL);
    if (!epochs && t->max_steps != TT_NULL_INT) t->epochs = TT_NULL_INT;
    if (t->epochs == TT_NULL_INT && t->max_steps == TT_NULL_INT)
        return tt_node_fail(epochs, "epochs is null and max_steps is not given: the run would never end");
    const TtNode *accum = tt_config_node(c, "trainer.grad_accum_steps", NULL);
    if (c->data.global_batch_size % t->grad_accum_steps)
        return tt_node_fail(accum, "grad_accum_steps must divide data.global_batch_size, %lld",
                            (long long)c->data.global_batch_size);
    if (!isnan(t->clip_grad_norm) && !isnan(t->clip_grad_value))
        return tt_node_fail(tt_config_node(c, "trainer.clip_grad_value", NULL),
                            "give one of clip_grad_norm and clip_grad_value");
    const TtNode *ranks = tt_config_node(c, "distributed.virtual_ranks", NULL);
    if (c->distributed.virtual_ranks != TT_NULL_INT && c->data.global_batch_size % c->distributed.virtual_ranks)
        return tt_node_fail(ranks, "virtual_ranks must divide data.global_batch_size, %lld",
                            (long long)c->data.global_batch_size);
    return TT_OK;
}

static TtStatus check_root(TtConfig *c)
{
    const TtNode *n = tt_config_node(c, "name", NULL);
    if (!*c->name || strchr(c->name, '/') || strcmp(c->name, "..") == 0 || strcmp(c->name, ".") == 0)
        return tt_node_fail(n, "name must be a plain name without '/', not '%.60s'", c->name);
    n = tt_config_node(c, "output_dir", NULL);
    if (!*c->output_dir) return tt_node_fail(n, "output_dir is empty");
    n = tt_config_node(c, "resume", NULL);
    if (!*c->resume) return tt_node_fail(n, "resume must be auto, never, must or a directory");
    return TT_OK;
}

/* ---- loading */

/* The file's name without folders and extension. */
static const char *stem(const char *path, TtArena *arena)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return tt_arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static void add_default(TtConfig *c, const char *key, const char *text)
{
    TtNode *n = tt_node_get(c->root, key);
    if (n && !tt_node_is_null(n)) return;
    TtNode *k = TT_NEW(&c->arena, TtNode), *value = n ? n : TT_NEW(&c->arena, TtNode);
    value->text = text;
    value->quoted = true;
    value->pending = strchr(text, '$') != NULL;
    k->text = key;
    k->quoted = true;
    if (!n) tt_node_append(c->root, &c->arena, k, value);
}

static int list_defaults(const TtOption *table, const char *prefix, TtArena *arena, TtTreeDefault *out, int n)
{
    for (const TtOption *o = table; o->key; o++) {
        const char *path = tt_arena_printf(arena, "%s%s", prefix, o->key);
        if (o->type == TT_OPT_MAP)
            n = list_defaults(o->sub, tt_arena_printf(arena, "%s.", path), arena, out, n);
        else
            out[n++] = (TtTreeDefault){path, o->def};
    }
    return n;
}

static TtStatus load(TtConfig *c, int n_overrides, char *const *overrides)
{
    enum { MAX_KEYS = 200 };
    TtTreeDefault *defaults = TT_NEWN(&c->arena, TtTreeDefault, MAX_KEYS + 1);
    TT_ASSERT(list_defaults(tt_config_options, "", &c->arena, defaults, 0) < MAX_KEYS);
    TT_TRY(tt_yaml_parse(c->bytes, c->size, (TtMark){.file = c->path}, &c->arena, &c->root));
    if (tt_node_is_null(c->root)) c->root->mark.line = c->root->mark.col = 1;
    if (c->root->kind != TT_NODE_MAP)
        return tt_node_fail(c->root, "the configuration %s",
                            tt_node_is_null(c->root) ? "is empty" : "must be a map of keys to values");
    for (int i = 0; i < n_overrides; i++) TT_TRY(tt_tree_override(c->root, overrides[i], &c->arena));
    add_default(c, "name", stem(c->path, &c->arena));
    add_default(c, "output_dir", "runs/${name}");
    TT_TRY(tt_tree_interpolate(c->root, defaults, &c->arena));
    TT_TRY(tt_options_parse(tt_config_options, c->root, NULL, NULL, &c->arena, c));
    TT_TRY(check_root(c));
    TT_TRY(tt_config_require(c, "model"));
    TT_TRY(check_data(c));
    return check_trainer(c);
}

TtStatus tt_config_parse(const char *path, const char *bytes, size_t size, int n_overrides, char *const *overrides,
                         TtConfig **out)
{
    TtConfig *c = tt_realloc(NULL, sizeof *c);
    memset(c, 0, sizeof *c);
    c->path = tt_arena_strdup(&c->arena, path);
    c->bytes = tt_arena_copy(&c->arena, bytes, size);
    c->size = size;
    TtStatus status = load(c, n_overrides, overrides);
    if (status != TT_OK) {
        tt_config_free(c);
        c = NULL;
    }
    *out = c;
    return status;
}

TtStatus tt_config_load(const char *path, int n_overrides, char *const *overrides, TtConfig **out)
{
    TtArena arena = {0};
    const char *bytes;
    size_t size;
    *out = NULL;
    TtStatus status = tt_yaml_read_file(path, &arena, &bytes, &size);
    if (status == TT_OK) status = tt_config_parse(path, bytes, size, n_overrides, overrides, out);
    tt_arena_free(&arena);
    return status;
}

void tt_config_free(TtConfig *c)
{
    if (!c) return;
    tt_arena_free(&c->arena);
    free(c);
}
