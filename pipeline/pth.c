/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pth.c - files of torch.save. */
#include "pipeline/pth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "pipeline/json.h"
#include "pipeline/pickle.h"
#include "tensor/file.h"

enum {
    MAX_PICKLE = 32 << 20, /* a state dict takes about 200 bytes a tensor */
    DRAIN = 64 << 10
};

#define BAD(...) TT_FAIL(TT_ECHECKPOINT, __VA_ARGS__)

/* ------------------------------------------------------------------ the state dict in the pickle */

static bool has_tensor(const TtPickleSeq *dict)
{
    for (int64_t i = 1; i < dict->count; i += 2)
        if (dict->items[i].kind == TT_PICKLE_TENSOR) return true;
    return false;
}

/* The dict of tensors: the value itself, or what a checkpoint holds under one of the usual keys. */
static TtStatus find_dict(const TtStateDict *d, const TtPickleValue *v, const TtPickleSeq **out)
{
    static const char *const keys[] = {"state_dict", "model_state_dict", "model", "module"};
    *out = NULL;
    if (v->kind != TT_PICKLE_DICT)
        return BAD("%s: holds %s, not a state dict; save model.state_dict()", d->path,
                   v->kind == TT_PICKLE_TENSOR ? "a single tensor" : "something else");
    *out = v->seq;
    for (int i = 0; i < TT_COUNT(keys) && !has_tensor(v->seq); i++) {
        const TtPickleValue *inner = tt_pickle_get(v->seq, keys[i]);
        if (!inner || inner->kind != TT_PICKLE_DICT || !has_tensor(inner->seq)) continue;
        *out = inner->seq;
        return TT_OK;
    }
    if (has_tensor(v->seq) || v->seq->count == 0) return TT_OK;
    return BAD("%s: is no state dict and has none under state_dict, model_state_dict, model or module", d->path);
}

static TtStatus check_name(const TtStateDict *d, const TtPickleValue *key)
{
    json_t *text = key->kind == TT_PICKLE_TEXT && strlen(key->text->bytes) == key->text->size
                       ? json_stringn(key->text->bytes, key->text->size)
                       : NULL; /* not UTF-8 */
    json_decref(text);
    return text ? TT_OK : BAD("%s: a key of the state dict is no name", d->path);
}

typedef TtStatus (*FindStorage)(TtStateDict *d, const char *name, const TtPickleStorage *s, TtStorage *out);

/* The list of tensors; FIND says where a storage lies, after checking its size. */
static TtStatus take_tensors(TtStateDict *d, const TtPickleValue *v, FindStorage find)
{
    const TtPickleSeq *dict;
    char say[TT_JSON_NAME];
    TT_TRY(find_dict(d, v, &dict));
    d->list = TT_NEWN(&d->arena, TtStateTensor, dict->count / 2 + 1);
    for (int64_t i = 0; i < dict->count; i += 2) {
        const TtPickleValue *key = &dict->items[i], *value = key + 1;
        TT_TRY(check_name(d, key));
        if (value->kind != TT_PICKLE_TENSOR)
            return BAD("%s: %s in the state dict is no tensor", d->path, tt_json_name(key->text->bytes, say));
        const TtPickleTensor *p = value->tensor;
        TtStateTensor *t = &d->list[d->count++];
        *t =
            (TtStateTensor){.name = key->text->bytes, .type = p->storage->type, .shape = p->shape, .offset = p->offset};
        memcpy(t->strides, p->strides, sizeof t->strides);
        TT_TRY(find(d, t->name, p->storage, &t->storage));
        TT_ASSERT(tt_state_fits(t)); /* checked against the storage's numel, which is now that of its record */
    }
    return tt_state_sort(d);
}

