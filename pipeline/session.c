/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/session.c - open what a config names. */
#include "pipeline/session.h"

#include <fnmatch.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "pipeline/sections.h"
#include "pipeline/weights.h"

TtStatus tt_session_parse(const TtConfig *c, TtSession *s)
{
    *s = (TtSession){.config = c};
    TT_TRY(tt_sections_check(c));
    TT_TRY(tt_config_require(c, "optimizer"));
    TT_TRY(tt_model_parse(c->model, tt_node_key(c->root, "model"), &s->arena, &s->model));
    TT_TRY(tt_loss_parse(c->loss, tt_node_key(c->root, "loss"), tt_model_classes(&s->model), &s->arena, &s->loss));
    TT_TRY(tt_transform_chain_parse(c->transforms.train, &s->arena, &s->train_transforms));
    TT_TRY(tt_transform_chain_parse(c->transforms.val, &s->arena, &s->val_transforms));
    if (s->val_transforms.n_batch)
        return tt_node_fail(c->transforms.val, "%s mixes training batches; it has no place in transforms.val",
                            s->val_transforms.batch[0].def->name);
    TT_TRY(tt_optimizer_parse(c->optimizer, tt_node_key(c->root, "optimizer"), &s->arena, &s->optimizer));
    TT_TRY(tt_scheduler_parse(c->scheduler, tt_node_key(c->root, "scheduler"), &s->arena, &s->scheduler));
    s->threads = c->trainer.threads == TT_AUTO_INT ? tt_cpu_count() : (int)c->trainer.threads;
    s->num_workers = c->data.num_workers == TT_AUTO_INT ? tt_loader_auto_workers() : (int)c->data.num_workers;
    if (s->num_workers < 1) s->num_workers = 1; /* PyTorch's 0, loading in the main thread, is one worker here */
    return TT_OK;
}

/* The size that leaves a chain, found by taking the first sample through it. */
static TtStatus find_size(const TtSession *s, const TtDataset *d, const TtTransformChain *chain, int *h, int *w)
{
    TtSample sample = {0};
    TtTransformScratch scratch = {0};
    TtStatus st = TT_OK;
    int64_t tries = s->config->data.on_error == TT_ON_ERROR_SKIP ? TT_MIN(d->count, (int64_t)100) : 1;
    for (int64_t i = 0; i < tries; i++) { /* with on_error: skip, the first one that can be read */
        st = d->def->read(d, i, &sample);
        if (st == TT_OK)
            st = tt_transform_chain_apply(chain, (uint64_t)s->config->seed, 0, (uint64_t)i, sample.name, &sample.image,
                                          &scratch);
        if (st != TT_EDATA) break;
    }
    *h = sample.image.h, *w = sample.image.w;
    tt_sample_free(&sample);
    tt_transform_scratch_free(&scratch);
    return st;
}

static TtStatus check_classes(const TtSession *s, const TtDataset *d, const char *which)
{
    int64_t classes = tt_model_classes(&s->model);
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
        o.class_weights = c->data.class_weights.v, o.n_class_weights = c->data.class_weights.n;
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
    const TtNode *node = train ? c->data.train : c->data.val;
    const char *which = train ? "train" : "val";
    TtDataset **d = train ? &s->train : &s->val;
    TtImageOptions image = {.max_pixels = c->data.max_pixels, .ignore_orientation = !c->data.orientation};
    TT_TRY(tt_dataset_open(node, &image, d));
    TT_TRY(check_classes(s, *d, which));
    TT_TRY(open_sampler(s, *d, train, train ? &s->train_sampler : &s->val_sampler));
    TT_TRY(find_size(s, *d, train ? &s->train_transforms : &s->val_transforms, train ? &s->h : &s->val_h,
                     train ? &s->w : &s->val_w));
    return TT_OK;
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
    if ((what & TT_SESSION_VAL) && !tt_node_is_null(c->data.val)) TT_TRY(open_set(s, false));
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
        .num_classes = (int)tt_model_classes(&s->model),
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
    int h = s->h ? s->h : s->val_h, w = s->w ? s->w : s->val_w;
    TT_TRY(tt_net_open(&o, h ? h : 224, w ? w : 224, (uint64_t)c->seed, &s->net));
    TT_TRY(freeze(s));
    if (!s->model.weights) return TT_OK;
    TtWeightsOptions wo = {.partial = !s->model.weights_strict,
                           .exclude = s->model.weights_exclude.v,
                           .exclude_count = s->model.weights_exclude.n};
    return tt_weights_load(tt_net_params(s->net), s->model.weights, &wo);
}

void tt_session_close(TtSession *s)
{
    tt_loader_close(s->train_loader);
    tt_loader_close(s->val_loader);
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
