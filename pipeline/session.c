/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/session.c - open what a config names. */
#include "pipeline/session.h"

#include <fnmatch.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/sections.h"
#include "pipeline/task.h"
#include "pipeline/weights.h"

/* What this build cannot do must not be passed over in silence. */
static TtStatus check_device(const TtConfig *c)
{
    static const char *const backends[] = {"auto", "self", "mpi", "nccl"};
    if (c->device == TT_DEVICE_CUDA)
        return tt_node_fail(tt_config_node(c, "device", NULL),
                            "device: cuda, but this build runs on the CPU only; use cpu or auto");
    if (c->distributed.virtual_ranks != TT_NULL_INT && c->distributed.virtual_ranks > 1)
        return tt_node_fail(tt_config_node(c, "distributed.virtual_ranks", NULL),
                            "virtual_ranks: %lld, but this build trains in one shard; use 1 or null",
                            (long long)c->distributed.virtual_ranks);
    const char *backend = backends[c->distributed.backend];
    if (strcmp(backend, "auto") != 0 && strcmp(backend, "self") != 0)
        return tt_node_fail(tt_config_node(c, "distributed.backend", NULL),
                            "backend: %s, but this build trains in one process; use self or auto", backend);
    return TT_OK;
}

/* The metrics that decide something are known before an epoch has been spent on them. */
static TtStatus check_metrics(TtSession *s)
{
    const TtConfig *c = s->config;
    const TtNode *at = tt_config_node(c, "checkpoint.monitor", NULL);
    s->monitor = strcmp(c->checkpoint.monitor, "auto") == 0 ? s->task->monitor : c->checkpoint.monitor;
    s->less_is_better =
        c->checkpoint.mode == TT_MODE_AUTO ? tt_metric_less_is_better(s->monitor) : c->checkpoint.mode == TT_MODE_MIN;
    if (!tt_session_has_val(c)) return TT_OK;
    TT_TRY(tt_task_check_metric(s->task, s->monitor, at, "checkpoint.monitor"));
    const char *watched = tt_scheduler_monitor(s->scheduler);
    if (!watched) return TT_OK;
    const TtNode *key = tt_node_get(c->scheduler, "monitor");
    return tt_task_check_metric(s->task, watched, key ? key : c->scheduler, "scheduler.monitor");
}

bool tt_session_has_val(const TtConfig *c)
{
    return !tt_node_is_null(c->data.val) || (c->data.folds != TT_NULL_INT && c->data.folds > 1);
}

TtStatus tt_session_parse(const TtConfig *c, TtSession *s)
{
    *s = (TtSession){.config = c};
    TT_TRY(tt_sections_check(c));
    TT_TRY(tt_config_require(c, "optimizer"));
    TT_TRY(tt_model_parse(c->model, tt_node_key(c->root, "model"), &s->arena, &s->model));
    s->task = tt_task_find(tt_model_task(&s->model));
    TT_TRY(tt_loss_parse(c->loss, tt_node_key(c->root, "loss"), tt_model_task(&s->model), tt_model_classes(&s->model),
                         &s->arena, &s->loss));
    TT_TRY(tt_transform_chain_parse(c->transforms.train, &s->arena, &s->train_transforms));
    TT_TRY(tt_transform_chain_parse(c->transforms.val, &s->arena, &s->val_transforms));
    if (s->val_transforms.n_batch)
        return tt_node_fail(c->transforms.val, "%s mixes training batches; it has no place in transforms.val",
                            s->val_transforms.batch[0].def->name);
    TT_TRY(tt_optimizer_parse(c->optimizer, tt_node_key(c->root, "optimizer"), &s->arena, &s->optimizer));
    TT_TRY(tt_scheduler_parse(c->scheduler, tt_node_key(c->root, "scheduler"), &s->arena, &s->scheduler));
    TT_TRY(check_device(c));
    TT_TRY(check_metrics(s));
    s->threads = c->trainer.threads == TT_AUTO_INT ? tt_cpu_count() : (int)c->trainer.threads;
    s->num_workers = c->data.num_workers == TT_AUTO_INT ? tt_loader_auto_workers() : (int)c->data.num_workers;
    if (s->num_workers < 1) s->num_workers = 1; /* PyTorch's 0, loading in the main thread, is one worker here */
    return TT_OK;
}

