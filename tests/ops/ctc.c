/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/ctc.c - ctc_loss against PyTorch's values: repeats, no labels, targets that do not fit, bad labels. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/ctc.h"
#include "kernels/ops/softmax.h"
#include "tests/ops/ctc_torch.inc"

typedef struct Case {
    TtCtcAttrs a;
    int part;    /* which output */
    bool logits; /* the input is one of a log_softmax */
} Case;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    TtVal out[2], x = c->logits ? tt_log_softmax(g, in[0], -1) : in[0];
    tt_ctc_loss(g, &(TtCtcIn){x, in[1], in[2], in[3], in[4]}, &c->a, out);
    return out[c->part];
}

/* A batch: n samples, t frames, c classes, s labels. */
static TtOpCheck batch(const char *what, const Case *c, TtShape x, int64_t s)
{
    int64_t n = x.dims[0], t = x.dims[1];
    return (TtOpCheck){what,
                       build,
                       c,
                       5,
                       {{x, .lo = -4, .hi = 4},
                        {TT_SHAPE(n, s), TT_I64, 1, (double)x.dims[2]},
                        {TT_SHAPE(n), TT_I64, (double)(2 * s + 1), (double)(t + 1)},
                        {TT_SHAPE(n), TT_I64, 0, (double)(s + 1)},
                        {{0}, .lo = 0.1, .hi = 1, .no_grad = true}}};
}

static void check(const char *what, TtShape x, int64_t s)
{
    Case c = {.logits = true};
    TtOpCheck k = batch(what, &c, x, s);
    if (tt_shape_count(&x) > 2000) k.numeric = -1;
    tt_op_check(&k);
    c.part = 1, k.in[0].no_grad = true, k.numeric = -1;
    tt_op_check(&k);
}

typedef struct Torch {
    const double *x, *targets, *frames, *lengths, *loss, *dx;
} Torch;

static void expect(const char *what, TtCtcAttrs a, TtShape x, int64_t s, Torch v)
{
    Case c = {.a = a};
    TtOpCheck k = batch(what, &c, x, s);
    double scale = 1 / (double)x.dims[0], sum = 0;
    for (int i = 0; i < x.dims[0]; i++) sum += v.loss[i];
    sum *= scale;
    k.in[0].values = v.x, k.in[1].values = v.targets, k.in[2].values = v.frames, k.in[3].values = v.lengths;
    k.in[4].values = &scale;
    tt_op_expect(&k, &sum, 1, 1e-6);
    tt_op_expect_grad(&k, 0, NULL, v.dx, tt_shape_count(&x), 1e-6);
    c.part = 1, k.in[0].no_grad = true;
    tt_op_expect(&k, v.loss, x.dims[0], 1e-6);
}

/* 700 frames and 150 labels: log p is about -1900, and float32 must still give 1e-6 of it. */
static void expect_long(void)
{
    static double x[2 * 700 * 29], targets[300], frames[2] = {700, 650}, lengths[2] = {150, 120};
    for (int i = 0; i < 150; i++) targets[i] = 1 + i * i % 28, targets[150 + i] = 1 + i % 3;
    Case c = {.logits = true, .part = 1};
    TtOpCheck k = batch("long", &c, TT_SHAPE(2, 700, 29), 150);
    k.in[0].values = tt_op_pattern(x, 2 * 700 * 29, 7), k.in[0].no_grad = true;
    k.in[1].values = targets, k.in[2].values = frames, k.in[3].values = lengths;
    tt_op_expect(&k, long_loss, 2, 1e-6);
    c.part = 0, k.in[0].no_grad = false, k.numeric = -1, k.tolerance = 1e-5;
    tt_op_check(&k);
}

/* A run that diverges has to be seen, zero_infinity or not; a class that is not in the target does not matter. */
static void expect_nan(void)
{
    static double x[8] = {-1, NAN, -2, -1, -1, -1, -1, -1}, label = 1, other = 2, one = 1, two = 2, nan_loss = NAN;
    Case c = {.a = {.zero_infinity = true}};
    TtOpCheck k = batch("NaN", &c, TT_SHAPE(1, 2, 4), 1);
    k.in[0].values = x, k.in[1].values = &label, k.in[2].values = &two, k.in[3].values = &one, k.in[4].values = &one;
    tt_op_expect(&k, &nan_loss, 1, 0);
    static const double without = 1.4485552860679487; /* -log(e^-2 + e^-3 + e^-3) */
    k.in[1].values = &other;
    tt_op_expect(&k, &without, 1, 1e-6);
}

