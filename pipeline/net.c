/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/net.c - programs by batch shape. */
#include "pipeline/net.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ops/ops.h"

/* What a program is for. */
typedef struct Key {
    int n;
    bool training, mixed;
    TtNetShape shape;
} Key;

typedef struct Compiled {
    Key key;
    TtGraph *g;
    TtProgram *p;
    TtVal x, extra, target, lengths, target_lengths, scale, loss, per_sample, logits;
} Compiled;

struct TtNet {
    TtNetOptions o;
    TtParamSet *params;
    int64_t classes;
    int count;
    Compiled *list;
    TtSlab slab;    /* of all programs: one runs at a time */
    float *one_hot; /* rows made from labels, for losses that need them */
    size_t one_hot_rows;
    int64_t *out_lengths; /* of the outputs of the batch at hand */
    int out_lengths_room;
};

TtShape tt_shape_without_batch(const TtShape *s)
{
    TtShape out = {.rank = TT_MAX(s->rank - 1, 0)};
    memcpy(out.dims, s->dims + 1, (size_t)out.rank * sizeof *out.dims);
    return out;
}

static TtShape with_batch(int n, const TtShape *s)
{
    TtShape out = {.rank = s->rank + 1, .dims = {n}};
    memcpy(out.dims + 1, s->dims, (size_t)s->rank * sizeof *out.dims);
    return out;
}

TtNetShape tt_net_picture(int h, int w)
{
    return (TtNetShape){.x = TT_SHAPE(h, w, 3)};
}

static bool is_sound(const TtNet *n)
{
    return tt_model_task(n->o.model) != TT_TASK_CLASSIFICATION;
}

static bool wants_rows(const TtNet *n, bool mixed)
{
    return n->o.loss && (mixed || n->o.loss->def->dense);
}

static void emit_loss(TtNet *n, Compiled *c, const TtModelOutput *m)
{
    const TtLoss *l = n->o.loss;
    const Key *k = &c->key;
    if (is_sound(n)) {
        c->target = tt_input(c->g, "targets", k->shape.target_dtype, with_batch(k->n, &k->shape.target));
        if (l->def->lengths) {
            c->lengths = tt_input(c->g, "lengths", TT_I64, TT_SHAPE(k->n));
            c->target_lengths = tt_input(c->g, "target_lengths", TT_I64, TT_SHAPE(k->n));
        }
    } else if (wants_rows(n, k->mixed)) {
        c->target = tt_input(c->g, "targets", TT_F32, TT_SHAPE(k->n, n->classes));
    } else {
        c->target = tt_input(c->g, "labels", TT_I64, TT_SHAPE(k->n));
    }
    c->scale = tt_input(c->g, "scale", TT_F32, (TtShape){0});
    TtLossInput in = {.logits = c->logits,
                      .target = c->target,
                      .lengths = c->lengths,
                      .target_lengths = c->target_lengths,
                      .scale = c->scale};
    TtVal out[2];
    l->def->emit(c->g, l->options, &in, out);
    c->loss = out[0], c->per_sample = out[1];
    for (int i = 0; k->training && i < TT_MAX_AUX; i++) {
        if (!m->aux[i].id) continue;
        in.logits = tt_cast(c->g, m->aux[i], TT_F32);
        l->def->emit(c->g, l->options, &in, out);
        c->loss = tt_add(c->g, c->loss, tt_mul_scalar(c->g, out[0], l->aux_weight));
    }
    tt_output(c->g, c->loss, "loss");
    tt_output(c->g, c->per_sample, "per_sample");
}

/* The graph for one shape, with gradients when training. */
static TtStatus build_graph(TtNet *n, Compiled *c)
{
    const Key *k = &c->key;
    TtGraphOptions o = {.params = n->params, .training = k->training, .bf16 = n->o.bf16};
    c->g = tt_graph_new(&o);
    c->x = tt_input(c->g, "x", TT_F32, with_batch(k->n, &k->shape.x));
    if (k->shape.extra.rank) c->extra = tt_input(c->g, "extra", TT_F32, with_batch(k->n, &k->shape.extra));
    TtModelOutput m;
    tt_model_build(n->o.model, c->g, &(TtModelInput){.x = c->x, .extra = c->extra}, &m);
    c->logits = tt_contiguous(c->g, tt_cast(c->g, m.logits, TT_F32));
    tt_output(c->g, c->logits, "logits");
    if (n->o.loss) emit_loss(n, c, &m);
    if (!n->o.no_fusion) tt_graph_fuse(c->g);
    if (k->training) tt_grad(c->g, c->loss, TT_NONE, NULL, 0, NULL);
    return tt_graph_status(c->g);
}

