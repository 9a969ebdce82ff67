/* SPDX-License-Identifier: Apache-2.0 */
/* data/npy.c - NumPy's array file (numpy/lib/format.py, version 1.0). */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>

#include "tensor/fs.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

static const char *descr(TtDType t)
{
    switch (t) {
    case TT_F32: return ORDER "f4";
    case TT_F64: return ORDER "f8";
    case TT_F16: return ORDER "f2";
    case TT_I64: return ORDER "i8";
    case TT_I32: return ORDER "i4";
    case TT_U16: return ORDER "u2";
    case TT_U8: return "|u1";
    case TT_BOOL: return "|b1";
    default: return NULL; /* NumPy has no bfloat16 */
    }
}

/* Magic, version, length of the text, and the text padded with blanks so that the elements start at a multiple of 64. */
enum { PREFIX = 10, HEADER_MAX = 320 };

static size_t make_header(const TtTensor *t, char out[HEADER_MAX])
{
    char text[HEADER_MAX];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr(t->dtype));
    for (int i = 0; i < t->shape.rank; i++) {
        const char *comma = t->shape.rank == 1 ? "," : i + 1 < t->shape.rank ? ", " : "";
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld%s", (long long)t->shape.dims[i], comma);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    size_t size = (PREFIX + (size_t)n + 1 + 63) / 64 * 64, rest = size - PREFIX;
    TT_ASSERT(size < HEADER_MAX);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(rest & 255), out[9] = (char)(rest >> 8);
    memset(out + PREFIX, ' ', rest);
    memcpy(out + PREFIX, text, (size_t)n);
    out[size - 1] = '\n';
    return size;
}

TtStatus tt_npy_write(const char *path, const TtTensor *t)
{
    TT_ASSERT(t->device == TT_CPU && tt_tensor_contiguous(t) && descr(t->dtype));
    char header[HEADER_MAX];
    size_t n = make_header(t, header);
    TtFsWriter w;
    TT_TRY(tt_fs_open(&w, path, TT_FS_ATOMIC));
    TtStatus status = tt_fs_put(&w, header, n);
    if (status == TT_OK) status = tt_fs_put(&w, t->data, tt_tensor_bytes(t));
    if (status == TT_OK) return tt_fs_commit(&w);
    tt_fs_discard(&w);
    return status;
}
