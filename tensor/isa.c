/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/isa.c - what this machine can run, and what TT_CPU asks for. */
#include "tensor/isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TT_ISAS] = {"c", "avx2", "avx512"};

static TtIsa chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static TtIsa best(void)
{
#ifdef TT_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        return TT_ISA_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return TT_ISA_AVX2;
    return TT_ISA_AVX512;
#else
    return TT_ISA_PLAIN;
#endif
}

static void choose(void)
{
    const char *want = getenv("TT_CPU");
    chosen = best();
    for (int i = 0; want && i < (int)chosen; i++)
        if (strcmp(want, names[i]) == 0) chosen = (TtIsa)i;
}

TtIsa tt_isa(void)
{
    pthread_once(&once, choose);
    return chosen;
}

void tt_isa_use(TtIsa isa)
{
    pthread_once(&once, choose);
    chosen = isa;
}

const char *tt_isa_name(TtIsa isa)
{
    return names[isa];
}

bool tt_isa_find(const char *name, TtIsa *out)
{
    for (int i = 0; i <= (int)best(); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (TtIsa)i;
            return true;
        }
    return false;
}
