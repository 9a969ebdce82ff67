/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/table.c - the kernels of one instruction set, by op (compiled once per set). */
#include "kernels/cpu/cpu.h"

#define OP(name) TtStatus TT_CPU(name)(TtKernelArgs * a);
#define OP_DNNL(name) TtStatus tt_dnnl_##name(TtKernelArgs *a);
#define VIEW(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW

extern const TtKernelFn TT_CPU(table)[TT_OP_COUNT];
const TtKernelFn TT_CPU(table)[TT_OP_COUNT] = {
#define OP(name) [TT_OP_##name] = TT_CPU(name),
#define OP_DNNL(name) [TT_OP_##name] = tt_dnnl_##name,
#define VIEW(name) [TT_OP_##name] = NULL,
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW
};
