/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_conv.c - convolutions through oneDNN.
 *
 * Pictures are channels-last on both sides. oneDNN chooses the layout of the weights; a reorder packs them from
 * PyTorch's (or unpacks their gradient) in planned scratch, a small cost beside the products. Primitives are made when
 * the program is built; a run only sets pointers. The algorithm is direct convolution, fixed: a resumed run must take
 * the same one. Where the machine has no bfloat16 kernels, the operands (already rounded) are widened to float32 in
 * scratch and the float32 primitive runs: the same products, rounded once at the end. */
#include "kernels/cpu/dnnl_conv.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dnnl_common.h"
#include "kernels/ops/conv.h"

enum { SRC, WEIGHTS, DST, BIAS, ROLES }; /* x, w, y, b or their gradients */

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

static const dnnl_memory_desc_t *wanted_desc(const Problem *p, const_dnnl_primitive_desc_t d, int role)
{
    bool dx = p->kind == dnnl_backward_data, dw = p->kind == dnnl_backward_weights;
    dnnl_query_t what = role == SRC   ? (dx ? dnnl_query_diff_src_md : dnnl_query_src_md)
                        : role == DST ? (dx || dw ? dnnl_query_diff_dst_md : dnnl_query_dst_md)
                                      : (dw ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    return dnnl_primitive_desc_query_md(d, what, role == BIAS ? 1 : 0);
}

/* Whether the primitive writes an operand. */
static bool is_output(const Problem *p, int role)
{
    if (p->kind == dnnl_forward_training) return role == DST;
    if (p->kind == dnnl_backward_data) return role == SRC;
    return role == WEIGHTS || role == BIAS;
}

static int argument(const Problem *p, int role)
{
    static const int forward[ROLES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
    static const int dx[ROLES] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, 0};
    static const int dw[ROLES] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS};
    return (p->kind == dnnl_forward_training ? forward : p->kind == dnnl_backward_data ? dx : dw)[role];
}

static TtStatus build(const Problem *p, TtDnnlState *s)
{
    dnnl_status_t st = make_desc(p, false, &s->desc);
    if (st == dnnl_unimplemented && p->type[SRC] == TT_BF16) st = make_desc(p, true, &s->desc);
    TT_DNNL(st);
    for (int role = 0; role < ROLES; role++) {
        if (role == BIAS && !p->bias) continue;
        dnnl_memory_desc_t have = operand_desc(p, role, tt_dnnl_type(p->type[role]), false);
        TT_TRY(tt_dnnl_state_operand(s, role, argument(p, role), &have, wanted_desc(p, s->desc, role),
                                     is_output(p, role)));
    }
    return tt_dnnl_state_finish(s);
}

