/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/si_snr.h - scale-invariant signal-to-noise ratio (Luo and Mesgarani 2018) with permutation-invariant
 * training (Yu et al. 2017; Kolbaek et al. 2017).
 *
 * In dB, of an estimate e and a reference r from which their means over time are taken:
 *     a = mean(e r) / (mean(r r) + 1e-8), t = a r,
 *     SI-SNR = 10 log10(mean(t t) + 1e-12) - 10 log10(mean((e - t)^2) + 1e-12). */
#ifndef TT_KERNELS_OPS_SI_SNR_H
#define TT_KERNELS_OPS_SI_SNR_H

#include "tensor/op.h"

enum { TT_SI_SNR_SOURCES = 8 };

typedef struct TtSiSnrAttrs {
    bool fixed_order; /* estimate i belongs to reference i; otherwise to the best assignment's */
} TtSiSnrAttrs;

/* ESTIMATES and REFERENCES (N,T,S) with 1 to TT_SI_SNR_SOURCES sources, LENGTHS (N) int64 (frames of each sample, the
 * rest is padding) or TT_NONE, SCALE scalar. A sample's loss is minus the mean over its sources of the SI-SNR, for the
 * assignment of references to estimates where that mean is largest (the first of equals). OUT[0]: scale * (sum of the
 * samples' losses), OUT[1] (N): the samples' losses, without gradient (kernels/ops/loss.h). The gradient flows to the
 * estimates, through the chosen assignment. A length that is not in 1..T is TT_EDATA when the program runs. */
void tt_si_snr_loss(TtGraph *g, TtVal estimates, TtVal references, TtVal lengths, TtVal scale, const TtSiSnrAttrs *a,
                    TtVal out[2]);

/* Of one sample, for validation: EST and REF (T,S), MIX (T). Mean over the sources of the SI-SNR, in dB; and how much it
 * is above that of the mixture taken for every estimate. FRAMES is 1 or more. */
double tt_si_snr(const float *est, const float *ref, int64_t frames, int sources, bool fixed_order);
double tt_si_snr_improvement(const float *est, const float *ref, const float *mix, int64_t frames, int sources,
                             bool fixed_order);

/* For the kernel: the order (estimate i belongs to reference order[i]) and what the gradient of the sample's loss is
 * made of: d loss / d est[i] = own[i] (est[i] - mean_est[i]) + other[i] (ref[order[i]] - mean_ref[i]). */
typedef struct TtSiSnr {
    double mean; /* over the sources, dB */
    int order[TT_SI_SNR_SOURCES];
    double own[TT_SI_SNR_SOURCES], other[TT_SI_SNR_SOURCES];
    double mean_est[TT_SI_SNR_SOURCES], mean_ref[TT_SI_SNR_SOURCES];
} TtSiSnr;
void tt_si_snr_measure(const float *est, const float *ref, int64_t frames, int sources, bool fixed_order, TtSiSnr *out);
/* A sample's frames, checked; for both kernels. IN is the op's inputs from the estimates on. */
TtStatus tt_si_snr_frames(const TtTensor *in, int64_t sample, int64_t *frames) TT_NODISCARD;

/* The ops' inputs and outputs by number; the gradient has dout before its inputs and the last two outputs after. */
enum { TT_SI_SNR_EST, TT_SI_SNR_REF, TT_SI_SNR_LENGTHS, TT_SI_SNR_SCALE, TT_SI_SNR_INPUTS };
enum { TT_SI_SNR_LOSS, TT_SI_SNR_SAMPLES, TT_SI_SNR_FACTORS, TT_SI_SNR_ORDER, TT_SI_SNR_OUTPUTS };
enum { TT_SI_SNR_BWD_FACTORS = 1 + TT_SI_SNR_INPUTS, TT_SI_SNR_BWD_ORDER, TT_SI_SNR_BWD_INPUTS };

#endif
