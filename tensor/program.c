/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/program.c - from graph to flat program: dead code, lives, in-place reuse, memory, kernels; then replay. */
#include "tensor/program.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/graph_impl.h"
#include "tensor/plan.h"
#include "tensor/clock.h"

typedef struct Step {
    const TtGraphNode *node;
    TtKernelFn kernel;
    TtKernelArgs args;
    int scratch_piece; /* -1: none */
    int dead_n, *dead; /* pieces whose life ends here (for poison) */
} Step;

/* Where an input's pointer stands in the arguments, to be patched when it is bound. */
typedef struct Patch {
    int input, step, slot;
    size_t offset; /* bytes */
} Patch;

struct TtProgram {
    TtGraph *g;
    TtProgramOptions options;
    TtArena arena;
    int nsteps;
    Step *steps;
    int npieces;
    TtPiece *pieces;
    int *piece_of; /* by value (memory owners only): its piece, or -1 */
    void **bound;  /* by value: data of a bound input */
    void *slab;
    int npatches;
    Patch *patches;
    TtProgramStats stats;
    TtOpTime *times;
};

static bool is_view(const TtGraphNode *n)
{
    return n->op->flags & TT_OP_VIEW;
}

/* Mark the nodes that outputs, gradients and effects need. */
static bool *find_needed(const TtGraph *g, TtArena *arena)
{
    bool *needed = TT_NEWN(arena, bool, g->nnodes + 1), *used = TT_NEWN(arena, bool, g->nvalues);
    for (int i = 1; i < g->nvalues; i++) used[i] = g->values[i].output || g->values[i].grad_of;
    for (int i = g->nnodes - 1; i >= 0; i--) {
        const TtGraphNode *n = &g->nodes[i];
        if (!n->op) continue;
        needed[i] = n->op->flags & TT_OP_EFFECT;
        for (int k = 0; k < n->nout; k++) needed[i] |= used[n->out[k].id];
        for (int k = 0; needed[i] && k < n->nin; k++) used[n->in[k].id] = true;
    }
    return needed;
}

static int add_piece(TtProgram *p, size_t size, int first, int last)
{
    p->pieces[p->npieces] = (TtPiece){.size = size, .first = first, .last = last};
    return p->npieces++;
}

/* May output 0 of step S take over the memory of its input 0? */
static bool can_reuse(const TtProgram *p, const TtGraphNode *n, int s, const int *last_use)
{
    const TtGraph *g = p->g;
    if (!(n->op->flags & TT_OP_INPLACE) || p->options.no_plan || !n->in[0].id) return false;
    const TtValue *in = &g->values[n->in[0].id], *out = &g->values[n->out[0].id], *owner = &g->values[in->base];
    if (p->piece_of[in->base] < 0 || out->grad_of) return false;
    if (in->offset != 0 || !tt_tensor_contiguous(&in->t)) return false;
    if (tt_tensor_bytes(&in->t) != tt_tensor_bytes(&out->t) || tt_tensor_bytes(&owner->t) != tt_tensor_bytes(&in->t))
        return false;
    if (p->pieces[p->piece_of[in->base]].last != s || last_use[in->base] != s) return false;
    for (int k = 1; k < n->nin; k++)
        if (n->in[k].id && g->values[n->in[k].id].base == in->base) return false;
    return true;
}

/* Lives of all memory owners, in steps. */
static int *find_last_uses(TtProgram *p)
{
    const TtGraph *g = p->g;
    int *last = TT_NEWN(&p->arena, int, g->nvalues);
    for (int i = 0; i < g->nvalues; i++) last[i] = -1;
    for (int s = 0; s < p->nsteps; s++) {
        const TtGraphNode *n = p->steps[s].node;
        for (int k = 0; k < n->nout; k++) last[g->values[n->out[k].id].base] = s;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k].id) last[g->values[n->in[k].id].base] = s;
    }
    for (int i = 1; i < g->nvalues; i++)
        if (g->values[i].output) last[g->values[i].base] = p->nsteps;
    return last;
}

static void place_values(TtProgram *p)
{
    TtGraph *g = p->g;
    const int *last = find_last_uses(p);
    for (int i = 0; i < g->nvalues; i++) p->piece_of[i] = -1;
    for (int s = 0; s < p->nsteps; s++) {
        const TtGraphNode *n = p->steps[s].node;
        if (is_view(n)) continue;
        for (int k = 0; k < n->nout; k++) {
            const TtValue *v = &g->values[n->out[k].id];
            if (v->grad_of) continue; /* lies in the gradient slab */
            if (k == 0 && can_reuse(p, n, s, last)) {
                int piece = p->piece_of[g->values[n->in[0].id].base];
                p->piece_of[n->out[0].id] = piece;
                p->pieces[piece].last = last[n->out[0].id];
                continue;
            }
            p->piece_of[n->out[k].id] = add_piece(p, tt_tensor_bytes(&v->t), s, last[n->out[k].id]);
        }
    }
}

