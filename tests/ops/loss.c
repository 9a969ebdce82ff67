/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/loss.c - losses against PyTorch's values, and by the common check. */
#include "tests/support/op_check.h"

#include <math.h>

#include "kernels/ops/binary.h"
#include "kernels/ops/loss.h"
#include "tests/ops/loss_torch.inc"

typedef struct Setting {
    double smoothing;
    int kind;
    int part; /* which output */
    bool weighted;
} Setting;

static TtVal build_cross_entropy(TtGraph *g, const TtVal *in, const void *user)
{
    const Setting *s = user;
    TtVal out[2];
    tt_cross_entropy(g, in[0], in[1], s->weighted ? in[3] : TT_NONE, in[2], s->smoothing, TT_IGNORE_INDEX, out);
    return out[s->part];
}

static void expect_cross_entropy(const char *what, const double *target, bool rows, bool weighted, double smoothing,
                                 const double *losses, const double *dx)
{
    Setting s = {.smoothing = smoothing, .weighted = weighted};
    TtOpCheck c = {.what = what, .build = build_cross_entropy, .user = &s, .n = 4};
    c.in[0] = (TtCheckInput){.shape = TT_SHAPE(4, 5), .values = logits};
    c.in[1] = (TtCheckInput){.shape = TT_SHAPE(4), .dtype = TT_I64, .values = target};
    if (rows) c.in[1] = (TtCheckInput){.shape = TT_SHAPE(4, 5), .values = target, .no_grad = true};
    c.in[2] = (TtCheckInput){.shape = {0}, .values = losses + 5, .no_grad = true};
    c.in[3] = (TtCheckInput){.shape = TT_SHAPE(5), .values = weight, .no_grad = true};
    tt_op_expect(&c, losses + 4, 1, 3e-7);
    tt_op_expect_grad(&c, 0, NULL, dx, 20, 1e-7);
    s.part = 1, c.in[0].no_grad = true;
    tt_op_expect(&c, losses, 4, 3e-7);
}

/* Labels come from data: one that is no class is the data's fault, and only ignore_index is ignored. */
static void expect_bad_labels(void)
{
    static const double bad[3] = {-1, 5, -99}, one[1] = {1};
    for (int i = 0; i < 3; i++) {
        TtOpCheck c = {"bad label",
                       build_cross_entropy,
                       &(Setting){0},
                       3,
                       {{TT_SHAPE(1, 5), .values = logits},
                        {TT_SHAPE(1), TT_I64, .values = &bad[i]},
                        {{0}, .values = one, .no_grad = true}}};
        tt_op_expect_error(&c, TT_EDATA);
    }
}

void tt_test_op_cross_entropy(void **state)
{
    expect_bad_labels();
    expect_cross_entropy("labels", labels, false, false, 0, ce_hard, ce_hard_dx);
    expect_cross_entropy("smoothed", labels, false, false, 0.1, ce_smooth, ce_smooth_dx);
    expect_cross_entropy("weighted", labels, false, true, 0, ce_weighted, ce_weighted_dx);
    expect_cross_entropy("weighted, smoothed", labels, false, true, 0.2, ce_weighted_smooth, ce_weighted_smooth_dx);
    expect_cross_entropy("probabilities", soft, true, false, 0, ce_rows, ce_rows_dx);
    expect_cross_entropy("probabilities, all", soft, true, true, 0.1, ce_rows_all, ce_rows_all_dx);
    /* A confident, large logit: the loss is log1p(exp(-20)), which must not cancel. */
    double sure[2] = {1020, 1000}, zero[1] = {0}, one[1] = {1}, tiny[1] = {2.0611536203e-9};
    TtOpCheck c = {"a sure prediction",
                   build_cross_entropy,
                   &(Setting){0},
                   3,
                   {{TT_SHAPE(1, 2), .values = sure},
                    {TT_SHAPE(1), TT_I64, .values = zero},
                    {{0}, .values = one, .no_grad = true}}};
    tt_op_expect(&c, tiny, 1, 1.2e-7);
}

