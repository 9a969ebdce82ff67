/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/state_dict.c - reading and converting tensors of a file, whichever its format. */
#include "pipeline/state_dict.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/json.h"
#include "pipeline/pth.h"
#include "pipeline/safetensors.h"
#include "tensor/file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are used as files store them");

enum {
    CHUNK = 1 << 20,               /* bytes converted at a time */
    MAX_INFLATED_VIEW = 256 << 20, /* of a compressed storage that must be held while its elements are picked */
};

static const struct {
    const char *name;
    int bits;
} stored[TT_STORED_TYPES] = {
    [TT_STORED_BOOL] = {"BOOL", 8},       [TT_STORED_U8] = {"U8", 8},           [TT_STORED_I8] = {"I8", 8},
    [TT_STORED_I16] = {"I16", 16},        [TT_STORED_U16] = {"U16", 16},        [TT_STORED_I32] = {"I32", 32},
    [TT_STORED_U32] = {"U32", 32},        [TT_STORED_I64] = {"I64", 64},        [TT_STORED_U64] = {"U64", 64},
    [TT_STORED_F16] = {"F16", 16},        [TT_STORED_BF16] = {"BF16", 16},      [TT_STORED_F32] = {"F32", 32},
    [TT_STORED_F64] = {"F64", 64},        [TT_STORED_F4] = {"F4", 4},           [TT_STORED_F6_E2M3] = {"F6_E2M3", 6},
    [TT_STORED_F6_E3M2] = {"F6_E3M2", 6}, [TT_STORED_F8_E5M2] = {"F8_E5M2", 8}, [TT_STORED_F8_E4M3] = {"F8_E4M3", 8},
    [TT_STORED_F8_E8M0] = {"F8_E8M0", 8}, [TT_STORED_C64] = {"C64", 64},        [TT_STORED_C128] = {"C128", 128},
};

int tt_stored_bits(TtStored t)
{
    return stored[t].bits;
}

const char *tt_stored_name(TtStored t)
{
    return stored[t].name;
}

bool tt_stored_from_name(const char *name, TtStored *out)
{
    for (int i = 0; i < TT_STORED_TYPES; i++) {
        if (strcmp(stored[i].name, name) != 0) continue;
        *out = (TtStored)i;
        return true;
    }
    return false;
}

TtStored tt_stored_of(TtDType t)
{
    static const TtStored of[TT_DTYPES] = {
        [TT_F32] = TT_STORED_F32, [TT_F64] = TT_STORED_F64, [TT_BF16] = TT_STORED_BF16,
        [TT_F16] = TT_STORED_F16, [TT_I64] = TT_STORED_I64, [TT_I32] = TT_STORED_I32,
        [TT_U8] = TT_STORED_U8,   [TT_U16] = TT_STORED_U16, [TT_BOOL] = TT_STORED_BOOL,
    };
    return of[t];
}

/* ------------------------------------------------------------------ the list */

TtStateDict *tt_state_new(const char *path)
{
    TtStateDict *d = tt_realloc(NULL, sizeof *d);
    *d = (TtStateDict){0};
    d->path = tt_arena_strdup(&d->arena, path);
    return d;
}

void tt_state_close(TtStateDict *d)
{
    if (!d) return;
    if (d->close) d->close(d);
    tt_arena_free(&d->arena);
    free(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const TtStateTensor *)a)->name, ((const TtStateTensor *)b)->name);
}

TtStatus tt_state_sort(TtStateDict *d)
{
    char say[TT_JSON_NAME];
    if (d->count) qsort(d->list, (size_t)d->count, sizeof *d->list, by_name);
    for (int i = 1; i < d->count; i++)
        if (by_name(&d->list[i - 1], &d->list[i]) == 0)
            return TT_FAIL(TT_ECHECKPOINT, "%s: duplicate name %s", d->path, tt_json_name(d->list[i].name, say));
    return TT_OK;
}