/* The shape of a set's samples, found by loading the first. */
static TtStatus find_shape(const TtSession *s, const TtDataset *d, const TtTransformChain *chain, TtNetShape *out)
{
    TtSample sample = {0};
    TtTransformScratch scratch = {0};
    TtStatus st = TT_OK;
    int64_t tries = s->config->data.on_error == TT_ON_ERROR_SKIP ? TT_MIN(d->count, (int64_t)100) : 1;
    for (int64_t i = 0; i < tries; i++) { /* with on_error: skip, the first one that can be read */
        st = tt_dataset_load(d, chain, (uint64_t)s->config->seed, 0, (uint64_t)i, i, &sample, &scratch, NULL);
        if (st != TT_EDATA) break;
    }
    if (tt_dataset_media(d) == TT_MEDIA_SOUND)
        *out = (TtNetShape){.x = sample.parts[TT_PART_X].shape,
                            .extra = sample.parts[TT_PART_EXTRA].shape,
                            .target = sample.parts[TT_PART_TARGET].shape,
                            .target_dtype = sample.parts[TT_PART_TARGET].dtype};
    else
        *out = tt_net_picture(sample.image.h, sample.image.w);
    tt_sample_free(&sample);
    tt_transform_scratch_free(&scratch);
    return st;
}

/* The data set is one for this model. */
static TtStatus check_task(const TtSession *s, const TtNode *node, const TtTransformChain *chain)
{
    const TtDatasetDef *def;
    TT_TRY(tt_dataset_type(node, NULL, &def));
    TtTask task = def->task ? def->task : TT_TASK_CLASSIFICATION;
    if (task != tt_model_task(&s->model)) {
        char fit[256] = "";
        for (int i = 0; tt_datasets[i]; i++) {
            TtTask other = tt_datasets[i]->task ? tt_datasets[i]->task : TT_TASK_CLASSIFICATION;
            if (other == tt_model_task(&s->model))
                snprintf(fit + strlen(fit), sizeof fit - strlen(fit), "%s%s", *fit ? ", " : "", tt_datasets[i]->name);
        }
        return tt_node_fail(tt_node_get(node, "type"), "%s is no data set for %s; it takes %s", def->name,
                            s->model.def->name, fit);
    }
    if (def->no_transforms && chain->n)
        return tt_node_fail(chain->list[0].node, "a data set of type %s takes no transforms", def->name);
    return tt_transform_chain_check_media(chain, def->media ? def->media : TT_MEDIA_IMAGE, def->name);
}

/* What the data set must know of the job; vocoders: that it has the frames which the model counts in. */
static TtStatus describe_job(const TtSession *s, TtDataset *d, const TtNode *node, const TtTransformChain *chain,
                             bool training)
{
    d->job = (TtDatasetJob){.training = training,
                            .skip_errors = s->config->data.on_error == TT_ON_ERROR_SKIP,
                            .classes = (int)tt_model_classes(&s->model)};
    if (!s->model.def->vocoder) return TT_OK;
    s->model.def->vocoder(s->model.options, &d->job.hop, &d->job.kernel_size);
    const TtNode *at = node;
    int64_t hop = tt_transform_chain_hop(chain, &at);
    if (hop == 0) return tt_node_fail(at, "the transforms must make a spectrogram: give MelSpectrogram");
    if (hop == d->job.hop) return TT_OK;
    return tt_node_fail(at, "%s has a hop_length of %lld, and model.hop_length is %d: they must agree", at->text,
                        (long long)hop, d->job.hop);
}

static TtStatus check_classes(const TtSession *s, const TtDataset *d, const char *which)
{
    int64_t classes = tt_model_classes(&s->model);
    if (tt_model_task(&s->model) == TT_TASK_VOCODER) return TT_OK;
    if (tt_model_task(&s->model) == TT_TASK_SEPARATION) {
        if (d->classes == classes) return TT_OK;
        return tt_node_fail(s->config->model, "data.%s has %d sources a mixture, but the model splits into %lld", which,
                            d->classes, (long long)classes);
    }
    const TtNode *model = s->config->model;
    const TtNode *at = tt_node_get(model, "num_classes") ? tt_node_get(model, "num_classes") : model;
    if (d->classes > classes)
        return tt_node_fail(at, "data.%s has %d classes but model.num_classes is %lld%s: set model.num_classes to %d",
                            which, d->classes, (long long)classes, at == model ? " (the default)" : "", d->classes);
    if (d->classes && d->classes < classes)
        tt_warn("data.%s has %d classes; model.num_classes is %lld, so %lld outputs are never right", which, d->classes,
                (long long)classes, (long long)(classes - d->classes));
    return TT_OK;
}

