/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/op_check.c - forward, gradient, strides, planning and threads of an expression. */
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/op_check.h"

#include "kernels/ops/shape.h"
#include "tensor/rng.h"

typedef enum Layout { PLAIN, TRANSPOSED, EVERY_SECOND, LAYOUTS } Layout;
static const char *const layout_names[LAYOUTS] = {"contiguous", "transposed", "every second element"};

/* One built and runnable instance of the check's expression. */
typedef struct Run {
    TtParamSet *params;
    TtGraph *g;
    TtProgram *p;
    TtVal leaves[TT_CHECK_INPUTS], out, dout, din[TT_CHECK_INPUTS];
    void *data[TT_CHECK_INPUTS], *dout_data;
} Run;

/* Results as doubles. */
typedef struct Result {
    int64_t n, dn[TT_CHECK_INPUTS];
    double *out, *din[TT_CHECK_INPUTS];
} Result;

static void ok(TtStatus s, const TtOpCheck *c)
{
    if (s != TT_OK) fail_msg("%s: %s (%s)", c->what, tt_error_message(), tt_error_origin());
}

static bool has_grad(const TtOpCheck *c, int i)
{
    return !c->in[i].no_grad && tt_dtype_is_float(c->in[i].dtype);
}

static void store(void *data, TtDType t, int64_t i, double v)
{
    switch (t) {
    case TT_F32: ((float *)data)[i] = (float)v; break;
    case TT_F64: ((double *)data)[i] = v; break;
    case TT_BF16: ((uint16_t *)data)[i] = tt_f32_to_bf16((float)v); break;
    case TT_F16: ((uint16_t *)data)[i] = tt_f32_to_f16((float)v); break;
    case TT_I64: ((int64_t *)data)[i] = (int64_t)v; break;
    case TT_I32: ((int32_t *)data)[i] = (int32_t)v; break;
    case TT_U16: ((uint16_t *)data)[i] = (uint16_t)v; break;
    default: ((uint8_t *)data)[i] = (uint8_t)v; break;
    }
}

static double load(const TtTensor *t, int64_t i)
{
    switch (t->dtype) {
    case TT_F32: return ((const float *)t->data)[i];
    case TT_F64: return ((const double *)t->data)[i];
    case TT_BF16: return tt_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case TT_F16: return tt_f16_to_f32(((const uint16_t *)t->data)[i]);
    case TT_I64: return (double)((const int64_t *)t->data)[i];
    case TT_I32: return ((const int32_t *)t->data)[i];
    case TT_U16: return ((const uint16_t *)t->data)[i];
    default: return ((const uint8_t *)t->data)[i];
    }
}

/* Element I (row-major) of input K; the same number in every layout and type. Rounded to float so that float32
 * and float64 graphs see the same input. */
static double input_value(const TtOpCheck *c, int k, int64_t i)
{
    const TtCheckInput *in = &c->in[k];
    if (in->values) return in->values[i];
    double lo = in->lo, hi = in->hi;
    if (lo == 0 && hi == 0) lo = -1, hi = 1;
    TtRng r = tt_rng(1, TT_RNG_TEST, (uint64_t)k, (uint64_t)i, 0);
    double v = tt_rng_uniform(&r, lo, hi);
    if (!tt_dtype_is_float(in->dtype)) return floor(v);
    return in->dtype == TT_BF16 ? tt_bf16_to_f32(tt_f32_to_bf16((float)v)) : (double)(float)v;
}

static double dout_value(int64_t i)
{
    TtRng r = tt_rng(2, TT_RNG_TEST, 0, (uint64_t)i, 0);
    return (double)(float)tt_rng_uniform(&r, -1, 1);
}

static TtDType type_in(TtDType t, TtDType ftype)
{
    return t == TT_F32 ? ftype : t;
}

