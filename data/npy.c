/* SPDX-License-Identifier: Apache-2.0 */
/* data/npy.c - NumPy's array file. */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *descr(TtDType t)
{
    switch (t) {
    case TT_U8: return "|u1";
    case TT_U16: return "<u2";
    case TT_I64: return "<i8";
    case TT_F64: return "<f8";
    default: TT_ASSERT(t == TT_F32); return "<f4";
    }
}

/* The header is padded with blanks so that the samples start at a multiple of 64 bytes. */
static bool write_header(FILE *f, const TtTensor *t)
{
    char text[256], shape[TT_SHAPE_TEXT];
    tt_shape_text(&t->shape, shape);
    if (t->shape.rank == 1) snprintf(shape, sizeof shape, "(%lld,)", (long long)t->shape.dims[0]);
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr(t->dtype), shape);
    int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
    uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(padded & 255), (uint8_t)(padded >> 8)};
    return fwrite(start, 1, 10, f) == 10 && fprintf(f, "%-*s\n", padded - 1, text) == padded;
}

TtStatus tt_npy_write(const char *path, const TtTensor *t)
{
    TT_ASSERT(tt_tensor_contiguous(t));
    char part[4096];
    if (snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof part)
        return TT_FAIL(TT_EINTERNAL, "%s: the path is too long", path);
    FILE *f = fopen(part, "wb");
    if (!f) return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", path);
    size_t size = tt_tensor_bytes(t);
    bool ok = write_header(f, t) && fwrite(t->data, 1, size, f) == size;
    ok &= fclose(f) == 0;
    if (ok && rename(part, path) == 0) return TT_OK;
    TtStatus s = TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %m", path);
    unlink(part);
    return s;
}