static TtStatus open_sampler(const TtSession *s, const TtDataset *d, bool train, TtSampler **out)
{
    const TtConfig *c = s->config;
    TtSamplerOptions o = {.kind = TT_SAMPLER_SEQUENTIAL, .seed = (uint64_t)c->seed};
    if (c->data.folds != TT_NULL_INT && c->data.folds > 1)
        o.folds = (int)c->data.folds, o.fold = (int)c->data.fold, o.holdout = !train;
    if (train) {
        o.fraction = c->data.fraction;
        o.class_weights = c->data.class_weights.n ? c->data.class_weights.v : NULL,
        o.n_class_weights = c->data.class_weights.n;
        switch (c->data.sampler) {
        case TT_SAMPLE_RANDOM: o.kind = TT_SAMPLER_RANDOM; break;
        case TT_SAMPLE_WEIGHTED: o.kind = TT_SAMPLER_WEIGHTED; break;
        case TT_SAMPLE_STRATIFIED: o.kind = TT_SAMPLER_STRATIFIED; break;
        default: break; /* sequential */
        }
    }
    return tt_sampler_open(d, &o, out);
}

static TtStatus open_set(TtSession *s, bool train)
{
    const TtConfig *c = s->config;
    const bool fold = !train && tt_node_is_null(c->data.val); /* a part of the training set */
    const TtNode *node = train || fold ? c->data.train : c->data.val;
    const TtTransformChain *chain = train ? &s->train_transforms : &s->val_transforms;
    TtDataset **d = train ? &s->train : &s->val;
    TtImageOptions image = {.max_pixels = c->data.max_pixels, .ignore_orientation = !c->data.orientation};
    TT_TRY(check_task(s, node, chain));
    TT_TRY(tt_dataset_open(node, &image, d));
    TT_TRY(describe_job(s, *d, node, chain, train));
    TT_TRY(check_classes(s, *d, train || fold ? "train" : "val"));
    TT_TRY(open_sampler(s, *d, train, train ? &s->train_sampler : &s->val_sampler));
    return find_shape(s, *d, chain, train ? &s->train_shape : &s->val_shape);
}

/* Steps of an epoch and of the run. */
static TtStatus count_steps(TtSession *s)
{
    const TtConfig *c = s->config;
    int64_t n = tt_sampler_count(s->train_sampler), batch = c->data.global_batch_size;
    s->steps_per_epoch = c->data.drop_last ? n / batch : (n + batch - 1) / batch;
    if (s->steps_per_epoch == 0)
        return TT_FAIL(TT_EDATA,
                       "data.train has %lld samples, fewer than one batch of %lld: lower data.global_batch_size "
                       "or set data.drop_last to false",
                       (long long)n, (long long)batch);
    s->total_steps = c->trainer.epochs == TT_NULL_INT ? c->trainer.max_steps : c->trainer.epochs * s->steps_per_epoch;
    if (c->trainer.max_steps != TT_NULL_INT) s->total_steps = TT_MIN(s->total_steps, c->trainer.max_steps);
    return TT_OK;
}

TtStatus tt_session_open_data(TtSession *s, unsigned what)
{
    const TtConfig *c = s->config;
    if (what & TT_SESSION_TRAIN) {
        TT_TRY(tt_config_require(c, "data.train"));
        TT_TRY(open_set(s, true));
        TT_TRY(count_steps(s));
    }
    if ((what & TT_SESSION_VAL) && tt_session_has_val(c)) TT_TRY(open_set(s, false));
    if (s->train && s->val) TT_TRY(tt_dataset_same_classes(s->train, s->val));
    return TT_OK;
}

