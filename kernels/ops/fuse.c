/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/fuse.c - fusion as a table of patterns.
 *
 * Each pattern looks at one node as the end of a chain, and rewrites in place: the last node of the chain becomes the
 * fused op (so that all inputs exist before it), the others are removed. */
#include "kernels/ops/fuse.h"

#include "kernels/ops/batch_norm.h"
#include "kernels/ops/binary.h"
#include "kernels/ops/unary.h"
#include "tensor/graph_impl.h"

typedef struct Fuse {
    TtGraph *g;
    int *uses; /* by value */
    int removed;
} Fuse;

static void count_uses(Fuse *f)
{
    for (int i = 0; i < f->g->nvalues; i++) f->uses[i] = f->g->values[i].output;
    for (int i = 0; i < f->g->nnodes; i++) {
        const TtGraphNode *n = &f->g->nodes[i];
        for (int k = 0; n->op && k < n->nin; k++) f->uses[n->in[k].id]++;
    }
}

/* The node that makes V by OP as its first output, when V may disappear: used once, no output, like REPLACED. */
static TtGraphNode *producer(const Fuse *f, TtVal v, const TtOpDef *op, TtVal replaced)
{
    const TtValue *x = &f->g->values[v.id], *r = &f->g->values[replaced.id];
    if (x->node < 0 || x->slot != 0 || f->uses[v.id] != 1) return NULL;
    if (x->t.dtype != r->t.dtype || !tt_shape_equal(&x->t.shape, &r->t.shape)) return NULL;
    TtGraphNode *n = &f->g->nodes[x->node];
    return n->op == op ? n : NULL;
}

static void remove_node(Fuse *f, TtGraphNode *n)
{
    n->op = NULL;
    f->removed++;
}

/* A batch norm that can take more behind it. */
static TtGraphNode *open_batch_norm(const Fuse *f, TtVal v, TtVal replaced)
{
    TtGraphNode *n = producer(f, v, &tt_op_batch_norm, replaced);
    if (!n || n->nin > TT_BN_RESIDUAL || ((const TtBatchNormAttrs *)n->attrs)->relu) return NULL;
    return n;
}

/* relu(batch_norm(x)), relu(batch_norm(x) + y): one pass over memory instead of two or three. */
static bool batch_norm_add_relu(Fuse *f, TtGraphNode *end)
{
    TtGraph *g = f->g;
    if (end->op != &tt_op_unary || ((const TtUnaryAttrs *)end->attrs)->kind != TT_UNARY_relu) return false;
    TtVal y = end->out[0], residual = TT_NONE;
    TtGraphNode *bn = open_batch_norm(f, end->in[0], y), *add = NULL;
    if (!bn) {
        add = producer(f, end->in[0], &tt_op_binary, y);
        if (!add || ((const TtBinaryAttrs *)add->attrs)->kind != TT_BINARY_ADD) return false;
        for (int k = 0; k < 2 && !bn; k++) {
            const TtValue *other = &g->values[add->in[1 - k].id], *like = &g->values[y.id];
            if (other->t.dtype != like->t.dtype || !tt_shape_equal(&other->t.shape, &like->t.shape)) return false;
            if (!tt_tensor_contiguous(&other->t)) return false;
            bn = open_batch_norm(f, add->in[k], y);
            residual = add->in[1 - k];
        }
        if (!bn) return false;
    }
    TtBatchNormAttrs attrs = *(const TtBatchNormAttrs *)bn->attrs;
    attrs.relu = true;
    TtGraphNode fused = {.op = &tt_op_batch_norm,
                         .nin = residual.id ? TT_BN_INPUTS : TT_BN_RESIDUAL,
                         .nout = 3,
                         .scope = bn->scope,
                         .out = {y, bn->out[1], bn->out[2]}};
    fused.attrs = tt_arena_copy(&g->arena, &attrs, sizeof attrs);
    fused.in = TT_NEWN(&g->arena, TtVal, TT_BN_INPUTS);
    for (int k = 0; k < TT_BN_RESIDUAL; k++) fused.in[k] = bn->in[k];
    fused.in[TT_BN_RESIDUAL] = residual;
    remove_node(f, bn);
    if (add) remove_node(f, add);
    int number = (int)(end - g->nodes);
    *end = fused;
    for (int k = 0; k < 3; k++) g->values[fused.out[k].id].node = number;
    return true;
}

static bool (*const patterns[])(Fuse *f, TtGraphNode *end) = {batch_norm_add_relu};

int tt_graph_fuse(TtGraph *g)
{
    if (!tt_graph_ok(g)) return 0;
    Fuse f = {.g = g, .uses = TT_NEWN(&g->arena, int, g->nvalues)};
    count_uses(&f);
    for (int i = 0; i < g->nnodes; i++)
        for (int k = 0; g->nodes[i].op && k < TT_COUNT(patterns); k++) patterns[k](&f, &g->nodes[i]);
    return f.removed;
}
