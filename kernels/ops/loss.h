/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/loss.h - losses, by their torch.nn.functional names.
 *
 * One convention for all: OUT[0] is a scalar, scale * (sum of all samples' losses), and OUT[1] (N) holds the samples'
 * losses unscaled, for validation and for finding the worst; it takes no gradient. SCALE is a scalar input. With
 * scale = 1 / (weight of all samples of an optimizer step), the micro-batches of a step add up exactly to torch's mean
 * over the whole step. Losses are computed in float32 (float64 in float64 graphs), whatever the logits are. */
#ifndef TT_KERNELS_OPS_LOSS_H
#define TT_KERNELS_OPS_LOSS_H

#include "tensor/op.h"

enum { TT_IGNORE_INDEX = -100 }; /* torch's default */

typedef struct TtCrossEntropyAttrs {
    double label_smoothing;
    int64_t ignore_index;
} TtCrossEntropyAttrs;

/* torch.nn.functional.cross_entropy. LOGITS (N,C) or (N,...,C). TARGET: int64 labels (N) or (N,...), or float rows
 * of class probabilities of the logits' shape. WEIGHT (C) of the classes or TT_NONE. A sample's loss is summed over
 * its positions; a label adds w[label] to the weight of the step, ignored ones 0; probability rows add 1.
 * A label that is neither in 0..C-1 nor ignore_index is TT_EDATA when the program runs. */
void tt_cross_entropy(TtGraph *g, TtVal logits, TtVal target, TtVal weight, TtVal scale, double label_smoothing,
                      int64_t ignore_index, TtVal out[2]);

typedef enum TtElementLoss { TT_LOSS_MSE, TT_LOSS_L1, TT_LOSS_SMOOTH_L1, TT_LOSS_BCE, TT_LOSS_COUNT } TtElementLoss;
typedef struct TtElementLossAttrs {
    TtElementLoss kind;
    double beta; /* of smooth_l1 */
} TtElementLossAttrs;

/* Elements of a sample whose losses are summed in one go. */
enum { TT_LOSS_CHUNK = 4096 };

/* Losses of single elements: PRED (N,...) and TARGET of the same shape. A sample's loss is the mean over its
 * elements; each sample weighs 1. */
void tt_mse_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, TtVal out[2]);
void tt_l1_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, TtVal out[2]);
void tt_smooth_l1_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, double beta, TtVal out[2]); /* beta 1 */
/* binary_cross_entropy_with_logits; POS_WEIGHT (C) over the last axis, (1), or TT_NONE. */
void tt_bce_with_logits(TtGraph *g, TtVal logits, TtVal target, TtVal pos_weight, TtVal scale, TtVal out[2]);

#endif
