/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/fft.c - fft, rfft, irfft, stft and istft, by tasks of some transforms each; tensor/fft.h does the rest. */
#include "tensor/fft.h"

#include <omp.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/stft.h"

/* A thread's scratch. */
typedef struct Room {
    void *plan;
    float *rows; /* of n + 2 floats: bins or samples, s->rows of each */
} Room;

static Room room_of(const TtKernelArgs *a)
{
    const TtFftState *s = a->state;
    char *p = (char *)a->scratch + s->scratch * (size_t)omp_get_thread_num();
    return (Room){p, (float *)(void *)(p + s->plan_scratch)};
}

static int threads_for(const TtKernelArgs *a, int64_t work)
{
    const TtFftState *s = a->state;
    return work > TT_GRAIN ? TT_MIN(s->threads, omp_get_max_threads()) : 1;
}

static TtStatus need_float32(const TtKernelArgs *a)
{
    for (int i = 0; i < a->nin; i++)
        if (a->in[i].dtype != TT_F32)
            return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", a->op->name, tt_dtype_name(a->in[i].dtype));
    return TT_OK;
}

/* y = x * INNER, but bin 0 and bin n/2 times EDGE. May be in place. */
static void scale_bins(const float *x, float *y, int64_t n, float edge, float inner)
{
    const int64_t bins = n / 2 + 1;
    const float first[2] = {x[0] * edge, x[1] * edge};
    const float last[2] = {x[2 * bins - 2] * edge, x[2 * bins - 1] * edge};
    for (int64_t k = 0; k < 2 * bins; k++) y[k] = x[k] * inner;
    if (n % 2 == 0) y[2 * bins - 2] = last[0], y[2 * bins - 1] = last[1];
    y[0] = first[0], y[1] = first[1];
}

TtStatus TT_CPU(fft)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const TtFftAttrs *f = a->attrs;
    const TtFftState *s = a->state;
    const int64_t row = 2 * tt_fft_length(s->plan), rows = tt_tensor_count(&a->in[0]) / row;
    const float *x = a->in[0].data, scale = (float)f->scale;
    float *y = a->out[0].data;
#pragma omp parallel num_threads(threads_for(a, rows *row))
    {
        const Room room = room_of(a);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; r += s->rows) {
            const int64_t n = TT_MIN(s->rows, rows - r);
            tt_fft_c2c(s->plan, f->sign, n, x + r * row, row, y + r * row, row, room.plan);
            for (int64_t i = r * row; scale != 1.0f && i < (r + n) * row; i++) y[i] *= scale;
        }
    }
    return TT_OK;
}

TtStatus TT_CPU(rfft)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const TtRfftAttrs *f = a->attrs;
    const TtFftState *s = a->state;
    const int64_t bins = 2 * (f->n / 2 + 1), rows = tt_tensor_count(&a->in[0]) / f->n;
    const float *x = a->in[0].data, edge = (float)f->scale, inner = (float)(f->scale * f->inner);
    float *y = a->out[0].data;
#pragma omp parallel num_threads(threads_for(a, rows * f->n))
    {
        const Room room = room_of(a);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; r += s->rows) {
            const int64_t n = TT_MIN(s->rows, rows - r);
            tt_fft_r2c(s->plan, n, x + r * f->n, f->n, NULL, y + r * bins, bins, room.plan);
            if (edge == 1.0f && inner == 1.0f) continue;
            for (int64_t i = r; i < r + n; i++) scale_bins(y + i * bins, y + i * bins, f->n, edge, inner);
        }
    }
    return TT_OK;
}

TtStatus TT_CPU(irfft)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const TtRfftAttrs *f = a->attrs;
    const TtFftState *s = a->state;
    const int64_t bins = 2 * (f->n / 2 + 1), rows = tt_tensor_count(&a->in[0]) / bins;
    const float *x = a->in[0].data, edge = (float)f->scale, inner = (float)(f->scale * f->inner / 2);
    float *y = a->out[0].data;
#pragma omp parallel num_threads(threads_for(a, rows * f->n))
    {
        const Room room = room_of(a);
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; r += s->rows) {
            const int64_t n = TT_MIN(s->rows, rows - r);
            for (int64_t i = 0; i < n; i++) scale_bins(x + (r + i) * bins, room.rows + i * bins, f->n, edge, inner);
            tt_fft_c2r(s->plan, n, room.rows, bins, y + r * f->n, f->n, room.plan);
        }
    }
    return TT_OK;
}

/* Bins n/2 + 1 ... n - 1 of real values' transform: those below n/2 again, conjugate. */
static void mirror_bins(float *y, int64_t n)
{
    for (int64_t k = n / 2 + 1; k < n; k++) y[2 * k] = y[2 * (n - k)], y[2 * k + 1] = -y[2 * (n - k) + 1];
}

