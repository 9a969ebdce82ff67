/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/values.c - patterns and digests. */
#include "tests/support/values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

double values_pattern(int64_t i, int which)
{
    return (double)((i * 37 + which * 29 + i * i % 7 * which) % 101 - 50) / 128;
}

float *values_fill(float *out, int64_t n, int which)
{
    for (int64_t i = 0; i < n; i++) out[i] = (float)values_pattern(i, which);
    return out;
}

TtVal values_const(TtGraph *g, TtShape shape, int which)
{
    int64_t n = tt_shape_count(&shape);
    float *v = values_fill(malloc(sizeof *v * (size_t)n + 4), n, which);
    TtVal c = tt_const_data(g, TT_F32, shape, v);
    free(v);
    return c;
}

void values_fill_params(TtParamSet *p, double scale)
{
    for (int i = 0, k = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        if (q->buffer) continue;
        float *v = q->value;
        for (int64_t j = 0; j < tt_shape_count(&q->shape); j++) v[j] = (float)(scale * values_pattern(j, k + 20));
        k++;
    }
}

void values_expect(const char *what, const float *a, const double *b, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))))
            fail_msg("%s[%lld] is %.9g, expected %.9g", what, (long long)i, a[i], b[i]);
}

void values_expect_digest(const char *what, const float *a, int64_t n, const Digest *d, double tolerance)
{
    double dot = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) dot += a[i] * values_pattern(i, 9), squares += (double)a[i] * a[i];
    double scale = tolerance * (1 + sqrt(d->squares));
    if (!(fabs(dot - d->dot) <= scale) || !(fabs(sqrt(squares) - sqrt(d->squares)) <= scale))
        fail_msg("%s: %s has digest %.9g %.9g, expected %.9g %.9g", what, d->name, dot, squares, d->dot, d->squares);
}

void values_ok(TtStatus s)
{
    if (s != TT_OK) fail_msg("%s (%s)", tt_error_message(), tt_error_origin());
}
