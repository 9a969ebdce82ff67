/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/graph_impl.h - the inside of a graph, for the files of tensor/ that build, rewrite and run it. */
#ifndef TT_TENSOR_GRAPH_IMPL_H
#define TT_TENSOR_GRAPH_IMPL_H

#include "tensor/graph.h"
#include "tensor/op.h"

typedef enum TtLeaf { TT_LEAF_NONE, TT_LEAF_INPUT, TT_LEAF_CONST, TT_LEAF_PARAM } TtLeaf;

typedef struct TtValue {
    TtTensor t;     /* shape, type, strides; data for constants only */
    int node, slot; /* producer and which of its outputs; node is -1 for leaves */
    TtLeaf leaf;
    TtParam *param;   /* of a parameter leaf */
    TtParam *grad_of; /* this value is written to that parameter's gradient memory */
    const char *name; /* of inputs and outputs */
    int base;         /* the value that owns the memory (itself unless this is a view) */
    int64_t offset;   /* elements from the owner's first */
    bool output;
} TtValue;

typedef struct TtGraphNode {
    const TtOpDef *op; /* NULL: removed by a pass */
    const void *attrs;
    int nin, nout;
    TtVal *in;
    TtVal out[TT_MAX_OUT];
    const char *scope;
} TtGraphNode;

struct TtGraph {
    TtGraphOptions options;
    TtArena arena;
    TtStatus status;
    char message[1024], origin[128];
    TtValue *values; /* values[0] is TT_NONE */
    int nvalues, values_capacity;
    TtGraphNode *nodes;
    int nnodes, nodes_capacity;
    const char *scope;
    struct Scope {
        struct Scope *up;
        const char *saved;
    } * scopes;
    uint64_t unique;
};

#endif
