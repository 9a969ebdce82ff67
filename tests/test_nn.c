/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_nn.c - layers have torch.nn's parameters: names, shapes and how they start; and give its shapes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "models/nn.h"

typedef struct Fixture {
    TtParamSet *params;
    TtGraph *g;
    TtVal x;
} Fixture;

static Fixture open_graph(TtShape x, bool bf16)
{
    Fixture f = {.params = tt_params_new(TT_F32)};
    f.g = tt_graph_new(&(TtGraphOptions){.params = f.params, .training = true, .bf16 = bf16});
    f.x = tt_input(f.g, "x", TT_F32, x);
    return f;
}

static void close_graph(Fixture *f)
{
    tt_graph_free(f->g);
    tt_params_free(f->params);
}

static void expect_shape(const Fixture *f, TtVal y, TtShape s)
{
    char got[TT_SHAPE_TEXT], want[TT_SHAPE_TEXT];
    if (tt_graph_status(f->g) != TT_OK) fail_msg("%s", tt_error_message());
    TtShape have = tt_shape(f->g, y);
    assert_string_equal(tt_shape_text(&have, got), tt_shape_text(&s, want));
}

/* Of a parameter: its shape, its values within +-BOUND and spread uniformly, or (BOUND 0) all VALUE. */
static void expect_param(Fixture *f, const char *name, TtShape s, double bound, double value)
{
    const TtParam *p = tt_params_find(f->params, name);
    if (!p) fail_msg("no parameter %s", name);
    assert_true(tt_shape_equal(&p->shape, &s));
    double most = 0, squares = 0, n = (double)tt_shape_count(&s);
    for (int64_t i = 0; i < tt_shape_count(&s); i++) {
        double v = ((const float *)p->value)[i];
        if (bound == 0 && v != value) fail_msg("%s[%lld] is %g", name, (long long)i, v);
        most = fmax(most, fabs(v)), squares += v * v / n;
    }
    if (bound == 0) return;
    assert_true(most <= bound);
    if (n > 1000) assert_true(fabs(sqrt(3 * squares) / bound - 1) < 0.05);
}

static void start(Fixture *f)
{
    assert_int_equal(tt_params_allocate(f->params), TT_OK);
    tt_params_init(f->params, 1);
}

/* torch.nn.Conv1d(12, 80, 5, stride=2, padding=3, dilation=2, groups=4): bound 1/sqrt(3*5). */
static void test_conv1d(void **state)
{
    Fixture f = open_graph(TT_SHAPE(2, 31, 12), false);
    TtVal y = tt_conv1d(f.g, f.x, "conv", .out = 80, .kernel = 5, .stride = 2, .pad = 3, .dilation = 2, .groups = 4);
    expect_shape(&f, y, TT_SHAPE(2, 15, 80));
    y = tt_conv1d(f.g, y, "point", .out = 7, .kernel = 1, .no_bias = true);
    expect_shape(&f, y, TT_SHAPE(2, 15, 7));
    assert_int_equal(f.params->count, 3);
    start(&f);
    expect_param(&f, "conv.weight", TT_SHAPE(80, 3, 5), 1 / sqrt(15), 0);
    expect_param(&f, "conv.bias", TT_SHAPE(80), 1 / sqrt(15), 0);
    expect_param(&f, "point.weight", TT_SHAPE(7, 80, 1), 1 / sqrt(80), 0);
    close_graph(&f);
    f = open_graph(TT_SHAPE(2, 31, 12), true);
    assert_int_equal(tt_dtype(f.g, tt_conv1d(f.g, f.x, "conv", .out = 4, .kernel = 3)), TT_BF16);
    tt_conv1d(f.g, f.x, "grouped", .out = 8, .kernel = 3, .groups = 5);
    assert_int_equal(tt_graph_status(f.g), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), "5 groups"));
    close_graph(&f);
}

/* torch.nn.ConvTranspose1d(64, 2, 16, stride=8, bias=False): bound 1/sqrt(2*16), by the outputs. */
static void test_conv_transpose1d(void **state)
{
    Fixture f = open_graph(TT_SHAPE(3, 10, 64), false);
    TtVal y = tt_conv_transpose1d(f.g, f.x, "decoder", .out = 2, .kernel = 16, .stride = 8, .no_bias = true);
    expect_shape(&f, y, TT_SHAPE(3, 88, 2));
    y = tt_conv_transpose1d(f.g, y, "up", .out = 4, .kernel = 3, .stride = 2, .pad = 1, .output_pad = 1, .groups = 2);
    expect_shape(&f, y, TT_SHAPE(3, 176, 4));
    start(&f);
    expect_param(&f, "decoder.weight", TT_SHAPE(64, 2, 16), 1 / sqrt(32), 0);
    expect_param(&f, "up.weight", TT_SHAPE(2, 2, 3), 1 / sqrt(6), 0);
    expect_param(&f, "up.bias", TT_SHAPE(4), 1 / sqrt(6), 0);
    close_graph(&f);
}

static void test_norms(void **state)
{
    Fixture f = open_graph(TT_SHAPE(2, 9, 6), false);
    TtVal y = tt_group_norm(f.g, f.x, "gln", .eps = 1e-8);
    y = tt_group_norm(f.g, y, "groups", .groups = 3);
    y = tt_layer_norm(f.g, y, "layer");
    y = tt_layer_norm(f.g, y, "plain", .no_affine = true);
    expect_shape(&f, y, TT_SHAPE(2, 9, 6));
    assert_int_equal(f.params->count, 6);
    start(&f);
    expect_param(&f, "gln.weight", TT_SHAPE(6), 0, 1);
    expect_param(&f, "gln.bias", TT_SHAPE(6), 0, 0);
    expect_param(&f, "groups.weight", TT_SHAPE(6), 0, 1);
    expect_param(&f, "layer.weight", TT_SHAPE(6), 0, 1);
    expect_param(&f, "layer.bias", TT_SHAPE(6), 0, 0);
    tt_group_norm(f.g, y, "uneven", .groups = 4, .no_affine = true);
    assert_int_equal(tt_graph_status(f.g), TT_ECONFIG);
    close_graph(&f);
}

static void test_prelu(void **state)
{
    Fixture f = open_graph(TT_SHAPE(2, 9, 6), false);
    TtVal y = tt_prelu(f.g, f.x, "one");
    y = tt_prelu(f.g, y, "each", .per_channel = true, .init = 0.5);
    expect_shape(&f, y, TT_SHAPE(2, 9, 6));
    start(&f);
    expect_param(&f, "one.weight", TT_SHAPE(1), 0, 0.25);
    expect_param(&f, "each.weight", TT_SHAPE(6), 0, 0.5);
    close_graph(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv1d),
        cmocka_unit_test(test_conv_transpose1d),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_prelu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
