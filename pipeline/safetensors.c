/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/safetensors.c - reading and writing safetensors. */
#include "pipeline/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/json.h"
#include "tensor/file.h"

/* jansson takes some hundred bytes for each value; no header of a real file has a tenth of this. */
enum { MAX_VALUES = 1000 * 1000 };

#define BAD(...) TT_FAIL(TT_ECHECKPOINT, __VA_ARGS__)

static TtStatus fetch(TtStateDict *d, const TtStorage *s, uint64_t from, void *to, size_t n)
{
    return tt_state_pread(d->path, *(int *)d->file, s->at + from, to, n);
}

static void close_file(TtStateDict *d)
{
    close(*(int *)d->file);
}

/* Values in the text, at least as many as jansson would make: each needs a comma, colon or bracket of its own. */
static size_t count_values(const char *text, size_t size)
{
    size_t n = 1;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted)
            n += c == ',' || c == ':' || c == '[' || c == '{';
    }
    return n;
}

static TtStatus read_integers(const TtStateDict *d, const char *name, const char *key, const json_t *v, size_t least,
                              size_t most, int64_t *out)
{
    size_t n = json_array_size(v);
    bool good = json_is_array(v) && n >= least && n <= most;
    for (size_t i = 0; i < n && good; i++) {
        const json_t *x = json_array_get(v, i);
        good = json_is_integer(x) && json_integer_value(x) >= 0;
        if (good) out[i] = json_integer_value(x);
    }
    if (good) return TT_OK;
    if (json_is_array(v) && n > most && least != most)
        return BAD("%s: tensor %s: %zu dimensions; at most %zu can be read", d->path, name, n, most);
    return BAD("%s: tensor %s: %s must be a list of whole numbers, none negative", d->path, name, key);
}

/* One entry of the header; its offsets, relative to the end of the header, go to t->storage. */
static TtStatus read_tensor(TtStateDict *d, const char *raw, const json_t *v, TtStateTensor *t)
{
    char name[TT_JSON_NAME], say[TT_JSON_NAME], shape[TT_SHAPE_TEXT];
    tt_json_name(raw, name);
    const json_t *dtype = json_object_get(v, "dtype"), *dims = json_object_get(v, "shape");
    const json_t *offsets = json_object_get(v, "data_offsets");
    if (!json_is_string(dtype) || !dims || !offsets)
        return BAD("%s: tensor %s: needs dtype, shape and data_offsets", d->path, name);
    *t = (TtStateTensor){.name = tt_arena_strdup(&d->arena, raw)};
    if (!tt_stored_from_name(json_string_value(dtype), &t->type))
        return BAD("%s: tensor %s: unknown dtype %s", d->path, name, tt_json_name(json_string_value(dtype), say));
    int64_t range[2];
    TT_TRY(read_integers(d, name, "shape", dims, 0, TT_MAX_RANK, t->shape.dims));
    TT_TRY(read_integers(d, name, "data_offsets", offsets, 2, 2, range));
    t->shape.rank = (int)json_array_size(dims);
    int64_t count = tt_state_count(t->shape.dims, t->shape.rank), bits;
    if (count < 0 || __builtin_mul_overflow(count, tt_stored_bits(t->type), &bits))
        return BAD("%s: tensor %s: the shape %s is too large", d->path, name, tt_shape_text(&t->shape, shape));
    if (range[1] < range[0])
        return BAD("%s: tensor %s: data_offsets end at %" PRId64 ", before they begin at %" PRId64, d->path, name,
                   range[1], range[0]);
    if (bits % 8 || bits / 8 != range[1] - range[0])
        return BAD("%s: tensor %s: %s of shape %s does not take the %" PRId64 " bytes that its data_offsets give",
                   d->path, name, tt_stored_name(t->type), tt_shape_text(&t->shape, shape), range[1] - range[0]);
    tt_strides_contiguous(&t->shape, t->strides);
    t->storage = (TtStorage){.at = (uint64_t)range[0], .bytes = (uint64_t)bits / 8};
    return TT_OK;
}