static void *value_data(const TtProgram *p, TtVal v)
{
    if (!v.id) return NULL;
    const TtValue *x = &p->g->values[v.id], *owner = &p->g->values[x->base];
    char *data = NULL;
    if (owner->leaf == TT_LEAF_CONST)
        data = owner->t.data;
    else if (owner->leaf == TT_LEAF_PARAM)
        data = owner->param->value;
    else if (owner->leaf == TT_LEAF_INPUT)
        data = p->bound[x->base];
    else if (owner->grad_of)
        data = (char *)owner->grad_of->grad;
    else if (p->slab && p->piece_of[x->base] >= 0)
        data = (char *)p->slab + p->pieces[p->piece_of[x->base]].offset;
    return data ? data + x->offset * (int64_t)tt_dtype_size(x->t.dtype) : NULL;
}

static void fill_args(TtProgram *p, Step *step)
{
    const TtGraphNode *n = step->node;
    TtKernelArgs *a = &step->args;
    a->op = n->op, a->attrs = n->attrs, a->nin = n->nin, a->nout = n->nout;
    for (int k = 0; k < n->nin; k++) {
        if (!n->in[k].id) continue;
        a->in[k] = p->g->values[n->in[k].id].t;
        a->in[k].data = value_data(p, n->in[k]);
    }
    for (int k = 0; k < n->nout; k++) {
        a->out[k] = p->g->values[n->out[k].id].t;
        a->out[k].data = value_data(p, n->out[k]);
    }
    if (step->scratch_piece >= 0 && p->slab) a->scratch = (char *)p->slab + p->pieces[step->scratch_piece].offset;
}

static void list_patches(TtProgram *p)
{
    int n = 0;
    for (int s = 0; s < p->nsteps; s++) n += p->steps[s].node->nin;
    p->patches = TT_NEWN(&p->arena, Patch, n);
    for (int s = 0; s < p->nsteps; s++) {
        const TtGraphNode *node = p->steps[s].node;
        for (int k = 0; k < node->nin; k++) {
            const TtValue *x = &p->g->values[node->in[k].id];
            if (!node->in[k].id || p->g->values[x->base].leaf != TT_LEAF_INPUT) continue;
            p->patches[p->npatches++] = (Patch){
                .input = x->base, .step = s, .slot = k, .offset = (size_t)x->offset * tt_dtype_size(x->t.dtype)};
        }
    }
}

static void list_deaths(TtProgram *p)
{
    for (int s = 0; s < p->nsteps; s++) {
        int n = 0;
        for (int i = 0; i < p->npieces; i++) n += p->pieces[i].last == s;
        p->steps[s].dead = TT_NEWN(&p->arena, int, n);
        for (int i = 0; i < p->npieces; i++)
            if (p->pieces[i].last == s) p->steps[s].dead[p->steps[s].dead_n++] = i;
    }
}

static void list_steps(TtProgram *p)
{
    const bool *needed = find_needed(p->g, &p->arena);
    p->steps = TT_NEWN(&p->arena, Step, p->g->nnodes + 1);
    for (int i = 0; i < p->g->nnodes; i++)
        if (needed[i]) p->steps[p->nsteps++] = (Step){.node = &p->g->nodes[i], .scratch_piece = -1};
}

static TtStatus choose_kernels(TtProgram *p)
{
    for (int s = 0; s < p->nsteps; s++) {
        Step *step = &p->steps[s];
        const TtOpDef *op = step->node->op;
        fill_args(p, step);
        if (is_view(step->node)) continue;
        step->kernel = p->options.reference ? tt_ref_kernel(op->id) : tt_cpu_kernel(op->id);
        TT_ASSERT(step->kernel);
        if (p->options.reference) continue;
        if (op->cpu_prepare) TT_TRY(op->cpu_prepare(&step->args, &step->args.state));
        size_t scratch = op->cpu_scratch ? op->cpu_scratch(&step->args) : 0;
        step->args.scratch_size = scratch;
        if (scratch) step->scratch_piece = add_piece(p, scratch, s, s);
    }
    return TT_OK;
}

static size_t lay_out(TtProgram *p)
{
    TtPiece *apart = tt_arena_copy(&p->arena, p->pieces, sizeof *apart * (size_t)p->npieces);
    p->stats.unplanned_bytes = tt_plan_apart(apart, p->npieces);
    size_t total = tt_plan(p->pieces, p->npieces, p->nsteps, &p->stats.lower_bound);
    if (p->options.no_plan) total = tt_plan_apart(p->pieces, p->npieces);
    p->stats.activation_bytes = total;
    p->stats.nodes = p->nsteps;
    return total;
}

/* Everything but the slab. */
static TtStatus prepare(TtGraph *g, const TtProgramOptions *o, TtProgram **out)
{
    TT_TRY(tt_graph_status(g));
    TtProgram *p = tt_realloc(NULL, sizeof *p);
    *p = (TtProgram){.g = g};
    if (o) p->options = *o;
    *out = p;
    p->piece_of = TT_NEWN(&p->arena, int, g->nvalues);
    p->bound = TT_NEWN(&p->arena, void *, g->nvalues);
    p->pieces = TT_NEWN(&p->arena, TtPiece, g->nvalues + g->nnodes);
    list_steps(p);
    place_values(p);
    TT_TRY(choose_kernels(p));
    lay_out(p);
    return TT_OK;
}

