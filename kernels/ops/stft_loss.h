/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/stft_loss.h - losses between magnitudes of spectra, after Yamamoto, Song and Kim 2020 (Parallel WaveGAN),
 * equations 4 to 7, in the form of the authors' code. Nothing here has kernels of its own.
 *
 * Each gives one number over the whole tensor, not a sum over samples: spectral convergence is a ratio of two norms, so the
 * losses of micro-batches do not add up to that of their batch. The gradient goes to both arguments. */
#ifndef TT_KERNELS_OPS_STFT_LOSS_H
#define TT_KERNELS_OPS_STFT_LOSS_H

#include "kernels/ops/stft.h"

/* |z| as sqrt(max(|z|^2, 1e-7)), (...,2) to (...): no gradient below the limit, so that a silence does no harm. */
TtVal tt_safe_magnitude(TtGraph *g, TtVal z);

/* ||target - predicted|| / ||target||, Frobenius norms; magnitudes of one shape. Equal ones: 0, without gradient. */
TtVal tt_spectral_convergence(TtGraph *g, TtVal predicted, TtVal target);
/* The mean of |log target - log predicted|; positive magnitudes of one shape. */
TtVal tt_log_magnitude_loss(TtGraph *g, TtVal predicted, TtVal target);

typedef struct TtStftResolution {
    int64_t n_fft, hop_length, win_length;
} TtStftResolution;

/* Both losses between the spectra of two signals (N,T), Hann windows and reflection at the ends, each the mean over COUNT
 * resolutions. RESOLUTIONS NULL: the paper's three, (1024, 120, 600), (2048, 240, 1200), (512, 50, 240), which need more
 * than 1024 samples. OUT: spectral convergence, log magnitude; their sum is the paper's loss. */
void tt_multi_resolution_stft_loss(TtGraph *g, TtVal predicted, TtVal target, const TtStftResolution *resolutions,
                                   int count, TtVal out[2]);

#endif
