/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dispatch.c - the kernels of every op, by instruction set. */
#include "kernels/ref/ref.h"
#include "tensor/isa.h"

#define OP(name) [TT_OP_##name] = &tt_op_##name,
#define OP_DNNL(name) OP(name)
#define VIEW(name) OP(name)
const TtOpDef *const tt_ops[TT_OP_COUNT] = {
#include "kernels/ops.def"
};
#undef OP
#undef OP_DNNL
#undef VIEW

static const TtKernelFn ref_table[TT_OP_COUNT] = {
#define OP(name) [TT_OP_##name] = tt_ref_##name,
#define OP_DNNL(name) OP(name)
#define VIEW(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW
};

extern const TtKernelFn tt_cpu_table_c[TT_OP_COUNT];
#ifdef TT_X86
extern const TtKernelFn tt_cpu_table_avx2[TT_OP_COUNT], tt_cpu_table_avx512[TT_OP_COUNT];
#endif

static const TtKernelFn *const tables[TT_ISAS] = {TT_ISA_TABLES(tt_cpu_table)};

TtKernelFn tt_ref_kernel(int op_id)
{
    return ref_table[op_id];
}

TtKernelFn tt_cpu_kernel(int op_id)
{
    return tables[tt_isa()][op_id];
}

const char *tt_cpu_isa(void)
{
    return tt_isa_name(tt_isa());
}