static TtStatus prepare(const Problem *p, void **state)
{
    *state = NULL;
    if (tt_shape_count(&p->x) == 0 || tt_shape_count(&p->y) == 0 || tt_shape_count(&p->w) == 0) return TT_OK;
    TtDnnlState *s = tt_dnnl_state_new();
    TtStatus st = build(p, s);
    if (st != TT_OK) {
        tt_dnnl_state_release(s);
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

/* ---- the weights' gradient
 *
 * oneDNN's own parallel form lets threads wait for each other inside the kernel, spinning: with a busy neighbour on the
 * machine, or loader workers on the same cores, each wait lasts a scheduler's slice. So the batch is cut into parts whose
 * number depends on shapes alone; each part is one single-threaded primitive with a gradient of its own, and the parts
 * are added in order. The sum is then also the same for any number of threads. */

enum { MAX_PARTS = 16 };
#define PARTS_BYTES ((size_t)64 << 20) /* of gradients side by side */

typedef struct Parts {
    int n;
    int64_t first[MAX_PARTS + 1]; /* pictures */
    TtDnnlState *state[MAX_PARTS];
    size_t scratch[MAX_PARTS], grad[MAX_PARTS]; /* offsets within the scratch: the primitive's own, dw and db */
    size_t size;
} Parts;

static int count_parts(const TtKernelArgs *a)
{
    size_t one = tt_tensor_bytes(&a->out[0]) + tt_tensor_bytes(&a->out[1]);
    int64_t pictures = a->in[0].shape.dims[0], room = (int64_t)(PARTS_BYTES / (one + 1));
    /* With more threads than parts the primitive that uses them all is the lesser evil. */
    if (pictures == 1 || omp_get_max_threads() > MAX_PARTS) return 1;
    return (int)TT_MIN(TT_MIN(pictures, (int64_t)MAX_PARTS), TT_MAX(room, (int64_t)2));
}

static TtStatus prepare_parts(const Problem *whole, Parts *p)
{
    for (int i = 0; i < p->n; i++) {
        Problem part = *whole;
        part.x.dims[0] = part.y.dims[0] = p->first[i + 1] - p->first[i];
        TT_TRY(prepare(&part, (void **)&p->state[i]));
    }
    return TT_OK;
}

TtStatus tt_dnnl_conv2d_dw_prepare(TtKernelArgs *a, void **state)
{
    const TtConv2dGradAttrs *ga = a->attrs;
    Problem whole = {.kind = dnnl_backward_weights,
                     .a = &ga->conv,
                     .x = a->in[0].shape,
                     .w = a->out[0].shape,
                     .y = a->in[1].shape,
                     .bias = ga->bias,
                     .type = {a->in[0].dtype, a->out[0].dtype, a->in[1].dtype, a->out[1].dtype}};
    *state = NULL;
    if (tt_tensor_count(&a->in[0]) == 0 || tt_tensor_count(&a->in[1]) == 0 || tt_tensor_count(&a->out[0]) == 0)
        return TT_OK;
    Parts *p = tt_realloc(NULL, sizeof *p);
    *p = (Parts){.n = count_parts(a)};
    int64_t pictures = a->in[0].shape.dims[0];
    for (int i = 0; i <= p->n; i++) p->first[i] = pictures * i / p->n;
    int threads = omp_get_max_threads();
    if (p->n > 1) omp_set_num_threads(1); /* oneDNN asks when a primitive is made */
    TtStatus s = prepare_parts(&whole, p);
    omp_set_num_threads(threads);
    for (int i = 0; i < p->n && s == TT_OK; i++) {
        p->scratch[i] = p->size;
        p->size += tt_aligned(p->state[i]->scratch);
        p->grad[i] = p->size;
        if (p->n > 1) p->size += tt_aligned(tt_tensor_bytes(&a->out[0])) + tt_aligned(tt_tensor_bytes(&a->out[1]));
    }
    if (s != TT_OK) {
        tt_dnnl_conv2d_dw_release(p);
        return s;
    }
    *state = p;
    return TT_OK;
}

size_t tt_dnnl_conv2d_dw_scratch(const TtKernelArgs *a)
{
    return a->state ? ((const Parts *)a->state)->size : 0;
}

void tt_dnnl_conv2d_dw_release(void *state)
{
    Parts *p = state;
    for (int i = 0; i < p->n; i++) tt_dnnl_state_release(p->state[i]);
    free(p);
}

/* out = the parts' gradients, added in order. */
static void add_parts(const Parts *p, const char *scratch, size_t skip, const TtTensor *out)
{
    int64_t n = tt_tensor_count(out);
    float *to = out->data;
#pragma omp parallel for schedule(static) if (n > 16384)
    for (int64_t first = 0; first < n; first += 4096) {
        int64_t len = TT_MIN((int64_t)4096, n - first);
        memcpy(to + first, scratch + p->grad[0] + skip + (size_t)first * sizeof *to, (size_t)len * sizeof *to);
        for (int k = 1; k < p->n; k++) {
            const float *from = (const float *)(const void *)(scratch + p->grad[k] + skip) + first;
            for (int64_t i = 0; i < len; i++) to[first + i] += from[i];
        }
    }
}

TtStatus tt_dnnl_conv2d_dw(TtKernelArgs *a)
{
    const Parts *p = a->state;
    if (!p) {
        for (int i = 0; i < 2; i++) memset(a->out[i].data, 0, tt_tensor_bytes(&a->out[i]));
        return TT_OK;
    }
    char *scratch = a->scratch;
    size_t dw = tt_aligned(tt_tensor_bytes(&a->out[0]));
    int64_t x = a->in[0].strides[0] * (int64_t)tt_dtype_size(a->in[0].dtype);
    int64_t y = a->in[1].strides[0] * (int64_t)tt_dtype_size(a->in[1].dtype);
    TtStatus status = TT_OK;
    char message[256] = "";
#pragma omp parallel for schedule(dynamic, 1) if (p->n > 1)
    for (int i = 0; i < p->n; i++) {
        TtKernelArgs part = *a;
        part.state = p->state[i], part.scratch = scratch + p->scratch[i];
        bool own = p->n > 1;
        TtStatus s = tt_dnnl_state_run(&part, (void *[]){(char *)a->in[0].data + p->first[i] * x,
                                                         own ? scratch + p->grad[i] : a->out[0].data,
                                                         (char *)a->in[1].data + p->first[i] * y,
                                                         own ? scratch + p->grad[i] + dw : a->out[1].data});
        if (s != TT_OK) {
#pragma omp critical
            {
                status = s;
                snprintf(message, sizeof message, "%.200s", tt_error_message());
            }
        }
    }
    if (status != TT_OK) return tt_error_set(status, message, NULL);
    if (p->n > 1) {
        add_parts(p, scratch, 0, &a->out[0]);
        add_parts(p, scratch, dw, &a->out[1]);
    }
    return TT_OK;
}

/* ---- run */

TtStatus tt_dnnl_conv2d(TtKernelArgs *a)
{
    return tt_dnnl_state_run(a, (void *[]){a->in[0].data, a->in[1].data, a->out[0].data, a->in[2].data});
}

TtStatus tt_dnnl_conv2d_dx(TtKernelArgs *a)
{
    return tt_dnnl_state_run(a, (void *[]){a->out[0].data, a->in[1].data, a->in[0].data, NULL});
}
