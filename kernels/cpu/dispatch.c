/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dispatch.c - choose the instruction set once, at the first use of a kernel. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"

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

static const TtKernelFn *table;
static const char *isa;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *want = getenv("TT_CPU");
    table = tt_cpu_table_c, isa = "c";
    if (want && strcmp(want, "c") == 0) return;
#ifdef TT_X86
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2) table = tt_cpu_table_avx2, isa = "avx2";
    if (avx512 && !(want && strcmp(want, "avx2") == 0)) table = tt_cpu_table_avx512, isa = "avx512";
#endif
}

TtKernelFn tt_ref_kernel(int op_id)
{
    return ref_table[op_id];
}

TtKernelFn tt_cpu_kernel(int op_id)
{
    pthread_once(&once, choose);
    return table[op_id];
}

const char *tt_cpu_isa(void)
{
    pthread_once(&once, choose);
    return isa;
}
