/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/si_snr.c - si_snr sample by sample on threads. The measure is a few products a frame, in double; beside a
 * network that makes the estimates it costs nothing, so it has one plain form for every instruction set. */
#include "kernels/ops/si_snr.h"

#include <string.h>

#include "kernels/cpu/cpu.h"

static TtStatus check(const TtKernelArgs *a, const TtTensor *in)
{
    if (in[TT_SI_SNR_EST].dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "%s has no CPU kernel for %s", a->op->name,
                       tt_dtype_name(in[TT_SI_SNR_EST].dtype));
    int64_t frames;
    for (int64_t n = 0; n < in[TT_SI_SNR_EST].shape.dims[0]; n++) TT_TRY(tt_si_snr_frames(in, n, &frames));
    return TT_OK;
}

static int64_t frames_of(const TtTensor *in, int64_t n)
{
    const int64_t *lengths = in[TT_SI_SNR_LENGTHS].data;
    return lengths ? lengths[n] : in[TT_SI_SNR_EST].shape.dims[1];
}

TtStatus TT_CPU(si_snr)(TtKernelArgs *a)
{
    TT_TRY(check(a, a->in));
    const TtShape *x = &a->in[TT_SI_SNR_EST].shape;
    int64_t count = x->dims[0], size = x->dims[1] * x->dims[2], sources = x->dims[2];
    float *losses = a->out[TT_SI_SNR_SAMPLES].data;
#pragma omp parallel for schedule(static) if (count > 1)
    for (int64_t n = 0; n < count; n++) {
        double *factors = (double *)a->out[TT_SI_SNR_FACTORS].data + n * sources * 4;
        int64_t *order = (int64_t *)a->out[TT_SI_SNR_ORDER].data + n * sources;
        TtSiSnr m;
        tt_si_snr_measure((const float *)a->in[TT_SI_SNR_EST].data + n * size,
                          (const float *)a->in[TT_SI_SNR_REF].data + n * size, frames_of(a->in, n), (int)sources,
                          ((const TtSiSnrAttrs *)a->attrs)->fixed_order, &m);
        losses[n] = (float)-m.mean;
        for (int64_t s = 0; s < sources; s++) {
            memcpy(factors + s * 4, (double[]){m.own[s], m.other[s], m.mean_est[s], m.mean_ref[s]}, 4 * sizeof(double));
            order[s] = m.order[s];
        }
    }
    double total = 0;
    for (int64_t n = 0; n < count; n++) total += (double)losses[n];
    *(float *)a->out[TT_SI_SNR_LOSS].data = (float)(total * (double)*(const float *)a->in[TT_SI_SNR_SCALE].data);
    return TT_OK;
}

TtStatus TT_CPU(si_snr_bwd)(TtKernelArgs *a)
{
    const TtTensor *in = a->in + 1;
    TT_TRY(check(a, in));
    const TtShape *x = &in[TT_SI_SNR_EST].shape;
    int64_t frames = x->dims[1], sources = x->dims[2], rows = x->dims[0] * frames;
    double g = (double)*(const float *)a->in[0].data * (double)*(const float *)in[TT_SI_SNR_SCALE].data;
    const float *est = in[TT_SI_SNR_EST].data, *ref = in[TT_SI_SNR_REF].data;
    float *dx = a->out[0].data;
#pragma omp parallel for schedule(static) if (rows * sources > TT_GRAIN)
    for (int64_t r = 0; r < rows; r++) {
        int64_t n = r / frames, at = r * sources;
        const double *factors = (const double *)a->in[TT_SI_SNR_BWD_FACTORS].data + n * sources * 4;
        const int64_t *order = (const int64_t *)a->in[TT_SI_SNR_BWD_ORDER].data + n * sources;
        bool inside = r % frames < frames_of(in, n);
        for (int64_t s = 0; s < sources; s++) {
            const double *f = factors + s * 4;
            double d = f[0] * ((double)est[at + s] - f[2]) + f[1] * ((double)ref[at + order[s]] - f[3]);
            dx[at + s] = inside ? (float)(g * d) : 0.0f;
        }
    }
    return TT_OK;
}
