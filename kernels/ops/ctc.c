/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/ctc.c - ctc_loss. The forward kernel knows all that the gradient needs, so it writes the gradient for a
 * scale of 1; going back is a product. */
#include "kernels/ops/ctc.h"

#include "kernels/ops/binary.h"
#include "kernels/ops/shape.h"

TtCtcDims tt_ctc_dims(const TtKernelArgs *a)
{
    const TtShape *x = &a->in[TT_CTC_LOG_PROBS].shape;
    return (TtCtcDims){x->dims[0], x->dims[1], x->dims[2], a->in[TT_CTC_TARGETS].shape.dims[1]};
}

TtStatus tt_ctc_check(const TtKernelArgs *a)
{
    TtCtcDims d = tt_ctc_dims(a);
    int64_t blank = ((const TtCtcAttrs *)a->attrs)->blank;
    for (int64_t n = 0; n < d.n; n++) {
        const int64_t *labels = (const int64_t *)a->in[TT_CTC_TARGETS].data + n * d.s;
        int64_t frames = ((const int64_t *)a->in[TT_CTC_INPUT_LENGTHS].data)[n];
        int64_t length = ((const int64_t *)a->in[TT_CTC_TARGET_LENGTHS].data)[n];
        if (frames < 0 || frames > d.t)
            return TT_FAIL(TT_EDATA, "ctc_loss: sample %lld of the batch has %lld frames; there are %lld", (long long)n,
                           (long long)frames, (long long)d.t);
        if (length < 0 || length > d.s)
            return TT_FAIL(TT_EDATA, "ctc_loss: sample %lld of the batch has %lld labels; there is room for %lld",
                           (long long)n, (long long)length, (long long)d.s);
        for (int64_t i = 0; i < length; i++)
            if (labels[i] < 0 || labels[i] >= d.c || labels[i] == blank)
                return TT_FAIL(TT_EDATA,
                               "ctc_loss: label %lld (number %lld of sample %lld of the batch) is not one of the %lld "
                               "classes other than the blank, %lld",
                               (long long)labels[i], (long long)i, (long long)n, (long long)d.c, (long long)blank);
    }
    return TT_OK;
}

static TtStatus ctc_infer(TtInfer *i)
{
    const TtCtcAttrs *a = i->attrs;
    const TtShape *x = &i->in[TT_CTC_LOG_PROBS].shape, *t = &i->in[TT_CTC_TARGETS].shape;
    char xs[TT_SHAPE_TEXT], ts[TT_SHAPE_TEXT];
    if (x->rank != 3)
        return TT_INFER_FAIL(i, "ctc_loss: log_probs %s are not (samples, frames, classes)", tt_shape_text(x, xs));
    if (a->blank < 0 || a->blank >= x->dims[2])
        return TT_INFER_FAIL(i, "ctc_loss: blank %lld is not one of the %lld classes (0 to %lld)", (long long)a->blank,
                             (long long)x->dims[2], (long long)x->dims[2] - 1);
    if (t->rank != 2 || t->dims[0] != x->dims[0] || i->in[TT_CTC_TARGETS].dtype != TT_I64)
        return TT_INFER_FAIL(i, "ctc_loss: %s targets %s do not fit log_probs %s",
                             tt_dtype_name(i->in[TT_CTC_TARGETS].dtype), tt_shape_text(t, ts), tt_shape_text(x, xs));
    for (int k = TT_CTC_INPUT_LENGTHS; k <= TT_CTC_TARGET_LENGTHS; k++)
        if (i->in[k].shape.rank != 1 || i->in[k].shape.dims[0] != x->dims[0] || i->in[k].dtype != TT_I64)
            return TT_INFER_FAIL(i, "ctc_loss: %s lengths %s for %lld samples", tt_dtype_name(i->in[k].dtype),
                                 tt_shape_text(&i->in[k].shape, ts), (long long)x->dims[0]);
    TT_ASSERT(tt_shape_count(&i->in[TT_CTC_SCALE].shape) == 1);
    i->out[TT_CTC_LOSS].shape = (TtShape){0};
    i->out[TT_CTC_SAMPLES].shape = TT_SHAPE(x->dims[0]);
    i->out[TT_CTC_GRADIENT].shape = *x;
    for (int k = 0; k < TT_CTC_OUTPUTS; k++) i->out[k].dtype = i->in[TT_CTC_LOG_PROBS].dtype;
    return TT_OK;
}

static void ctc_grad(TtGraph *g, TtGradArgs *a)
{
    if (a->dout[TT_CTC_SAMPLES].id || a->dout[TT_CTC_GRADIENT].id)
        tt_graph_fail(g, TT_EINTERNAL, "ctc_loss: only the sum of the losses takes a gradient");
    if (!a->need[TT_CTC_LOG_PROBS]) return;
    TtVal factor = tt_mul(g, a->dout[TT_CTC_LOSS], a->in[TT_CTC_SCALE]);
    a->din[TT_CTC_LOG_PROBS] = tt_mul(g, a->out[TT_CTC_GRADIENT], factor);
}

static size_t ctc_scratch(const TtKernelArgs *a)
{
    TtCtcDims d = tt_ctc_dims(a);
    return sizeof(float) * (size_t)(d.n * (d.t + TT_CTC_ROWS) * tt_ctc_row(d.s));
}

static double ctc_flops(const TtKernelArgs *a)
{
    TtCtcDims d = tt_ctc_dims(a);
    return 20.0 * (double)(d.n * d.t * tt_ctc_row(d.s));
}

const TtOpDef tt_op_ctc_loss = {
    .name = "ctc_loss",
    .help = "negative log likelihood of labels without alignment (connectionist temporal classification)",
    .id = TT_OP_ctc_loss,
    .nin_min = TT_CTC_INPUTS,
    .nin_max = TT_CTC_INPUTS,
    .nout = TT_CTC_OUTPUTS,
    .attrs_size = sizeof(TtCtcAttrs),
    .infer = ctc_infer,
    .grad = ctc_grad,
    .cpu_scratch = ctc_scratch,
    .flops = ctc_flops,
};

void tt_ctc_loss(TtGraph *g, const TtCtcIn *in, const TtCtcAttrs *a, TtVal out[2])
{
    TtDType t = tt_graph_ftype(g);
    TtVal all[TT_CTC_OUTPUTS] = {0};
    out[0] = out[1] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    TtVal ins[TT_CTC_INPUTS] = {[TT_CTC_LOG_PROBS] = tt_cast(g, in->log_probs, t),
                                [TT_CTC_TARGETS] = in->targets,
                                [TT_CTC_INPUT_LENGTHS] = in->input_lengths,
                                [TT_CTC_TARGET_LENGTHS] = in->target_lengths,
                                [TT_CTC_SCALE] = tt_cast(g, in->scale, t)};
    tt_emit(g, &tt_op_ctc_loss, a, ins, TT_CTC_INPUTS, all);
    out[0] = all[TT_CTC_LOSS], out[1] = all[TT_CTC_SAMPLES];
}