TtStatus TT_CPU(stft)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const TtStftAttrs *f = a->attrs;
    const TtFftState *s = a->state;
    const int64_t signals = a->in[0].shape.dims[0], frames = a->out[0].shape.dims[1], row = 2 * a->out[0].shape.dims[2];
    const int64_t tasks = (frames + s->rows - 1) / s->rows;
    const float *x = a->in[0].data, *w = a->in[1].data;
    const float edge = (float)f->scale, inner = (float)(f->two_sided ? f->scale : f->scale * f->inner);
    float *y = a->out[0].data;
#pragma omp parallel num_threads(threads_for(a, signals *frames *row))
    {
        const Room room = room_of(a);
#pragma omp for schedule(static)
        for (int64_t task = 0; task < signals * tasks; task++) {
            const int64_t first = task % tasks * s->rows, n = TT_MIN(s->rows, frames - first);
            float *to = y + (task / tasks * frames + first) * row;
            tt_fft_r2c(s->plan, n, x + task / tasks * f->length + first * f->hop, f->hop, w, to, row, room.plan);
            for (int64_t i = 0; i < n; i++, to += row) {
                if (edge != 1.0f || inner != 1.0f) scale_bins(to, to, f->n, edge, inner);
                if (f->two_sided) mirror_bins(to, f->n);
            }
        }
    }
    return TT_OK;
}

/* What irfft takes for a frame whose bins n/2 + 1 ... n - 1 count as well: real parts of conjugates are equal. */
static void fold_bins(const float *x, float *y, int64_t n, float scale)
{
    y[0] = x[0] * scale, y[1] = 0.0f;
    for (int64_t k = 1; k <= n / 2; k++) {
        y[2 * k] = (x[2 * k] + x[2 * (n - k)]) * 0.5f * scale;
        y[2 * k + 1] = (x[2 * k + 1] - x[2 * (n - k) + 1]) * 0.5f * scale;
    }
}

/* Samples FIRST to LAST - 1 of a signal: the sum over the frames that touch them, in order. */
static void overlap_add(const TtKernelArgs *a, Room room, const float *x, float *y, int64_t first, int64_t last)
{
    const TtStftAttrs *f = a->attrs;
    const TtFftState *s = a->state;
    const int64_t n = f->n, frames = a->in[0].shape.dims[1], row = 2 * a->in[0].shape.dims[2], packed = 2 * (n / 2 + 1);
    const float *w = a->in[1].data, edge = (float)f->scale, inner = (float)(f->scale * f->inner / 2);
    float *bins = room.rows, *samples = bins + s->rows * (n + 2);
    const int64_t from = first < n ? 0 : (first - n) / f->hop + 1, to = TT_MIN(frames, (last - 1) / f->hop + 1);
    memset(y + first, 0, sizeof(float) * (size_t)(last - first));
    for (int64_t j = from; j < to; j += s->rows) {
        const int64_t m = TT_MIN(s->rows, to - j);
        for (int64_t i = 0; i < m; i++) {
            if (f->two_sided)
                fold_bins(x + (j + i) * row, bins + i * packed, n, edge);
            else
                scale_bins(x + (j + i) * row, bins + i * packed, n, edge, inner);
        }
        tt_fft_c2r(s->plan, m, bins, packed, samples, n, room.plan);
        for (int64_t i = 0; i < m; i++) {
            const int64_t at = (j + i) * f->hop, lo = TT_MAX(first - at, 0), hi = TT_MIN(last - at, n);
            const float *frame = samples + i * n;
            float *sum = y + at;
            for (int64_t t = lo; t < hi; t++) sum[t] += frame[t] * w[t];
        }
    }
}

/* A signal is cut into parts that own their samples; frames that reach into two are transformed twice. */
TtStatus TT_CPU(istft)(TtKernelArgs *a)
{
    enum { PART = 64 }; /* frames */
    TT_TRY(need_float32(a));
    const TtStftAttrs *f = a->attrs;
    const int64_t signals = a->in[0].shape.dims[0], signal = 2 * a->in[0].shape.dims[1] * a->in[0].shape.dims[2];
    const int64_t part = TT_MAX(PART * f->hop, 4 * f->n), parts = (f->length + part - 1) / part;
    const float *x = a->in[0].data;
    float *y = a->out[0].data;
#pragma omp parallel num_threads(threads_for(a, signals *signal))
    {
        const Room room = room_of(a);
#pragma omp for schedule(static)
        for (int64_t task = 0; task < signals * parts; task++) {
            const int64_t first = task % parts * part, i = task / parts;
            overlap_add(a, room, x + i * signal, y + i * f->length, first, TT_MIN(first + part, f->length));
        }
    }
    return TT_OK;
}
