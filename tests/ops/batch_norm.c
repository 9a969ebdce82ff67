/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/batch_norm.c - batch norm in training and evaluation, with residual and relu, float32 and bfloat16. */
#include <math.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/batch_norm.h"
#include "tests/ops/batch_norm_torch.inc"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    TtBatchNormIn b = {in[0], in[1], in[2], in[3], in[4], in[5], in[6]};
    return tt_batch_norm_op(g, &b, user);
}

static TtVal build_plain(TtGraph *g, const TtVal *in, const void *user)
{
    TtBatchNormIn b = {in[0], in[1], in[2], in[3], in[4], in[5], TT_NONE};
    return tt_batch_norm_op(g, &b, user);
}

static void check(const char *what, TtBatchNormAttrs a, TtShape x, TtDType t)
{
    TtShape c = TT_SHAPE(x.dims[x.rank - 1]);
    double tolerance = t == TT_BF16 ? 3e-2 : 3e-5, numeric = t == TT_BF16 ? -1 : 1e-5;
    /* among many values cut by relu some lie so close to the cut that a difference crosses it */
    if (a.relu && tt_shape_count(&x) > 500) numeric = -1;
    TtOpCheck k = {what,
                   build,
                   &a,
                   7,
                   {{x, t},
                    {c, .lo = 0.5, .hi = 2},
                    {c},
                    {c, .no_grad = true},
                    {c, .lo = 0.5, .hi = 2, .no_grad = true},
                    {(TtShape){0}, TT_I64, 3, 4},
                    {x, t}},
                   .tolerance = tolerance,
                   .numeric = numeric,
                   .no_strided = true};
    tt_op_check(&k);
    k.build = build_plain, k.n = 6;
    tt_op_check(&k);
}

enum { N = 5, C = 3 }; /* of PyTorch's cases */

typedef struct Case {
    double x[N * C], residual[N * C], dy[N * C], weight[C], bias[C], mean[C], var[C], tracked;
} Case;

static Case torch_case(void)
{
    Case c = {.var = {1, 1.5, 2}, .tracked = 2};
    tt_op_pattern(c.dy, N * C, 5), tt_op_pattern(c.x, N * C, 7), tt_op_pattern(c.residual, N * C, 4);
    tt_op_pattern(c.weight, C, 3), tt_op_pattern(c.bias, C, 2), tt_op_pattern(c.mean, C, 6);
    return c;
}

static void check_torch(const char *what, bool training, bool fused, const double *y, const double *const grads[4])
{
    TtBatchNormAttrs a = {1e-5, 0.1, training, fused};
    Case v = torch_case();
    TtOpCheck k = {what,
                   fused ? build : build_plain,
                   &a,
                   fused ? 7 : 6,
                   {{TT_SHAPE(N, C), .values = v.x},
                    {TT_SHAPE(C), .values = v.weight},
                    {TT_SHAPE(C), .values = v.bias},
                    {TT_SHAPE(C), .no_grad = true, .values = v.mean},
                    {TT_SHAPE(C), .no_grad = true, .values = v.var},
                    {(TtShape){0}, TT_I64, .values = &v.tracked},
                    {TT_SHAPE(N, C), .values = v.residual}}};
    tt_op_expect(&k, y, N * C, 1e-6);
    for (int i = 0; i < 3; i++) tt_op_expect_grad(&k, i, v.dy, grads[i], i ? C : N * C, 2e-6);
    if (fused) tt_op_expect_grad(&k, 6, v.dy, grads[3], N * C, 1e-6);
}

/* Statistics after a batch of x and one of the residuals. */
static void check_running(double momentum, bool reference, const double *mean, const double *var)
{
    Case v = torch_case();
    float x[N * C], m[C], s[C], ones[C] = {1, 1, 1};
    int64_t tracked = 2;
    for (int i = 0; i < C; i++) m[i] = (float)v.mean[i], s[i] = (float)v.var[i];
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params, .training = true});
    TtVal in[6] = {tt_input(g, "x", TT_F32, TT_SHAPE(N, C)), tt_input(g, "weight", TT_F32, TT_SHAPE(C)),
                   tt_input(g, "bias", TT_F32, TT_SHAPE(C)), tt_input(g, "mean", TT_F32, TT_SHAPE(C)),
                   tt_input(g, "var", TT_F32, TT_SHAPE(C)),  tt_input(g, "tracked", TT_I64, (TtShape){0})};
    void *data[6] = {x, ones, ones, m, s, &tracked};
    build_plain(g, in, &(TtBatchNormAttrs){1e-5, momentum, true, false}); /* kept for its effect alone */
    TtProgram *p;
    assert_int_equal(tt_params_allocate(params), TT_OK);
    assert_int_equal(tt_program_build(g, &(TtProgramOptions){.reference = reference}, &p), TT_OK);
    for (int k = 0; k < 6; k++) tt_program_bind(p, in[k], data[k]);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < N * C; i++) x[i] = (float)(step ? v.residual : v.x)[i];
        assert_int_equal(tt_program_run(p, &(TtStepInfo){0}), TT_OK);
    }
    for (int i = 0; i < C; i++) assert_float_equal(m[i], mean[i], 1e-6), assert_float_equal(s[i], var[i], 1e-6);
    assert_int_equal(tracked, 4);
    tt_program_free(p);
    tt_graph_free(g);
    tt_params_free(params);
}