static void compiled_free(Compiled *c)
{
    tt_program_free(c->p);
    tt_graph_free(c->g);
}

TtStatus tt_net_open(const TtNetOptions *o, const TtNetShape *shape, uint64_t seed, TtNet **out)
{
    TtNet *n = tt_realloc(NULL, sizeof *n);
    *n = (TtNet){.o = *o, .params = tt_params_new(TT_F32), .classes = tt_model_classes(o->model)};
    n->o.program.slab = &n->slab;
    *out = n;
    /* Two samples: batch norm cannot train on one. */
    Compiled probe = {.key = {.n = 2, .shape = *shape, .training = o->loss != NULL}};
    TtStatus s = build_graph(n, &probe);
    compiled_free(&probe);
    if (s == TT_OK) s = tt_params_allocate(n->params);
    if (s != TT_OK) {
        tt_net_close(n);
        *out = NULL;
        return s;
    }
    tt_params_init(n->params, seed);
    return TT_OK;
}

void tt_net_close(TtNet *n)
{
    if (!n) return;
    for (int i = 0; i < n->count; i++) compiled_free(&n->list[i]);
    free(n->list);
    tt_slab_free(&n->slab);
    tt_free(n->one_hot);
    free(n->out_lengths);
    tt_params_free(n->params);
    free(n);
}

TtParamSet *tt_net_params(TtNet *n)
{
    return n->params;
}

TtStatus tt_net_predict_memory(TtNet *n, int batch, const TtNetShape *shape, bool training, size_t *bytes)
{
    Compiled c = {.key = {.n = batch, .shape = *shape, .training = training}};
    TtStatus s = build_graph(n, &c);
    if (s == TT_OK) s = tt_program_predict(c.g, bytes);
    compiled_free(&c);
    return s;
}

static bool same_key(const Key *a, const Key *b)
{
    return a->n == b->n && a->training == b->training && a->mixed == b->mixed &&
           tt_shape_equal(&a->shape.x, &b->shape.x) && tt_shape_equal(&a->shape.extra, &b->shape.extra) &&
           tt_shape_equal(&a->shape.target, &b->shape.target) && a->shape.target_dtype == b->shape.target_dtype;
}

/* Programs of many shapes come and go: the ones used last are kept, the newest in front. */
enum { PROGRAMS = 64 };

static TtStatus compiled_get(TtNet *n, const Key *key, Compiled **out)
{
    for (int i = 0; i < n->count; i++) {
        if (!same_key(&n->list[i].key, key)) continue;
        Compiled c = n->list[i];
        memmove(&n->list[1], &n->list[0], sizeof c * (size_t)i);
        n->list[0] = c;
        *out = &n->list[0];
        return TT_OK;
    }
    Compiled c = {.key = *key};
    TtStatus s = build_graph(n, &c);
    if (s == TT_OK) s = tt_program_build(c.g, &n->o.program, &c.p);
    if (s != TT_OK) {
        compiled_free(&c);
        return s;
    }
    if (n->count == PROGRAMS) compiled_free(&n->list[--n->count]);
    n->list = tt_realloc(n->list, sizeof *n->list * (size_t)(n->count + 1));
    memmove(&n->list[1], &n->list[0], sizeof c * (size_t)n->count);
    n->list[0] = c;
    n->count++;
    *out = &n->list[0];
    return TT_OK;
}

static TtStatus make_rows(TtNet *n, const int64_t *labels, int count)
{
    size_t row = (size_t)n->classes;
    if (n->one_hot_rows < (size_t)count) {
        tt_free(n->one_hot);
        n->one_hot_rows = 0;
        TT_TRY(tt_alloc((void **)&n->one_hot, (size_t)count * row * sizeof(float)));
        n->one_hot_rows = (size_t)count;
    }
    memset(n->one_hot, 0, (size_t)count * row * sizeof(float));
    for (int i = 0; i < count; i++)
        if (labels[i] >= 0 && labels[i] < n->classes) n->one_hot[(size_t)i * row + (size_t)labels[i]] = 1;
    return TT_OK;
}

static Key key_of(const TtNet *n, bool training, const TtNetInput *in)
{
    Key k = {.n = in->n, .training = training, .shape = {.x = tt_shape_without_batch(&in->x.shape)}};
    if (in->extra.data) k.shape.extra = tt_shape_without_batch(&in->extra.shape);
    if (n->o.loss && is_sound(n)) {
        k.shape.target = tt_shape_without_batch(&in->targets.shape), k.shape.target_dtype = in->targets.dtype;
    } else {
        k.mixed = n->o.loss && in->targets.data;
    }
    return k;
}

