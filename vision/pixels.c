/* SPDX-License-Identifier: Apache-2.0 */
/* vision/pixels.c - what the pixel functions share: room, types, fill values, the table of inner loops. */
#include "vision/pixels.h"

#include <math.h>
#include <string.h>

#include "tensor/isa.h"
#include "vision/rows.h"

extern const TtRows tt_rows_c;
#ifdef TT_X86
extern const TtRows tt_rows_avx2, tt_rows_avx512;
#endif

static const TtRows *const tables[TT_ISAS] = {TT_ISA_TABLES(&tt_rows)};

const TtRows *tt_rows_of(const char *isa)
{
    TtIsa level;
    return tt_isa_find(isa, &level) ? tables[level] : NULL;
}

const TtRows *tt_rows(void)
{
    return tables[tt_isa()];
}

TtStatus tt_pixels_target(TtTransformArgs *a, int64_t h, int64_t w, int c, TtDType dtype)
{
    if (h < 1 || w < 1)
        return TT_FAIL(TT_EDATA, "%s: a transform would leave %lldx%lld pixels", a->name, (long long)w, (long long)h);
    if (h > INT32_MAX || w > INT32_MAX || h * w > TT_MAX_PIXELS_DEFAULT)
        return TT_FAIL(TT_EDATA, "%s: a transform would make a picture of %lldx%lld; the limit is %lld pixels", a->name,
                       (long long)w, (long long)h, (long long)TT_MAX_PIXELS_DEFAULT);
    return tt_image_resize_buffer(&a->scratch->image, (int)h, (int)w, c, dtype);
}

float tt_pixels_bound(TtDType dtype)
{
    return dtype == TT_U8 ? 255.0f : dtype == TT_U16 ? 65535.0f : 1.0f;
}

TtStatus tt_pixels_fill(const TtTransformArgs *a, const TtFloats *fill, float out[4])
{
    const int c = a->image->c;
    if (c > 4) return TT_FAIL(TT_EDATA, "%s: the picture has %d channels; at most 4 can be filled", a->name, c);
    if (fill->n > 1 && fill->n != c)
        return TT_FAIL(TT_EDATA, "%s: fill has %d values, but the picture has %d channel%s", a->name, fill->n, c,
                       c > 1 ? "s" : "");
    for (int j = 0; j < c; j++) out[j] = fill->n == 0 ? 0.0f : (float)fill->v[fill->n == 1 ? 0 : j];
    return TT_OK;
}

void tt_pixels_load(TtDType dtype, const void *src, size_t n, float *dst)
{
    if (dtype == TT_U8)
        tt_rows()->load_u8(src, n, dst);
    else if (dtype == TT_U16)
        tt_rows()->load_u16(src, n, dst);
    else
        memcpy(dst, src, n * sizeof *dst);
}

void tt_pixels_store(TtDType dtype, float *src, size_t n, bool round, void *dst)
{
    if (dtype == TT_F32) {
        memcpy(dst, src, n * sizeof *src);
        return;
    }
    if (round) tt_rows()->round(src, n);
    if (dtype == TT_U8)
        tt_rows()->store_u8(src, n, dst);
    else
        tt_rows()->store_u16(src, n, dst);
}

TtStatus tt_pixels_colour(const TtTransformArgs *a, const char *what)
{
    if (a->image->c == 1 || a->image->c == 3) return TT_OK;
    return TT_FAIL(TT_EDATA, "%s: %s takes pictures of 1 or 3 channels, not %d", a->name, what, a->image->c);
}
