/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/index.h - choose elements by int64 indices: torch's index_select, gather, scatter_add, embedding, flip,
 * one_hot. An index outside 0..length-1 is TT_EDATA when the program runs. Gradients are summed in the order of the
 * indices. */
#ifndef TT_KERNELS_OPS_INDEX_H
#define TT_KERNELS_OPS_INDEX_H

#include "tensor/op.h"

/* Of index_select and its gradient. */
typedef struct TtIndexAttrs {
    int axis;
    int64_t size;    /* of the axis; for the gradient */
    int64_t padding; /* this index gives no gradient; -1: none */
} TtIndexAttrs;

typedef struct TtScatterAttrs {
    int axis;
    TtShape shape; /* of the result when there is no base */
} TtScatterAttrs;

typedef struct TtOneHotAttrs {
    int64_t classes;
    TtDType dtype;
} TtOneHotAttrs;

/* The axis is replaced by the axes of INDEX (any shape), as numpy.take; torch's for a vector. */
TtVal tt_index_select(TtGraph *g, TtVal x, int axis, TtVal index);
/* Rows of WEIGHT (words,dim) for INDEX of any shape: (...,dim). PADDING_INDEX -1 for none. */
TtVal tt_embedding(TtGraph *g, TtVal weight, TtVal index, int64_t padding_index);
TtVal tt_flip(TtGraph *g, TtVal x, int axis);
/* torch.gather: y[i][j][k] = x[index[i][j][k]][j][k] for axis 0; other axes of INDEX are no longer than x's. */
TtVal tt_gather(TtGraph *g, TtVal x, int axis, TtVal index);
/* torch.scatter_add: base + src at the places of INDEX, which has src's shape. */
TtVal tt_scatter_add(TtGraph *g, TtVal base, int axis, TtVal index, TtVal src);
/* (...,classes) in the graph's floating-point type. */
TtVal tt_one_hot(TtGraph *g, TtVal index, int64_t classes);

#endif
