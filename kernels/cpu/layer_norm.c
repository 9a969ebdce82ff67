/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/layer_norm.c - layer norm on rows of neighbours, a tile at a time; cumulative norm is the same with
 * statistics that go on from frame to frame.
 *
 * Forward goes over a row three times (mean, squared distances from it, result), the gradient twice (two sums, then dx
 * and the weight's partial sums); after the first time the row comes from the cache. Rows are the parallel loop; the
 * gradient takes them in chunks of fixed size, whose sums for weight and bias are combined in order, in double.
 * bfloat16 is widened on load and rounded on store. */
#include "kernels/ops/layer_norm.h"

#include <math.h>

#include "kernels/cpu/block.h"
#include "kernels/cpu/lanes.h"

enum { TILE = TT_BLOCK };

typedef struct Rows {
    int64_t rows, n;
} Rows;

static Rows rows_of(const TtTensor *x, const TtTensor *mean)
{
    Rows d = {.rows = tt_tensor_count(mean), .n = 1};
    for (int k = mean->shape.rank; k < x->shape.rank; k++) d.n *= x->shape.dims[k];
    return d;
}

/* N floats of a tensor from element AT: in place, or converted into BUF. */
static const float *floats(const TtTensor *x, int64_t at, int64_t n, float *buf)
{
    if (x->dtype == TT_F32) return (const float *)x->data + at;
    tt_load_floats(x, at, 1, n, buf);
    return buf;
}

/* ---- forward */

static double row_mean(const TtTensor *x, int64_t at, int64_t n)
{
    float buf[TILE];
    double sum = 0;
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = TT_MIN(n - i, (int64_t)TILE);
        sum += tt_lanes_sum(floats(x, at + i, part, buf), part);
    }
    return sum / (double)n;
}

static double row_var(const TtTensor *x, int64_t at, int64_t n, float mean)
{
    float buf[TILE];
    double sum = 0;
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = TT_MIN(n - i, (int64_t)TILE);
        sum += tt_lanes_squares(floats(x, at + i, part, buf), mean, part);
    }
    return sum / (double)n;
}

static void normalise_tile(const float *restrict x, float mean, float invstd, const float *restrict w,
                           const float *restrict b, int64_t n, float *restrict y)
{
    if (w && b) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = tt_mad((x[i] - mean) * invstd, w[i], b[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * invstd;
    for (int64_t i = 0; w && i < n; i++) y[i] *= w[i];
    for (int64_t i = 0; b && i < n; i++) y[i] += b[i];
}

static void normalise_row(TtKernelArgs *a, int64_t r, int64_t n, float mean, float invstd)
{
    const TtTensor *x = &a->in[TT_LN_X], *y = &a->out[TT_LN_Y];
    const float *w = a->in[TT_LN_WEIGHT].data, *b = a->in[TT_LN_BIAS].data;
    float xb[TILE], yb[TILE];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t part = TT_MIN(n - i, (int64_t)TILE), at = r * n + i;
        float *to = y->dtype == TT_F32 ? (float *)y->data + at : yb;
        normalise_tile(floats(x, at, part, xb), mean, invstd, w ? w + i : NULL, b ? b + i : NULL, part, to);
        if (to == yb) tt_store_floats(y, at, part, yb);
    }
}

TtStatus TT_CPU(layer_norm)(TtKernelArgs *a)
{
    const TtLayerNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_LN_X];
    float *means = a->out[TT_LN_SAVE_MEAN].data, *invstds = a->out[TT_LN_SAVE_INVSTD].data;
    TT_TRY(tt_need_floats(a));
    Rows d = rows_of(x, &a->out[TT_LN_SAVE_MEAN]);
#pragma omp parallel for schedule(static) if (d.rows * d.n > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) {
        float mean = d.n ? (float)row_mean(x, r * d.n, d.n) : 0;
        double var = d.n ? row_var(x, r * d.n, d.n, mean) : 0;
        means[r] = mean;
        invstds[r] = (float)(1 / sqrt(var + attrs->eps));
        normalise_row(a, r, d.n, mean, invstds[r]);
    }
    return TT_OK;
}

/* ---- gradient */

/* A tile of a row's dy, x and weight. */
typedef struct Tile {
    const float *dy, *x, *w;
    int64_t at, n;
    float dyb[TILE], xb[TILE];
} Tile;

static void load_tile(Tile *t, const TtKernelArgs *a, int64_t r, int64_t col, int64_t n)
{
    const float *w = a->in[TT_LN_BWD_WEIGHT].data;
    t->n = TT_MIN(n - col, (int64_t)TILE), t->at = r * n + col;
    t->dy = floats(&a->in[TT_LN_BWD_DY], t->at, t->n, t->dyb);
    t->x = floats(&a->in[TT_LN_BWD_X], t->at, t->n, t->xb);
    t->w = w ? w + col : NULL;
}