static void expect_bad(const char *what, const double *labels, double frames, double length)
{
    Case c = {{.blank = 2}};
    TtOpCheck k = batch(what, &c, TT_SHAPE(1, 5, 4), 3);
    k.in[1].values = labels, k.in[2].values = &frames, k.in[3].values = &length;
    tt_op_expect_error(&k, TT_EDATA);
    assert_non_null(strstr(tt_error_message(), what));
}

static void refuse(TtCtcAttrs a, TtShape x, TtShape targets, TtShape lengths, const char *text)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal n = tt_input(g, "n", TT_I64, lengths), out[2];
    tt_ctc_loss(g, &(TtCtcIn){tt_input(g, "x", TT_F32, x), tt_input(g, "t", TT_I64, targets), n, n, tt_scalar(g, 1)},
                &a, out);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    if (!strstr(tt_error_message(), text)) fail_msg("\"%s\" does not say \"%s\"", tt_error_message(), text);
    tt_graph_free(g);
    tt_params_free(params);
}

void tt_test_op_ctc_loss(void **state)
{
    static const double mixed[] = {1, 1, 2, 4, 3, 9, 7, 8, 9, 2, 1, -5}, mixed_t[] = {7, 5, 6, 3},
                        mixed_s[] = {3, 2, 0, 2};
    expect("mixed", (TtCtcAttrs){0}, TT_SHAPE(4, 7, 5), 3,
           (Torch){mixed_x, mixed, mixed_t, mixed_s, mixed_loss, mixed_dx});
    static const double last[] = {0, 0, 1, 1, 2, 0}, six[] = {6, 6}, three[] = {3, 3};
    expect("another blank", (TtCtcAttrs){.blank = 3}, TT_SHAPE(2, 6, 4), 3,
           (Torch){blank_x, last, six, three, blank_loss, blank_dx});
    static const double many[] = {1, 1, 1, 1, 2, 1, 1, 2, 1}, few[] = {4, 4, 0}, fit[] = {3, 3, 1};
    expect("a target that does not fit", (TtCtcAttrs){0}, TT_SHAPE(3, 4, 3), 3,
           (Torch){hopeless_x, many, few, fit, hopeless_loss, hopeless_dx});
    expect("zero_infinity", (TtCtcAttrs){.zero_infinity = true}, TT_SHAPE(3, 4, 3), 3,
           (Torch){ignored_x, many, few, fit, ignored_loss, ignored_dx});
    expect_long();
    expect_nan();
    check("ctc_loss", TT_SHAPE(3, 9, 5), 4);
    check("ctc_loss, two classes", TT_SHAPE(2, 8, 2), 3);
    check("ctc_loss of one frame and no labels", TT_SHAPE(2, 1, 3), 0);
    check("ctc_loss of no samples", TT_SHAPE(0, 5, 4), 2);
    check("ctc_loss, many states", TT_SHAPE(5, 90, 29), 40);
    static const double no_class[] = {1, 4, 0}, negative[] = {-1, 0, 0}, is_blank[] = {0, 2, 1}, good[] = {0, 1, 3};
    expect_bad("label 4 (number 1 of sample 0", no_class, 5, 2);
    expect_bad("label -1", negative, 5, 1);
    expect_bad("label 2", is_blank, 5, 2);
    expect_bad("6 frames", good, 6, 1);
    expect_bad("-1 frames", good, -1, 1);
    expect_bad("4 labels", good, 5, 4);
    refuse((TtCtcAttrs){0}, TT_SHAPE(2, 5), TT_SHAPE(2, 3), TT_SHAPE(2), "log_probs (2,5)");
    refuse((TtCtcAttrs){.blank = 4}, TT_SHAPE(2, 5, 4), TT_SHAPE(2, 3), TT_SHAPE(2), "blank 4");
    refuse((TtCtcAttrs){0}, TT_SHAPE(2, 5, 4), TT_SHAPE(3, 3), TT_SHAPE(2), "targets (3,3)");
    refuse((TtCtcAttrs){0}, TT_SHAPE(2, 5, 4), TT_SHAPE(2, 3), TT_SHAPE(3), "lengths (3)");
}
