/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_common.c - one engine and one stream for the process. */
#include "kernels/cpu/dnnl_common.h"

#include <pthread.h>
#include <stdlib.h>
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

/* ---- state */

TtDnnlState *tt_dnnl_state_new(void)
{
    TtDnnlState *s = tt_realloc(NULL, sizeof *s);
    memset(s, 0, sizeof *s);
    return s;
}

TtStatus tt_dnnl_state_operand(TtDnnlState *s, int which, int argument, const dnnl_memory_desc_t *have,
                               const dnnl_memory_desc_t *want, bool output)
{
    TtDnnlOperand *o = &s->operand[which];
    dnnl_engine_t e = tt_dnnl_engine();
    o->used = true, o->output = output, o->argument = argument;
    TT_DNNL(dnnl_memory_create(&o->user, have, e, NULL));
    if (dnnl_memory_desc_equal(have, want)) return TT_OK;
    TT_DNNL(dnnl_memory_create(&o->packed, want, e, NULL));
    dnnl_primitive_desc_t r;
    TT_DNNL(dnnl_reorder_primitive_desc_create(&r, output ? want : have, e, output ? have : want, e, NULL));
    dnnl_status_t st = dnnl_primitive_create(&o->reorder, r);
    dnnl_primitive_desc_destroy(r);
    TT_DNNL(st);
    o->offset = s->scratch;
    s->scratch += tt_aligned(dnnl_memory_desc_get_size(want));
    return TT_OK;
}

TtStatus tt_dnnl_state_finish(TtDnnlState *s)
{
    TT_DNNL(dnnl_primitive_create(&s->primitive, s->desc));
    const dnnl_memory_desc_t *pad = dnnl_primitive_desc_query_md(s->desc, dnnl_query_scratchpad_md, 0);
    TT_DNNL(dnnl_memory_create(&s->scratchpad, pad, tt_dnnl_engine(), NULL));
    s->scratchpad_offset = s->scratch;
    s->scratch += tt_aligned(dnnl_memory_desc_get_size(pad));
    return TT_OK;
}

size_t tt_dnnl_state_scratch(const TtKernelArgs *a)
{
    return a->state ? ((const TtDnnlState *)a->state)->scratch : 0;
}

void tt_dnnl_state_release(void *state)
{
    TtDnnlState *s = state;
    if (!s) return;
    for (int i = 0; i < TT_DNNL_OPERANDS; i++) {
        dnnl_primitive_destroy(s->operand[i].reorder);
        dnnl_memory_destroy(s->operand[i].user);
        dnnl_memory_destroy(s->operand[i].packed);
    }
    dnnl_memory_destroy(s->scratchpad);
    dnnl_primitive_destroy(s->primitive);
    dnnl_primitive_desc_destroy(s->desc);
    free(s);
}

static TtStatus reorder(const TtDnnlOperand *o, dnnl_memory_t from, dnnl_memory_t to)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    TT_DNNL(dnnl_primitive_execute(o->reorder, tt_dnnl_stream(), 2, args));
    return TT_OK;
}

TtStatus tt_dnnl_state_run(TtKernelArgs *a, void *const data[TT_DNNL_OPERANDS])
{
    TtDnnlState *s = a->state;
    if (!s) {
        for (int i = 0; i < a->nout; i++) memset(a->out[i].data, 0, tt_tensor_bytes(&a->out[i]));
        return TT_OK;
    }
    dnnl_exec_arg_t args[TT_DNNL_OPERANDS + 1];
    int n = 0;
    for (int i = 0; i < TT_DNNL_OPERANDS; i++) {
        TtDnnlOperand *o = &s->operand[i];
        if (!o->used) continue;
        TT_DNNL(dnnl_memory_set_data_handle(o->user, data[i]));
        if (o->packed) {
            TT_DNNL(dnnl_memory_set_data_handle(o->packed, (char *)a->scratch + o->offset));
            if (!o->output) TT_TRY(reorder(o, o->user, o->packed));
        }
        args[n++] = (dnnl_exec_arg_t){o->argument, o->packed ? o->packed : o->user};
    }
    TT_DNNL(dnnl_memory_set_data_handle(s->scratchpad, (char *)a->scratch + s->scratchpad_offset));
    args[n++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, s->scratchpad};
    TT_DNNL(dnnl_primitive_execute(s->primitive, tt_dnnl_stream(), n, args));
    for (int i = 0; i < TT_DNNL_OPERANDS; i++) {
        TtDnnlOperand *o = &s->operand[i];
        if (o->packed && o->output) TT_TRY(reorder(o, o->packed, o->user));
    }
    TT_DNNL(dnnl_stream_wait(tt_dnnl_stream()));
    return TT_OK;
}
