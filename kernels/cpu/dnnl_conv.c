/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_conv.c - convolutions through oneDNN.
 *
 * Pictures are channels-last on both sides. oneDNN chooses the layout of the weights; a reorder packs them from
 * PyTorch's (or unpacks their gradient) in planned scratch, a small cost beside the products. Primitives are made when
 * the program is built; a run only sets pointers. The algorithm is direct convolution, fixed: a resumed run must take
 * the same one. Where the machine has no bfloat16 kernels, the operands (already rounded) are widened to float32 in
 * scratch and the float32 primitive runs: the same products, rounded once at the end. */
#include "kernels/cpu/dnnl_conv.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dnnl_common.h"
#include "kernels/ops/conv.h"

enum { SRC, WEIGHTS, DST, BIAS, ROLES }; /* x, w, y, b or their gradients */

/* One operand: what we have, and what the primitive takes where that differs. */
typedef struct Operand {
    bool used, output;
    dnnl_memory_t user, packed; /* packed is NULL when they are the same */
    dnnl_primitive_t reorder;
    size_t offset; /* of packed within the scratch */
} Operand;

typedef struct State {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    Operand operand[ROLES];
    dnnl_memory_t scratchpad;
    size_t scratchpad_offset, scratch;
} State;

typedef struct Problem {
    dnnl_prop_kind_t kind;
    const TtConv2dAttrs *a;
    TtShape x, w, y;
    bool bias;
    TtDType type[ROLES]; /* of our memory */
} Problem;

/* ---- descriptors */

static dnnl_memory_desc_t image_desc(const TtShape *s, dnnl_data_type_t t)
{
    dnnl_memory_desc_t d;
    dnnl_dims_t dims = {s->dims[0], s->dims[3], s->dims[1], s->dims[2]}; /* logical order is N,C,H,W */
    dnnl_memory_desc_init_by_tag(&d, 4, dims, t, dnnl_nhwc);
    return d;
}

static dnnl_memory_desc_t weights_desc(const Problem *p, dnnl_data_type_t t, bool any)
{
    dnnl_memory_desc_t d;
    int64_t g = p->a->groups;
    if (g == 1) {
        dnnl_dims_t dims = {p->w.dims[0], p->w.dims[1], p->w.dims[2], p->w.dims[3]};
        dnnl_memory_desc_init_by_tag(&d, 4, dims, t, any ? dnnl_format_tag_any : dnnl_oihw);
    } else {
        dnnl_dims_t dims = {g, p->w.dims[0] / g, p->w.dims[1], p->w.dims[2], p->w.dims[3]};
        dnnl_memory_desc_init_by_tag(&d, 5, dims, t, any ? dnnl_format_tag_any : dnnl_goihw);
    }
    return d;
}

static dnnl_memory_desc_t bias_desc(const Problem *p, dnnl_data_type_t t)
{
    dnnl_memory_desc_t d;
    dnnl_dims_t dims = {p->w.dims[0]};
    dnnl_memory_desc_init_by_tag(&d, 1, dims, t, dnnl_a);
    return d;
}

static dnnl_memory_desc_t operand_desc(const Problem *p, int role, dnnl_data_type_t t, bool any)
{
    switch (role) {
    case SRC: return image_desc(&p->x, t);
    case DST: return image_desc(&p->y, t);
    case BIAS: return bias_desc(p, t);
    default: return weights_desc(p, t, any);
    }
}

/* The one place that decides how a convolution is computed. */
static dnnl_alg_kind_t algorithm(const Problem *p)
{
    (void)p;
    return dnnl_convolution_direct;
}

static dnnl_status_t init_desc(const Problem *p, const dnnl_memory_desc_t m[ROLES], dnnl_convolution_desc_t *d)
{
    const TtConv2dAttrs *a = p->a;
    dnnl_dims_t strides, dilates, left, right;
    for (int k = 0; k < 2; k++) {
        strides[k] = a->stride[k], dilates[k] = a->dilation[k] - 1, left[k] = a->padding[k];
        int64_t reach = (p->y.dims[1 + k] - 1) * a->stride[k] + a->dilation[k] * (p->w.dims[2 + k] - 1) + 1;
        right[k] = reach - p->x.dims[1 + k] - a->padding[k]; /* less than left where the stride leaves a rest */
    }
    const dnnl_memory_desc_t *bias = p->bias ? &m[BIAS] : NULL;
    if (p->kind == dnnl_forward_training)
        return dnnl_dilated_convolution_forward_desc_init(d, p->kind, algorithm(p), &m[SRC], &m[WEIGHTS], bias, &m[DST],
                                                          strides, dilates, left, right);
    if (p->kind == dnnl_backward_data)
        return dnnl_dilated_convolution_backward_data_desc_init(d, algorithm(p), &m[SRC], &m[WEIGHTS], &m[DST], strides,
                                                                dilates, left, right);
    return dnnl_dilated_convolution_backward_weights_desc_init(d, algorithm(p), &m[SRC], &m[WEIGHTS], bias, &m[DST],
                                                               strides, dilates, left, right);
}

