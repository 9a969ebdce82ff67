/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/panel.h - products of a few rows with a matrix that is used many times, packed once.
 *
 * The matrix (k,columns) is cut into panels of 48 or 64 columns; a panel holds its k rows one behind the other, as
 * float32 or bfloat16. Every element of a product starts from its initial value and adds its k terms in order, whatever
 * the number of rows or the instruction set: how the work is cut up cannot change a bit. */
#ifndef TT_KERNELS_CPU_PANEL_H
#define TT_KERNELS_CPU_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/vec.h"

/* The most columns of a panel, and the rows that are multiplied at a time: what the registers hold. */
enum { TT_PANEL_MAX = 64, TT_PANEL_ROWS = 6 };

/* What a product reads and writes. INIT has rows of columns too: LDI apart, or 0 for one row to all; it may be C. */
typedef struct TtPanelArgs {
    const float *a, *init;
    const void *p; /* the first panel */
    float *c;
    int64_t lda, ldi, ldc, k;
    int columns; /* of a panel */
} TtPanelArgs;

#define TT_PANEL_INLINE static inline __attribute__((always_inline))

/* Columns AT to AT + NV * TT_VEC - 1 for ROWS rows, where each panel has EACH vectors of them. */
TT_PANEL_INLINE void tt_panel_tile(const TtPanelArgs *q, bool bf16, int rows, int nv, int each, int at)
{
    enum { MOST = 2 * TT_PANEL_MAX / TT_VEC };
    TtVec sum[TT_PANEL_ROWS][MOST];
    const int64_t step = q->columns, next = q->k * q->columns; /* to the next row, to the next panel */
    const int64_t ahead = (bf16 ? 24 : 8) * step;              /* about 2 KB */
    const float *a = q->a, *wide = (const float *)q->p + at;
    const uint16_t *narrow = (const uint16_t *)q->p + at;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) sum[r][v] = tt_vec_load(q->init + r * q->ldi + at + v * TT_VEC);
    for (int64_t i = 0; i < q->k; i++) {
        TtVec w[MOST];
        for (int v = 0; v < nv; v++) {
            int64_t from = i * step + v / each * next + v % each * TT_VEC;
            /* One or two rows take a product less time than panels take to come from the outer caches by themselves: a
             * seventh of the time of generation with bfloat16, a tenth of that on two threads with float32. */
            if (rows <= 2) __builtin_prefetch(bf16 ? (const void *)(narrow + from + ahead) : wide + from + ahead, 0, 3);
            w[v] = bf16 ? tt_vec_widen(narrow + from) : tt_vec_load(wide + from);
        }
        for (int r = 0; r < rows; r++) {
            TtVec x = tt_vec_all(a[r * q->lda + i]);
            for (int v = 0; v < nv; v++) sum[r][v] = tt_vec_mad(x, w[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < nv; v++) tt_vec_store(q->c + r * q->ldc + at + v * TT_VEC, sum[r][v]);
}

TT_PANEL_INLINE void tt_panel_rows(const TtPanelArgs *q, bool bf16, int rows, int nv, int at)
{
    switch (rows) {
    case 1: tt_panel_tile(q, bf16, 1, nv, nv, at); break;
    case 2: tt_panel_tile(q, bf16, 2, nv, nv, at); break;
    case 3: tt_panel_tile(q, bf16, 3, nv, nv, at); break;
    case 4: tt_panel_tile(q, bf16, 4, nv, nv, at); break;
    case 5: tt_panel_tile(q, bf16, 5, nv, nv, at); break;
    default: tt_panel_tile(q, bf16, TT_PANEL_ROWS, nv, nv, at); break;
    }
}

/* Rows of a tile when N rows are cut into tiles as even as they can be. */
static inline int64_t tt_panel_split(int64_t n)
{
    int64_t tiles = (n + TT_PANEL_ROWS - 1) / TT_PANEL_ROWS;
    return tiles ? (n + tiles - 1) / tiles : 1;
}

/* Panels that are multiplied at a time: with few rows one panel's sums are too few to hide the latency of an addition. */
static inline int64_t tt_panels_together(int64_t rows)
{
    return rows <= 2 && TT_VEC == 16 ? 2 : 1;
}

/* C (rows, panels * columns) = INIT + A P for 1 to TT_PANEL_ROWS rows and 1 to tt_panels_together panels. */
TT_PANEL_INLINE void tt_panel_product(const TtPanelArgs *q, bool bf16, int rows, int64_t panels)
{
#if defined(__AVX512F__)
    if (q->columns == 48) {
        if (panels == 1)
            tt_panel_rows(q, bf16, rows, 3, 0);
        else if (rows == 1)
            tt_panel_tile(q, bf16, 1, 6, 3, 0);
        else
            tt_panel_tile(q, bf16, 2, 6, 3, 0);
    } else {
        if (panels == 1)
            tt_panel_rows(q, bf16, rows, 4, 0); /* six rows of four vectors fill the registers */
        else if (rows == 1)
            tt_panel_tile(q, bf16, 1, 8, 4, 0);
        else
            tt_panel_tile(q, bf16, 2, 8, 4, 0);
    }
#else
    (void)panels;
    for (int at = 0; at < q->columns; at += 2 * TT_VEC) tt_panel_rows(q, bf16, rows, 2, at); /* six rows of two */
#endif
}

#endif
