/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/dropout.c - the mask's rate, sharing and independence of instruction set (by the reference). */
#include "tests/support/op_check.h"

#include <math.h>
#include <string.h>

#include "kernels/ops/binary.h"
#include "kernels/ops/dropout.h"

typedef struct Setting {
    double p;
    int kind; /* 0 elements, 1 channels, 2 samples, 3 batch, 4 two calls added */
} Setting;

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    const Setting *s = user;
    switch (s->kind) {
    case 0: return tt_dropout(g, in[0], s->p);
    case 1: return tt_channel_dropout(g, in[0], s->p);
    case 2: return tt_stochastic_depth(g, in[0], s->p, false);
    case 3: return tt_stochastic_depth(g, in[0], s->p, true);
    default: return tt_add(g, tt_dropout(g, in[0], s->p), tt_dropout(g, in[0], s->p));
    }
}

/* Run once on ones of shape (8, 25, 40, 3): y into OUT. */
static void run(Setting s, uint64_t step, uint64_t shard, bool training, float *out)
{
    static float ones[8 * 25 * 40 * 3];
    for (int i = 0; i < TT_COUNT(ones); i++) ones[i] = 1;
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params, .training = training});
    TtVal x = tt_input(g, "x", TT_F32, TT_SHAPE(8, 25, 40, 3)), y = build(g, &x, &s);
    TtProgram *p;
    tt_output(g, y, "y");
    assert_int_equal(tt_graph_status(g), TT_OK);
    assert_int_equal(tt_params_allocate(params), TT_OK);
    assert_int_equal(tt_program_build(g, &(TtProgramOptions){0}, &p), TT_OK);
    tt_program_bind(p, x, ones);
    assert_int_equal(tt_program_run(p, &(TtStepInfo){.seed = 5, .step = step, .shard = shard}), TT_OK);
    memcpy(out, tt_program_tensor(p, y).data, sizeof ones);
    tt_program_free(p);
    tt_graph_free(g);
    tt_params_free(params);
}

static double mean(const float *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += v[i];
    return sum / n;
}

void tt_test_op_dropout(void **state)
{
    enum { N = 8 * 25 * 40 * 3 };
    for (int kind = 0; kind < 5; kind++) {
        Setting s = {.p = 0.3, .kind = kind};
        TtOpCheck c = {.what = "dropout", .build = build, .user = &s, .n = 1, .training = true};
        c.in[0].shape = TT_SHAPE(4, 5, 7, 3);
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(5, 2, 2500), c.numeric = -1;
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(0, 2, 5);
        tt_op_check(&c);
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(4, 5, 71), .dtype = TT_BF16}, c.tolerance = 1e-2;
        tt_op_check(&c);
    }
    static float a[N], b[N];
    run((Setting){.p = 0.3}, 1, 0, true, a);
    for (int i = 0; i < N; i++) assert_true(a[i] == 0 || a[i] == 1 / 0.7f);
    assert_true(fabs(mean(a, N) - 1) < 0.02); /* 24000 draws: standard deviation 0.0042 */
    run((Setting){.p = 0.3}, 2, 0, true, b);
    assert_memory_not_equal(a, b, sizeof a); /* another step */
    run((Setting){.p = 0.3}, 1, 1, true, b);
    assert_memory_not_equal(a, b, sizeof a); /* another shard */
    run((Setting){.p = 0.3, .kind = 4}, 1, 0, true, b);
    int apart = 0;
    for (int i = 0; i < N; i++) apart += b[i] != 2 * a[i];
    assert_in_range(apart, 9000, 11200); /* 0.42 of all: the second call has a mask of its own */
    run((Setting){.p = 0.3}, 1, 0, false, b);
    for (int i = 0; i < N; i++) assert_true(b[i] == 1); /* evaluation */
    run((Setting){.p = 1}, 1, 0, true, b);
    for (int i = 0; i < N; i++) assert_true(b[i] == 0);
    run((Setting){.p = 0.5, .kind = 1}, 1, 0, true, b);
    for (int i = 0; i < N; i++) assert_true(b[i] == b[i / 3000 * 3000 + i % 3]);
    run((Setting){.p = 0.5, .kind = 2}, 1, 0, true, b);
    for (int i = 0; i < N; i++) assert_true(b[i] == b[i / 3000 * 3000]);
    run((Setting){.p = 0.5, .kind = 3}, 1, 0, true, b);
    for (int i = 0; i < N; i++) assert_true(b[i] == b[0]);
}