/* The leaf behind a laid-out input, and the view of it that has the input's shape. */
static TtVal make_input(Run *r, const TtOpCheck *c, int k, Layout layout)
{
    TtShape s = c->in[k].shape, laid = s;
    char name[16];
    snprintf(name, sizeof name, "in%d", k);
    TtDType t = type_in(c->in[k].dtype, tt_graph_ftype(r->g));
    if (layout == TRANSPOSED)
        for (int i = 0; i < s.rank; i++) laid.dims[i] = s.dims[s.rank - 1 - i];
    if (layout == EVERY_SECOND && s.rank) laid.dims[s.rank - 1] = 2 * s.dims[s.rank - 1] + 1;
    TtVal leaf = r->leaves[k] = tt_input(r->g, name, t, laid);
    if (layout == TRANSPOSED) {
        int axes[TT_MAX_RANK];
        for (int i = 0; i < s.rank; i++) axes[i] = s.rank - 1 - i;
        return tt_permute(r->g, leaf, axes);
    }
    if (layout == EVERY_SECOND && s.rank) return tt_slice(r->g, leaf, s.rank - 1, 1, s.dims[s.rank - 1], 2);
    return leaf;
}

/* Position in the laid-out leaf of the input's row-major element I. */
static int64_t laid_position(const TtShape *s, Layout layout, int64_t i)
{
    if (layout == PLAIN || s->rank == 0) return i;
    int64_t index[TT_MAX_RANK];
    for (int64_t k = s->rank - 1, rest = i; k >= 0; k--) index[k] = rest % s->dims[k], rest /= s->dims[k];
    int64_t at = 0;
    if (layout == TRANSPOSED) {
        for (int k = s->rank - 1; k >= 0; k--) at = at * s->dims[k] + index[k];
        return at;
    }
    for (int k = 0; k < s->rank - 1; k++) at = at * s->dims[k] + index[k];
    return at * (2 * s->dims[s->rank - 1] + 1) + 1 + 2 * index[s->rank - 1];
}

static void fill_input(Run *r, const TtOpCheck *c, int k, Layout layout)
{
    TtTensor leaf = tt_program_tensor(r->p, r->leaves[k]);
    int64_t total = tt_tensor_count(&leaf), n = tt_shape_count(&c->in[k].shape);
    r->data[k] = malloc((size_t)total * tt_dtype_size(leaf.dtype) + 8);
    for (int64_t i = 0; i < total; i++) store(r->data[k], leaf.dtype, i, 77); /* gaps hold something wrong */
    for (int64_t i = 0; i < n; i++)
        store(r->data[k], leaf.dtype, laid_position(&c->in[k].shape, layout, i), input_value(c, k, i));
    tt_program_bind(r->p, r->leaves[k], r->data[k]);
}

static void run_open(Run *r, const TtOpCheck *c, TtDType ftype, Layout layout, const TtProgramOptions *o)
{
    *r = (Run){.params = tt_params_new(ftype)};
    r->g = tt_graph_new(&(TtGraphOptions){.params = r->params, .training = c->training, .ftype = ftype});
    TtVal in[TT_CHECK_INPUTS], wrt[TT_CHECK_INPUTS], dwrt[TT_CHECK_INPUTS];
    int nwrt = 0;
    for (int k = 0; k < c->n; k++) in[k] = make_input(r, c, k, layout);
    r->out = c->build(r->g, in, c->user);
    ok(tt_graph_status(r->g), c);
    if (tt_dtype_is_float(tt_dtype(r->g, r->out))) {
        for (int k = 0; k < c->n; k++)
            if (has_grad(c, k)) wrt[nwrt++] = in[k];
        r->dout = tt_input(r->g, "dout", tt_dtype(r->g, r->out), tt_shape(r->g, r->out));
        if (nwrt) tt_grad(r->g, r->out, r->dout, wrt, nwrt, dwrt);
        nwrt = 0;
        for (int k = 0; k < c->n; k++)
            if (has_grad(c, k)) {
                r->din[k] = tt_contiguous(r->g, dwrt[nwrt++]);
                char name[16];
                snprintf(name, sizeof name, "d%d", k);
                tt_output(r->g, r->din[k], name);
            }
    }
    r->out = tt_contiguous(r->g, r->out);
    tt_output(r->g, r->out, "out");
    ok(tt_graph_status(r->g), c);
    ok(tt_params_allocate(r->params), c);
    tt_params_init(r->params, 1);
    ok(tt_program_build(r->g, o, &r->p), c);
    for (int k = 0; k < c->n; k++) fill_input(r, c, k, layout);
    if (r->dout.id) {
        TtTensor t = tt_program_tensor(r->p, r->dout);
        int64_t n = tt_tensor_count(&t);
        r->dout_data = malloc((size_t)n * tt_dtype_size(t.dtype) + 8);
        for (int64_t i = 0; i < n; i++) store(r->dout_data, t.dtype, i, dout_value(i));
        tt_program_bind(r->p, r->dout, r->dout_data);
    }
}