/* Channels whose mean is far larger than their spread, or whose first values lie far out. Expected values in double. */
static void check_precision(void)
{
    enum { ROWS = 700 };
    static double x[ROWS * 2], y[ROWS * 2];
    TtBatchNormAttrs a = {1e-5, 0.1, true, false};
    double one[2] = {1, 1}, zero[2] = {0, 0};
    for (int r = 0; r < ROWS; r++) {
        x[r * 2] = 256 + (r * 7 % 11 - 5) / 8.0;
        x[r * 2 + 1] = r == 0 || r == 300 ? 4096 : (r * 5 % 13 - 6) / 16.0;
    }
    for (int c = 0; c < 2; c++) {
        double mean = 0, var = 0;
        for (int r = 0; r < ROWS; r++) mean += x[r * 2 + c] / ROWS;
        for (int r = 0; r < ROWS; r++) var += (x[r * 2 + c] - mean) * (x[r * 2 + c] - mean) / ROWS;
        for (int r = 0; r < ROWS; r++) y[r * 2 + c] = (x[r * 2 + c] - mean) / sqrt(var + 1e-5);
    }
    TtOpCheck k = {"batch_norm, large values",
                   build_plain,
                   &a,
                   6,
                   {{TT_SHAPE(ROWS, 2), .values = x},
                    {TT_SHAPE(2), .values = one},
                    {TT_SHAPE(2), .values = zero},
                    {TT_SHAPE(2), .no_grad = true, .values = zero},
                    {TT_SHAPE(2), .no_grad = true, .values = one},
                    {(TtShape){0}, TT_I64, .values = zero}}};
    tt_op_expect(&k, y, ROWS * 2, 5e-5);
}

void tt_test_op_batch_norm(void **state)
{
    TtBatchNormAttrs train = {1e-5, 0.1, true, false}, eval = {1e-5, 0.1, false, false};
    check("batch_norm", train, TT_SHAPE(3, 5, 7, 4), TT_F32);
    check("batch_norm, many rows", train, TT_SHAPE(301, 3), TT_F32);
    check("batch_norm, many channels", train, TT_SHAPE(2, 3, 300), TT_F32);
    check("batch_norm, evaluation", eval, TT_SHAPE(3, 5, 4), TT_F32);
    check("batch_norm of nothing", eval, TT_SHAPE(0, 5, 4), TT_F32);
    check("batch_norm, bfloat16", train, TT_SHAPE(6, 5, 7), TT_BF16);
    check_torch("batch_norm", true, false, train_y, (const double *[]){train_dx, train_dw, train_db, NULL});
    check_torch("batch_norm, evaluation", false, false, eval_y, (const double *[]){eval_dx, eval_dw, eval_db, NULL});
    for (int reference = 0; reference < 2; reference++) {
        check_running(0.1, reference, moving_mean, moving_var);
        check_running(-1, reference, cumulative_mean, cumulative_var);
    }
    check_precision();
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal c = tt_input(g, "c", TT_F32, TT_SHAPE(4));
    TtVal in[6] = {tt_input(g, "x", TT_F32, TT_SHAPE(1, 1, 1, 4)), c, c, c, c, tt_input(g, "n", TT_I64, (TtShape){0})};
    build_plain(g, in, &train);
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    assert_non_null(strstr(tt_error_message(), "more than one value per channel"));
    tt_graph_free(g);
    tt_params_free(params);
}

/* Where relu is cut the function has no slope: no differences, but the reference kernel's mask. */
void tt_test_op_batch_norm_bwd(void **state)
{
    TtBatchNormAttrs train = {1e-3, -1, true, true}, eval = {1e-3, 0.3, false, true};
    check("batch_norm + residual + relu", train, TT_SHAPE(3, 5, 7, 4), TT_F32);
    check("batch_norm + residual + relu, evaluation", eval, TT_SHAPE(9, 33), TT_F32);
    check("batch_norm + residual + relu, bfloat16", train, TT_SHAPE(9, 33), TT_BF16);
    check_torch("batch_norm + residual + relu", true, true, train_fused_y,
                (const double *[]){train_fused_dx, train_fused_dw, train_fused_db, train_fused_dr});
    check_torch("batch_norm + residual + relu, evaluation", false, true, eval_fused_y,
                (const double *[]){eval_fused_dx, eval_fused_dw, eval_fused_db, eval_fused_dr});
    check("batch_norm of one channel", train, TT_SHAPE(1000, 1), TT_F32);
}
