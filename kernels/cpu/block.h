/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/block.h - how elementwise kernels walk over tensors: in blocks of at most 1024 floats.
 *
 * The work is the output's shape in row-major order, cut into blocks that depend on shapes alone. For each block a
 * kernel asks for its inputs as plain float arrays: a pointer into the tensor where it is float32 and consecutive,
 * otherwise a small buffer (which stays in L1) filled from any strides, broadcast axes or element type. So the
 * arithmetic of a kernel is one simple loop, and bfloat16, slices and broadcasting need no code of their own.
 * An input that is the same for every block (a bias row, a scalar) is loaded once per thread. */
#ifndef TT_KERNELS_CPU_BLOCK_H
#define TT_KERNELS_CPU_BLOCK_H

#include "kernels/cpu/cpu.h"
#include "tensor/vmath.h"

enum { TT_BLOCK = 1024, TT_BLOCK_TENSORS = 4 };

typedef struct TtBlocks {
    int rank; /* after merging axes; at least 1 */
    int64_t dims[TT_MAX_RANK];
    int64_t strides[TT_BLOCK_TENSORS][TT_MAX_RANK];
    const TtTensor *tensor[TT_BLOCK_TENSORS];
    bool constant[TT_BLOCK_TENSORS]; /* every block sees the same values */
    bool flat[TT_BLOCK_TENSORS];     /* row-major and without gaps */
    int64_t total, inner, outer;
    int64_t rows;  /* rows of a block; 1 when a row is cut into pieces */
    int64_t piece; /* elements of a row in a block */
    int64_t count; /* number of blocks */
} TtBlocks;

/* A block: N elements from linear position START; FULL is the size of any but the last of a row. */
typedef struct TtSpan {
    int64_t start, row, col;
    int n, full;
} TtSpan;

/* One per thread. */
typedef struct TtBlockBuffers {
    _Alignas(64) float data[TT_BLOCK_TENSORS][TT_BLOCK];
    bool ready[TT_BLOCK_TENSORS];
} TtBlockBuffers;

static inline bool tt_block_mergeable(const TtBlocks *b, int n, int k, int64_t dim)
{
    for (int t = 0; t < n; t++)
        if (b->strides[t][k - 1] != b->strides[t][k] * dim) return false;
    return true;
}

/* Plan for tensors that broadcast to SHAPE (as NumPy: aligned at the last axis). */
static inline void tt_blocks_plan(TtBlocks *b, const TtShape *shape, const TtTensor *const *tensors, int n)
{
    TT_ASSERT(n <= TT_BLOCK_TENSORS);
    *b = (TtBlocks){.total = tt_shape_count(shape)};
    for (int k = 0; k < shape->rank; k++) {
        if (shape->dims[k] == 1) continue;
        b->dims[b->rank] = shape->dims[k];
        for (int t = 0; t < n; t++) {
            int axis = k - (shape->rank - tensors[t]->shape.rank);
            bool repeated = axis < 0 || tensors[t]->shape.dims[axis] == 1;
            b->strides[t][b->rank] = repeated ? 0 : tensors[t]->strides[axis];
        }
        if (b->rank > 0 && tt_block_mergeable(b, n, b->rank, shape->dims[k])) {
            b->dims[b->rank - 1] *= shape->dims[k];
            for (int t = 0; t < n; t++) b->strides[t][b->rank - 1] = b->strides[t][b->rank];
        } else {
            b->rank++;
        }
    }
    if (b->rank == 0) b->dims[0] = 1, b->rank = 1;
    if (b->total == 0) return;
    b->inner = b->dims[b->rank - 1];
    b->outer = b->total / b->inner;
    bool cut = b->inner >= TT_BLOCK / 4 || b->outer == 1;
    b->rows = cut ? 1 : TT_BLOCK / b->inner;
    b->piece = cut ? TT_MIN(b->inner, TT_BLOCK) : b->inner;
    b->count = cut ? b->outer * ((b->inner + b->piece - 1) / b->piece) : (b->outer + b->rows - 1) / b->rows;
    for (int t = 0; t < n; t++) {
        b->tensor[t] = tensors[t];
        b->constant[t] = !cut || b->strides[t][b->rank - 1] == 0;
        b->flat[t] = true;
        int64_t step = 1;
        for (int k = b->rank - 1; k >= 0; k--) {
            if (k < b->rank - 1 && b->strides[t][k] != 0) b->constant[t] = false;
            if (b->dims[k] > 1 && b->strides[t][k] != step) b->flat[t] = false;
            step *= b->dims[k];
        }
    }
}

static inline TtSpan tt_block_span(const TtBlocks *b, int64_t k)
{
    TtSpan s = {0};
    if (b->piece == b->inner) {
        s.row = k * b->rows;
        s.full = (int)(b->rows * b->inner);
        s.n = (int)(TT_MIN(b->rows, b->outer - s.row) * b->inner);
    } else {
        int64_t per_row = (b->inner + b->piece - 1) / b->piece;
        s.row = k / per_row;
        s.col = k % per_row * b->piece;
        s.full = (int)b->piece;
        s.n = (int)TT_MIN(b->piece, b->inner - s.col);
    }
    s.start = s.row * b->inner + s.col;
    return s;
}

static inline int64_t tt_block_row_offset(const TtBlocks *b, int t, int64_t row)
{
    int64_t at = 0;
    for (int k = b->rank - 2; k >= 0; k--) {
        at += row % b->dims[k] * b->strides[t][k];
        row /= b->dims[k];
    }
    return at;
}

