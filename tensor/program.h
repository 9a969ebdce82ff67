/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/program.h - a graph made runnable: memory planned once, kernels chosen, then replayed.
 *
 * A run allocates nothing, takes no lock and decides nothing. Results do not depend on planning (on or off). */
#ifndef TT_TENSOR_PROGRAM_H
#define TT_TENSOR_PROGRAM_H

#include "tensor/graph.h"
#include "tensor/op.h"

typedef struct TtProgram TtProgram;

/* Memory for activations that several programs share, one running at a time: as large as the largest needs. What a
 * program has put out is then valid until the next run of any. Zero-initialise; tt_slab_free when all programs are gone. */
typedef struct TtSlab {
    void *data;
    size_t size;
} TtSlab;
void tt_slab_free(TtSlab *s);

typedef struct TtProgramOptions {
    bool no_plan;   /* every value keeps memory of its own */
    bool reference; /* reference kernels only */
    bool poison;    /* fill memory with NaN bytes as soon as its value is dead, to find reads of dead values */
    bool timing;    /* measure each op */
    TtSlab *slab;   /* NULL: memory of its own */
} TtProgramOptions;

/* Build from a graph (which must outlive the program) whose params are allocated. Only nodes that outputs,
 * gradients or effects need are kept. */
TtStatus tt_program_build(TtGraph *g, const TtProgramOptions *o, TtProgram **out) TT_NODISCARD;
void tt_program_free(TtProgram *p);
/* What a build of this graph would need for activations, in bytes, without allocating. */
TtStatus tt_program_predict(TtGraph *g, size_t *activation_bytes) TT_NODISCARD;

void tt_program_bind(TtProgram *p, TtVal input, void *data); /* contiguous; stays bound until bound again */
TtStatus tt_program_run(TtProgram *p, const TtStepInfo *step) TT_NODISCARD;
TtTensor tt_program_tensor(const TtProgram *p, TtVal v); /* outputs and leaves; valid until the next run */

typedef struct TtProgramStats {
    int nodes;
    size_t activation_bytes; /* the planned slab */
    size_t lower_bound;      /* most bytes of values alive at one time */
    size_t unplanned_bytes;  /* what it would be without planning */
} TtProgramStats;
TtProgramStats tt_program_stats(const TtProgram *p);

typedef struct TtOpTime {
    const char *op, *scope;
    double seconds, flops, bytes; /* totals over runs */
    int64_t runs;
} TtOpTime;
/* Per-node times since the last reset, in execution order; N receives the count. Needs timing. */
const TtOpTime *tt_program_times(const TtProgram *p, int *n);
void tt_program_times_reset(TtProgram *p);

#endif