static void run_go(Run *r, const TtOpCheck *c)
{
    ok(tt_program_run(r->p, &(TtStepInfo){.seed = 5, .step = 3}), c);
}

static void run_close(Run *r)
{
    tt_program_free(r->p);
    tt_graph_free(r->g);
    tt_params_free(r->params);
    for (int k = 0; k < TT_CHECK_INPUTS; k++) free(r->data[k]);
    free(r->dout_data);
}

static double *values_of(const Run *r, TtVal v, int64_t *n)
{
    TtTensor t = tt_program_tensor(r->p, v);
    *n = tt_tensor_count(&t);
    double *d = malloc(sizeof *d * (size_t)*n + 8);
    for (int64_t i = 0; i < *n; i++) d[i] = load(&t, i);
    return d;
}

static Result run_result(const Run *r, const TtOpCheck *c)
{
    Result res = {0};
    res.out = values_of(r, r->out, &res.n);
    for (int k = 0; k < c->n; k++)
        if (r->din[k].id) res.din[k] = values_of(r, r->din[k], &res.dn[k]);
    return res;
}

static void result_free(Result *r)
{
    free(r->out);
    for (int k = 0; k < TT_CHECK_INPUTS; k++) free(r->din[k]);
}

static void compare(const char *what, const char *how, const char *part, const double *a, const double *b, int64_t n,
                    double tolerance)
{
    for (int64_t i = 0; i < n; i++) {
        bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        if (!same && !(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))))
            fail_msg("%s, %s: %s[%lld] is %.9g, expected %.9g", what, how, part, (long long)i, a[i], b[i]);
    }
}

static void compare_results(const TtOpCheck *c, const char *how, const Result *a, const Result *b, double tolerance,
                            double grad_tolerance)
{
    assert_int_equal(a->n, b->n);
    compare(c->what, how, "output", a->out, b->out, a->n, tolerance);
    for (int k = 0; k < c->n; k++) {
        char part[40];
        snprintf(part, sizeof part, "gradient of input %d", k);
        assert_int_equal(a->din[k] != NULL, b->din[k] != NULL);
        if (a->din[k]) compare(c->what, how, part, a->din[k], b->din[k], a->dn[k], grad_tolerance);
    }
}

static Result results(const TtOpCheck *c, TtDType ftype, Layout layout, TtProgramOptions o)
{
    Run r;
    run_open(&r, c, ftype, layout, &o);
    run_go(&r, c);
    Result res = run_result(&r, c);
    run_close(&r);
    return res;
}

/* sum(output * dout), in double. */
static double objective(Run *r, const TtOpCheck *c)
{
    run_go(r, c);
    TtTensor t = tt_program_tensor(r->p, r->out);
    double sum = 0;
    for (int64_t i = 0, n = tt_tensor_count(&t); i < n; i++) sum += load(&t, i) * dout_value(i);
    return sum;
}

static void check_numeric(const TtOpCheck *c)
{
    Run r;
    run_open(&r, c, TT_F64, PLAIN, &(TtProgramOptions){.reference = true});
    run_go(&r, c);
    Result res = run_result(&r, c);
    double tolerance = c->numeric ? c->numeric : 1e-6;
    for (int k = 0; k < c->n; k++) {
        if (!res.din[k]) continue;
        int64_t n = tt_shape_count(&c->in[k].shape), stride = n > 48 ? n / 37 : 1;
        for (int64_t i = 0; i < n; i += stride) {
            double *x = (double *)r.data[k] + i, was = *x, h = 1e-5 * fmax(1, fabs(was));
            *x = was + h;
            double up = objective(&r, c);
            *x = was - h;
            double down = objective(&r, c), slope = (up - down) / (2 * h);
            *x = was;
            if (!(fabs(slope - res.din[k][i]) <= tolerance * (1 + fabs(slope))))
                fail_msg("%s: d/d input %d [%lld] is %.9g, by differences %.9g", c->what, k, (long long)i,
                         res.din[k][i], slope);
        }
    }
    result_free(&res);
    run_close(&r);
}

