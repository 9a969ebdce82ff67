/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/net.c - programs by batch shape. */
#include "pipeline/net.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ops/ops.h"

typedef struct Compiled {
    int n, h, w;
    bool training, mixed;
    TtGraph *g;
    TtProgram *p;
    TtVal x, target, scale, loss, per_sample, logits;
} Compiled;

struct TtNet {
    TtNetOptions o;
    TtParamSet *params;
    int64_t classes;
    int count;
    Compiled *list;
    float *one_hot; /* rows made from labels, for losses that need them */
    size_t one_hot_rows;
};

static bool wants_rows(const TtNet *n, bool mixed)
{
    return n->o.loss && (mixed || n->o.loss->def->dense);
}

static void emit_loss(TtNet *n, Compiled *c, const TtModelOutput *m)
{
    const TtLoss *l = n->o.loss;
    bool rows = wants_rows(n, c->mixed);
    c->target = rows ? tt_input(c->g, "targets", TT_F32, TT_SHAPE(c->n, n->classes))
                     : tt_input(c->g, "labels", TT_I64, TT_SHAPE(c->n));
    c->scale = tt_input(c->g, "scale", TT_F32, (TtShape){0});
    TtVal out[2];
    l->def->emit(c->g, l->options, c->logits, c->target, c->scale, out);
    c->loss = out[0], c->per_sample = out[1];
    for (int i = 0; c->training && i < TT_MAX_AUX; i++) {
        if (!m->aux[i].id) continue;
        l->def->emit(c->g, l->options, tt_cast(c->g, m->aux[i], TT_F32), c->target, c->scale, out);
        c->loss = tt_add(c->g, c->loss, tt_mul_scalar(c->g, out[0], l->aux_weight));
    }
    tt_output(c->g, c->loss, "loss");
    tt_output(c->g, c->per_sample, "per_sample");
}

/* The graph for one shape, with gradients when training. */
static TtStatus build_graph(TtNet *n, Compiled *c)
{
    TtGraphOptions o = {.params = n->params, .training = c->training, .bf16 = n->o.bf16};
    c->g = tt_graph_new(&o);
    c->x = tt_input(c->g, "x", TT_F32, TT_SHAPE(c->n, c->h, c->w, 3));
    TtModelOutput m;
    tt_model_build(n->o.model, c->g, c->x, &m);
    c->logits = tt_contiguous(c->g, tt_cast(c->g, m.logits, TT_F32));
    tt_output(c->g, c->logits, "logits");
    if (n->o.loss) emit_loss(n, c, &m);
    if (!n->o.no_fusion) tt_graph_fuse(c->g);
    if (c->training) tt_grad(c->g, c->loss, TT_NONE, NULL, 0, NULL);
    return tt_graph_status(c->g);
}

static void compiled_free(Compiled *c)
{
    tt_program_free(c->p);
    tt_graph_free(c->g);
}

TtStatus tt_net_open(const TtNetOptions *o, int h, int w, uint64_t seed, TtNet **out)
{
    TtNet *n = tt_realloc(NULL, sizeof *n);
    *n = (TtNet){.o = *o, .params = tt_params_new(TT_F32), .classes = tt_model_classes(o->model)};
    *out = n;
    /* Two samples: batch norm cannot train on one. */
    Compiled probe = {.n = 2, .h = h, .w = w, .training = o->loss != NULL};
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
    tt_free(n->one_hot);
    tt_params_free(n->params);
    free(n);
}

TtParamSet *tt_net_params(TtNet *n)
{
    return n->params;
}

TtStatus tt_net_predict_memory(TtNet *n, int batch, int h, int w, bool training, size_t *bytes)
{
    Compiled c = {.n = batch, .h = h, .w = w, .training = training};
    TtStatus s = build_graph(n, &c);
    if (s == TT_OK) s = tt_program_predict(c.g, bytes);
    compiled_free(&c);
    return s;
}

static TtStatus compiled_get(TtNet *n, Compiled key, Compiled **out)
{
    for (int i = 0; i < n->count; i++) {
        Compiled *c = &n->list[i];
        if (c->n == key.n && c->h == key.h && c->w == key.w && c->training == key.training && c->mixed == key.mixed) {
            *out = c;
            return TT_OK;
        }
    }
    TtStatus s = build_graph(n, &key);
    if (s == TT_OK) s = tt_program_build(key.g, &n->o.program, &key.p);
    if (s != TT_OK) {
        compiled_free(&key);
        return s;
    }
    n->list = tt_realloc(n->list, sizeof *n->list * (size_t)(n->count + 1));
    n->list[n->count] = key;
    *out = &n->list[n->count++];
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

TtStatus tt_net_run(TtNet *n, bool training, const TtNetInput *in, const TtStepInfo *step, TtNetOutput *out)
{
    Compiled *c;
    TT_TRY(compiled_get(
        n, (Compiled){.n = in->n, .h = in->h, .w = in->w, .training = training, .mixed = in->targets != NULL}, &c));
    float scale = (float)in->scale;
    tt_program_bind(c->p, c->x, (void *)(uintptr_t)in->x);
    if (n->o.loss) {
        const void *target = in->labels;
        if (in->targets) {
            target = in->targets;
        } else if (wants_rows(n, false)) {
            TT_TRY(make_rows(n, in->labels, in->n));
            target = n->one_hot;
        }
        tt_program_bind(c->p, c->target, (void *)(uintptr_t)target);
        tt_program_bind(c->p, c->scale, &scale);
    }
    TT_TRY(tt_program_run(c->p, step));
    *out = (TtNetOutput){.logits = tt_program_tensor(c->p, c->logits).data, .classes = n->classes};
    if (n->o.loss) {
        out->loss = *(const float *)tt_program_tensor(c->p, c->loss).data;
        out->per_sample = tt_program_tensor(c->p, c->per_sample).data;
    }
    return TT_OK;
}

TtStatus tt_net_program(TtNet *n, bool training, int batch, int h, int w, bool mixed, TtProgram **out)
{
    Compiled *c;
    TT_TRY(compiled_get(n, (Compiled){.n = batch, .h = h, .w = w, .training = training, .mixed = mixed}, &c));
    *out = c->p;
    return TT_OK;
}