static TtStatus check_metadata(const TtStateDict *d, json_t *v)
{
    const char *key;
    json_t *x;
    if (!json_is_object(v) && !json_is_null(v)) return BAD("%s: __metadata__ in the header is not a map", d->path);
    json_object_foreach(v, key, x) if (!json_is_string(x)) return BAD(
        "%s: __metadata__ in the header holds more than text", d->path);
    return TT_OK;
}

static int by_place(const void *a, const void *b)
{
    const TtStorage *x = &((const TtStateTensor *)a)->storage, *y = &((const TtStateTensor *)b)->storage;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Tensors in order of place must lie end to end over exactly SIZE bytes. Then offsets become those in the file. */
static TtStatus check_cover(TtStateDict *d, uint64_t data, uint64_t size)
{
    char name[TT_JSON_NAME];
    uint64_t at = 0;
    if (d->count) qsort(d->list, (size_t)d->count, sizeof *d->list, by_place);
    for (int i = 0; i < d->count; i++) {
        TtStorage *s = &d->list[i].storage;
        if (s->at != at)
            return BAD("%s: tensor %s: data_offsets begin at %" PRIu64 ", but the data before it ends at %" PRIu64
                       ": %s",
                       d->path, tt_json_name(d->list[i].name, name), s->at, at, s->at < at ? "an overlap" : "a hole");
        if (s->bytes > size - at)
            return BAD("%s: tensor %s: data_offsets end at byte %" PRIu64 " of only %" PRIu64 ": the file is truncated",
                       d->path, tt_json_name(d->list[i].name, name), at + s->bytes, size);
        at += s->bytes;
        s->at += data;
    }
    if (at == size) return TT_OK;
    return BAD("%s: %" PRIu64 " bytes of data behind the last tensor", d->path, size - at);
}

static TtStatus read_header(TtStateDict *d, char *text, size_t size)
{
    json_t *root;
    if (count_values(text, size) > MAX_VALUES)
        return BAD("%s: the header holds more than %d values", d->path, MAX_VALUES);
    char *what = tt_arena_printf(&d->arena, "%s: header", d->path);
    TT_TRY(tt_json_parse(text, size, what, TT_ECHECKPOINT, &root));
    TtStatus status = json_is_object(root) ? TT_OK : BAD("%s: the header is not a JSON object", d->path);
    d->list = TT_NEWN(&d->arena, TtStateTensor, json_object_size(root) + 1);
    const char *key;
    json_t *v;
    json_object_foreach(root, key, v)
    {
        if (status != TT_OK) break;
        if (strcmp(key, "__metadata__") == 0)
            status = check_metadata(d, v);
        else
            status = read_tensor(d, key, v, &d->list[d->count++]);
    }
    json_decref(root);
    return status;
}

static TtStatus read_file(TtStateDict *d, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return BAD("%s: is not a regular file", d->path);
    uint64_t size = (uint64_t)st.st_size, length;
    if (size < 8) return BAD("%s: %" PRIu64 " bytes are too few for a weights file", d->path, size);
    TT_TRY(tt_state_pread(d->path, fd, 0, &length, 8));
    if (length > TT_SAFETENSORS_MAX_HEADER || length > size - 8)
        return BAD("%s: neither safetensors nor a file of torch.save: a header of %" PRIu64
                   " bytes is announced in a file of %" PRIu64 " (header at most %d)",
                   d->path, length, size, TT_SAFETENSORS_MAX_HEADER);
    char *text;
    TT_TRY(tt_alloc((void **)&text, (size_t)length + 1));
    TtStatus status = tt_state_pread(d->path, fd, 8, text, (size_t)length);
    if (status == TT_OK) status = read_header(d, text, (size_t)length);
    tt_free(text);
    TT_TRY(status);
    TT_TRY(check_cover(d, 8 + length, size - 8 - length));
    return tt_state_sort(d);
}

TtStatus tt_safetensors_open(const char *path, TtStateDict **out)
{
    *out = NULL;
    int fd;
    uint64_t size;
    TT_TRY(tt_file_open_as(path, TT_ECHECKPOINT, &fd, &size));
    TtStateDict *d = tt_state_new(path);
    d->fetch = fetch, d->close = close_file;
    d->file = tt_arena_copy(&d->arena, &fd, sizeof fd);
    TtStatus status = read_file(d, fd);
    if (status == TT_OK)
        *out = d;
    else
        tt_state_close(d);
    return status;
}

/* ------------------------------------------------------------------ writing */

/* The library's order of types, which puts wider ones first so that each tensor is aligned. */
static int rank_of(TtDType t)
{
    static const int rank[TT_DTYPES] = {[TT_I64] = 9, [TT_F64] = 8, [TT_F32] = 7, [TT_I32] = 6, [TT_BF16] = 5,
                                        [TT_F16] = 4, [TT_U16] = 3, [TT_U8] = 2,  [TT_BOOL] = 1};
    return rank[t];
}

static int in_file_order(const void *a, const void *b)
{
    const TtNamedTensor *x = *(const TtNamedTensor *const *)a, *y = *(const TtNamedTensor *const *)b;
    int order = rank_of(y->dtype) - rank_of(x->dtype);
    return order ? order : strcmp(x->name, y->name);
}

static size_t bytes_of(const TtNamedTensor *t)
{
    return (size_t)tt_shape_count(&t->shape) * tt_dtype_size(t->dtype);
}

static char *make_header(const TtNamedTensor *const *order, int count)
{
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    json_int_t at = 0;
    for (int i = 0; i < count; i++) {
        const TtNamedTensor *t = order[i];
        json_t *shape = json_array();
        for (int k = 0; k < t->shape.rank; k++) json_array_append_new(shape, json_integer(t->shape.dims[k]));
        json_int_t end = at + (json_int_t)bytes_of(t);
        json_t *v = json_pack("{s:s, s:o, s:[I,I]}", "dtype", tt_stored_name(tt_stored_of(t->dtype)), "shape", shape,
                              "data_offsets", at, end);
        TT_ASSERT(v && !json_object_get(root, t->name) && json_object_set_new(root, t->name, v) == 0);
        at = end;
    }
    char *text = tt_json_text(root, 0);
    json_decref(root);
    return text;
}

TtStatus tt_safetensors_put(TtFsWriter *w, const TtNamedTensor *list, int count)
{
    const TtNamedTensor **order = tt_realloc(NULL, sizeof *order * (size_t)(count + 1));
    for (int i = 0; i < count; i++) order[i] = &list[i];
    qsort(order, (size_t)count, sizeof *order, in_file_order);
    char *header = make_header(order, count);
    size_t length = strlen(header);
    uint64_t padded = (length + 7) / 8 * 8;
    TtStatus status = tt_fs_put(w, &padded, 8);
    if (status == TT_OK) status = tt_fs_put(w, header, length);
    if (status == TT_OK) status = tt_fs_put(w, "       ", (size_t)padded - length);
    for (int i = 0; i < count && status == TT_OK; i++)
        if (bytes_of(order[i])) status = tt_fs_put(w, order[i]->data, bytes_of(order[i]));
    free(header);
    free(order);
    return status;
}

TtStatus tt_safetensors_save(const char *path, const TtNamedTensor *list, int count)
{
    TtFsWriter w;
    TT_TRY(tt_fs_open(&w, path, TT_FS_ATOMIC));
    TtStatus status = tt_safetensors_put(&w, list, count);
    if (status == TT_OK) return tt_fs_commit(&w);
    tt_fs_discard(&w);
    return status;
}
