/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/op_check.h - one check for every op.
 *
 * Given a function that builds an expression from inputs, tt_op_check
 *   - runs forward and backward on the CPU kernels and on the reference kernels (float32) and compares them,
 *   - compares the gradient with central differences in double (reference kernels, float64 graph),
 *   - does it again with every input strided (a transposed view, and every second element of a larger array),
 *   - runs again with planning off and with dead memory poisoned: the results must be the same bits,
 *   - runs with 1 and with 3 threads: the results must be the same bits (or within .threads).
 * An output of several values is checked by checking each expression on its own. */
#ifndef TT_TESTS_OP_CHECK_H
#define TT_TESTS_OP_CHECK_H

#include "tensor/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* One test for each op, in tests/ops/. */
#define OP(name) void tt_test_op_##name(void **state);
#define OP_DNNL(name) OP(name)
#define VIEW(name) OP(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW

enum { TT_CHECK_INPUTS = 8 };

typedef struct TtCheckInput {
    TtShape shape;
    TtDType dtype;        /* TT_F32 (the zero value) becomes float64 in the double run; integers stay */
    double lo, hi;        /* uniform values; both 0 means -1..1; integers are drawn from lo..hi-1 */
    bool no_grad;         /* no gradient flows to it (integers never have one) */
    const double *values; /* given values instead of random ones */
} TtCheckInput;

typedef struct TtOpCheck {
    const char *what; /* shown on failure */
    TtVal (*build)(TtGraph *g, const TtVal *in, const void *user);
    const void *user;
    int n;
    TtCheckInput in[TT_CHECK_INPUTS];
    double tolerance;      /* CPU against reference: |a-b| <= tolerance * (1 + |b|); 0 means 1e-5 */
    double grad_tolerance; /* the same for gradients; 0: as tolerance */
    double numeric;        /* gradient against differences; 0 means 1e-6; negative: no such check (not smooth, bf16) */
    bool training;         /* graph option */
    double threads;        /* another number of threads may differ by this (oneDNN's sums); 0: the same bits */
    bool no_strided;       /* the expression cannot take strided inputs (it mutates one) */
} TtOpCheck;

void tt_op_check(const TtOpCheck *c);

/* Compare an expression's float32 CPU and reference results with expected values (from PyTorch).
 * Inputs must have values. */
void tt_op_expect(const TtOpCheck *c, const double *expected, int64_t n, double tolerance);
/* The same for the gradient of sum(output * dout) with respect to input WHICH; DOUT NULL means ones. */
void tt_op_expect_grad(const TtOpCheck *c, int which, const double *dout, const double *expected, int64_t n,
                       double tolerance);

/* N small exact numbers that scripts can make as well: ((i * step + 3) mod 11 - 5) / 4. Returns OUT. */
double *tt_op_pattern(double *out, int64_t n, int step);
/* Both kernels must fail with CODE when they run: bad labels, indices out of range. */
void tt_op_expect_error(const TtOpCheck *c, TtStatus code);

#endif
