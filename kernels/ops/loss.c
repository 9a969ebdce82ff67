/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/loss.c - cross_entropy, element_loss and their gradients. The softmax is never stored: the gradient
 * makes it again from the logits, which costs less than a tensor of that size. */
#include "kernels/ops/loss.h"

#include "kernels/ops/shape.h"
#include "kernels/ops/unary.h"

static bool is_scalar(const TtTensor *t)
{
    return tt_shape_count(&t->shape) == 1;
}

/* (N) of a tensor (N,...); a scalar is one sample. */
static TtShape samples_of(const TtShape *s)
{
    return TT_SHAPE(s->rank ? s->dims[0] : 1);
}

static void refuse_per_sample(TtGraph *g, const TtGradArgs *a, const char *name)
{
    if (a->dout[1].id) tt_graph_fail(g, TT_EINTERNAL, "%s: the per-sample losses take no gradient", name);
}

/* ---- cross_entropy: logits, target, weight, scale */

static TtStatus cross_entropy_infer(TtInfer *i)
{
    const TtTensor *x = &i->in[0], *t = &i->in[1], *w = &i->in[2];
    char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return TT_INFER_FAIL(i, "cross_entropy: logits %s are not (N,...,classes)", tt_shape_text(&x->shape, a));
    int64_t classes = x->shape.dims[x->shape.rank - 1];
    TtShape labels = x->shape;
    if (!tt_dtype_is_float(t->dtype)) labels.rank--;
    if (!tt_shape_equal(&labels, &t->shape) || (t->dtype != TT_I64 && t->dtype != x->dtype))
        return TT_INFER_FAIL(i, "cross_entropy: %s targets %s do not fit logits %s", tt_dtype_name(t->dtype),
                             tt_shape_text(&t->shape, a), tt_shape_text(&x->shape, b));
    if (i->present[2] && (w->shape.rank != 1 || w->shape.dims[0] != classes || w->dtype != x->dtype))
        return TT_INFER_FAIL(i, "cross_entropy: weight %s for %lld classes", tt_shape_text(&w->shape, a),
                             (long long)classes);
    TT_ASSERT(i->present[3] && is_scalar(&i->in[3]) && i->in[3].dtype == x->dtype);
    i->out[0].shape = (TtShape){0};
    i->out[1].shape = samples_of(&x->shape);
    i->out[1].dtype = x->dtype;
    return TT_OK;
}

static void cross_entropy_grad(TtGraph *g, TtGradArgs *a)
{
    refuse_per_sample(g, a, "cross_entropy");
    if (!a->need[0]) return;
    TtVal ins[5] = {a->dout[0], a->in[0], a->in[1], a->in[2], a->in[3]};
    a->din[0] = tt_emit1(g, &tt_op_cross_entropy_bwd, a->attrs, ins, 5);
}

/* One double for each position. */
static size_t cross_entropy_scratch(const TtKernelArgs *a)
{
    const TtShape *s = &a->in[0].shape;
    int64_t positions = 1;
    for (int k = 0; k < s->rank - 1; k++) positions *= s->dims[k];
    return sizeof(double) * (size_t)positions;
}

const TtOpDef tt_op_cross_entropy = {
    .name = "cross_entropy",
    .help = "softmax and negative log likelihood of labels or class probabilities",
    .id = TT_OP_cross_entropy,
    .nin_min = 4,
    .nin_max = 4,
    .nout = 2,
    .attrs_size = sizeof(TtCrossEntropyAttrs),
    .infer = cross_entropy_infer,
    .grad = cross_entropy_grad,
    .cpu_scratch = cross_entropy_scratch,
};

static TtStatus like_second_infer(TtInfer *i)
{
    i->out[0].shape = i->in[1].shape;
    i->out[0].dtype = i->in[1].dtype;
    return TT_OK;
}

const TtOpDef tt_op_cross_entropy_bwd = {
    .name = "cross_entropy_bwd",
    .help = "gradient of cross_entropy by the logits",
    .id = TT_OP_cross_entropy_bwd,
    .nin_min = 5,
    .nin_max = 5,
    .nout = 1,
    .attrs_size = sizeof(TtCrossEntropyAttrs),
    .infer = like_second_infer,
};

void tt_cross_entropy(TtGraph *g, TtVal logits, TtVal target, TtVal weight, TtVal scale, double label_smoothing,
                      int64_t ignore_index, TtVal out[2])
{
    TtDType t = tt_graph_ftype(g);
    if (!(label_smoothing >= 0 && label_smoothing <= 1))
        tt_graph_fail(g, TT_ECONFIG, "cross_entropy: label_smoothing is %g; it lies in 0..1", label_smoothing);
    out[0] = out[1] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    if (tt_dtype_is_float(tt_dtype(g, target))) target = tt_cast(g, target, t);
    if (weight.id) weight = tt_cast(g, weight, t);
    TtVal ins[4] = {tt_cast(g, logits, t), target, weight, tt_cast(g, scale, t)};
    TtCrossEntropyAttrs a = {.label_smoothing = label_smoothing, .ignore_index = ignore_index};
    tt_emit(g, &tt_op_cross_entropy, &a, ins, 4, out);
}

