/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/graph.c - building the graph: leaves, scopes and nodes. */
#include <stdlib.h>
#include <string.h>

#include "tensor/graph_impl.h"

TtGraph *tt_graph_new(const TtGraphOptions *o)
{
    TtGraph *g = tt_realloc(NULL, sizeof *g);
    *g = (TtGraph){.options = *o, .scope = "", .nvalues = 1, .values_capacity = 256, .nodes_capacity = 256};
    g->values = tt_realloc(NULL, sizeof *g->values * (size_t)g->values_capacity);
    g->nodes = tt_realloc(NULL, sizeof *g->nodes * (size_t)g->nodes_capacity);
    g->values[0] = (TtValue){.node = -1};
    return g;
}

void tt_graph_free(TtGraph *g)
{
    if (!g) return;
    free(g->values);
    free(g->nodes);
    tt_arena_free(&g->arena);
    free(g);
}

TtStatus tt_graph_status(const TtGraph *g)
{
    return g->status ? tt_error_set(g->status, g->message, g->origin) : TT_OK;
}

bool tt_graph_ok(const TtGraph *g)
{
    return g->status == TT_OK;
}

/* Keep this thread's last error as the graph's, unless there is one already. */
static void keep_error(TtGraph *g)
{
    if (g->status) return;
    g->status = tt_error_code();
    strncpy(g->message, tt_error_message(), sizeof g->message - 1);
    strncpy(g->origin, tt_error_origin(), sizeof g->origin - 1);
}

TtStatus tt_graph_fail(TtGraph *g, TtStatus code, const char *fmt, ...)
{
    if (g->status) return g->status;
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (*g->scope)
        TT_FAIL(code, "model layer %s: %s", g->scope, text);
    else
        TT_FAIL(code, "%s", text);
    keep_error(g);
    return g->status;
}

bool tt_graph_training(const TtGraph *g)
{
    return g->options.training;
}

bool tt_graph_autocast(const TtGraph *g)
{
    return g->options.bf16;
}

TtDType tt_graph_ftype(const TtGraph *g)
{
    return g->options.ftype;
}

TtArena *tt_graph_arena(TtGraph *g)
{
    return &g->arena;
}

uint64_t tt_graph_unique(TtGraph *g)
{
    return ++g->unique;
}

