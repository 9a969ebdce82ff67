/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_vmath.c - the elementary functions of tensor/vmath.h as the unary kernels run them, at every
 * instruction set of this machine: error in units of the last place against libm in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/ops/unary.h"

extern const TtKernelFn tt_cpu_table_c[TT_OP_COUNT];
#ifdef TT_X86
extern const TtKernelFn tt_cpu_table_avx2[TT_OP_COUNT], tt_cpu_table_avx512[TT_OP_COUNT];
#endif

enum { N = 4096, STEP = 4001 }; /* every 4001st float of the range: about a million in all */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double expm1_below_0(double x)
{
    return x > 0 ? x : expm1(x);
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}

static const struct Function {
    const char *name;
    TtUnaryKind kind;
    double (*exact)(double);
    float lo, hi;
    double ulps, absolute; /* allowed error: the larger of the two */
} functions[] = {
    {"exp", TT_UNARY_exp, exp, -104, 88.7f, 1.1, 0},
    {"expm1 (elu)", TT_UNARY_elu, expm1_below_0, -120, 0, 2, 0},
    {"log", TT_UNARY_log, log, 1e-45f, 3.4e38f, 1, 0},
    {"log1p", TT_UNARY_log1p, log1p, -0.9999999f, 3e38f, 3, 0},
    {"tanh", TT_UNARY_tanh, tanh, -100, 100, 3, 0},
    {"sigmoid", TT_UNARY_sigmoid, sigmoid, -87, 100, 2.5, 0},
    {"erf", TT_UNARY_erf, erf, -10, 10, 2, 0},
    {"gelu", TT_UNARY_gelu, gelu, -10, 10, 4, 1e-6}, /* 1 + erf cancels in the negative tail */
    {"sqrt", TT_UNARY_sqrt, sqrt, 0, 3.4e38f, 0.51, 0},
};

static double ulp_of(double y)
{
    int e;
    frexp(y, &e);
    return fmax(ldexp(1, e - 24), 0x1p-149);
}

static float float_of(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static void run(const TtKernelFn *table, const struct Function *f, float *x, float *y, int64_t n)
{
    TtUnaryAttrs attrs = {.kind = f->kind, .a = 1};
    TtKernelArgs a = {.op = &tt_op_unary, .attrs = &attrs, .nin = 1, .nout = 1};
    a.in[0] = tt_tensor(x, TT_F32, TT_SHAPE(n));
    a.out[0] = tt_tensor(y, TT_F32, TT_SHAPE(n));
    assert_int_equal(table[TT_OP_unary](&a), TT_OK);
}

static void check(const char *isa, const TtKernelFn *table)
{
    static float x[N], y[N];
    for (int k = 0; k < TT_COUNT(functions); k++) {
        const struct Function *f = &functions[k];
        uint64_t u = 0;
        while (u < UINT64_C(1) << 32) {
            int n = 0;
            for (; n < N && u < UINT64_C(1) << 32; u += STEP) {
                float v = float_of((uint32_t)u);
                if (v >= f->lo && v <= f->hi) x[n++] = v;
            }
            run(table, f, x, y, n);
            for (int i = 0; i < n; i++) {
                double exact = f->exact((double)x[i]), error = fabs((double)y[i] - exact);
                if (!(error <= fmax(f->ulps * ulp_of(exact), f->absolute)))
                    fail_msg("%s, %s(%a) is %a, exactly %a: %.2f ulp", isa, f->name, (double)x[i], (double)y[i], exact,
                             error / ulp_of(exact));
            }
        }
    }
}

/* At the edges: what C's functions give. */
static void check_edges(const char *isa, const TtKernelFn *table)
{
    static const float points[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f, -3e38f, 200, -200};
    for (int k = 0; k < TT_COUNT(functions); k++)
        for (int i = 0; i < TT_COUNT(points); i++) {
            float x = points[i], y;
            double exact = functions[k].exact((double)x);
            if (functions[k].kind == TT_UNARY_gelu && isinf(x)) continue; /* inf * 0 */
            run(table, &functions[k], &x, &y, 1);
            bool good = isnan(exact) ? isnan(y) : (float)exact == y || fabs((double)y - exact) <= 3 * ulp_of(exact);
            if (!good) fail_msg("%s, %s(%g) is %g, not %g", isa, functions[k].name, (double)x, (double)y, exact);
        }
}

static void each_isa(void (*test)(const char *, const TtKernelFn *))
{
    test("c", tt_cpu_table_c);
#ifdef TT_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) test("avx2", tt_cpu_table_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        test("avx512", tt_cpu_table_avx512);
#endif
}

static void test_errors(void **state)
{
    each_isa(check);
}

static void test_edges(void **state)
{
    each_isa(check_edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