/* What the loss compares with, and how long it is. */
static TtStatus bind_target(TtNet *n, Compiled *c, const TtNetInput *in)
{
    const void *target = in->labels;
    if (in->targets.data) {
        target = in->targets.data;
    } else if (wants_rows(n, false)) {
        TT_TRY(make_rows(n, in->labels, in->n));
        target = n->one_hot;
    }
    tt_program_bind(c->p, c->target, (void *)(uintptr_t)target);
    if (!c->lengths.id) return TT_OK;
    tt_program_bind(c->p, c->lengths, n->out_lengths);
    tt_program_bind(c->p, c->target_lengths, (void *)(uintptr_t)in->target_lengths);
    return TT_OK;
}

/* Lengths of the outputs: what the model says, and never more than there is. */
static void find_out_lengths(TtNet *n, const Compiled *c, const TtNetInput *in)
{
    const TtModelDef *m = n->o.model->def;
    if (n->out_lengths_room < in->n)
        n->out_lengths = tt_realloc(n->out_lengths, sizeof *n->out_lengths * (size_t)(n->out_lengths_room = in->n));
    const int64_t frames = tt_dim(c->g, c->logits, 1);
    for (int i = 0; i < in->n; i++) {
        int64_t of = in->lengths ? in->lengths[i] : c->key.shape.x.dims[0];
        n->out_lengths[i] = TT_MIN(m->out_frames ? m->out_frames(n->o.model->options, of) : of, frames);
    }
}

TtStatus tt_net_run(TtNet *n, bool training, const TtNetInput *in, const TtStepInfo *step, TtNetOutput *out)
{
    Compiled *c;
    Key key = key_of(n, training, in);
    TT_TRY(compiled_get(n, &key, &c));
    float scale = (float)in->scale;
    const bool sound = is_sound(n);
    if (sound) find_out_lengths(n, c, in);
    tt_program_bind(c->p, c->x, in->x.data);
    if (c->extra.id) tt_program_bind(c->p, c->extra, in->extra.data);
    if (n->o.loss) {
        TT_TRY(bind_target(n, c, in));
        tt_program_bind(c->p, c->scale, &scale);
    }
    TT_TRY(tt_program_run(c->p, step));
    *out = (TtNetOutput){.logits = tt_program_tensor(c->p, c->logits).data,
                         .frames = sound ? tt_dim(c->g, c->logits, 1) : 1,
                         .classes = tt_channels(c->g, c->logits),
                         .lengths = sound ? n->out_lengths : NULL};
    if (n->o.loss) {
        out->loss = *(const float *)tt_program_tensor(c->p, c->loss).data;
        out->per_sample = tt_program_tensor(c->p, c->per_sample).data;
    }
    return TT_OK;
}

TtStatus tt_net_program(TtNet *n, bool training, const TtNetInput *in, TtProgram **out)
{
    Compiled *c;
    Key key = key_of(n, training, in);
    TT_TRY(compiled_get(n, &key, &c));
    *out = c->p;
    return TT_OK;
}

/* COUNT rows of T from FIRST on. */
static TtTensor rows(const TtTensor *t, int first, int count)
{
    if (!t->data) return *t;
    TtShape shape = t->shape;
    shape.dims[0] = count;
    size_t row = t->shape.dims[0] ? tt_tensor_bytes(t) / (size_t)t->shape.dims[0] : 0;
    return tt_tensor((char *)t->data + row * (size_t)first, t->dtype, shape);
}

TtNetInput tt_net_input(const TtBatch *b, int first, int count)
{
    TtNetInput in = {.n = count,
                     .x = rows(&b->x, first, count),
                     .extra = rows(&b->extra, first, count),
                     .targets = rows(&b->targets, first, count)};
    if (b->labels) in.labels = b->labels + first;
    if (b->lengths[TT_PART_X]) in.lengths = b->lengths[TT_PART_X] + first;
    if (b->lengths[TT_PART_TARGET]) in.target_lengths = b->lengths[TT_PART_TARGET] + first;
    return in;
}

double tt_net_weight(const TtNet *n, const TtBatch *b)
{
    const TtLoss *l = n->o.loss;
    if (!b->targets.data) return tt_loss_weight(l, b->labels, b->n);
    /* Labels for every frame: each counts. */
    if (b->targets.dtype == TT_I64 && !l->def->lengths)
        return tt_loss_weight(l, b->targets.data, tt_tensor_count(&b->targets));
    return b->n;
}