static TtStatus check_bytes(const TtStateDict *d, const char *name, const TtPickleStorage *s, uint64_t bytes)
{
    char a[TT_JSON_NAME], b[TT_JSON_NAME];
    uint64_t want = (uint64_t)(s->numel * (tt_stored_bits(s->type) / 8));
    if (bytes == want) return TT_OK;
    return BAD("%s: storage %s of %s holds %" PRIu64 " bytes, not the %" PRIu64 " of %" PRId64 " elements", d->path,
               tt_json_name(s->key, a), tt_json_name(name, b), bytes, want, s->numel);
}

/* ------------------------------------------------------------------ zip */

typedef struct Zip {
    zip_t *zip;
    const char *prefix;  /* "archive/" */
    uint8_t *verified;   /* by entry: read to its end once and the CRC found right */
    zip_file_t *open;    /* the entry being read, */
    uint64_t index, pos; /* which one and how far */
} Zip;

static TtStatus zip_failed(const TtStateDict *d, uint64_t index, const char *cause)
{
    const Zip *z = d->file;
    char say[TT_JSON_NAME];
    const char *name = zip_get_name(z->zip, index, ZIP_FL_ENC_RAW);
    return BAD("%s: entry %s of the zip: %s", d->path, tt_json_name(name ? name : "?", say), cause);
}

static void zip_close_entry(Zip *z)
{
    if (z->open) zip_fclose(z->open);
    z->open = NULL;
}

static TtStatus zip_open_entry(TtStateDict *d, uint64_t index)
{
    Zip *z = d->file;
    zip_close_entry(z);
    z->open = zip_fopen_index(z->zip, index, 0);
    z->index = index, z->pos = 0;
    return z->open ? TT_OK : zip_failed(d, index, zip_strerror(z->zip));
}

static TtStatus zip_read(TtStateDict *d, void *to, size_t n)
{
    Zip *z = d->file;
    for (size_t done = 0; done < n;) {
        zip_int64_t got = zip_fread(z->open, (char *)to + done, n - done);
        if (got < 0) return zip_failed(d, z->index, zip_file_strerror(z->open));
        if (got == 0) return zip_failed(d, z->index, "ends too early");
        done += (size_t)got, z->pos += (uint64_t)got;
    }
    return TT_OK;
}

/* libzip compares the CRC when an entry has been read to its end. */
static TtStatus zip_verify(TtStateDict *d, uint64_t index)
{
    Zip *z = d->file;
    if (z->verified[index]) return TT_OK;
    char *buf = tt_realloc(NULL, DRAIN);
    TtStatus status = zip_open_entry(d, index);
    for (zip_int64_t got = 1; got > 0 && status == TT_OK;) {
        got = zip_fread(z->open, buf, DRAIN);
        if (got < 0) status = zip_failed(d, index, zip_file_strerror(z->open));
    }
    zip_close_entry(z);
    free(buf);
    z->verified[index] = status == TT_OK;
    return status;
}

static TtStatus zip_skip_to(TtStateDict *d, const TtStorage *s, uint64_t from)
{
    Zip *z = d->file;
    if (z->pos == from) return TT_OK;
    if (!s->compressed) {
        if (zip_fseek(z->open, (zip_int64_t)from, SEEK_SET) != 0)
            return zip_failed(d, s->at, zip_file_strerror(z->open));
        z->pos = from;
        return TT_OK;
    }
    char *buf = tt_realloc(NULL, DRAIN); /* deflated entries cannot be entered in the middle */
    TtStatus status = TT_OK;
    while (z->pos < from && status == TT_OK) status = zip_read(d, buf, (size_t)TT_MIN(from - z->pos, (uint64_t)DRAIN));
    free(buf);
    return status;
}

static TtStatus zip_fetch(TtStateDict *d, const TtStorage *s, uint64_t from, void *to, size_t n)
{
    Zip *z = d->file;
    TT_TRY(zip_verify(d, s->at));
    if (!z->open || z->index != s->at || z->pos > from) TT_TRY(zip_open_entry(d, s->at));
    TT_TRY(zip_skip_to(d, s, from));
    return zip_read(d, to, n);
}