const TtStateTensor *tt_state_find(const TtStateDict *d, const char *name)
{
    TtStateTensor key = {.name = name};
    return d->count ? bsearch(&key, d->list, (size_t)d->count, sizeof key, by_name) : NULL;
}

int64_t tt_state_count(const int64_t *dims, int rank)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(n, dims[i], &n)) return -1;
    return n;
}

bool tt_state_fits(const TtStateTensor *t)
{
    int64_t count = tt_state_count(t->shape.dims, t->shape.rank), last = t->offset, bits, step;
    if (count < 0 || t->offset < 0) return false;
    for (int i = 0; i < t->shape.rank && count > 0; i++)
        if (t->strides[i] < 0 || __builtin_mul_overflow(t->shape.dims[i] - 1, t->strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    int64_t end; /* an empty tensor may stand at the very end */
    if (__builtin_add_overflow(last, count > 0, &end) || __builtin_mul_overflow(end, stored[t->type].bits, &bits))
        return false;
    return (uint64_t)bits <= t->storage.bytes * 8;
}

/* ------------------------------------------------------------------ conversion */

/* An element as a double or, for integer types, as an int64; both always set. */
typedef struct Element {
    bool is_float, fits; /* fits: within int64 */
    int64_t i;
    double f;
} Element;

#define LOAD(type)                 \
    do {                           \
        type v_;                   \
        memcpy(&v_, p, sizeof v_); \
        e.i = (int64_t)v_;         \
        e.f = (double)v_;          \
    } while (0)

static Element load_element(TtStored type, const char *p)
{
    Element e = {.fits = true};
    uint16_t h;
    switch (type) {
    case TT_STORED_BOOL: e.i = *p != 0, e.f = (double)e.i; return e;
    case TT_STORED_U8: LOAD(uint8_t); return e;
    case TT_STORED_I8: LOAD(int8_t); return e;
    case TT_STORED_I16: LOAD(int16_t); return e;
    case TT_STORED_U16: LOAD(uint16_t); return e;
    case TT_STORED_I32: LOAD(int32_t); return e;
    case TT_STORED_U32: LOAD(uint32_t); return e;
    case TT_STORED_I64: LOAD(int64_t); return e;
    case TT_STORED_U64:
        LOAD(uint64_t);
        e.fits = e.i >= 0;
        return e;
    case TT_STORED_F16: memcpy(&h, p, 2), e.f = (double)tt_f16_to_f32(h); break;
    case TT_STORED_BF16: memcpy(&h, p, 2), e.f = (double)tt_bf16_to_f32(h); break;
    case TT_STORED_F32: {
        float f;
        memcpy(&f, p, 4), e.f = (double)f;
        break;
    }
    case TT_STORED_F64: memcpy(&e.f, p, 8); break;
    default: TT_ASSERT(!"no conversion");
    }
    e.is_float = true;
    e.fits = e.f >= -9223372036854775808.0 && e.f < 9223372036854775808.0 && e.f == floor(e.f);
    if (e.fits) e.i = (int64_t)e.f;
    return e;
}
#undef LOAD

/* Straight from an int64, so that large values are rounded once. */
static float to_float(const Element *e)
{
    return e->is_float || !e->fits ? (float)e->f : (float)e->i;
}

/* False when the value has no place in the type. */
static bool store_element(TtDType type, void *to, int64_t at, const Element *e)
{
    static const struct {
        int64_t min, max;
    } range[TT_DTYPES] = {[TT_I64] = {INT64_MIN, INT64_MAX},
                          [TT_I32] = {INT32_MIN, INT32_MAX},
                          [TT_U8] = {0, UINT8_MAX},
                          [TT_U16] = {0, UINT16_MAX},
                          [TT_BOOL] = {0, 1}};
    if (!tt_dtype_is_float(type) && (!e->fits || e->i < range[type].min || e->i > range[type].max)) return false;
    switch (type) {
    case TT_F32: ((float *)to)[at] = to_float(e); return true;
    case TT_F64: ((double *)to)[at] = e->f; return true;
    case TT_BF16: ((uint16_t *)to)[at] = tt_f32_to_bf16(to_float(e)); return true;
    case TT_F16: ((uint16_t *)to)[at] = tt_f32_to_f16(to_float(e)); return true;
    case TT_I64: ((int64_t *)to)[at] = e->i; return true;
    case TT_I32: ((int32_t *)to)[at] = (int32_t)e->i; return true;
    case TT_U16: ((uint16_t *)to)[at] = (uint16_t)e->i; return true;
    case TT_U8:
    case TT_BOOL: ((uint8_t *)to)[at] = (uint8_t)e->i; return true;
    default: return false;
    }
}

/* One element from P, whose bytes may stand in the other order, to place AT. */
static TtStatus convert_one(const TtStateDict *d, const TtStateTensor *t, const char *p, TtDType dtype, void *to,
                            int64_t at)
{
    char bytes[8], say[TT_JSON_NAME];
    size_t width = (size_t)stored[t->type].bits / 8;
    for (size_t i = 0; i < width; i++) bytes[i] = p[d->swapped ? width - 1 - i : i];
    Element e = load_element(t->type, bytes);
    if (store_element(dtype, to, at, &e)) return TT_OK;
    return TT_FAIL(TT_ECHECKPOINT, "%s: %s: element %lld is %.9g, which has no place in %s", d->path,
                   tt_json_name(t->name, say), (long long)at, e.f, tt_dtype_name(dtype));
}

/* The whole storage in order, a chunk at a time. */
static TtStatus read_contiguous(TtStateDict *d, const TtStateTensor *t, TtDType dtype, void *to)
{
    int64_t count = tt_shape_count(&t->shape);
    size_t width = (size_t)stored[t->type].bits / 8;
    uint64_t from = (uint64_t)t->offset * width;
    if (tt_stored_of(dtype) == t->type && t->type != TT_STORED_BOOL && !d->swapped)
        return d->fetch(d, &t->storage, from, to, (size_t)count * width);
    char *chunk;
    TtStatus status = tt_alloc((void **)&chunk, CHUNK);
    for (int64_t at = 0; at < count && status == TT_OK;) {
        int64_t n = TT_MIN(count - at, (int64_t)(CHUNK / width));
        status = d->fetch(d, &t->storage, from + (uint64_t)at * width, chunk, (size_t)n * width);
        for (int64_t i = 0; i < n && status == TT_OK; i++)
            status = convert_one(d, t, chunk + (size_t)i * width, dtype, to, at + i);
        at += n;
    }
    tt_free(chunk);
    return status;
}

/* Elements that lie apart: the bytes from the first to the last are held and the elements picked. */
static TtStatus read_strided(TtStateDict *d, const TtStateTensor *t, TtDType dtype, void *to)
{
    int64_t count = tt_shape_count(&t->shape), span = 1, index[TT_MAX_RANK] = {0}, where = 0;
    size_t width = (size_t)stored[t->type].bits / 8;
    for (int i = 0; i < t->shape.rank; i++) span += (t->shape.dims[i] - 1) * t->strides[i];
    char *held, say[TT_JSON_NAME];
    if (t->storage.compressed && (uint64_t)span * width > MAX_INFLATED_VIEW)
        return TT_FAIL(TT_ECHECKPOINT, "%s: %s: a view into a large compressed storage; save it again with torch.save",
                       d->path, tt_json_name(t->name, say));
    TT_TRY(tt_alloc((void **)&held, (size_t)span * width));
    TtStatus status = d->fetch(d, &t->storage, (uint64_t)t->offset * width, held, (size_t)span * width);
    for (int64_t at = 0; at < count && status == TT_OK; at++) {
        status = convert_one(d, t, held + (size_t)where * width, dtype, to, at);
        for (int k = t->shape.rank - 1; k >= 0; k--) {
            where += t->strides[k];
            if (++index[k] < t->shape.dims[k]) break;
            where -= t->strides[k] * t->shape.dims[k];
            index[k] = 0;
        }
    }
    tt_free(held);
    return status;
}

TtStatus tt_state_read(TtStateDict *d, const TtStateTensor *t, TtDType dtype, void *to)
{
    char say[TT_JSON_NAME];
    if (t->type >= TT_STORED_CONVERTIBLE)
        return TT_FAIL(TT_ECHECKPOINT, "%s: %s is stored as %s, which cannot be converted to %s", d->path,
                       tt_json_name(t->name, say), stored[t->type].name, tt_dtype_name(dtype));
    if (tt_shape_count(&t->shape) == 0) return TT_OK;
    TtTensor view = {.shape = t->shape};
    memcpy(view.strides, t->strides, sizeof view.strides);
    return tt_tensor_contiguous(&view) ? read_contiguous(d, t, dtype, to) : read_strided(d, t, dtype, to);
}

TtStatus tt_state_read_all(TtStateDict *d, const TtNamedTensor *list, int count)
{
    char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
    for (int i = 0; i < count; i++) {
        const TtNamedTensor *want = &list[i];
        const TtStateTensor *t = tt_state_find(d, want->name);
        if (!t) return TT_FAIL(TT_ECHECKPOINT, "%s: %s is missing", d->path, want->name);
        if (t->type != tt_stored_of(want->dtype) || !tt_shape_equal(&t->shape, &want->shape))
            return TT_FAIL(TT_ECHECKPOINT, "%s: %s is %s %s, not %s %s", d->path, want->name, stored[t->type].name,
                           tt_shape_text(&t->shape, a), stored[tt_stored_of(want->dtype)].name,
                           tt_shape_text(&want->shape, b));
        TT_TRY(tt_state_read(d, t, want->dtype, want->data));
    }
    if (count == d->count) return TT_OK;
    return TT_FAIL(TT_ECHECKPOINT, "%s: holds %d tensors, not %d: it belongs to another model or optimizer", d->path,
                   d->count, count);
}

/* ------------------------------------------------------------------ files */

TtStatus tt_state_pread(const char *path, int fd, uint64_t at, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)to + done, TT_MIN(n - done, (size_t)1 << 30), (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return TT_FAIL(TT_ECHECKPOINT, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            return TT_FAIL(TT_ECHECKPOINT, "%s: ends at byte %llu, where data should be", path,
                           (unsigned long long)(at + done));
        done += (size_t)got;
    }
    return TT_OK;
}

TtStatus tt_state_open(const char *path, TtStateDict **out)
{
    *out = NULL;
    unsigned char head[64] = {0};
    int fd;
    uint64_t size;
    TT_TRY(tt_file_open_as(path, TT_ECHECKPOINT, &fd, &size));
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    int error = errno;
    close(fd);
    if (n < 0) return TT_FAIL(TT_ECHECKPOINT, "%s: cannot read: %s", path, strerror(error));
    if (n == 0) return TT_FAIL(TT_ECHECKPOINT, "%s: is empty", path);
    if (strncmp((const char *)head, "version https://git-lfs", 23) == 0)
        return TT_FAIL(TT_ECHECKPOINT, "%s: is a Git LFS pointer, not the file itself; run `git lfs pull`", path);
    /* No zip has '{' here, where its compression method stands; a header of just this length could. */
    if (memcmp(head, "PK\3\4", 4) == 0 && head[8] != '{') return tt_pth_open_zip(path, out);
    uint64_t length;
    memcpy(&length, head, 8);
    bool plausible = n > 8 && (length <= TT_SAFETENSORS_MAX_HEADER || head[8] == '{');
    if (!plausible && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5) return tt_pth_open_legacy(path, out);
    return tt_safetensors_open(path, out);
}