void tt_test_op_cross_entropy_bwd(void **state)
{
    for (int weighted = 0; weighted < 2; weighted++)
        for (int rows = 0; rows < 2; rows++) {
            Setting s = {.smoothing = weighted ? 0.1 : 0, .weighted = weighted};
            TtOpCheck c = {.what = "cross_entropy", .build = build_cross_entropy, .user = &s, .n = 4};
            c.in[2] = (TtCheckInput){.shape = {0}, .lo = 0.1, .hi = 1, .no_grad = true};
            static const TtShape shapes[] = {{2, {7, 37}}, {4, {3, 2, 5, 19}}, {2, {0, 4}}, {2, {70, 1000}}};
            for (int i = 0; i < TT_COUNT(shapes); i++) {
                TtShape x = shapes[i], t = x;
                int64_t classes = x.dims[x.rank - 1];
                if (!rows) t.rank--;
                c.in[0] = (TtCheckInput){.shape = x, .lo = -5, .hi = 5};
                c.in[1] =
                    (TtCheckInput){.shape = t, .dtype = rows ? TT_F32 : TT_I64, .hi = (double)classes, .no_grad = true};
                if (rows) c.in[1].lo = 0, c.in[1].hi = 1;
                c.in[3] = (TtCheckInput){.shape = TT_SHAPE(classes), .lo = 0.2, .hi = 2, .no_grad = true};
                s.part = 0, c.in[0].no_grad = false, c.numeric = i == 3 ? -1 : 0;
                tt_op_check(&c);
                s.part = 1, c.in[0].no_grad = true;
                tt_op_check(&c);
            }
        }
}

static TtVal build_element_loss(TtGraph *g, const TtVal *in, const void *user)
{
    const Setting *s = user;
    TtVal out[2];
    switch (s->kind) {
    case TT_LOSS_MSE: tt_mse_loss(g, in[0], in[1], in[2], out); break;
    case TT_LOSS_L1: tt_l1_loss(g, in[0], in[1], in[2], out); break;
    case TT_LOSS_SMOOTH_L1: tt_smooth_l1_loss(g, in[0], in[1], in[2], 2.5, out); break;
    default: tt_bce_with_logits(g, in[0], in[1], s->weighted ? in[3] : TT_NONE, in[2], out); break;
    }
    return out[s->part];
}

static void expect_element_loss(const char *what, int kind, bool weighted, const double *target, const double *losses,
                                const double *dx)
{
    double third[1] = {1.0 / 3};
    Setting s = {.kind = kind, .weighted = weighted};
    TtOpCheck c = {.what = what, .build = build_element_loss, .user = &s, .n = 4};
    c.in[0] = (TtCheckInput){.shape = TT_SHAPE(3, 4), .values = pred};
    c.in[1] = (TtCheckInput){.shape = TT_SHAPE(3, 4), .values = target, .no_grad = true};
    c.in[2] = (TtCheckInput){.shape = {0}, .values = third, .no_grad = true};
    c.in[3] = (TtCheckInput){.shape = TT_SHAPE(4), .values = pos_weight, .no_grad = true};
    tt_op_expect(&c, losses + 3, 1, 3e-7);
    tt_op_expect_grad(&c, 0, NULL, dx, 12, 2e-7);
    s.part = 1, c.in[0].no_grad = true;
    tt_op_expect(&c, losses, 3, 3e-7);
}

void tt_test_op_element_loss(void **state)
{
    expect_element_loss("mse_loss", TT_LOSS_MSE, false, wanted, mse_loss, mse_dx);
    expect_element_loss("l1_loss", TT_LOSS_L1, false, wanted, l1_loss, l1_dx);
    expect_element_loss("smooth_l1_loss", TT_LOSS_SMOOTH_L1, false, wanted, smooth_l1_loss, smooth_l1_dx);
    expect_element_loss("bce", TT_LOSS_BCE, false, probability, bce_loss, bce_dx);
    expect_element_loss("bce, weighted", TT_LOSS_BCE, true, probability, bce_weighted_loss, bce_weighted_dx);
}

void tt_test_op_element_loss_bwd(void **state)
{
    static const TtShape shapes[] = {{2, {5, 7}}, {4, {2, 3, 5, 6}}, {2, {3, 9001}}, {1, {6}}, {2, {0, 3}}};
    for (int kind = 0; kind < TT_LOSS_COUNT; kind++)
        for (int i = 0; i < TT_COUNT(shapes); i++) {
            Setting s = {.kind = kind, .weighted = i % 2};
            TtOpCheck c = {.what = "element_loss", .build = build_element_loss, .user = &s, .n = 4};
            c.in[0] = (TtCheckInput){.shape = shapes[i], .lo = -5, .hi = 5};
            c.in[1] = (TtCheckInput){.shape = shapes[i], .lo = 0, .hi = 1, .no_grad = kind == TT_LOSS_BCE};
            c.in[2] = (TtCheckInput){.shape = {0}, .lo = 0.1, .hi = 1, .no_grad = true};
            c.in[3] = (TtCheckInput){
                .shape = TT_SHAPE(shapes[i].dims[shapes[i].rank - 1]), .lo = 0.2, .hi = 2, .no_grad = true};
            c.numeric = i == 2 ? -1 : 0;
            tt_op_check(&c);
            s.part = 1, c.in[0].no_grad = c.in[1].no_grad = true;
            tt_op_check(&c);
        }
}