static void zip_done(TtStateDict *d)
{
    Zip *z = d->file;
    zip_close_entry(z);
    if (z->zip) zip_discard(z->zip);
    free(z->verified);
}

static TtStatus zip_stat_entry(TtStateDict *d, uint64_t index, zip_stat_t *st)
{
    Zip *z = d->file;
    const zip_uint64_t need = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_init(st);
    if (zip_stat_index(z->zip, index, 0, st) != 0) return zip_failed(d, index, zip_strerror(z->zip));
    if ((st->valid & need) != need) return zip_failed(d, index, "its sizes are not known");
    if (st->comp_method == ZIP_CM_STORE && st->size != st->comp_size)
        return zip_failed(d, index, "its sizes contradict each other");
    return TT_OK;
}

/* The entry PREFIX + NAME, or -1. */
static zip_int64_t zip_locate(TtStateDict *d, const char *name)
{
    Zip *z = d->file;
    char *full = tt_realloc(NULL, strlen(z->prefix) + strlen(name) + 1);
    strcpy(full, z->prefix);
    strcat(full, name);
    zip_int64_t at = zip_name_locate(z->zip, full, ZIP_FL_ENC_RAW);
    free(full);
    return at;
}

static TtStatus zip_storage(TtStateDict *d, const char *name, const TtPickleStorage *s, TtStorage *out)
{
    zip_stat_t st;
    char a[TT_JSON_NAME], b[TT_JSON_NAME], *record = tt_realloc(NULL, strlen(s->key) + 6);
    strcpy(record, "data/");
    strcat(record, s->key);
    zip_int64_t at = zip_locate(d, record);
    free(record);
    if (at < 0)
        return BAD("%s: storage %s, which holds %s, is missing from the zip", d->path, tt_json_name(s->key, a),
                   tt_json_name(name, b));
    TT_TRY(zip_stat_entry(d, (uint64_t)at, &st));
    TT_TRY(check_bytes(d, name, s, st.size));
    *out = (TtStorage){.at = (uint64_t)at, .bytes = st.size, .compressed = st.comp_method != ZIP_CM_STORE};
    return TT_OK;
}

/* A small entry, from the arena and with a NUL behind it. */
static TtStatus zip_read_small(TtStateDict *d, uint64_t index, char **data, size_t *size)
{
    zip_stat_t st;
    TT_TRY(zip_stat_entry(d, index, &st));
    if (st.size > MAX_PICKLE) return zip_failed(d, index, "too large for a state dict");
    *size = (size_t)st.size;
    *data = tt_arena_alloc(&d->arena, *size + 1);
    TtStorage whole = {.at = index, .bytes = st.size, .compressed = st.comp_method != ZIP_CM_STORE};
    return *size ? zip_fetch(d, &whole, 0, *data, *size) : TT_OK;
}

/* The pickle's entry and, with it, the prefix of all others. */
static TtStatus zip_find_pickle(TtStateDict *d, uint64_t *index)
{
    static const char tail[] = "data.pkl";
    *index = 0;
    Zip *z = d->file;
    zip_int64_t n = zip_get_num_entries(z->zip, 0);
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(z->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        size_t length = name ? strlen(name) : 0;
        if (length < sizeof tail - 1 || strcmp(name + length - (sizeof tail - 1), tail) != 0) continue;
        size_t prefix = length - (sizeof tail - 1);
        if (prefix > 0 && name[prefix - 1] != '/') continue;
        z->prefix = tt_arena_strndup(&d->arena, name, prefix);
        z->verified = tt_realloc(NULL, (size_t)n);
        memset(z->verified, 0, (size_t)n);
        *index = (uint64_t)i;
        return TT_OK;
    }
    return BAD("%s: is a zip, but not one of torch.save: it has no data.pkl", d->path);
}