static dnnl_data_type_t compute_type(const Problem *p, int role, bool widen)
{
    return widen ? dnnl_f32 : tt_dnnl_type(p->type[role]);
}

/* The primitive descriptor in the operands' own types, or in float32. The forward primitive's is made first, since the
 * gradients want it as a hint. */
static dnnl_status_t make_desc(const Problem *p, bool widen, dnnl_primitive_desc_t *out)
{
    dnnl_memory_desc_t m[ROLES];
    for (int role = 0; role < ROLES; role++) m[role] = operand_desc(p, role, compute_type(p, role, widen), true);
    dnnl_primitive_desc_t hint = NULL;
    dnnl_convolution_desc_t d;
    dnnl_status_t s;
    if (p->kind != dnnl_forward_training) {
        Problem forward = *p;
        forward.kind = dnnl_forward_training, forward.bias = false;
        dnnl_memory_desc_t f[ROLES];
        for (int role = 0; role < ROLES; role++) f[role] = operand_desc(p, role, compute_type(p, SRC, widen), true);
        s = init_desc(&forward, f, &d);
        if (s == dnnl_success) s = dnnl_primitive_desc_create(&hint, &d, NULL, tt_dnnl_engine(), NULL);
        if (s != dnnl_success) return s;
    }
    dnnl_primitive_attr_t attr = NULL;
    s = init_desc(p, m, &d);
    if (s == dnnl_success) s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success) s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success) s = dnnl_primitive_desc_create(out, &d, attr, tt_dnnl_engine(), hint);
    dnnl_primitive_attr_destroy(attr);
    dnnl_primitive_desc_destroy(hint);
    return s;
}

/* ---- state */

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

static const dnnl_memory_desc_t *wanted_desc(const Problem *p, const_dnnl_primitive_desc_t d, int role)
{
    bool dx = p->kind == dnnl_backward_data, dw = p->kind == dnnl_backward_weights;
    dnnl_query_t what = role == SRC   ? (dx ? dnnl_query_diff_src_md : dnnl_query_src_md)
                        : role == DST ? (dx || dw ? dnnl_query_diff_dst_md : dnnl_query_dst_md)
                                      : (dw ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    return dnnl_primitive_desc_query_md(d, what, role == BIAS ? 1 : 0);
}

static TtStatus add_operand(const Problem *p, State *s, int role)
{
    Operand *o = &s->operand[role];
    dnnl_engine_t e = tt_dnnl_engine();
    dnnl_memory_desc_t have = operand_desc(p, role, tt_dnnl_type(p->type[role]), false);
    const dnnl_memory_desc_t *want = wanted_desc(p, s->desc, role);
    o->used = true;
    o->output = p->kind == dnnl_forward_training ? role == DST
                : p->kind == dnnl_backward_data  ? role == SRC
                                                 : role == WEIGHTS || role == BIAS;
    TT_DNNL(dnnl_memory_create(&o->user, &have, e, NULL));
    if (dnnl_memory_desc_equal(&have, want)) return TT_OK;
    TT_DNNL(dnnl_memory_create(&o->packed, want, e, NULL));
    dnnl_primitive_desc_t r;
    TT_DNNL(dnnl_reorder_primitive_desc_create(&r, o->output ? want : &have, e, o->output ? &have : want, e, NULL));
    dnnl_status_t st = dnnl_primitive_create(&o->reorder, r);
    dnnl_primitive_desc_destroy(r);
    TT_DNNL(st);
    o->offset = s->scratch;
    s->scratch += aligned(dnnl_memory_desc_get_size(want));
    return TT_OK;
}

static TtStatus build(const Problem *p, State *s)
{
    dnnl_status_t st = make_desc(p, false, &s->desc);
    if (st == dnnl_unimplemented && p->type[SRC] == TT_BF16) st = make_desc(p, true, &s->desc);
    TT_DNNL(st);
    TT_DNNL(dnnl_primitive_create(&s->primitive, s->desc));
    for (int role = 0; role < ROLES; role++)
        if (role != BIAS || p->bias) TT_TRY(add_operand(p, s, role));
    const dnnl_memory_desc_t *pad = dnnl_primitive_desc_query_md(s->desc, dnnl_query_scratchpad_md, 0);
    TT_DNNL(dnnl_memory_create(&s->scratchpad, pad, tt_dnnl_engine(), NULL));
    s->scratchpad_offset = s->scratch;
    s->scratch += aligned(dnnl_memory_desc_get_size(pad));
    return TT_OK;
}

static TtStatus prepare(const Problem *p, void **state)
{
    *state = NULL;
    if (tt_shape_count(&p->x) == 0 || tt_shape_count(&p->y) == 0 || tt_shape_count(&p->w) == 0) return TT_OK;
    State *s = tt_realloc(NULL, sizeof *s);
    memset(s, 0, sizeof *s);
    TtStatus st = build(p, s);
    if (st != TT_OK) {
        tt_dnnl_conv_release(s);
        return st;
    }
    *state = s;
    return TT_OK;
}

TtStatus tt_dnnl_conv2d_prepare(TtKernelArgs *a, void **state)
{
    Problem p = {.kind = dnnl_forward_training,
                 .a = a->attrs,
                 .x = a->in[0].shape,
                 .w = a->in[1].shape,
                 .y = a->out[0].shape,
                 .bias = a->nin > 2,
                 .type = {a->in[0].dtype, a->in[1].dtype, a->out[0].dtype, a->in[a->nin > 2 ? 2 : 0].dtype}};
    return prepare(&p, state);
}

TtStatus tt_dnnl_conv2d_dx_prepare(TtKernelArgs *a, void **state)
{
    const TtConv2dGradAttrs *ga = a->attrs;
    Problem p = {.kind = dnnl_backward_data,
                 .a = &ga->conv,
                 .x = a->out[0].shape,
                 .w = a->in[1].shape,
                 .y = a->in[0].shape,
                 .type = {a->out[0].dtype, a->in[1].dtype, a->in[0].dtype, TT_F32}};
    return prepare(&p, state);
}

TtStatus tt_dnnl_conv2d_dw_prepare(TtKernelArgs *a, void **state)
{
    const TtConv2dGradAttrs *ga = a->attrs;
    Problem p = {.kind = dnnl_backward_weights,
                 .a = &ga->conv,
                 .x = a->in[0].shape,
                 .w = a->out[0].shape,
                 .y = a->in[1].shape,
                 .bias = ga->bias,
                 .type = {a->in[0].dtype, a->out[0].dtype, a->in[1].dtype, a->out[1].dtype}};
    return prepare(&p, state);
}

size_t tt_dnnl_conv_scratch(const TtKernelArgs *a)
{
    return a->state ? ((const State *)a->state)->scratch : 0;
}

void tt_dnnl_conv_release(void *state)
{
    State *s = state;
    if (!s) return;
    for (int role = 0; role < ROLES; role++) {
        dnnl_primitive_destroy(s->operand[role].reorder);
        dnnl_memory_destroy(s->operand[role].user);
        dnnl_memory_destroy(s->operand[role].packed);
    }
    dnnl_memory_destroy(s->scratchpad);
    dnnl_primitive_destroy(s->primitive);
    dnnl_primitive_desc_destroy(s->desc);
    free(s);
}

/* ---- run */

static TtStatus reorder(const Operand *o, dnnl_memory_t from, dnnl_memory_t to)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    TT_DNNL(dnnl_primitive_execute(o->reorder, tt_dnnl_stream(), 2, args));
    return TT_OK;
}