/* The sums of d = dy * weight and of d * (x - mean) over a row. */
static void row_sums(const TtKernelArgs *a, int64_t r, int64_t n, float mean, double *sum, double *dot)
{
    Tile t;
    float product[TILE];
    *sum = *dot = 0;
    for (int64_t i = 0; i < n; i += TILE) {
        load_tile(&t, a, r, i, n);
        const float *d = t.dy;
        if (t.w) {
            for (int64_t k = 0; k < t.n; k++) product[k] = t.dy[k] * t.w[k];
            d = product;
        }
        *sum += tt_lanes_sum(d, t.n);
        *dot += tt_lanes_dot(t.x, mean, d, t.n);
    }
}

/* dx = dy * weight * invstd + (x - mean) * p + q. */
static void dx_tile(const Tile *t, float mean, float invstd, float p, float q, float *restrict dx)
{
    const float *restrict dy = t->dy, *restrict x = t->x, *restrict w = t->w;
    if (w) {
#pragma omp simd
        for (int64_t i = 0; i < t->n; i++) dx[i] = tt_mad(dy[i] * w[i], invstd, tt_mad(x[i] - mean, p, q));
    } else {
#pragma omp simd
        for (int64_t i = 0; i < t->n; i++) dx[i] = tt_mad(dy[i], invstd, tt_mad(x[i] - mean, p, q));
    }
}

static void add_weight_tile(const Tile *t, float mean, float invstd, float *restrict dw, float *restrict db)
{
    const float *restrict dy = t->dy, *restrict x = t->x;
#pragma omp simd
    for (int64_t i = 0; i < t->n; i++) {
        dw[i] = tt_mad(dy[i], (x[i] - mean) * invstd, dw[i]);
        db[i] += dy[i];
    }
}

/* What dx of a row is made of beside dy: (x - mean) * p + q. */
typedef struct Slope {
    double p, q;
} Slope;

static float mean_at(const TtKernelArgs *a, int64_t r)
{
    return ((const float *)a->in[TT_LN_BWD_MEAN].data)[r];
}

static float invstd_at(const TtKernelArgs *a, int64_t r)
{
    return ((const float *)a->in[TT_LN_BWD_INVSTD].data)[r];
}

static Slope row_slope(const TtKernelArgs *a, int64_t r, int64_t n)
{
    double sum, dot, s = invstd_at(a, r);
    row_sums(a, r, n, mean_at(a, r), &sum, &dot);
    return (Slope){-s * s * s * dot / (double)n, -s * sum / (double)n};
}

/* PARTS: the chunk's sums for weight and bias, or NULL. */
static void gradient_row(TtKernelArgs *a, int64_t r, int64_t n, Slope slope, float *parts)
{
    const TtTensor *dx = &a->out[0];
    float mean = mean_at(a, r), invstd = invstd_at(a, r), p = (float)slope.p, q = (float)slope.q, out[TILE];
    Tile t;
    for (int64_t i = 0; i < n; i += TILE) {
        load_tile(&t, a, r, i, n);
        float *to = dx->dtype == TT_F32 ? (float *)dx->data + t.at : out;
        dx_tile(&t, mean, invstd, p, q, to);
        if (to == out) tt_store_floats(dx, t.at, t.n, out);
        if (parts) add_weight_tile(&t, mean, invstd, parts + i, parts + n + i);
    }
}

/* SLOPES: of every row, or NULL to find them here. PARTS: memory for the chunks' sums. */
static void gradient(TtKernelArgs *a, Rows d, const Slope *slopes, float *parts)
{
    const TtLayerNormAttrs *attrs = a->attrs;
    int64_t chunk = tt_layer_norm_rows(d.n), chunks = (d.rows + chunk - 1) / chunk;
#pragma omp parallel for schedule(static) if (d.rows * d.n > TT_GRAIN)
    for (int64_t k = 0; k < chunks; k++) {
        float *own = attrs->affine ? parts + k * 2 * d.n : NULL;
        if (own) memset(own, 0, (size_t)(2 * d.n) * sizeof *own);
        for (int64_t r = k * chunk; r < TT_MIN((k + 1) * chunk, d.rows); r++)
            gradient_row(a, r, d.n, slopes ? slopes[r] : row_slope(a, r, d.n), own);
    }
    if (!attrs->affine) return;
    float *dw = a->out[1].data, *db = a->out[2].data;
#pragma omp parallel for schedule(static) if (chunks * d.n > TT_GRAIN)
    for (int64_t i = 0; i < d.n; i++) {
        double w = 0, b = 0;
        for (int64_t k = 0; k < chunks; k++) w += parts[k * 2 * d.n + i], b += parts[(k * 2 + 1) * d.n + i];
        dw[i] = (float)w, db[i] = (float)b;
    }
}

