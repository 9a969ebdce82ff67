/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/plan.h - where in one slab values lie whose lives are known. */
#ifndef TT_TENSOR_PLAN_H
#define TT_TENSOR_PLAN_H

#include "tensor/status.h"

/* A piece of memory alive from step `first` to step `last`, both included. */
typedef struct TtPiece {
    size_t size;
    int first, last;
    size_t offset; /* set by the planner; a multiple of 64 */
} TtPiece;

/* Place the pieces so that those alive at the same time do not overlap; returns the bytes needed. Largest first,
 * each at the lowest place that is free for all its life. LOWER_BOUND receives the most bytes alive at one step. */
size_t tt_plan(TtPiece *pieces, int n, int steps, size_t *lower_bound);
/* Every piece apart. */
size_t tt_plan_apart(TtPiece *pieces, int n);

#endif
