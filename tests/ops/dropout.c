/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/dropout.c - dropout against the reference, its rate, and its streams. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/dropout.h"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_dropout(g, in[0], *(const double *)user);
}

/* The op's output on ones for a step and shard. */
static void run(float *out, int n, uint64_t step, uint64_t shard, uint64_t id)
{
    float *ones = malloc(sizeof *ones * (size_t)n);
    for (int i = 0; i < n; i++) ones[i] = 1;
    TtDropoutAttrs attrs = {0.3, id};
    TtStepInfo info = {.seed = 1, .step = step, .shard = shard};
    TtKernelArgs a = {.attrs = &attrs, .nin = 1, .nout = 1, .step = &info};
    a.in[0] = tt_tensor(ones, TT_F32, TT_SHAPE(n));
    a.out[0] = tt_tensor(out, TT_F32, TT_SHAPE(n));
    assert_int_equal(tt_cpu_kernel(TT_OP_dropout)(&a), TT_OK);
    free(ones);
}

void tt_test_op_dropout(void **state)
{
    double p = 0.3, half = 0.5;
    tt_op_check(&(TtOpCheck){"dropout", build, &p, 1, {{TT_SHAPE(7, 53)}}, .training = true});
    tt_op_check(
        &(TtOpCheck){"dropout, large", build, &half, 1, {{TT_SHAPE(130, 257)}}, .training = true, .numeric = -1});
    tt_op_check(&(TtOpCheck){"dropout, bfloat16",
                             build,
                             &p,
                             1,
                             {{TT_SHAPE(7, 53), TT_BF16}},
                             .training = true,
                             .tolerance = 1e-2,
                             .numeric = -1});
    tt_op_check(&(TtOpCheck){"dropout of nothing", build, &p, 1, {{TT_SHAPE(0, 3)}}, .training = true});
    tt_op_check(&(TtOpCheck){"dropout in evaluation", build, &p, 1, {{TT_SHAPE(7, 5)}}});
    enum { N = 100000 };
    float *a = malloc(sizeof *a * N), *b = malloc(sizeof *b * N);
    run(a, N, 5, 0, 1);
    int kept = 0;
    for (int i = 0; i < N; i++) {
        kept += a[i] != 0;
        assert_true(a[i] == 0 || fabsf(a[i] - 1 / 0.7f) < 1e-6f);
    }
    assert_true(abs(kept - (int)(0.7 * N)) < 6 * sqrt(N * 0.21));
    /* another step, shard or dropout has another mask: about 42 % of the elements differ */
    const uint64_t other[3][3] = {{6, 0, 1}, {5, 1, 1}, {5, 0, 2}};
    for (int k = 0; k < 3; k++) {
        run(b, N, other[k][0], other[k][1], other[k][2]);
        int differ = 0;
        for (int i = 0; i < N; i++) differ += a[i] != b[i];
        assert_true(abs(differ - (int)(0.42 * N)) < 6 * sqrt(N * 0.25));
    }
    run(b, N, 5, 0, 1);
    assert_memory_equal(a, b, sizeof *a * N);
    free(a);
    free(b);
}
