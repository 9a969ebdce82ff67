/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/graph.h - the graph of one training (or evaluation) step.
 *
 * Model code calls functions that look eager; each appends a node and returns a value, whose shape is known at
 * once. tt_grad appends the backward nodes to the same graph. Nothing is computed here: program.h plans memory
 * and runs. The graph keeps its first error (tt_graph_status); after it every emitter returns TT_NONE, so that
 * model code needs no checks. */
#ifndef TT_TENSOR_GRAPH_H
#define TT_TENSOR_GRAPH_H

#include <stdio.h>

#include "tensor/arena.h"
#include "tensor/params.h"
#include "tensor/types.h"

typedef struct TtGraph TtGraph;
typedef struct TtOpDef TtOpDef;

/* A value of the graph: an index; 0 is no value. */
typedef struct TtVal {
    int id;
} TtVal;
#define TT_NONE ((TtVal){0})

typedef struct TtGraphOptions {
    TtParamSet *params; /* where tt_param finds or creates parameters; borrowed */
    bool training;      /* batch statistics, dropout */
    TtDType ftype;      /* TT_F32 (the zero value), or TT_F64 for gradient checks with the reference kernels */
    bool bf16;          /* autocast: products in bfloat16 (tt_graph_autocast tells the layer functions) */
} TtGraphOptions;

TtGraph *tt_graph_new(const TtGraphOptions *o);
void tt_graph_free(TtGraph *g);
TtStatus tt_graph_status(const TtGraph *g) TT_NODISCARD; /* also makes the message this thread's last error */
bool tt_graph_ok(const TtGraph *g);
TtStatus tt_graph_fail(TtGraph *g, TtStatus code, const char *fmt, ...) TT_PRINTF(3, 4); /* keeps the first */
bool tt_graph_training(const TtGraph *g);
bool tt_graph_autocast(const TtGraph *g);
TtDType tt_graph_ftype(const TtGraph *g);
TtArena *tt_graph_arena(TtGraph *g);

/* Scopes prefix parameter names and label nodes: push "layer1", push "0" gives "layer1.0.". */
void tt_graph_push(TtGraph *g, const char *fmt, ...) TT_PRINTF(2, 3);
void tt_graph_pop(TtGraph *g);
const char *tt_graph_scope(const TtGraph *g); /* "layer1.0" or "" */

/* Leaves. An input's data is bound before each run; a constant holds small data in the graph. */
TtVal tt_input(TtGraph *g, const char *name, TtDType dtype, TtShape shape);
TtVal tt_const_data(TtGraph *g, TtDType dtype, TtShape shape, const void *data);
TtVal tt_scalar(TtGraph *g, double v); /* rank 0, the graph's ftype */
/* A parameter (or buffer) under the current scope; created in the graph's TtParamSet on first use, otherwise its
 * shape must agree. The shape is PyTorch's. Buffers take no gradient. */
TtVal tt_param(TtGraph *g, const char *name, TtShape shape, TtInit init);
TtVal tt_buffer(TtGraph *g, const char *name, TtDType dtype, TtShape shape, TtInit init);

/* About values. */
TtShape tt_shape(const TtGraph *g, TtVal v);
int tt_rank(const TtGraph *g, TtVal v);
int64_t tt_dim(const TtGraph *g, TtVal v, int axis); /* negative axes count from the end */
int64_t tt_channels(const TtGraph *g, TtVal v);      /* the last axis */
TtDType tt_dtype(const TtGraph *g, TtVal v);
bool tt_val_ok(TtVal v);

/* Append a node. ATTRS points to op->attrs_size bytes, copied (NULL when there are none). OUTS has op's number
 * of outputs. Inputs that the op cannot take strided are made contiguous by a `contiguous` node. A missing
 * optional input is TT_NONE. All TT_NONE on error. */
void tt_emit(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin, TtVal *outs);
/* The usual case of one output. */
TtVal tt_emit1(TtGraph *g, const TtOpDef *op, const void *attrs, const TtVal *ins, int nin);

/* The two operations that the graph emits by itself: a contiguous copy (x itself when it is contiguous already),
 * and the sum of 1 to 16 values of one shape and type. */
TtVal tt_contiguous(TtGraph *g, TtVal x);
TtVal tt_add_n(TtGraph *g, const TtVal *xs, int n);

/* A number that no other node of this graph gets; equal for graphs built by the same calls. Dropout puts it into
 * its attributes to name its random stream. */
uint64_t tt_graph_unique(TtGraph *g);

/* Mark a value as a result that must survive the run (loss, logits, metrics). */
void tt_output(TtGraph *g, TtVal v, const char *name);
TtVal tt_find_output(const TtGraph *g, const char *name); /* TT_NONE when there is none */
TtVal tt_find_input(const TtGraph *g, const char *name);

/* Append the nodes that compute d loss / d leaf for every trainable parameter the loss depends on (written to
 * the parameter's gradient memory), and for the inputs listed in WRT (their gradients returned in DWRT; may be
 * NULL, 0). LOSS is a scalar; SEED is d(objective)/d(loss), a scalar value, or TT_NONE for 1. With a SEED of its shape, LOSS
 * may have any shape (a vector-Jacobian product). */
void tt_grad(TtGraph *g, TtVal loss, TtVal seed, const TtVal *wrt, int nwrt, TtVal *dwrt);

/* Human-readable listing, one node a line. */
void tt_graph_print(FILE *f, const TtGraph *g);

#endif
