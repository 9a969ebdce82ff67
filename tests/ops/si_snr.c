/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/si_snr.c - si_snr against PyTorch's values: orders, padding, offsets, silence, bad lengths. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/si_snr.h"
#include "tests/ops/si_snr_torch.inc"

typedef struct Case {
    TtSiSnrAttrs a;
    int part; /* which output */
    bool padded;
} Case;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Case *c = user;
    TtVal out[2];
    tt_si_snr_loss(g, in[0], in[1], c->padded ? in[3] : TT_NONE, in[2], &c->a, out);
    return out[c->part];
}

static TtOpCheck batch(const char *what, const Case *c, TtShape x)
{
    return (TtOpCheck){what,
                       build,
                       c,
                       c->padded ? 4 : 3,
                       {{x, .lo = -0.5, .hi = 1},
                        {x, .no_grad = true},
                        {{0}, .lo = 0.1, .hi = 1, .no_grad = true},
                        {TT_SHAPE(x.dims[0]), TT_I64, 2, (double)x.dims[1] + 1}}};
}

static void check(const char *what, Case c, TtShape x)
{
    TtOpCheck k = batch(what, &c, x);
    if (tt_shape_count(&x) > 2000) k.numeric = -1;
    tt_op_check(&k);
    c.part = 1, k.in[0].no_grad = true, k.numeric = -1;
    tt_op_check(&k);
}

static void expect(const char *what, Case c, TtShape x, const double *lengths, const double *loss, const double *dx,
                   const double *gain)
{
    double est[256], ref[256], scale = 1 / (double)x.dims[0], sum = 0;
    float fe[256], fr[256], mix[64];
    int64_t n = tt_shape_count(&x), sources = x.dims[2], size = x.dims[1] * sources;
    TtOpCheck k = batch(what, &c, x);
    tt_op_pattern(est, n, 7);
    tt_op_pattern(ref, n, 5);
    for (int64_t i = 0; i < n; i++) est[i] += 0.5, fe[i] = (float)est[i], fr[i] = (float)ref[i];
    for (int64_t i = 0; i < x.dims[0]; i++) sum += loss[i] * scale;
    k.in[0].values = est, k.in[1].values = ref, k.in[2].values = &scale, k.in[3].values = lengths;
    tt_op_expect(&k, &sum, 1, 1e-6);
    tt_op_expect_grad(&k, 0, NULL, dx, n, 1e-6);
    c.part = 1, k.in[0].no_grad = true;
    tt_op_expect(&k, loss, x.dims[0], 1e-6);
    for (int64_t i = 0; i < x.dims[0]; i++) {
        int64_t frames = lengths ? (int64_t)lengths[i] : x.dims[1];
        for (int64_t t = 0; t < frames; t++) {
            mix[t] = 0;
            for (int64_t s = 0; s < sources; s++) mix[t] += fr[i * size + t * sources + s];
        }
        const float *e = fe + i * size, *r = fr + i * size;
        assert_true(fabs(tt_si_snr(e, r, frames, (int)sources, c.a.fixed_order) + loss[i]) < 1e-9);
        assert_true(fabs(tt_si_snr_improvement(e, r, mix, frames, (int)sources, c.a.fixed_order) - gain[i]) < 1e-9);
    }
}