static TtStatus zip_read_byteorder(TtStateDict *d)
{
    char *text;
    size_t size;
    zip_int64_t at = zip_locate(d, "byteorder"); /* missing before PyTorch 2.1 */
    if (at < 0) return TT_OK;
    TT_TRY(zip_read_small(d, (uint64_t)at, &text, &size));
    d->swapped = strcmp(text, "big") == 0;
    if (d->swapped || strcmp(text, "little") == 0) return TT_OK;
    return BAD("%s: the byte order is neither little nor big", d->path);
}

static TtStatus zip_load(TtStateDict *d)
{
    Zip *z = d->file;
    int code;
    z->zip = zip_open(d->path, ZIP_RDONLY, &code);
    if (!z->zip) {
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        TtStatus status = BAD("%s: damaged zip, perhaps cut short: %s", d->path, zip_error_strerror(&e));
        zip_error_fini(&e);
        return status;
    }
    uint64_t index;
    char *data;
    size_t size;
    TtPickle pickle;
    TT_TRY(zip_find_pickle(d, &index));
    if (zip_locate(d, "constants.pkl") >= 0)
        return BAD("%s: is a TorchScript archive; save model.state_dict() with torch.save instead", d->path);
    TT_TRY(zip_read_byteorder(d));
    TT_TRY(zip_read_small(d, index, &data, &size));
    TT_TRY(tt_pickle_read(&d->arena, d->path, data, size, &pickle));
    return take_tensors(d, &pickle.value, zip_storage);
}

/* ------------------------------------------------------------------ before PyTorch 1.6 */

typedef struct Record {
    const char *key;
    uint64_t at, bytes;
    int width; /* of an element */
    bool found;
} Record;

typedef struct Legacy {
    int fd;
    Record *records; /* by key */
    int64_t count;
} Legacy;

static TtStatus legacy_fetch(TtStateDict *d, const TtStorage *s, uint64_t from, void *to, size_t n)
{
    return tt_state_pread(d->path, ((Legacy *)d->file)->fd, s->at + from, to, n);
}

static void legacy_done(TtStateDict *d)
{
    Legacy *l = d->file;
    if (l->fd >= 0) close(l->fd);
    free(l->records);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const Record *)a)->key, ((const Record *)b)->key);
}

static Record *find_record(const Legacy *l, const char *key)
{
    Record want = {.key = key};
    return l->count ? bsearch(&want, l->records, (size_t)l->count, sizeof want, by_key) : NULL;
}

static TtStatus legacy_storage(TtStateDict *d, const char *name, const TtPickleStorage *s, TtStorage *out)
{
    const Record *r = find_record(d->file, s->key);
    char a[TT_JSON_NAME], b[TT_JSON_NAME];
    if (!r || !r->found)
        return BAD("%s: storage %s, which holds %s, is missing", d->path, tt_json_name(s->key, a),
                   tt_json_name(name, b));
    TT_TRY(check_bytes(d, name, s, r->bytes));
    *out = (TtStorage){.at = r->at, .bytes = r->bytes};
    return TT_OK;
}

/* One record for each key that the pickle mentions. */
static void legacy_collect(Legacy *l, const TtPickleStorage *s)
{
    int64_t n = 0, kept = 0;
    for (const TtPickleStorage *i = s; i; i = i->next) n++;
    l->records = tt_realloc(NULL, sizeof *l->records * (size_t)(n + 1));
    for (n = 0; s; s = s->next) l->records[n++] = (Record){.key = s->key, .width = tt_stored_bits(s->type) / 8};
    if (n) qsort(l->records, (size_t)n, sizeof *l->records, by_key);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || by_key(&l->records[kept - 1], &l->records[i]) != 0) l->records[kept++] = l->records[i];
    l->count = kept;
}

