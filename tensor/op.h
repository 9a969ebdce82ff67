/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/op.h - what an operation is: attributes, shapes, gradient, kernels.
 *
 * One op is one file in kernels/ops/ (attributes, shape inference, gradient), one in kernels/ref/ (plain C with
 * double accumulators, the oracle), one in kernels/cpu/ (the fast kernel), and one line in kernels/ops.def.
 * A missing part fails to link. */
#ifndef TT_TENSOR_OP_H
#define TT_TENSOR_OP_H

#include "tensor/graph.h"

enum { TT_MAX_IN = 16, TT_MAX_OUT = 5 };

/* Changes from step to step; the same for every node of a run. */
typedef struct TtStepInfo {
    uint64_t seed, step; /* dropout's stream is (seed, step, shard, node) */
    uint64_t shard;      /* virtual rank and micro-batch */
} TtStepInfo;

/* What a kernel gets. Tensors are views with data; a missing optional input has data == NULL and rank 0. Outputs
 * are contiguous unless the op is a view. An output may share its memory with input 0 when the op is flagged
 * TT_OP_INPLACE. Kernels allocate nothing: memory they need is scratch (planned) or state (made by prepare). */
typedef struct TtKernelArgs {
    const TtOpDef *op;
    const void *attrs;
    int nin, nout;
    TtTensor in[TT_MAX_IN], out[TT_MAX_OUT];
    void *scratch;
    size_t scratch_size;
    void *state;
    const TtStepInfo *step;
} TtKernelArgs;

typedef TtStatus (*TtKernelFn)(TtKernelArgs *a);

/* Shape inference: shapes and types of inputs in, of outputs out. Fails with tt_graph_fail(i->g, TT_ECONFIG, ...)
 * when a user's config can cause it (input too small), else TT_EINTERNAL. */
typedef struct TtInfer {
    TtGraph *g;
    const void *attrs;
    int nin;
    const TtTensor *in; /* data is NULL; a missing input has rank 0 and strides 0 and present[i] false */
    const bool *present;
    TtTensor *out;       /* set shape and dtype (dtype starts as input 0's); views also set strides */
    int64_t view_offset; /* views: element offset of out[0] from in[0] */
} TtInfer;

/* The gradient: emit nodes computing din from dout. dout[i] is TT_NONE where no gradient comes; set din[i] only
 * where need[i]; TT_NONE means zero. */
typedef struct TtGradArgs {
    const void *attrs;
    int nin, nout;
    const TtVal *in, *out, *dout;
    const bool *need;
    TtVal *din;
} TtGradArgs;

enum {
    TT_OP_VIEW = 1,    /* out[0] is a view of in[0]: no kernel runs */
    TT_OP_INPLACE = 2, /* out[0] may overwrite in[0] (same size and type) */
    TT_OP_STRIDED = 4, /* kernels take inputs with any strides; otherwise inputs are made contiguous */
    TT_OP_EFFECT = 8   /* changes a buffer among its inputs (running statistics): never removed */
};

struct TtOpDef {
    const char *name;
    const char *help;
    int id; /* place in ops.def, TT_OP_<name> */
    int nin_min, nin_max, nout;
    size_t attrs_size;
    unsigned flags;
    TtStatus (*infer)(TtInfer *i);
    void (*grad)(TtGraph *g, TtGradArgs *a); /* NULL: not differentiable */
    /* Made once when a program is built (oneDNN primitives); may be NULL. in/out have shapes, no data. */
    TtStatus (*cpu_prepare)(TtKernelArgs *a, void **state);
    void (*cpu_release)(void *state);
    /* Bytes of scratch that the CPU kernel needs, asked after cpu_prepare (a->state is set); may be NULL. */
    size_t (*cpu_scratch)(const TtKernelArgs *a);
    /* Multiply-adds times two, for profiles; NULL counts one per output element. */
    double (*flops)(const TtKernelArgs *a);
};

/* Every op by name: `extern const TtOpDef tt_op_<name>;` for each OP and VIEW line, and the table. */
#define OP(name) extern const TtOpDef tt_op_##name;
#define OP_DNNL(name) OP(name)
#define VIEW(name) OP(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW
enum {
#define OP(name) TT_OP_##name,
#define OP_DNNL(name) OP(name)
#define VIEW(name) OP(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW
    TT_OP_COUNT
};
extern const TtOpDef *const tt_ops[TT_OP_COUNT];

/* The kernel of an op: the plain reference, or the one for this machine (TT_CPU=c|avx2|avx512 overrides).
 * NULL for views. */
TtKernelFn tt_ref_kernel(int op_id);
TtKernelFn tt_cpu_kernel(int op_id);
const char *tt_cpu_isa(void); /* "c", "avx2", "avx512" */

/* Helpers for infer functions. */
#define TT_INFER_FAIL(i, ...) tt_graph_fail((i)->g, TT_ECONFIG, __VA_ARGS__)

#endif
