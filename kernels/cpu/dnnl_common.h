/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_common.h - oneDNN's engine and stream, and errors. oneDNN is reached only from dnnl*.c, so that
 * both its major versions can be served there. */
#ifndef TT_KERNELS_CPU_DNNL_COMMON_H
#define TT_KERNELS_CPU_DNNL_COMMON_H

#include <oneapi/dnnl/dnnl.h>

#include "tensor/op.h"

/* The engine and stream of the process; TT_CPU=c|avx2 also limits oneDNN. They live as long as the process. */
dnnl_engine_t tt_dnnl_engine(void);
dnnl_stream_t tt_dnnl_stream(void);
dnnl_data_type_t tt_dnnl_type(TtDType t);
TtStatus tt_dnnl_fail(dnnl_status_t s, const char *what);

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
