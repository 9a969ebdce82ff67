/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_common.h - oneDNN's engine and stream, and errors. oneDNN is reached only from dnnl*.c, so that
 * both its major versions can be served there. */
#ifndef TT_KERNELS_CPU_DNNL_COMMON_H
#define TT_KERNELS_CPU_DNNL_COMMON_H

#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/dnnl_state.h"

/* The engine and stream of the process; TT_CPU=c|avx2 also limits oneDNN. They live as long as the process. */
dnnl_engine_t tt_dnnl_engine(void);
dnnl_stream_t tt_dnnl_stream(void);
dnnl_data_type_t tt_dnnl_type(TtDType t);
TtStatus tt_dnnl_fail(dnnl_status_t s, const char *what);

/* A primitive with its operands, made when a program is built; a run only sets pointers. Where the primitive wants an
 * operand in another layout or type than we hold it in, a reorder converts it in planned scratch before or after. */
enum { TT_DNNL_OPERANDS = 4 };
typedef struct TtDnnlOperand {
    bool used, output;
    int argument;               /* DNNL_ARG_... */
    dnnl_memory_t user, packed; /* packed is NULL when they are the same */
    dnnl_primitive_t reorder;
    size_t offset; /* of packed within the scratch */
} TtDnnlOperand;

typedef struct TtDnnlState {
    dnnl_primitive_desc_t desc; /* set by the op's prepare; owned */
    dnnl_primitive_t primitive;
    TtDnnlOperand operand[TT_DNNL_OPERANDS];
    dnnl_memory_t scratchpad;
    size_t scratchpad_offset, scratch;
} TtDnnlState;

TtDnnlState *tt_dnnl_state_new(void);
TtStatus tt_dnnl_state_operand(TtDnnlState *s, int which, int argument, const dnnl_memory_desc_t *have,
                               const dnnl_memory_desc_t *want, bool output) TT_NODISCARD;
TtStatus tt_dnnl_state_finish(TtDnnlState *s) TT_NODISCARD; /* after the operands: the primitive and its scratchpad */
/* Run with the operands' pointers; without a state (nothing to compute) the outputs are set to zero. */
TtStatus tt_dnnl_state_run(TtKernelArgs *a, void *const data[TT_DNNL_OPERANDS]) TT_NODISCARD;

/* The kernels' prototypes. */
#define OP(name)
#define OP_DNNL(name) TtStatus tt_dnnl_##name(TtKernelArgs *a);
#define VIEW(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW

#define TT_DNNL(call)                                                                     \
    do {                                                                                  \
        dnnl_status_t tt_dnnl_status_ = (call);                                           \
        if (tt_dnnl_status_ != dnnl_success) return tt_dnnl_fail(tt_dnnl_status_, #call); \
    } while (0)

#endif
