/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_common.c - one engine and one stream for the process. */
#include "kernels/cpu/dnnl_common.h"

#include <pthread.h>
#include <string.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_engine(void)
{
#ifdef TT_X86
    const char *isa = tt_cpu_isa();
    if (strcmp(isa, "c") == 0) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (strcmp(isa, "avx2") == 0) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
#endif
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        TT_ASSERT(!"oneDNN has no CPU engine");
}

dnnl_engine_t tt_dnnl_engine(void)
{
    pthread_once(&once, open_engine);
    return engine;
}

dnnl_stream_t tt_dnnl_stream(void)
{
    pthread_once(&once, open_engine);
    return stream;
}

dnnl_data_type_t tt_dnnl_type(TtDType t)
{
    switch (t) {
    case TT_F32: return dnnl_f32;
    case TT_BF16: return dnnl_bf16;
    case TT_F16: return dnnl_f16;
    case TT_I32: return dnnl_s32;
    case TT_U8: return dnnl_u8;
    default: return dnnl_data_type_undef;
    }
}

TtStatus tt_dnnl_fail(dnnl_status_t s, const char *what)
{
    if (s == dnnl_out_of_memory) return TT_FAIL(TT_EINTERNAL, "oneDNN is out of memory");
    return TT_FAIL(TT_EINTERNAL, "oneDNN refused %.80s (status %d)", what, (int)s);
}