static inline float tt_from_bf16(uint16_t v)
{
    return tt_from_bits((uint32_t)v << 16);
}

static inline uint16_t tt_to_bf16(float v)
{
    uint32_t u = tt_bits(v), nan = -(uint32_t)((u & 0x7fffffffu) > 0x7f800000u);
    uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)((rounded & ~nan) | ((u >> 16 | 0x40) & nan));
}

/* N elements from element offset AT in steps of STRIDE. */
static inline void tt_load_floats(const TtTensor *t, int64_t at, int64_t stride, int64_t n, float *restrict out)
{
#define LOAD(type, expr)                                                             \
    do {                                                                             \
        const type *p = (const type *)t->data + at;                                  \
        if (stride == 1) {                                                           \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) out[i] = expr(p[i]); \
        } else {                                                                     \
            for (int64_t i = 0; i < n; i++) out[i] = expr(p[i * stride]);            \
        }                                                                            \
    } while (0)
    switch (t->dtype) {
    case TT_F32: LOAD(float, ); break;
    case TT_F64: LOAD(double, (float)); break;
    case TT_BF16: LOAD(uint16_t, tt_from_bf16); break;
    case TT_F16: LOAD(uint16_t, tt_f16_to_f32); break;
    case TT_I64: LOAD(int64_t, (float)); break;
    case TT_I32: LOAD(int32_t, (float)); break;
    case TT_U16: LOAD(uint16_t, ); break;
    case TT_U8:
    case TT_BOOL: LOAD(uint8_t, ); break;
    default: break;
    }
#undef LOAD
}

static inline void tt_store_floats(const TtTensor *t, int64_t at, int64_t n, const float *restrict in)
{
    if (t->dtype == TT_F32) {
        memcpy((float *)t->data + at, in, sizeof(float) * (size_t)n);
    } else if (t->dtype == TT_BF16) {
        uint16_t *p = (uint16_t *)t->data + at;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) p[i] = tt_to_bf16(in[i]);
    } else {
        uint16_t *p = (uint16_t *)t->data + at;
        for (int64_t i = 0; i < n; i++) p[i] = tt_f32_to_f16(in[i]);
    }
}

/* Tensor T's values of a block. */
static inline const float *tt_block_in(const TtBlocks *b, int t, TtSpan s, TtBlockBuffers *buf)
{
    const TtTensor *x = b->tensor[t];
    float *out = buf->data[t];
    if (b->constant[t]) { /* load a whole block's worth, so that it serves a short first block's successors too */
        if (buf->ready[t]) return out;
        buf->ready[t] = true;
        s.row = 0, s.col = 0, s.n = s.full;
    }
    if (b->flat[t] && !b->constant[t]) {
        if (x->dtype == TT_F32) return (const float *)x->data + s.start;
        tt_load_floats(x, s.start, 1, s.n, out);
        return out;
    }
    int64_t stride = b->strides[t][b->rank - 1];
    if (b->rows == 1) {
        int64_t at = tt_block_row_offset(b, t, s.row) + s.col * stride;
        if (x->dtype == TT_F32 && stride == 1) return (const float *)x->data + at;
        tt_load_floats(x, at, stride, s.n, out);
        return out;
    }
    for (int64_t done = 0; done < s.n; done += b->inner, s.row++)
        tt_load_floats(x, b->constant[t] ? 0 : tt_block_row_offset(b, t, s.row), stride, b->inner, out + done);
    return out;
}

/* Where to write a block of a contiguous output, and, after writing, its conversion if it has another type. */
static inline float *tt_block_out(const TtTensor *y, int t, TtSpan s, TtBlockBuffers *buf)
{
    return y->dtype == TT_F32 ? (float *)y->data + s.start : buf->data[t];
}

static inline void tt_block_store(const TtTensor *y, int t, TtSpan s, const TtBlockBuffers *buf)
{
    if (y->dtype != TT_F32) tt_store_floats(y, s.start, s.n, buf->data[t]);
}

/* Types whose arithmetic is done in float32. */
static inline bool tt_is_float_class(TtDType t)
{
    return t == TT_F32 || t == TT_BF16 || t == TT_F16;
}

/* One block: N values of each input. OUT is where they go, NULL for a kernel that writes from element START on itself. */
typedef void TtBlockFn(const float *const *in, float *out, int64_t start, int n, const void *user);

/* FN on every block of the planned inputs, in threads; its results become Y, of any float class (NULL: see above). */
static inline void tt_blocks_run(const TtBlocks *b, int nin, const TtTensor *y, TtBlockFn *fn, const void *user)
{
#pragma omp parallel if (b->total > TT_GRAIN)
    {
        TtBlockBuffers buf;
        memset(buf.ready, 0, sizeof buf.ready);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < b->count; i++) {
            TtSpan s = tt_block_span(b, i);
            const float *in[TT_BLOCK_TENSORS];
            for (int t = 0; t < nin; t++) in[t] = tt_block_in(b, t, s, &buf);
            fn(in, y ? tt_block_out(y, nin, s, &buf) : NULL, s.start, s.n, user);
            if (y) tt_block_store(y, nin, s, &buf);
        }
    }
}

/* For kernels that compute in float32: fail for anything else (float64 graphs run on the reference kernels). */
static inline TtStatus tt_need_floats(const TtKernelArgs *a)
{
    for (int i = 0; i < a->nin; i++)
        if (a->in[i].data && !tt_is_float_class(a->in[i].dtype))
            return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", a->op->name, tt_dtype_name(a->in[i].dtype));
    return TT_OK;
}

#endif
