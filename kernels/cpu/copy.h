/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/copy.h - copy a strided array into another, any element type.
 *
 * Axes that lie one behind the other in both are merged first, so that a channels-last slice or a batch slice is a few
 * long runs. */
#ifndef TT_KERNELS_CPU_COPY_H
#define TT_KERNELS_CPU_COPY_H

#include <string.h>

#include "kernels/cpu/cpu.h"

#define TT_COPY_STRIDED(type)                                          \
    do {                                                               \
        type *restrict d_ = dst;                                       \
        const type *restrict s_ = src;                                 \
        for (int64_t i = 0; i < n; i++) d_[i * dstep] = s_[i * sstep]; \
    } while (0)

static inline void tt_copy_row(void *dst, int64_t dstep, const void *src, int64_t sstep, int64_t n, size_t size)
{
    if (dstep == 1 && sstep == 1) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1: TT_COPY_STRIDED(uint8_t); break;
    case 2: TT_COPY_STRIDED(uint16_t); break;
    case 4: TT_COPY_STRIDED(uint32_t); break;
    default: TT_COPY_STRIDED(uint64_t); break;
    }
}
#undef TT_COPY_STRIDED

/* Both have SHAPE; strides and positions are in elements of SIZE bytes. */
static inline void tt_copy(const TtShape *shape, char *dst, const int64_t *dstrides, const char *src,
                           const int64_t *sstrides, size_t size)
{
    int64_t dims[TT_MAX_RANK], ds[TT_MAX_RANK], ss[TT_MAX_RANK], total = tt_shape_count(shape);
    int rank = 0;
    if (total == 0) return;
    for (int k = 0; k < shape->rank; k++) {
        int64_t d = shape->dims[k];
        if (d == 1) continue;
        if (rank && ds[rank - 1] == dstrides[k] * d && ss[rank - 1] == sstrides[k] * d)
            dims[rank - 1] *= d, rank--;
        else
            dims[rank] = d;
        ds[rank] = dstrides[k], ss[rank++] = sstrides[k];
    }
    if (rank == 0) dims[0] = 1, ds[0] = ss[0] = 1, rank = 1;
    int64_t len = dims[rank - 1], rows = total / len, part = len;
    if (rows < 64 && ds[rank - 1] == 1 && ss[rank - 1] == 1) part = TT_MIN(len, TT_GRAIN); /* few long runs: cut */
    int64_t parts = (len + part - 1) / part;
#pragma omp parallel for schedule(static) if (total > TT_GRAIN)
    for (int64_t task = 0; task < rows * parts; task++) {
        int64_t rest = task / parts, first = task % parts * part, to = first * ds[rank - 1],
                from = first * ss[rank - 1];
        for (int k = rank - 2; k >= 0; k--) {
            to += rest % dims[k] * ds[k], from += rest % dims[k] * ss[k];
            rest /= dims[k];
        }
        tt_copy_row(dst + to * (int64_t)size, ds[rank - 1], src + from * (int64_t)size, ss[rank - 1],
                    TT_MIN(part, len - first), size);
    }
}

#endif