void tt_slab_free(TtSlab *s)
{
    tt_free(s->data);
    *s = (TtSlab){0};
}

static TtStatus make_slab(TtProgram *p)
{
    TtSlab *shared = p->options.slab;
    size_t size = p->stats.activation_bytes;
    if (!shared) return tt_alloc(&p->slab, size);
    if (!shared->data || size > shared->size) {
        tt_slab_free(shared);
        TT_TRY(tt_alloc(&shared->data, size));
        shared->size = size;
    }
    p->slab = shared->data;
    return TT_OK;
}

TtStatus tt_program_build(TtGraph *g, const TtProgramOptions *o, TtProgram **out)
{
    *out = NULL;
    TtProgram *p = NULL;
    TtStatus s = prepare(g, o, &p);
    if (s == TT_OK) s = make_slab(p);
    if (s != TT_OK) {
        tt_program_free(p);
        return s;
    }
    for (int i = 0; i < p->nsteps; i++) fill_args(p, &p->steps[i]);
    list_patches(p);
    if (p->options.poison) {
        list_deaths(p);
        memset(p->slab, 0xff, p->stats.activation_bytes);
    }
    p->times = TT_NEWN(&p->arena, TtOpTime, p->nsteps + 1);
    tt_program_times_reset(p);
    *out = p;
    return TT_OK;
}

TtStatus tt_program_predict(TtGraph *g, size_t *activation_bytes)
{
    TtProgram *p = NULL;
    TtStatus s = prepare(g, NULL, &p);
    if (s == TT_OK) *activation_bytes = p->stats.activation_bytes;
    tt_program_free(p);
    return s;
}

void tt_program_free(TtProgram *p)
{
    if (!p) return;
    for (int i = 0; i < p->nsteps; i++) {
        Step *s = &p->steps[i];
        if (s->args.state) s->node->op->cpu_release(s->args.state);
    }
    if (!p->options.slab) tt_free(p->slab);
    tt_arena_free(&p->arena);
    free(p);
}

void tt_program_bind(TtProgram *p, TtVal input, void *data)
{
    TT_ASSERT(p->g->values[input.id].leaf == TT_LEAF_INPUT);
    p->bound[input.id] = data;
    for (int i = 0; i < p->npatches; i++) {
        const Patch *q = &p->patches[i];
        if (q->input == input.id) p->steps[q->step].args.in[q->slot].data = (char *)data + q->offset;
    }
    /* Views of an input are values of their own; kernels see them through patches, readers through value_data. */
}

static void poison(TtProgram *p, const Step *step)
{
    for (int i = 0; i < step->dead_n; i++) {
        const TtPiece *q = &p->pieces[step->dead[i]];
        memset((char *)p->slab + q->offset, 0xff, q->size);
    }
}

/* The shared memory may have moved when another program needed more. */
static void follow_slab(TtProgram *p)
{
    if (!p->options.slab || p->slab == p->options.slab->data) return;
    p->slab = p->options.slab->data;
    for (int i = 0; i < p->nsteps; i++) fill_args(p, &p->steps[i]);
}

TtStatus tt_program_run(TtProgram *p, const TtStepInfo *info)
{
    follow_slab(p);
    for (int i = 0; i < p->nsteps; i++) {
        Step *step = &p->steps[i];
        if (!step->kernel) {
            if (p->options.poison) poison(p, step);
            continue;
        }
        step->args.step = info;
        double start = p->options.timing ? tt_now() : 0;
        TT_TRY(step->kernel(&step->args));
        if (p->options.timing) {
            p->times[i].seconds += tt_now() - start;
            p->times[i].runs++;
        }
        if (p->options.poison) poison(p, step);
    }
    return TT_OK;
}

TtTensor tt_program_tensor(const TtProgram *p, TtVal v)
{
    TtTensor t = p->g->values[v.id].t;
    t.data = value_data(p, v);
    return t;
}

TtProgramStats tt_program_stats(const TtProgram *p)
{
    return p->stats;
}

void tt_program_times_reset(TtProgram *p)
{
    for (int i = 0; i < p->nsteps; i++) {
        const Step *s = &p->steps[i];
        TtOpTime *t = &p->times[i];
        *t = (TtOpTime){.op = s->node->op->name, .scope = s->node->scope};
        if (is_view(s->node)) continue;
        for (int k = 0; k < s->args.nin; k++)
            if (s->node->in[k].id) t->bytes += (double)tt_tensor_bytes(&s->args.in[k]);
        for (int k = 0; k < s->args.nout; k++) t->bytes += (double)tt_tensor_bytes(&s->args.out[k]);
        t->flops = s->node->op->flops ? s->node->op->flops(&s->args) : (double)tt_tensor_count(&s->args.out[0]);
    }
}

const TtOpTime *tt_program_times(const TtProgram *p, int *n)
{
    *n = p->nsteps;
    return p->times;
}
