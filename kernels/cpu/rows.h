/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/rows.h - a run of channels as float32, whatever the tensor holds. */
#ifndef TT_KERNELS_CPU_ROWS_H
#define TT_KERNELS_CPU_ROWS_H

#include <string.h>

#include "kernels/cpu/cpu.h"

/* Channels handled at a time: the buffers for bfloat16 stay in the first-level cache. */
enum { TT_LANES = 256 };

/* n values from element AT as float: a pointer into the tensor when it is float32, else into BUF (TT_LANES floats). */
static inline const float *tt_row_load(const TtTensor *t, int64_t at, int64_t n, float *restrict buf)
{
    if (t->dtype == TT_F32) return (const float *)t->data + at;
    const uint16_t *restrict s = (const uint16_t *)t->data + at;
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)s[i] << 16;
        memcpy(&buf[i], &u, 4);
    }
    return buf;
}

/* Where to write n floats meant for element AT; tt_row_store then brings them there if they are not yet. */
static inline float *tt_row_target(const TtTensor *t, int64_t at, float *buf)
{
    return t->dtype == TT_F32 ? (float *)t->data + at : buf;
}

static inline void tt_row_store(const TtTensor *t, int64_t at, int64_t n, const float *restrict v)
{
    if (t->dtype == TT_F32) return;
    uint16_t *restrict d = (uint16_t *)t->data + at;
    for (int64_t i = 0; i < n; i++) d[i] = tt_f32_to_bf16(v[i]);
}

#endif
