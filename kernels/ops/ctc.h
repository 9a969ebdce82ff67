/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/ctc.h - connectionist temporal classification (Graves et al. 2006; torch.nn.functional.ctc_loss). */
#ifndef TT_KERNELS_OPS_CTC_H
#define TT_KERNELS_OPS_CTC_H

#include "tensor/op.h"

typedef struct TtCtcAttrs {
    int64_t blank;      /* class that means no label */
    bool zero_infinity; /* a sample whose target cannot be aligned counts 0 instead of infinity */
} TtCtcAttrs;

/* Of a batch, all as torch's: LOG_PROBS (N,T,C), the output of a log_softmax; TARGETS (N,S) int64, of each row the first
 * TARGET_LENGTHS (N) int64 count; INPUT_LENGTHS (N) int64, frames of each sample. SCALE is a scalar. */
typedef struct TtCtcIn {
    TtVal log_probs, targets, input_lengths, target_lengths, scale;
} TtCtcIn;

/* A sample's loss is -log p(target) / max(target length, 1), so that with scale = 1 / (samples of an optimizer step) the
 * micro-batches of a step add up to torch's reduction="mean". OUT[0]: scale * (sum of the samples' losses), OUT[1] (N):
 * the samples' losses, without gradient (kernels/ops/loss.h). A target that does not fit into its frames gives
 * infinity, and a gradient of NaN; with zero_infinity both are 0. The gradient is torch's: it takes for granted that
 * log_probs came out of a log_softmax, exp(log_probs) - (expected share of each class), and is 0 beyond a sample's
 * frames. Lengths out of range, and labels that are the blank or no class, are TT_EDATA when the program runs. */
void tt_ctc_loss(TtGraph *g, const TtCtcIn *in, const TtCtcAttrs *a, TtVal out[2]);

/* The ops' inputs and outputs by number. */
enum { TT_CTC_LOG_PROBS, TT_CTC_TARGETS, TT_CTC_INPUT_LENGTHS, TT_CTC_TARGET_LENGTHS, TT_CTC_SCALE, TT_CTC_INPUTS };
enum { TT_CTC_LOSS, TT_CTC_SAMPLES, TT_CTC_GRADIENT, TT_CTC_OUTPUTS };

/* Shapes, and the check of what comes from files, for both kernels. */
typedef struct TtCtcDims {
    int64_t n, t, c, s;
} TtCtcDims;
TtCtcDims tt_ctc_dims(const TtKernelArgs *a);
TtStatus tt_ctc_check(const TtKernelArgs *a) TT_NODISCARD;

/* A sample's states are blank, label, blank, ..., blank; a row of them has two more at each end, which no path takes. The
 * scratch of a sample: a row for each frame and TT_CTC_ROWS more. */
enum { TT_CTC_EDGE = 2, TT_CTC_ROWS = 5 };
static inline int64_t tt_ctc_row(int64_t labels)
{
    return 2 * labels + 1 + 2 * TT_CTC_EDGE;
}

#endif
