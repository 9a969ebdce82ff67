/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/complex_abs.c - powers of magnitudes, in rows of pairs. The powers 1 and 2 are those of every day. */
#include <math.h>

#include "kernels/cpu/cpu.h"
#include "tensor/vmath.h"
#include "kernels/ops/fft.h"

enum { RUN = 2048 }; /* pairs of a task */

static void magnitudes(const float *restrict z, float *restrict y, int64_t n, float power)
{
    if (power == 2.0f) {
        for (int64_t i = 0; i < n; i++) y[i] = z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1];
    } else if (power == 1.0f) {
        for (int64_t i = 0; i < n; i++) y[i] = sqrtf(z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1]);
    } else {
        for (int64_t i = 0; i < n; i++) y[i] = powf(z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1], power * 0.5f);
    }
}

static void slopes(const float *restrict dy, const float *restrict z, float *restrict dz, int64_t n, float power)
{
    for (int64_t i = 0; i < n; i++) {
        const float re = z[2 * i], im = z[2 * i + 1], square = re * re + im * im;
        float k = 2.0f;
        if (power == 1.0f) k = tt_select(square == 0.0f, 0.0f, 1.0f / sqrtf(square));
        if (power != 1.0f && power != 2.0f) k = square == 0.0f ? 0.0f : power * powf(square, power * 0.5f - 1.0f);
        dz[2 * i] = dy[i] * k * re, dz[2 * i + 1] = dy[i] * k * im;
    }
}

static TtStatus need_float32(const TtKernelArgs *a)
{
    for (int i = 0; i < a->nin; i++)
        if (a->in[i].dtype != TT_F32)
            return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", a->op->name, tt_dtype_name(a->in[i].dtype));
    return TT_OK;
}

TtStatus TT_CPU(complex_abs)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const float power = (float)((const TtComplexAbsAttrs *)a->attrs)->power, *z = a->in[0].data;
    const int64_t n = tt_tensor_count(&a->out[0]);
    float *y = a->out[0].data;
#pragma omp parallel for schedule(static) if (n > TT_GRAIN)
    for (int64_t i = 0; i < n; i += RUN) magnitudes(z + 2 * i, y + i, TT_MIN(RUN, n - i), power);
    return TT_OK;
}

TtStatus TT_CPU(complex_abs_bwd)(TtKernelArgs *a)
{
    TT_TRY(need_float32(a));
    const float power = (float)((const TtComplexAbsAttrs *)a->attrs)->power, *dy = a->in[0].data, *z = a->in[1].data;
    const int64_t n = tt_tensor_count(&a->in[0]);
    float *dz = a->out[0].data;
#pragma omp parallel for schedule(static) if (n > TT_GRAIN)
    for (int64_t i = 0; i < n; i += RUN) slopes(dy + i, z + 2 * i, dz + 2 * i, TT_MIN(RUN, n - i), power);
    return TT_OK;
}