/* Values that a formula in float32, or without its small constants, would get wrong. */
static void expect_extremes(void)
{
    enum { N = 500 };
    static float est[2 * N], ref[2 * N];
    /* A 100 dB estimate on an offset of 3: the noise is of another frequency. */
    for (int t = 0; t < N; t++) {
        double s = sin(2 * M_PI * 5 * t / N), noise = 1e-5 * sin(2 * M_PI * 50 * t / N);
        ref[t] = (float)s, est[t] = (float)(2 * s + 2 * noise);
    }
    assert_true(fabs(tt_si_snr(est, ref, N, 1, false) - 100) < 0.05);
    for (int t = 0; t < N; t++) est[t] = ref[t];
    double perfect = tt_si_snr(est, ref, N, 1, false); /* 10 log10(0.5 / 1e-12) and no more */
    assert_true(perfect > 110 && perfect < 117.1);
    /* Silence in one of two references, or in an estimate: finite, values and gradients. */
    for (int t = 0; t < N; t++)
        est[2 * t] = ref[2 * t] = (float)sin(t), est[2 * t + 1] = (float)cos(3 * t), ref[2 * t + 1] = 0;
    for (int round = 0; round < 2; round++) {
        TtSiSnr m;
        tt_si_snr_measure(est, ref, N, 2, false, &m);
        assert_true(isfinite(m.mean));
        for (int s = 0; s < 2; s++) assert_true(isfinite(m.own[s]) && isfinite(m.other[s]) && m.order[s] == s);
        for (int t = 0; t < N; t++) est[2 * t + 1] = 0;
    }
    est[7] = NAN;
    assert_true(isnan(tt_si_snr(est, ref, N, 2, false)));
    assert_true(isnan(tt_si_snr(est, ref, N, 2, true)));
}

static void refuse(TtShape est, TtShape ref, TtShape lengths, const char *text)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal out[2];
    tt_si_snr_loss(g, tt_input(g, "e", TT_F32, est), tt_input(g, "r", TT_F32, ref), tt_input(g, "n", TT_I64, lengths),
                   tt_scalar(g, 1), &(TtSiSnrAttrs){0}, out);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    if (!strstr(tt_error_message(), text)) fail_msg("\"%s\" does not say \"%s\"", tt_error_message(), text);
    tt_graph_free(g);
    tt_params_free(params);
}

void tt_test_op_si_snr(void **state)
{
    static const double lengths[2] = {12, 7};
    expect("two sources", (Case){0}, TT_SHAPE(3, 13, 2), NULL, two_loss, two_dx, two_gain);
    expect("two sources in order", (Case){{true}}, TT_SHAPE(3, 13, 2), NULL, fixed_loss, fixed_dx, fixed_gain);
    expect("padded", (Case){.padded = true}, TT_SHAPE(2, 12, 3), lengths, padded_loss, padded_dx, padded_gain);
    expect("five sources", (Case){0}, TT_SHAPE(2, 23, 5), NULL, five_loss, five_dx, five_gain);
    expect_extremes();
    Case padded = {.padded = true};
    for (int i = 0; i < 2; i++) {
        double bad = i ? 0 : 6;
        TtOpCheck k = batch("a bad length", &padded, TT_SHAPE(1, 5, 2));
        k.in[3].values = &bad;
        tt_op_expect_error(&k, TT_EDATA);
        assert_non_null(strstr(tt_error_message(), i ? "0 frames" : "6 frames"));
    }
    refuse(TT_SHAPE(2, 5, 2), TT_SHAPE(2, 5, 3), TT_SHAPE(2), "references (2,5,3)");
    refuse(TT_SHAPE(2, 5, 9), TT_SHAPE(2, 5, 9), TT_SHAPE(2), "9 sources");
    refuse(TT_SHAPE(2, 0, 2), TT_SHAPE(2, 0, 2), TT_SHAPE(2), "0 frames");
    refuse(TT_SHAPE(2, 5, 2), TT_SHAPE(2, 5, 2), TT_SHAPE(3), "lengths (3)");
}

void tt_test_op_si_snr_bwd(void **state)
{
    check("si_snr", (Case){0}, TT_SHAPE(3, 17, 2));
    check("si_snr in order", (Case){{true}}, TT_SHAPE(2, 11, 3));
    check("si_snr of one source", (Case){0}, TT_SHAPE(2, 9, 1));
    check("si_snr, padded", (Case){.padded = true}, TT_SHAPE(5, 14, 2));
    check("si_snr of six sources", (Case){0}, TT_SHAPE(2, 31, 6));
    check("si_snr of no samples", (Case){0}, TT_SHAPE(0, 5, 2));
    check("si_snr of many frames", (Case){.padded = true}, TT_SHAPE(3, 9001, 2));
}
