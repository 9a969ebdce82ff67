/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/table.c - the kernels of one instruction set, by op (compiled once per set). */
#include "kernels/cpu/cpu.h"

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