static TtStatus run(TtKernelArgs *a, void *const data[ROLES], const int arg[ROLES])
{
    State *s = a->state;
    if (!s) { /* nothing to convolve: empty outputs need nothing, gradients of weights are zero */
        for (int i = 0; i < a->nout; i++) memset(a->out[i].data, 0, tt_tensor_bytes(&a->out[i]));
        return TT_OK;
    }
    dnnl_exec_arg_t args[ROLES + 1];
    int n = 0;
    for (int role = 0; role < ROLES; role++) {
        Operand *o = &s->operand[role];
        if (!o->used) continue;
        TT_DNNL(dnnl_memory_set_data_handle(o->user, data[role]));
        if (o->packed) {
            TT_DNNL(dnnl_memory_set_data_handle(o->packed, (char *)a->scratch + o->offset));
            if (!o->output) TT_TRY(reorder(o, o->user, o->packed));
        }
        args[n++] = (dnnl_exec_arg_t){arg[role], o->packed ? o->packed : o->user};
    }
    TT_DNNL(dnnl_memory_set_data_handle(s->scratchpad, (char *)a->scratch + s->scratchpad_offset));
    args[n++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, s->scratchpad};
    TT_DNNL(dnnl_primitive_execute(s->primitive, tt_dnnl_stream(), n, args));
    for (int role = 0; role < ROLES; role++) {
        Operand *o = &s->operand[role];
        if (o->packed && o->output) TT_TRY(reorder(o, o->packed, o->user));
    }
    TT_DNNL(dnnl_stream_wait(tt_dnnl_stream()));
    return TT_OK;
}

TtStatus tt_dnnl_conv2d(TtKernelArgs *a)
{
    void *const data[ROLES] = {a->in[0].data, a->in[1].data, a->out[0].data, a->in[2].data};
    return run(a, data, (const int[]){DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS});
}

TtStatus tt_dnnl_conv2d_dx(TtKernelArgs *a)
{
    void *const data[ROLES] = {a->out[0].data, a->in[1].data, a->in[0].data, NULL};
    return run(a, data, (const int[]){DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, 0});
}

TtStatus tt_dnnl_conv2d_dw(TtKernelArgs *a)
{
    void *const data[ROLES] = {a->in[0].data, a->out[0].data, a->in[1].data, a->out[1].data};
    return run(a, data, (const int[]){DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS});
}