static TtStatus open_loader(TtSession *s, bool train)
{
    const TtConfig *c = s->config;
    int64_t batch = c->data.global_batch_size;
    if (!train && c->data.val_batch_size != TT_NULL_INT) batch = c->data.val_batch_size;
    TtLoaderOptions o = {
        .dataset = train ? s->train : s->val,
        .sampler = train ? s->train_sampler : s->val_sampler,
        .transforms = train ? &s->train_transforms : &s->val_transforms,
        .seed = (uint64_t)c->seed,
        .batch_size = (int)batch,
        .drop_last = train && c->data.drop_last,
        .stop_at_end = !train,
        .num_workers = s->num_workers,
        .prefetch_factor = (int)c->data.prefetch_factor,
        .skip_errors = c->data.on_error == TT_ON_ERROR_SKIP,
        .max_errors = c->data.max_errors == TT_NULL_INT ? -1 : c->data.max_errors,
        .bad_samples_path = s->bad_samples_path,
        .stall_seconds = c->data.stall_timeout,
        .drop_bad = !train,
        .pad_multiple = c->data.pad_multiple,
        .stop = s->stop,
        .num_classes = s->task->task == TT_TASK_CLASSIFICATION ? (int)tt_model_classes(&s->model) : 0,
        .channels = 3,
    };
    return tt_loader_open(&o, train ? &s->train_loader : &s->val_loader);
}

TtStatus tt_session_open_loaders(TtSession *s)
{
    if (s->train) TT_TRY(open_loader(s, true));
    if (s->val) TT_TRY(open_loader(s, false));
    return TT_OK;
}

static TtStatus freeze(TtSession *s)
{
    TtParamSet *p = tt_net_params(s->net);
    for (int i = 0; i < s->model.freeze.n; i++) {
        bool any = false;
        for (int k = 0; k < p->count; k++) {
            TtParam *q = p->list[k];
            if (q->buffer || fnmatch(s->model.freeze.v[i], q->name, 0) != 0) continue;
            q->frozen = any = true;
        }
        if (!any)
            return tt_node_fail(tt_node_get(s->config->model, "freeze"), "model.freeze: no parameter matches '%s'",
                                s->model.freeze.v[i]);
    }
    return TT_OK;
}

TtStatus tt_session_open_net(TtSession *s)
{
    const TtConfig *c = s->config;
    omp_set_dynamic(0);
    omp_set_num_threads(s->threads);
    TtNetOptions o = {
        .model = &s->model,
        .loss = s->no_loss ? NULL : &s->loss,
        .bf16 = c->trainer.precision == TT_PRECISION_BF16,
        .no_fusion = !c->trainer.fusion,
        .program = {.no_plan = !c->trainer.planning, .reference = c->trainer.reference, .poison = c->trainer.poison},
    };
    TtNetShape picture = tt_net_picture(224, 224);
    const TtNetShape *shape = s->train_shape.x.rank ? &s->train_shape : s->val_shape.x.rank ? &s->val_shape : &picture;
    TT_TRY(tt_net_open(&o, shape, (uint64_t)c->seed, &s->net));
    TT_TRY(freeze(s));
    if (!s->model.weights) return TT_OK;
    TtWeightsOptions wo = {.partial = !s->model.weights_strict,
                           .exclude = s->model.weights_exclude.v,
                           .exclude_count = s->model.weights_exclude.n};
    return tt_weights_load(tt_net_params(s->net), s->model.weights, &wo);
}

void tt_session_close(TtSession *s)
{
    bool train_closed = tt_loader_close(s->train_loader), val_closed = tt_loader_close(s->val_loader);
    if (!train_closed || !val_closed) return; /* a hanging reader still uses the rest */
    tt_sampler_close(s->train_sampler);
    tt_sampler_close(s->val_sampler);
    tt_dataset_close(s->train);
    tt_dataset_close(s->val);
    tt_net_close(s->net);
    tt_arena_free(&s->arena);
    *s = (TtSession){0};
}

const char *const *tt_session_classes(const TtSession *s, int *n)
{
    const TtDataset *d = s->train ? s->train : s->val;
    *n = d ? d->classes : 0;
    return d ? (const char *const *)d->class_names : NULL;
}

const char *tt_session_sample_text(const TtDataset *d, const TtNetShape *shape, char buf[TT_SAMPLE_TEXT])
{
    const int64_t *dims = shape->x.dims;
    if (tt_dataset_media(d) == TT_MEDIA_IMAGE)
        snprintf(buf, TT_SAMPLE_TEXT, "pictures of %lldx%lld", (long long)dims[0], (long long)dims[1]);
    else if (dims[1] == 1)
        snprintf(buf, TT_SAMPLE_TEXT, "clips (the first: %lld samples)", (long long)dims[0]);
    else
        snprintf(buf, TT_SAMPLE_TEXT, "clips (the first: %lld frames of %lld)", (long long)dims[0], (long long)dims[1]);
    return buf;
}