void tt_op_check(const TtOpCheck *c)
{
    double tolerance = c->tolerance ? c->tolerance : 1e-5;
    double grad_tolerance = c->grad_tolerance ? c->grad_tolerance : tolerance;
    Result ref = results(c, TT_F32, PLAIN, (TtProgramOptions){.reference = true});
    for (Layout l = PLAIN; l < (c->no_strided ? TRANSPOSED : LAYOUTS); l++) {
        Result cpu = results(c, TT_F32, l, (TtProgramOptions){0});
        compare_results(c, layout_names[l], &cpu, &ref, tolerance, grad_tolerance);
        if (l != PLAIN) {
            Result strided = results(c, TT_F32, l, (TtProgramOptions){.reference = true});
            compare_results(c, "reference kernel, strided", &strided, &ref, 1e-6, 1e-6);
            result_free(&strided);
        } else {
            Result other = results(c, TT_F32, l, (TtProgramOptions){.no_plan = true});
            compare_results(c, "planning off", &other, &cpu, 0, 0);
            result_free(&other);
            other = results(c, TT_F32, l, (TtProgramOptions){.poison = true});
            compare_results(c, "dead memory poisoned", &other, &cpu, 0, 0);
            result_free(&other);
            int threads = omp_get_max_threads();
            omp_set_num_threads(threads == 3 ? 1 : 3);
            other = results(c, TT_F32, l, (TtProgramOptions){0});
            omp_set_num_threads(threads);
            compare_results(c, "another number of threads", &other, &cpu, c->threads, c->threads);
            result_free(&other);
        }
        result_free(&cpu);
    }
    result_free(&ref);
    if (c->numeric >= 0) check_numeric(c);
}

void tt_op_expect(const TtOpCheck *c, const double *expected, int64_t n, double tolerance)
{
    for (int reference = 0; reference < 2; reference++) {
        Result r = results(c, TT_F32, PLAIN, (TtProgramOptions){.reference = reference});
        if (r.n != n) fail_msg("%s: %lld outputs, expected %lld", c->what, (long long)r.n, (long long)n);
        compare(c->what, reference ? "reference kernel" : "CPU kernel", "output", r.out, expected, n, tolerance);
        result_free(&r);
    }
}

void tt_op_expect_grad(const TtOpCheck *c, int which, const double *dout, const double *expected, int64_t n,
                       double tolerance)
{
    for (int reference = 0; reference < 2; reference++) {
        Run r;
        run_open(&r, c, TT_F32, PLAIN, &(TtProgramOptions){.reference = reference});
        TtTensor t = tt_program_tensor(r.p, r.dout);
        for (int64_t i = 0, m = tt_tensor_count(&t); i < m; i++) store(r.dout_data, t.dtype, i, dout ? dout[i] : 1);
        run_go(&r, c);
        Result res = run_result(&r, c);
        assert_int_equal(res.dn[which], n);
        compare(c->what, reference ? "reference kernel" : "CPU kernel", "gradient", res.din[which], expected, n,
                tolerance);
        result_free(&res);
        run_close(&r);
    }
}

double *tt_op_pattern(double *out, int64_t n, int step)
{
    for (int64_t i = 0; i < n; i++) out[i] = (double)((i * step + 3) % 11 - 5) / 4;
    return out;
}

void tt_op_expect_error(const TtOpCheck *c, TtStatus code)
{
    for (int reference = 0; reference < 2; reference++) {
        Run r;
        run_open(&r, c, TT_F32, PLAIN, &(TtProgramOptions){.reference = reference});
        TtStatus got = tt_program_run(r.p, &(TtStepInfo){0});
        if (got != code) fail_msg("%s: status %d, expected %d", c->what, got, code);
        run_close(&r);
    }
}