/* The storages follow each other in the order of KEYS; an element's width is known from the pickle only. */
static TtStatus legacy_place(TtStateDict *d, const TtPickleValue *keys, uint64_t at, uint64_t size)
{
    Legacy *l = d->file;
    char say[TT_JSON_NAME];
    if (keys->kind != TT_PICKLE_LIST) return BAD("%s: the list of storages is missing", d->path);
    for (int64_t i = 0; i < keys->seq->count; i++) {
        const TtPickleValue *key = &keys->seq->items[i];
        Record *r = key->kind == TT_PICKLE_TEXT ? find_record(l, key->text->bytes) : NULL;
        int64_t numel;
        if (!r || r->found) return BAD("%s: the list of storages does not fit the state dict", d->path);
        if (size - at < 8) return BAD("%s: ends before storage %s", d->path, tt_json_name(r->key, say));
        TT_TRY(tt_state_pread(d->path, l->fd, at, &numel, 8));
        if (d->swapped) numel = (int64_t)__builtin_bswap64((uint64_t)numel);
        at += 8;
        if (numel < 0 || (uint64_t)numel > (size - at) / (uint64_t)r->width)
            return BAD("%s: ends within storage %s", d->path, tt_json_name(r->key, say));
        r->found = true, r->at = at, r->bytes = (uint64_t)numel * (uint64_t)r->width;
        at += r->bytes;
    }
    return TT_OK;
}

static TtStatus legacy_parse(TtStateDict *d, const char *head, size_t n, uint64_t size)
{
    static const char magic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.";
    TtPickle system, state, keys;
    size_t at = sizeof magic - 1;
    if (n < at || memcmp(head, magic, at) != 0)
        return BAD("%s: is a pickle, but not in a format of torch.save; save model.state_dict() with torch.save",
                   d->path);
    TT_TRY(tt_pickle_read(&d->arena, d->path, head + at, n - at, &system));
    at += system.used;
    const TtPickleValue *little =
        system.value.kind == TT_PICKLE_DICT ? tt_pickle_get(system.value.seq, "little_endian") : NULL;
    d->swapped = little && little->kind == TT_PICKLE_BOOL && !little->i;
    TT_TRY(tt_pickle_read(&d->arena, d->path, head + at, n - at, &state));
    at += state.used;
    TT_TRY(tt_pickle_read(&d->arena, d->path, head + at, n - at, &keys));
    at += keys.used;
    legacy_collect(d->file, state.storages);
    TT_TRY(legacy_place(d, &keys.value, at, size));
    return take_tensors(d, &state.value, legacy_storage);
}

static TtStatus legacy_load(TtStateDict *d)
{
    Legacy *l = d->file;
    uint64_t size;
    TT_TRY(tt_file_open_as(d->path, TT_ECHECKPOINT, &l->fd, &size));
    char *head;
    size_t n = (size_t)TT_MIN(size, (uint64_t)MAX_PICKLE);
    TT_TRY(tt_alloc((void **)&head, n));
    TtStatus status = tt_state_pread(d->path, l->fd, 0, head, n);
    if (status == TT_OK) status = legacy_parse(d, head, n, size);
    tt_free(head);
    return status;
}

/* ------------------------------------------------------------------ opening */

static TtStatus finish(TtStateDict *d, TtStatus status, TtStateDict **out)
{
    if (status == TT_OK)
        *out = d;
    else
        tt_state_close(d);
    return status;
}

TtStatus tt_pth_open_zip(const char *path, TtStateDict **out)
{
    *out = NULL;
    TtStateDict *d = tt_state_new(path);
    d->file = TT_NEW(&d->arena, Zip);
    d->fetch = zip_fetch, d->close = zip_done;
    return finish(d, zip_load(d), out);
}

TtStatus tt_pth_open_legacy(const char *path, TtStateDict **out)
{
    *out = NULL;
    TtStateDict *d = tt_state_new(path);
    Legacy *l = TT_NEW(&d->arena, Legacy);
    l->fd = -1;
    d->file = l;
    d->fetch = legacy_fetch, d->close = legacy_done;
    return finish(d, legacy_load(d), out);
}