/* ---- element_loss: pred, target, pos_weight, scale */

static const char *const names[TT_LOSS_COUNT] = {"mse_loss", "l1_loss", "smooth_l1_loss", "bce_with_logits"};

static TtStatus element_loss_infer(TtInfer *i)
{
    const TtElementLossAttrs *attrs = i->attrs;
    const TtTensor *x = &i->in[0], *t = &i->in[1], *w = &i->in[2];
    char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
    if (!tt_shape_equal(&x->shape, &t->shape) || x->dtype != t->dtype)
        return TT_INFER_FAIL(i, "%s: target %s does not fit predictions %s", names[attrs->kind],
                             tt_shape_text(&t->shape, a), tt_shape_text(&x->shape, b));
    if (i->present[2] &&
        (w->shape.rank != 1 || w->dtype != x->dtype ||
         (w->shape.dims[0] != 1 && (x->shape.rank == 0 || w->shape.dims[0] != x->shape.dims[x->shape.rank - 1]))))
        return TT_INFER_FAIL(i, "%s: pos_weight %s does not fit logits %s", names[attrs->kind],
                             tt_shape_text(&w->shape, a), tt_shape_text(&x->shape, b));
    TT_ASSERT(i->present[3] && is_scalar(&i->in[3]) && i->in[3].dtype == x->dtype);
    i->out[0].shape = (TtShape){0};
    i->out[1].shape = samples_of(&x->shape);
    i->out[1].dtype = x->dtype;
    return TT_OK;
}

static void element_loss_grad(TtGraph *g, TtGradArgs *a)
{
    const TtElementLossAttrs *attrs = a->attrs;
    refuse_per_sample(g, a, names[attrs->kind]);
    if (attrs->kind == TT_LOSS_BCE && a->need[1])
        tt_graph_fail(g, TT_EINTERNAL, "%s: the target takes no gradient", names[attrs->kind]);
    TtVal ins[5] = {a->dout[0], a->in[0], a->in[1], a->in[2], a->in[3]};
    TtVal dx = tt_emit1(g, &tt_op_element_loss_bwd, attrs, ins, 5);
    if (a->need[0]) a->din[0] = dx;
    if (a->need[1]) a->din[1] = tt_neg(g, dx); /* a function of pred - target */
}

static size_t element_loss_scratch(const TtKernelArgs *a)
{
    int64_t samples = tt_tensor_count(&a->out[1]), size = samples ? tt_tensor_count(&a->in[0]) / samples : 0;
    return sizeof(double) * (size_t)(samples * ((size + TT_LOSS_CHUNK - 1) / TT_LOSS_CHUNK));
}

const TtOpDef tt_op_element_loss = {
    .name = "element_loss",
    .help = "mse_loss, l1_loss, smooth_l1_loss, bce_with_logits",
    .id = TT_OP_element_loss,
    .nin_min = 4,
    .nin_max = 4,
    .nout = 2,
    .attrs_size = sizeof(TtElementLossAttrs),
    .infer = element_loss_infer,
    .grad = element_loss_grad,
    .cpu_scratch = element_loss_scratch,
};

const TtOpDef tt_op_element_loss_bwd = {
    .name = "element_loss_bwd",
    .help = "gradient of element_loss by the predictions",
    .id = TT_OP_element_loss_bwd,
    .nin_min = 5,
    .nin_max = 5,
    .nout = 1,
    .attrs_size = sizeof(TtElementLossAttrs),
    .infer = like_second_infer,
};

static void element_loss(TtGraph *g, TtElementLoss kind, double beta, TtVal pred, TtVal target, TtVal pos_weight,
                         TtVal scale, TtVal out[2])
{
    TtDType t = tt_graph_ftype(g);
    out[0] = out[1] = TT_NONE;
    if (!tt_graph_ok(g)) return;
    if (pos_weight.id) pos_weight = tt_cast(g, pos_weight, t);
    TtVal ins[4] = {tt_cast(g, pred, t), tt_cast(g, target, t), pos_weight, tt_cast(g, scale, t)};
    tt_emit(g, &tt_op_element_loss, &(TtElementLossAttrs){.kind = kind, .beta = beta}, ins, 4, out);
}

void tt_mse_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, TtVal out[2])
{
    element_loss(g, TT_LOSS_MSE, 0, pred, target, TT_NONE, scale, out);
}

void tt_l1_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, TtVal out[2])
{
    element_loss(g, TT_LOSS_L1, 0, pred, target, TT_NONE, scale, out);
}

void tt_smooth_l1_loss(TtGraph *g, TtVal pred, TtVal target, TtVal scale, double beta, TtVal out[2])
{
    if (!(beta >= 0)) tt_graph_fail(g, TT_ECONFIG, "smooth_l1_loss: beta is %g; it must be 0 or more", beta);
    element_loss(g, beta == 0 ? TT_LOSS_L1 : TT_LOSS_SMOOTH_L1, beta, pred, target, TT_NONE, scale, out);
}

void tt_bce_with_logits(TtGraph *g, TtVal logits, TtVal target, TtVal pos_weight, TtVal scale, TtVal out[2])
{
    element_loss(g, TT_LOSS_BCE, 0, logits, target, pos_weight, scale, out);
}
