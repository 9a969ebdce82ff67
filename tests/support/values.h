/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/values.h - tensors by a formula that scripts repeat, and their comparison with the peer's numbers, for
 * tests of whole layers and models. */
#ifndef TT_TESTS_SUPPORT_VALUES_H
#define TT_TESTS_SUPPORT_VALUES_H

#include "tensor/program.h"

/* Two numbers of a tensor that tell it from another: its sum times pattern 9, and its sum of squares. */
typedef struct Digest {
    const char *name;
    double dot, squares;
} Digest;

/* Element I of pattern number WHICH: ((37 i + 29 which + (i*i mod 7) which) mod 101 - 50) / 128. */
double values_pattern(int64_t i, int which);
float *values_fill(float *out, int64_t n, int which);     /* returns OUT */
TtVal values_const(TtGraph *g, TtShape shape, int which); /* float32 */
/* Parameter number K (buffers count neither) becomes SCALE times pattern K + 20. */
void values_fill_params(TtParamSet *p, double scale);

/* Fail when |a - b| > tolerance * (1 + |b|) anywhere. */
void values_expect(const char *what, const float *a, const double *b, int64_t n, double tolerance);
void values_expect_digest(const char *what, const float *a, int64_t n, const Digest *d, double tolerance);
void values_ok(TtStatus s); /* fail with the message */

#endif