TtStatus TT_CPU(layer_norm_bwd)(TtKernelArgs *a)
{
    TT_TRY(tt_need_floats(a));
    gradient(a, rows_of(&a->in[TT_LN_BWD_X], &a->in[TT_LN_BWD_MEAN]), NULL, a->scratch);
    return TT_OK;
}

/* ---- cumulative norm */

/* A frame's mean and its sum of squared distances from it. */
typedef struct Frame {
    double mean, scatter;
} Frame;

static Frame frame_moments(const TtTensor *x, int64_t r, int64_t n)
{
    Frame f = {.mean = row_mean(x, r * n, n)};
    float centre = (float)f.mean;
    double off = f.mean - (double)centre;
    f.scatter = (row_var(x, r * n, n, centre) - off * off) * (double)n;
    return f;
}

/* The statistics of a sample's frames 0..t for every t, put together as Chan, Golub and LeVeque 1979 do. */
static void run_statistics(const TtKernelArgs *a, const Frame *frames, int64_t first, int64_t count, int64_t n)
{
    double eps = ((const TtLayerNormAttrs *)a->attrs)->eps, mean = 0, scatter = 0;
    for (int64_t t = 0; t < count; t++) {
        const Frame *f = &frames[first + t];
        double d = f->mean - mean, all = (double)(t + 1);
        scatter += f->scatter + d * d * (double)n * (double)t / all;
        mean += d / all;
        double var = (scatter < 0 ? 0 : scatter) / (all * (double)n);
        ((float *)a->out[TT_LN_SAVE_MEAN].data)[first + t] = (float)mean;
        ((float *)a->out[TT_LN_SAVE_INVSTD].data)[first + t] = (float)(1 / sqrt(var + eps));
    }
}

TtStatus TT_CPU(cumulative_norm)(TtKernelArgs *a)
{
    const TtTensor *x = &a->in[TT_LN_X];
    float *means = a->out[TT_LN_SAVE_MEAN].data, *invstds = a->out[TT_LN_SAVE_INVSTD].data;
    TT_TRY(tt_need_floats(a));
    Rows d = rows_of(x, &a->out[TT_LN_SAVE_MEAN]);
    int64_t samples = x->shape.dims[0], count = x->shape.dims[1];
    Frame *frames = a->scratch;
    if (d.n == 0) {
        for (int64_t r = 0; r < d.rows; r++) means[r] = invstds[r] = 0;
        return TT_OK;
    }
#pragma omp parallel for schedule(static) if (d.rows * d.n > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) frames[r] = frame_moments(x, r, d.n);
#pragma omp parallel for schedule(static) if (d.rows > TT_GRAIN)
    for (int64_t s = 0; s < samples; s++) run_statistics(a, frames, s * count, count, d.n);
#pragma omp parallel for schedule(static) if (d.rows * d.n > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) normalise_row(a, r, d.n, means[r], invstds[r]);
    return TT_OK;
}

/* A frame takes part in the statistics of all later ones: from the last to the first, what their means and variances ask
 * of an element x, P x + OFFSET, is added up. A frame's own share of its statistics, as layer_norm has it, is made
 * smaller by the number of frames. */
static void run_slopes(const TtKernelArgs *a, Slope *slopes, int64_t first, int64_t count)
{
    double p = 0, offset = 0;
    for (int64_t t = count - 1; t >= 0; t--) {
        Slope *s = &slopes[first + t];
        double mean = (double)mean_at(a, first + t), frames = (double)(t + 1);
        p += s->p / frames;
        offset += (s->q - s->p * mean) / frames;
        *s = (Slope){p, offset + p * mean};
    }
}

TtStatus TT_CPU(cumulative_norm_bwd)(TtKernelArgs *a)
{
    TT_TRY(tt_need_floats(a));
    const TtShape *x = &a->in[TT_LN_BWD_X].shape;
    Rows d = rows_of(&a->in[TT_LN_BWD_X], &a->in[TT_LN_BWD_MEAN]);
    Slope *slopes = a->scratch;
    if (d.n == 0) return TT_OK;
#pragma omp parallel for schedule(static) if (d.rows * d.n > TT_GRAIN)
    for (int64_t r = 0; r < d.rows; r++) slopes[r] = row_slope(a, r, d.n);
#pragma omp parallel for schedule(static) if (d.rows > TT_GRAIN)
    for (int64_t s = 0; s < x->dims[0]; s++) run_slopes(a, slopes, s * x->dims[1], x->dims[1]);
    gradient(a, d, slopes, (float *)(slopes + d.rows));
    return TT_OK;
}
