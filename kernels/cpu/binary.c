/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/binary.c - arithmetic, comparison and choice of broadcast tensors.
 * Floating-point types go through blocks of float32; integers, which only labels and indices use, element by
 * element in 64 bits. The arithmetic loops may run in place on the first input. */
#include "kernels/ops/binary.h"

#include <math.h>

#include "kernels/cpu/block.h"

typedef void (*Arithmetic)(const float *x, const float *y, float *z, int n);
typedef void (*Comparison)(const float *x, const float *y, uint8_t *z, int n);

#define ARITHMETIC(name, expr)                                          \
    static void name(const float *xs, const float *ys, float *z, int n) \
    {                                                                   \
        _Pragma("omp simd") for (int i = 0; i < n; i++)                 \
        {                                                               \
            const float x = xs[i], y = ys[i];                           \
            z[i] = (expr);                                              \
        }                                                               \
    }
ARITHMETIC(do_add, x + y)
ARITHMETIC(do_sub, x - y)
ARITHMETIC(do_mul, x *y)
ARITHMETIC(do_div, x / y)
ARITHMETIC(do_maximum, tt_select((x > y) | (x != x), x, y)) /* NaN wins */
ARITHMETIC(do_minimum, tt_select((x < y) | (x != x), x, y))
ARITHMETIC(do_pow, powf(x, y))

#define COMPARISON(name, op)                                                 \
    static void name(const float *x, const float *y, uint8_t *z, int n)      \
    {                                                                        \
        _Pragma("omp simd") for (int i = 0; i < n; i++) z[i] = x[i] op y[i]; \
    }
COMPARISON(do_eq, ==)
COMPARISON(do_ne, !=)
COMPARISON(do_lt, <)
COMPARISON(do_le, <=)
COMPARISON(do_gt, >)
COMPARISON(do_ge, >=)

static const Arithmetic arithmetic[TT_BINARY_COUNT] = {do_add, do_sub, do_mul, do_div, do_maximum, do_minimum, do_pow};
static const Comparison comparison[TT_COMPARE_COUNT] = {do_eq, do_ne, do_lt, do_le, do_gt, do_ge};

static int64_t int_at(const TtTensor *t, int64_t at)
{
    switch (t->dtype) {
    case TT_I64: return ((const int64_t *)t->data)[at];
    case TT_I32: return ((const int32_t *)t->data)[at];
    case TT_U16: return ((const uint16_t *)t->data)[at];
    default: return ((const uint8_t *)t->data)[at];
    }
}

static void int_put(const TtTensor *t, int64_t at, int64_t v)
{
    switch (t->dtype) {
    case TT_I64: ((int64_t *)t->data)[at] = v; break;
    case TT_I32: ((int32_t *)t->data)[at] = (int32_t)v; break;
    case TT_U16: ((uint16_t *)t->data)[at] = (uint16_t)v; break;
    case TT_BOOL: ((uint8_t *)t->data)[at] = v != 0; break;
    default: ((uint8_t *)t->data)[at] = (uint8_t)v; break;
    }
}

/* Overflow wraps, as in NumPy. */
static int64_t int_arithmetic(TtBinaryKind kind, int64_t x, int64_t y)
{
    switch (kind) {
    case TT_BINARY_ADD: return (int64_t)((uint64_t)x + (uint64_t)y);
    case TT_BINARY_SUB: return (int64_t)((uint64_t)x - (uint64_t)y);
    case TT_BINARY_MUL: return (int64_t)((uint64_t)x * (uint64_t)y);
    case TT_BINARY_MAXIMUM: return TT_MAX(x, y);
    default: return TT_MIN(x, y);
    }
}

static bool int_compare(TtCompareKind kind, int64_t x, int64_t y)
{
    switch (kind) {
    case TT_COMPARE_EQ: return x == y;
    case TT_COMPARE_NE: return x != y;
    case TT_COMPARE_LT: return x < y;
    case TT_COMPARE_LE: return x <= y;
    case TT_COMPARE_GT: return x > y;
    default: return x >= y;
    }
}

/* Element offsets of the inputs at linear position I. */
static int64_t offset_at(const TtBlocks *b, int t, int64_t i)
{
    return tt_block_row_offset(b, t, i / b->inner) + i % b->inner * b->strides[t][b->rank - 1];
}

static void arithmetic_block(const float *const *in, float *out, int64_t start, int n, const void *kind)
{
    arithmetic[*(const TtBinaryKind *)kind](in[0], in[1], out, n);
}

TtStatus TT_CPU(binary)(TtKernelArgs *k)
{
    TtBinaryKind kind = ((const TtBinaryAttrs *)k->attrs)->kind;
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0], &k->in[1]}, 2);
    if (!tt_dtype_is_float(k->in[0].dtype)) {
        for (int64_t i = 0; i < b.total; i++)
            int_put(
                &k->out[0], i,
                int_arithmetic(kind, int_at(&k->in[0], offset_at(&b, 0, i)), int_at(&k->in[1], offset_at(&b, 1, i))));
        return TT_OK;
    }
    TT_TRY(tt_need_floats(k));
    tt_blocks_run(&b, 2, &k->out[0], arithmetic_block, &kind);
    return TT_OK;
}

typedef struct Compare {
    Comparison kernel;
    uint8_t *out;
} Compare;

static void compare_block(const float *const *in, float *out, int64_t start, int n, const void *user)
{
    const Compare *c = user;
    c->kernel(in[0], in[1], c->out + start, n);
}

TtStatus TT_CPU(compare)(TtKernelArgs *k)
{
    TtCompareKind kind = ((const TtCompareAttrs *)k->attrs)->kind;
    uint8_t *out = k->out[0].data;
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0], &k->in[1]}, 2);
    if (!tt_dtype_is_float(k->in[0].dtype)) {
        for (int64_t i = 0; i < b.total; i++)
            out[i] = int_compare(kind, int_at(&k->in[0], offset_at(&b, 0, i)), int_at(&k->in[1], offset_at(&b, 1, i)));
        return TT_OK;
    }
    TT_TRY(tt_need_floats(k));
    tt_blocks_run(&b, 2, NULL, compare_block, &(Compare){comparison[kind], out});
    return TT_OK;
}

static void choose_block(const float *const *in, float *out, int64_t start, int n, const void *user)
{
    const float *cond = in[0], *x = in[1], *y = in[2];
#pragma omp simd
    for (int i = 0; i < n; i++) out[i] = tt_select(cond[i] != 0.0f, x[i], y[i]);
}

/* Integers and float64: copied as they are. */
static void choose_bytes(const TtBlocks *b, const TtKernelArgs *k)
{
    size_t size = tt_dtype_size(k->out[0].dtype);
    for (int64_t i = 0; i < b->total; i++) {
        int from = ((const uint8_t *)k->in[0].data)[offset_at(b, 0, i)] ? 1 : 2;
        memcpy((char *)k->out[0].data + (size_t)i * size,
               (const char *)k->in[from].data + offset_at(b, from, i) * (int64_t)size, size);
    }
}

TtStatus TT_CPU(where)(TtKernelArgs *k)
{
    TtBlocks b;
    tt_blocks_plan(&b, &k->out[0].shape, (const TtTensor *[]){&k->in[0], &k->in[1], &k->in[2]}, 3);
    if (!tt_is_float_class(k->out[0].dtype)) {
        choose_bytes(&b, k);
        return TT_OK;
    }
    tt_blocks_run(&b, 3, &k->out[0], choose_block, NULL);
    return TT_OK;
}
