/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/grad.c - reverse-mode differentiation that emits nodes.
 *
 * Walks the forward nodes backwards. Contributions to a value's gradient are collected and summed by one add_n
 * when the value's producer is reached, in a fixed order (that of the consumers, last first). */
#include <stdlib.h>
#include <string.h>

#include "tensor/graph_impl.h"

typedef struct Contributions {
    int n, capacity;
    TtVal *list;
} Contributions;

typedef struct Grad {
    TtGraph *g;
    int nvalues;         /* of the forward graph */
    bool *wanted;        /* value leads back to a leaf whose gradient is wanted */
    Contributions *sums; /* by value */
} Grad;

static void contribute(Grad *d, TtVal v, TtVal dv)
{
    if (!dv.id) return;
    Contributions *c = &d->sums[v.id];
    if (c->n == c->capacity) {
        int capacity = c->capacity ? c->capacity * 2 : 2;
        TtVal *list = TT_NEWN(&d->g->arena, TtVal, capacity);
        if (c->n) memcpy(list, c->list, sizeof *list * (size_t)c->n);
        c->list = list, c->capacity = capacity;
    }
    c->list[c->n++] = dv;
}

/* The gradient of a value, summed; TT_NONE when nothing flows to it. */
static TtVal total(Grad *d, TtVal v)
{
    Contributions *c = &d->sums[v.id];
    if (c->n == 0) return TT_NONE;
    TtVal sum = c->list[0];
    for (int at = 1; at < c->n;) {
        TtVal parts[TT_MAX_IN] = {sum};
        int n = 1;
        while (n < TT_MAX_IN && at < c->n) parts[n++] = c->list[at++];
        sum = tt_add_n(d->g, parts, n);
    }
    c->list[0] = sum, c->n = 1;
    return sum;
}

static void mark_wanted(Grad *d, const TtVal *wrt, int nwrt)
{
    TtGraph *g = d->g;
    for (int i = 1; i < d->nvalues; i++) {
        const TtParam *p = g->values[i].param;
        d->wanted[i] = p && !p->buffer && !p->frozen;
    }
    for (int i = 0; i < nwrt; i++) d->wanted[wrt[i].id] = true;
    for (int i = 0; i < g->nnodes; i++) {
        const TtGraphNode *n = &g->nodes[i];
        if (!n->op || !n->op->grad) continue;
        bool any = false;
        for (int k = 0; k < n->nin; k++) any |= d->wanted[n->in[k].id];
        for (int k = 0; k < n->nout; k++) d->wanted[n->out[k].id] |= any && tt_dtype_is_float(tt_dtype(g, n->out[k]));
    }
}

static void backward(Grad *d, int number)
{
    TtGraph *g = d->g;
    TtGraphNode n = g->nodes[number]; /* a copy: emitting moves the array */
    if (!n.op || !n.op->grad) return;
    TtVal dout[TT_MAX_OUT], din[TT_MAX_IN] = {{0}};
    bool need[TT_MAX_IN], any_out = false, any_in = false;
    for (int k = 0; k < n.nout; k++) {
        dout[k] = total(d, n.out[k]);
        any_out |= dout[k].id != 0;
    }
    for (int k = 0; k < n.nin; k++) any_in |= need[k] = d->wanted[n.in[k].id];
    if (!any_out || !any_in) return;
    const char *scope = g->scope;
    g->scope = n.scope;
    TtGradArgs args = {.attrs = n.attrs,
                       .nin = n.nin,
                       .nout = n.nout,
                       .in = n.in,
                       .out = n.out,
                       .dout = dout,
                       .need = need,
                       .din = din};
    n.op->grad(g, &args);
    for (int k = 0; k < n.nin; k++)
        if (need[k]) contribute(d, n.in[k], din[k]);
    g->scope = scope;
}

/* Let V be written straight into the parameter's gradient memory; copy where it cannot be. */
static void store(Grad *d, TtParam *p, TtVal v)
{
    TtGraph *g = d->g;
    const TtValue *x = &g->values[v.id];
    bool own = x->node >= 0 && x->base == v.id && !x->grad_of && !x->output;
    if (own && x->t.dtype != p->dtype) TT_ASSERT(!"a gradient has another type than its parameter");
    if (!own) v = tt_emit1(g, &tt_op_contiguous, NULL, &v, 1);
    if (v.id) g->values[v.id].grad_of = p;
}

void tt_grad(TtGraph *g, TtVal loss, TtVal seed, const TtVal *wrt, int nwrt, TtVal *dwrt)
{
    for (int i = 0; i < nwrt; i++) dwrt[i] = TT_NONE;
    if (g->status) return;
    TT_ASSERT(loss.id && (seed.id || tt_rank(g, loss) == 0));
    Grad d = {.g = g, .nvalues = g->nvalues};
    d.wanted = TT_NEWN(&g->arena, bool, g->nvalues);
    d.sums = TT_NEWN(&g->arena, Contributions, g->nvalues);
    mark_wanted(&d, wrt, nwrt);
    contribute(&d, loss, seed.id ? seed : tt_scalar(g, 1.0));
    for (int i = g->nnodes - 1; i >= 0 && !g->status; i--) backward(&d, i);
    for (int i = 1; i < d.nvalues && !g->status; i++) {
        TtParam *p = g->values[i].param;
        TtVal v = p && d.wanted[i] ? total(&d, (TtVal){i}) : TT_NONE;
        if (v.id) store(&d, p, v);
    }
    for (int i = 0; i < nwrt && !g->status; i++) dwrt[i] = total(&d, wrt[i]);
}
