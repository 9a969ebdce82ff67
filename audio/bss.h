/* SPDX-License-Identifier: Apache-2.0 */
/* audio/bss.h - signal-to-distortion ratio of separated sources as BSS eval defines it (Vincent, Gribonval and Fevotte
 * 2006): the reference may first pass the filter of TAPS taps that brings it nearest to the estimate.
 *
 *     SDR = 10 log10(|P e|^2 / |e - P e|^2) dB,
 *
 * P e being the projection of the estimate e, continued by TAPS - 1 zeros, onto the reference delayed by less
 * than TAPS samples. This is the sdr of mir_eval.separation.bss_eval_sources and fast_bss_eval.sdr, whose filters have 512
 * taps. With one tap it is SI-SDR (Le Roux et al. 2019), from which no means are taken; SI-SNR, as models are trained
 * with it and val/si_snri reports it, is tt_si_snr of kernels/ops/si_snr.h.
 *
 * Values are limited to what double can tell, 156.5 dB in either direction; above about 120 dB rounding shows. A silent
 * reference or estimate has -156.5. NaN stays NaN. */
#ifndef TT_AUDIO_BSS_H
#define TT_AUDIO_BSS_H

#include "tensor/status.h"

enum { TT_BSS_SOURCES = 8, TT_BSS_TAPS = 512, TT_BSS_TAPS_MOST = 4096 };

typedef struct TtBss {
    double mean;                /* of the SDR over the sources, dB */
    double improvement;         /* over that of the mixture taken for every estimate; 0 without a mixture */
    double sdr[TT_BSS_SOURCES]; /* of each estimate, with its reference */
    int order[TT_BSS_SOURCES];  /* estimate i belongs to reference order[i] */
} TtBss;

/* EST and REF (frames, sources), MIX (frames) or NULL; 1 to TT_BSS_SOURCES sources, 1 to TT_BSS_TAPS_MOST taps,
 * FRAMES 1 or more. The order is the given one or that of the largest mean. TT_EINTERNAL when there is no memory. */
TtStatus tt_bss_sdr(const float *est, const float *ref, const float *mix, int64_t frames, int sources, int taps,
                    bool fixed_order, TtBss *out) TT_NODISCARD;

#endif