void tt_graph_push(TtGraph *g, const char *fmt, ...)
{
    char name[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    struct Scope *s = TT_NEW(&g->arena, struct Scope);
    *s = (struct Scope){.up = g->scopes, .saved = g->scope};
    g->scopes = s;
    g->scope = *g->scope ? tt_arena_printf(&g->arena, "%s.%s", g->scope, name) : tt_arena_strdup(&g->arena, name);
}

void tt_graph_pop(TtGraph *g)
{
    TT_ASSERT(g->scopes);
    g->scope = g->scopes->saved;
    g->scopes = g->scopes->up;
}

const char *tt_graph_scope(const TtGraph *g)
{
    return g->scope;
}

static TtVal add_value(TtGraph *g, TtValue v)
{
    if (g->nvalues == g->values_capacity) {
        g->values_capacity *= 2;
        g->values = tt_realloc(g->values, sizeof *g->values * (size_t)g->values_capacity);
    }
    v.base = v.base ? v.base : g->nvalues;
    g->values[g->nvalues] = v;
    return (TtVal){g->nvalues++};
}

TtVal tt_input(TtGraph *g, const char *name, TtDType dtype, TtShape shape)
{
    if (g->status) return TT_NONE;
    return add_value(g, (TtValue){.t = tt_tensor(NULL, dtype, shape),
                                  .node = -1,
                                  .leaf = TT_LEAF_INPUT,
                                  .name = tt_arena_strdup(&g->arena, name)});
}

TtVal tt_const_data(TtGraph *g, TtDType dtype, TtShape shape, const void *data)
{
    if (g->status) return TT_NONE;
    TtTensor t = tt_tensor(NULL, dtype, shape);
    t.data = tt_arena_copy(&g->arena, data, tt_tensor_bytes(&t));
    return add_value(g, (TtValue){.t = t, .node = -1, .leaf = TT_LEAF_CONST});
}

TtVal tt_scalar(TtGraph *g, double v)
{
    float f = (float)v;
    bool wide = g->options.ftype == TT_F64;
    return tt_const_data(g, g->options.ftype, (TtShape){0}, wide ? (void *)&v : (void *)&f);
}

static TtVal leaf_param(TtGraph *g, const char *name, TtDType dtype, TtShape shape, TtInit init, bool buffer)
{
    if (g->status) return TT_NONE;
    const char *full = *g->scope ? tt_arena_printf(&g->arena, "%s.%s", g->scope, name) : name;
    TtParam *p;
    if (tt_params_declare(g->options.params, full, dtype, shape, init, buffer, &p)) {
        keep_error(g);
        return TT_NONE;
    }
    for (int i = 1; i < g->nvalues; i++)
        if (g->values[i].param == p) return (TtVal){i}; /* shared by two layers */
    return add_value(
        g,
        (TtValue){.t = tt_tensor(NULL, dtype, shape), .node = -1, .leaf = TT_LEAF_PARAM, .param = p, .name = p->name});
}

TtVal tt_param(TtGraph *g, const char *name, TtShape shape, TtInit init)
{
    return leaf_param(g, name, g->options.ftype, shape, init, false);
}

TtVal tt_buffer(TtGraph *g, const char *name, TtDType dtype, TtShape shape, TtInit init)
{
    return leaf_param(g, name, dtype == TT_F32 ? g->options.ftype : dtype, shape, init, true);
}

TtShape tt_shape(const TtGraph *g, TtVal v)
{
    return g->values[v.id].t.shape;
}

int tt_rank(const TtGraph *g, TtVal v)
{
    return g->values[v.id].t.shape.rank;
}

int64_t tt_dim(const TtGraph *g, TtVal v, int axis)
{
    const TtShape *s = &g->values[v.id].t.shape;
    if (axis < 0) axis += s->rank;
    return axis >= 0 && axis < s->rank ? s->dims[axis] : 0; /* of TT_NONE too: the graph has failed already */
}

int64_t tt_channels(const TtGraph *g, TtVal v)
{
    return tt_dim(g, v, -1);
}

TtDType tt_dtype(const TtGraph *g, TtVal v)
{
    return g->values[v.id].t.dtype;
}

bool tt_val_ok(TtVal v)
{
    return v.id > 0;
}

static TtGraphNode *add_node(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin)
{
    if (g->nnodes == g->nodes_capacity) {
        g->nodes_capacity *= 2;
        g->nodes = tt_realloc(g->nodes, sizeof *g->nodes * (size_t)g->nodes_capacity);
    }
    TtGraphNode *n = &g->nodes[g->nnodes++];
    *n = (TtGraphNode){.op = op, .nin = nin, .nout = op->nout, .scope = g->scope};
    n->in = tt_arena_copy(&g->arena, ins, sizeof *ins * (size_t)nin);
    if (op->attrs_size) n->attrs = tt_arena_copy(&g->arena, attrs, op->attrs_size);
    return n;
}

static bool infer(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin, TtTensor *out,
                  int64_t *view_offset)
{
    TtTensor in[TT_MAX_IN] = {0};
    bool present[TT_MAX_IN] = {0};
    for (int i = 0; i < nin; i++) {
        present[i] = ins[i].id != 0;
        if (present[i]) in[i] = g->values[ins[i].id].t;
        in[i].data = NULL;
    }
    for (int i = 0; i < op->nout; i++) out[i] = (TtTensor){.dtype = in[0].dtype};
    TtInfer inf = {.g = g, .attrs = attrs, .nin = nin, .in = in, .present = present, .out = out};
    if (op->infer(&inf) != TT_OK || g->status) {
        if (!g->status) keep_error(g);
        return false;
    }
    *view_offset = inf.view_offset;
    return true;
}

void tt_emit(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin, TtVal *outs)
{
    for (int i = 0; i < op->nout; i++) outs[i] = TT_NONE;
    if (g->status) return;
    TT_ASSERT(nin >= op->nin_min && nin <= op->nin_max && nin <= TT_MAX_IN && op->nout <= TT_MAX_OUT);
    TT_ASSERT((attrs != NULL) == (op->attrs_size != 0));
    TtVal in[TT_MAX_IN];
    for (int i = 0; i < nin; i++) {
        in[i] = ins[i];
        TT_ASSERT(in[i].id >= 0 && in[i].id < g->nvalues);
        if (in[i].id && !(op->flags & TT_OP_STRIDED)) in[i] = tt_contiguous(g, in[i]);
    }
    TtTensor out[TT_MAX_OUT];
    int64_t offset = 0;
    if (!infer(g, op, attrs, in, nin, out, &offset)) return;
    int number = g->nnodes;
    TtGraphNode *n = add_node(g, op, attrs, in, nin);
    for (int i = 0; i < op->nout; i++) {
        TtValue v = {.t = out[i], .node = number, .slot = i};
        if (op->flags & TT_OP_VIEW) {
            const TtValue *from = &g->values[in[0].id];
            v.base = from->base, v.offset = from->offset + offset;
        } else {
            v.t = tt_tensor(NULL, out[i].dtype, out[i].shape);
        }
        outs[i] = n->out[i] = add_value(g, v);
    }
}

TtVal tt_emit1(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin)
{
    TtVal outs[TT_MAX_OUT];
    tt_emit(g, op, attrs, ins, nin, outs);
    return outs[0];
}

/* Here rather than with the op: only the graph knows a value's strides. */
TtVal tt_contiguous(TtGraph *g, TtVal x)
{
    if (!x.id || tt_tensor_contiguous(&g->values[x.id].t)) return x;
    return tt_emit1(g, &tt_op_contiguous, NULL, &x, 1);
}

void tt_output(TtGraph *g, TtVal v, const char *name)
{
    if (g->status || !v.id) return;
    g->values[v.id].output = true;
    g->values[v.id].name = tt_arena_strdup(&g->arena, name);
}

static TtVal find(const TtGraph *g, const char *name, bool output)
{
    for (int i = 1; i < g->nvalues; i++) {
        const TtValue *v = &g->values[i];
        if ((output ? v->output : v->leaf == TT_LEAF_INPUT) && v->name && strcmp(v->name, name) == 0) return (TtVal){i};
    }
    return TT_NONE;
}

TtVal tt_find_output(const TtGraph *g, const char *name)
{
    return find(g, name, true);
}

TtVal tt_find_input(const TtGraph *g, const char *name)
{
    return find(g, name, false);
}

void tt_graph_print(FILE *f, const TtGraph *g)
{
    char shape[TT_SHAPE_TEXT];
    for (int i = 0; i < g->nnodes; i++) {
        const TtGraphNode *n = &g->nodes[i];
        if (!n->op) continue;
        for (int k = 0; k < n->nout; k++) {
            const TtValue *v = &g->values[n->out[k].id];
            fprintf(f, "%s%%%d %s%s", k ? ", " : "", n->out[k].id, tt_dtype_name(v->t.dtype),
                    tt_shape_text(&v->t.shape, shape));
        }
        fprintf(f, " = %s(", n->op->name);
        for (int k = 0; k < n->nin; k++) {
            const TtValue *v = &g->values[n->in[k].id];
            if (v->leaf == TT_LEAF_PARAM || v->leaf == TT_LEAF_INPUT)
                fprintf(f, "%s%s", k ? ", " : "", v->name);
            else
                fprintf(f, "%s%%%d", k ? ", " : "", n->in[k].id);
        }
        fprintf(f, ")%s%s\n", *n->scope ? "  # " : "", n->scope);
    }
}
