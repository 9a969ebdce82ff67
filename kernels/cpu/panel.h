/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/panel.h - products of a few rows with a matrix that is used many times, packed once.
 *
 * The matrix (k,columns) is cut into panels of 48 or 64 columns; a panel holds its k rows one behind the other.
 * Every element of a product starts from its initial value and adds its k terms in order, whatever the number of rows
 * or the instruction set: how the work is cut up cannot change a bit. */
#ifndef TT_KERNELS_CPU_PANEL_H
#define TT_KERNELS_CPU_PANEL_H

#include <stdint.h>

#include "kernels/cpu/vec.h"

/* The most columns of a panel, and the rows that are multiplied at a time: what the registers hold. */
enum { TT_PANEL_MAX = 64, TT_PANEL_ROWS = 6 };

/* C (rows,NV*TT_VEC) = INIT + A P; INIT (rows,...) may be C, and LDI 0 for one row to all. */
static inline __attribute__((always_inline)) void tt_panel_tile(int rows, int nv, const float *a, int64_t lda,
                                                                const float *p, int64_t ldp, int64_t k,
                                                                const float *init, int64_t ldi, float *c, int64_t ldc)
{
    TtVec sum[TT_PANEL_ROWS][TT_PANEL_MAX / TT_VEC];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) sum[r][v] = tt_vec_load(init + r * ldi + v * TT_VEC);
    for (int64_t i = 0; i < k; i++) {
        TtVec w[TT_PANEL_MAX / TT_VEC];
        for (int v = 0; v < nv; v++) w[v] = tt_vec_load(p + i * ldp + v * TT_VEC);
        for (int r = 0; r < rows; r++) {
            TtVec x = tt_vec_all(a[r * lda + i]);
            for (int v = 0; v < nv; v++) sum[r][v] = tt_vec_mad(x, w[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) tt_vec_store(c + r * ldc + v * TT_VEC, sum[r][v]);
}

static inline __attribute__((always_inline)) void tt_panel_rows(int rows, int nv, const float *a, int64_t lda,
                                                                const float *p, int64_t ldp, int64_t k,
                                                                const float *init, int64_t ldi, float *c, int64_t ldc)
{
#define TT_PANEL_CASE(n) \
    case n: tt_panel_tile(n, nv, a, lda, p, ldp, k, init, ldi, c, ldc); break
    switch (rows) {
        TT_PANEL_CASE(1);
        TT_PANEL_CASE(2);
        TT_PANEL_CASE(3);
        TT_PANEL_CASE(4);
        TT_PANEL_CASE(5);
    default: tt_panel_tile(TT_PANEL_ROWS, nv, a, lda, p, ldp, k, init, ldi, c, ldc); break;
    }
#undef TT_PANEL_CASE
}

/* C (rows,columns) = INIT + A P for 1 to TT_PANEL_ROWS rows and one panel. */
static inline void tt_panel_product(int rows, int columns, const float *a, int64_t lda, const float *p, int64_t k,
                                    const float *init, int64_t ldi, float *c, int64_t ldc)
{
#if defined(__AVX512F__)
    if (columns == 48) /* six rows of four vectors fill the registers */
        tt_panel_rows(rows, 3, a, lda, p, 48, k, init, ldi, c, ldc);
    else
        tt_panel_rows(rows, 4, a, lda, p, 64, k, init, ldi, c, ldc);
#else
    for (int at = 0; at < columns; at += 2 * TT_VEC) /* six rows of two */
        tt_panel_rows(rows, 2, a, lda, p + at, columns, k, init + at, ldi, c + at, ldc);
#endif
}

#endif
