/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_safetensors.c - the format's rules one by one, conversions, and files as the library writes them.
 * Expected values are written out by hand or come from tests/data/weights/make.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "pipeline/safetensors.h"
#include "pipeline/weights.h"
#include "tests/support/blob.h"
#include "tests/support/temp.h"

#define DATA "tests/data/weights/"

static Blob blob;

/* A file of this header and BODY bytes counting from 1. */
static const char *make(const char *folder, const char *header, size_t body)
{
    uint64_t n = strlen(header);
    blob.size = 0;
    blob_put(&blob, &n, 8);
    blob_put(&blob, header, n);
    for (size_t i = 0; i < body; i++) blob_put(&blob, &(char){(char)(i + 1)}, 1);
    return blob_write(&blob, folder, "t.safetensors");
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define B(type, shape, from, to) \
    "\"b\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

static void test_good(void **state)
{
    static const struct {
        const char *header;
        size_t body;
        int count;
    } cases[] = {
        {"{}", 0, 0},
        {"{" A "}", 8, 1},
        {"  \n{" A " }\t ", 8, 1},
        {"{\"__metadata__\":{}," A "}", 8, 1},
        {"{\"__metadata__\":null," A "}", 8, 1},
        {"{\"__metadata__\":{\"k\":\"[{,:\\\"\\u0000\"}," A "}", 8, 1},
        {"{" B("U8", "[3]", 8, 11) "," A "}", 11, 2}, /* any order */
        {"{" A "," B("F32", "[0]", 8, 8) "}", 8, 2},
        {"{" A "," B("F32", "[0,7]", 0, 0) "}", 8, 2},
        {"{" A "," B("I64", "[]", 8, 16) "}", 16, 2},
        {"{" A "," B("F8_E4M3", "[4]", 8, 12) "}", 12, 2},
        {"{" A "," B("F4", "[4]", 8, 10) "}", 10, 2},
        {"{" A "," B("F32", "[1,1,1,1,1,1]", 8, 12) "}", 12, 2},
        {"{\"\\u00e9\\n\\\"\":{\"dtype\":\"F32\",\"x\":{},\"shape\":[2],\"data_offsets\":[0,8]}}", 8, 1},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtStateDict *d;
        if (tt_safetensors_open(make(*state, cases[i].header, cases[i].body), &d) != TT_OK)
            fail_msg("%s: %s", cases[i].header, tt_error_message());
        assert_int_equal(d->count, cases[i].count);
        tt_state_close(d);
    }
    TtStateDict *d;
    assert_int_equal(tt_state_open(make(*state, cases[13].header, 8), &d), TT_OK);
    assert_non_null(tt_state_find(d, "\u00e9\n\""));
    assert_null(tt_state_find(d, "a"));
    tt_state_close(d);
}

static void test_bad(void **state)
{
    static const struct {
        const char *header;
        size_t body;
        const char *say;
    } cases[] = {
        {"", 0, "JSON"},
        {"{" A "}\xc3", 8, "JSON"},
        {"{" A, 8, "JSON"},
        {"[]", 0, "not a JSON object"},
        {"\xef\xbb\xbf{}", 0, "JSON"},
        {"{" A "," A "}", 8, "duplicate"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "duplicate"},
        {"{\"\xe9\":{}}", 0, "JSON"},
        {"{\"\\ud800\":{}}", 0, "JSON"},
        {"{\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "JSON"},
        {"{\"__metadata__\":{\"a\":1}," A "}", 8, "__metadata__"},
        {"{\"__metadata__\":[]," A "}", 8, "__metadata__"},
        {"{\"a\":null}", 0, "a: needs dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "a: needs dtype"},
        {"{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "a: needs dtype"},
        {"{" A "," B("f32", "[1]", 8, 12) "}", 12, "b: unknown dtype f32"},
        {"{" A "," B("F32", "1", 8, 12) "}", 12, "b: shape"},
        {"{" A "," B("F32", "[1.0]", 8, 12) "}", 12, "b: shape"},
        {"{" A "," B("F32", "[\"1\"]", 8, 12) "}", 12, "b: shape"},
        {"{" A "," B("F32", "[-1]", 8, 12) "}", 12, "b: shape"},
        {"{" A "," B("F32", "[9223372036854775808]", 8, 12) "}", 12, "JSON"},
        {"{" A "," B("F32", "[1,1,1,1,1,1,1]", 8, 12) "}", 12, "b: 7 dimensions"},
        {"{" A "," B("F32", "[4611686018427387904,4]", 8, 8) "}", 8, "b: the shape"},
        {"{" A "," B("F32", "[4611686018427387904]", 8, 8) "}", 8, "b: the shape"},
        {"{" A "," B("F32", "[4611686018427387904,4611686018427387904,0]", 8, 8) "}", 8, "b: the shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, "a: data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "before they begin"},
        {"{" A "," B("F32", "[2]", 8, 12) "}", 12, "b: F32 of shape (2)"},
        {"{" A "," B("F32", "[0]", 8, 12) "}", 12, "b: F32 of shape (0)"},
        {"{" A "," B("F4", "[3]", 8, 9) "}", 9, "b: F4"},
        {"{" A "," B("F32", "[1]", 4, 8) "}", 8, "overlap"},
        {"{" A "," B("F32", "[1]", 0, 4) "}", 8, "overlap"},
        {"{" A "," B("F32", "[0]", 4, 4) "}", 8, "overlap"},
        {"{" A "," B("F32", "[1]", 12, 16) "}", 16, "hole"},
        {"{" A "," B("F32", "[1]", 8, 12) "}", 11, "truncated"},
        {"{" A "}", 9, "1 bytes of data behind"},
        {"{}", 1, "1 bytes of data behind"},
        {"{" A "," B("U8", "[9223372036854775807]", 8, 9223372036854775807) "}", 8, "b: the shape"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtStateDict *d;
        const char *path = make(*state, cases[i].header, cases[i].body);
        if (tt_safetensors_open(path, &d) != TT_ECHECKPOINT) fail_msg("accepted: %s", cases[i].header);
        assert_null(d);
        if (!strstr(tt_error_message(), cases[i].say))
            fail_msg("%s: no \"%s\" in \"%s\"", cases[i].header, cases[i].say, tt_error_message());
        assert_ptr_equal(strstr(tt_error_message(), path), tt_error_message());
    }
}

static void test_length(void **state)
{
    TtStateDict *d;
    static const struct {
        uint64_t length;
        size_t size;
    } cases[] = {{5000, 200}, {100000001, 200}, {UINT64_MAX, 200}, {3, 10}, {0, 8}, {0, 7}, {0, 0}};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        blob.size = 0;
        blob_put(&blob, &cases[i].length, 8);
        while (blob.size < 200) blob_put(&blob, "{}", 2);
        blob.size = cases[i].size;
        assert_int_equal(tt_state_open(blob_write(&blob, *state, "t"), &d), TT_ECHECKPOINT);
    }
    /* a header of the largest size, in a sparse file: bounded memory and time; one byte more is refused */
    char *path = tt_fs_join(*state, "sparse");
    for (uint64_t over = 0; over < 2; over++) {
        uint64_t length = TT_SAFETENSORS_MAX_HEADER + over;
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(&length, 8, 1, f), 1);
        assert_int_equal(fwrite("{}", 2, 1, f), 1);
        assert_int_equal(fflush(f) || ftruncate(fileno(f), (off_t)(8 + length)), 0);
        fclose(f);
        assert_int_equal(tt_safetensors_open(path, &d), TT_ECHECKPOINT);
        assert_non_null(strstr(tt_error_message(), over ? "announced" : "JSON"));
    }
    /* many values: refused before they are made */
    blob.size = 0;
    uint64_t n = 1000 * 1000;
    blob_put(&blob, &n, 8);
    blob_put(&blob, "[", 1);
    while (blob.size < n + 7) blob_put(&blob, "[],", 3);
    blob.size = n + 8;
    assert_int_equal(tt_safetensors_open(blob_write(&blob, *state, "t"), &d), TT_ECHECKPOINT);
    free(path);
}

static void test_pointers(void **state)
{
    TtStateDict *d;
    blob.size = 0;
    blob_text(&blob, "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 4476\n");
    assert_int_equal(tt_state_open(blob_write(&blob, *state, "t.safetensors"), &d), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "git lfs pull"));
    assert_int_equal(tt_state_open(*state, &d), TT_ECHECKPOINT);
    assert_int_equal(tt_state_open("/dev/zero", &d), TT_ECHECKPOINT);
    assert_int_equal(tt_state_open("/nowhere/x\ny.pth", &d), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "No such file"));
}

/* Known bit patterns of each type, to float32 and others. */
static void test_conversion(void **state)
{
    blob.size = 0;
    const char *header = "{\"f16\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]},"
                         "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]},"
                         "\"f64\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[12,36]},"
                         "\"i64\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[36,52]},"
                         "\"u64\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[52,60]},"
                         "\"i8\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[60,61]},"
                         "\"bool\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[61,63]},"
                         "\"f8\":{\"dtype\":\"F8_E5M2\",\"shape\":[1],\"data_offsets\":[63,64]},"
                         "\"f32\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[64,72]}}";
    uint64_t n = strlen(header);
    blob_put(&blob, &n, 8);
    blob_put(&blob, header, n);
    blob_put(&blob, (uint16_t[]){0x3c00, 0xc000, 0x0001, 0x7c00}, 8); /* 1, -2, 2^-24, inf */
    blob_put(&blob, (uint16_t[]){0x3f80, 0xc2f7}, 4);                 /* 1, -123.5 */
    blob_put(&blob, (double[]){1.0 + 0x1p-30, 1e300, -3}, 24);
    blob_put(&blob, (int64_t[]){-5, (1LL << 24) + 1 + (1LL << 53)}, 16);
    blob_put(&blob, (uint64_t[]){UINT64_MAX}, 8);
    blob_put(&blob, "\xf9\x00\x02", 3);
    blob_put(&blob, "\x3c", 1);
    blob_put(&blob, (float[]){2.5f, 300}, 8);
    TtStateDict *d;
    assert_int_equal(tt_state_open(blob_write(&blob, *state, "t"), &d), TT_OK);
    float f[4];
    double g[3];
    int64_t i[2];
    uint8_t u[2];
#define READ(name, type, to) tt_state_read(d, tt_state_find(d, name), type, to)
    assert_int_equal(READ("f16", TT_F32, f), TT_OK);
    assert_true(f[0] == 1 && f[1] == -2 && f[2] == 0x1p-24f && isinf(f[3]));
    assert_int_equal(READ("bf16", TT_F64, g), TT_OK);
    assert_true(g[0] == 1 && g[1] == -123.5);
    assert_int_equal(READ("f64", TT_F32, f), TT_OK);
    assert_true(f[0] == 1 && isinf(f[1]) && f[2] == -3);
    assert_int_equal(READ("i64", TT_F32, f), TT_OK);
    assert_true(f[0] == -5 && f[1] == (float)((1LL << 24) + 1 + (1LL << 53)));
    assert_int_equal(READ("i64", TT_I64, i), TT_OK);
    assert_true(i[0] == -5 && i[1] == (1LL << 24) + 1 + (1LL << 53));
    assert_int_equal(READ("u64", TT_F32, f), TT_OK);
    assert_true(f[0] == 0x1p64f);
    assert_int_equal(READ("u64", TT_I64, i), TT_ECHECKPOINT);
    assert_int_equal(READ("i8", TT_F32, f), TT_OK);
    assert_true(f[0] == -7);
    assert_int_equal(READ("i8", TT_U8, u), TT_ECHECKPOINT);
    assert_int_equal(READ("bool", TT_BOOL, u), TT_OK);
    assert_true(u[0] == 0 && u[1] == 1);
    assert_int_equal(READ("f64", TT_I64, i), TT_ECHECKPOINT); /* no integer */
    assert_non_null(strstr(tt_error_message(), "f64: element 0"));
    assert_int_equal(READ("f16", TT_I64, i), TT_ECHECKPOINT);
    assert_int_equal(READ("f8", TT_F32, f), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "F8_E5M2"));
    assert_int_equal(READ("f32", TT_U8, u), TT_ECHECKPOINT);
    assert_int_equal(READ("f32", TT_F32, f), TT_OK);
    assert_true(f[0] == 2.5f && f[1] == 300);
    tt_state_close(d);
}

/* The library's own file, read and written again, is the same bytes but for its metadata. */
static void test_library(void **state)
{
    TtStateDict *d;
    assert_int_equal(tt_state_open(DATA "small_f64.safetensors", &d), TT_OK);
    TtNamedTensor list[16];
    double store[16][8];
    assert_true(d->count == 9);
    for (int i = 0; i < d->count; i++) {
        int from = (i * 5 + 3) % d->count; /* any order */
        const TtStateTensor *t = &d->list[from];
        TtDType type = t->type == TT_STORED_I64 ? TT_I64 : TT_F64;
        list[i] = (TtNamedTensor){.name = t->name, .dtype = type, .shape = t->shape, .data = store[i]};
    }
    assert_int_equal(tt_state_read_all(d, list, d->count), TT_OK);
    char *path = tt_fs_join(*state, "again"), *ours, *theirs, *end;
    size_t n, m;
    assert_int_equal(tt_safetensors_save(path, list, d->count), TT_OK);
    assert_int_equal(tt_fs_read(path, 10000, TT_EDATA, &ours, &n), TT_OK);
    assert_int_equal(tt_fs_read(DATA "small_f64.safetensors", 10000, TT_EDATA, &theirs, &m), TT_OK);
    const char *metadata = "\"__metadata__\":{\"format\":\"pt\"},";
    assert_memory_equal(ours + 9, metadata, strlen(metadata));
    uint64_t length, theirs_length;
    memcpy(&length, ours, 8), memcpy(&theirs_length, theirs, 8);
    assert_int_equal(length % 8, 0);
    /* header without metadata and padding, and the data */
    ours[8 + length - 1] = '\0', theirs[8 + theirs_length - 1] = '\0';
    end = strrchr(ours + 8, '}'), end[1] = '\0';
    end = strrchr(theirs + 8, '}'), end[1] = '\0';
    assert_string_equal(ours + 9 + strlen(metadata), theirs + 9);
    assert_int_equal(n - length, m - theirs_length);
    assert_memory_equal(ours + 8 + length, theirs + 8 + theirs_length, n - 8 - length);
    /* strictness of tt_state_read_all */
    list[2].shape.dims[0]++;
    assert_int_equal(tt_state_read_all(d, list, d->count), TT_ECHECKPOINT);
    list[2].shape.dims[0]--;
    assert_int_equal(tt_state_read_all(d, list, d->count - 1), TT_ECHECKPOINT);
    list[0].name = "other";
    assert_int_equal(tt_state_read_all(d, list, d->count), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "other is missing"));
    /* nothing to write */
    assert_int_equal(tt_safetensors_save(path, NULL, 0), TT_OK);
    tt_state_close(d);
    assert_int_equal(tt_state_open(path, &d), TT_OK);
    assert_int_equal(d->count, 0);
    tt_state_close(d);
    free(ours), free(theirs), free(path);
}

/* ------------------------------------------------------------------ into a model */

static TtParamSet *model(TtDType ftype, int classes, const char *prefix)
{
    static const struct {
        const char *name;
        TtDType dtype;
        TtShape shape;
        bool buffer;
    } list[] = {
        {"0.weight", TT_F32, {4, {2, 1, 1, 1}}},
        {"0.bias", TT_F32, {1, {2}}},
        {"1.weight", TT_F32, {1, {2}}},
        {"1.bias", TT_F32, {1, {2}}},
        {"1.running_mean", TT_F32, {1, {2}}, true},
        {"1.running_var", TT_F32, {1, {2}}, true},
        {"1.num_batches_tracked", TT_I64, {0}, true},
        {"2.weight", TT_F32, {2, {3, 2}}},
        {"2.bias", TT_F32, {1, {3}}},
    };
    TtParamSet *p = tt_params_new(ftype);
    for (int i = 0; i < TT_COUNT(list); i++) {
        TtShape shape = list[i].shape;
        char name[64];
        if (list[i].name[0] == '2') shape.dims[0] = classes;
        snprintf(name, sizeof name, "%s%s", prefix, list[i].name);
        TtParam *q;
        assert_int_equal(tt_params_declare(p, name, list[i].dtype == TT_F32 ? ftype : list[i].dtype, shape,
                                           (TtInit){TT_INIT_CONST, -1, 0}, list[i].buffer, &q),
                         TT_OK);
    }
    assert_int_equal(tt_params_allocate(p), TT_OK);
    tt_params_init(p, 1);
    return p;
}

/* make.py's model: element j of tensor i is 10 i + j. KEPT tensors still have their own -1. */
static void assert_loaded(const TtParamSet *p, const char *kept)
{
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        char name[64];
        snprintf(name, sizeof name, ",%s,", q->name);
        for (int64_t j = 0; j < tt_shape_count(&q->shape); j++) {
            double v = q->dtype == TT_I64   ? (double)((int64_t *)q->value)[j]
                       : q->dtype == TT_F64 ? ((double *)q->value)[j]
                                            : (double)((float *)q->value)[j];
            assert_true(v == (strstr(kept, name) ? -1 : 10.0 * i + (double)j));
        }
    }
}

static void test_strict(void **state)
{
    static const char *const good[] = {"small.pth", "small_data_parallel.pth", "small_compiled.pth",
                                       "small_f64.safetensors"};
    for (int i = 0; i < 2 * TT_COUNT(good); i++) {
        char path[128];
        snprintf(path, sizeof path, DATA "%s", good[i / 2]);
        TtParamSet *p = model(i % 2 ? TT_F64 : TT_F32, 3, "");
        if (tt_weights_load(p, path, NULL) != TT_OK) fail_msg("%s", tt_error_message());
        assert_loaded(p, "");
        tt_params_free(p);
    }
    /* without the counter; values up to 63 and their tens are exact in bfloat16 */
    TtParamSet *p = model(TT_F32, 3, "");
    assert_int_equal(tt_weights_load(p, DATA "small_bf16.safetensors", NULL), TT_OK);
    assert_loaded(p, ",1.num_batches_tracked,");
    tt_params_free(p);
    /* other numbers of classes */
    p = model(TT_F32, 4, "");
    assert_int_equal(tt_weights_load(p, DATA "small.pth", NULL), TT_ECHECKPOINT);
    assert_ptr_equal(strstr(tt_error_message(), DATA "small.pth: "), tt_error_message());
    assert_non_null(strstr(tt_error_message(), "2.weight is (3,2) in the file and (4,2) in the model"));
    assert_int_equal(tt_weights_load(p, DATA "small.pth", &(TtWeightsOptions){.partial = true}), TT_ECHECKPOINT);
    const char *exclude[] = {"nothing", "2.*"};
    assert_int_equal(tt_weights_load(p, DATA "small.pth", &(TtWeightsOptions){.exclude = exclude, .exclude_count = 2}),
                     TT_OK);
    assert_loaded(p, ",2.weight,2.bias,");
    tt_params_free(p);
    /* names that differ */
    p = model(TT_F32, 3, "x.");
    assert_int_equal(tt_weights_load(p, DATA "small.pth", NULL), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "missing: x.0.weight"));
    assert_non_null(strstr(tt_error_message(), "not in the model: 0.bias"));
    assert_non_null(strstr(tt_error_message(), "and 5 more"));
    tt_params_free(p);
}

static char warned[1000];

static void take_warning(void *user, const char *text)
{
    snprintf(warned, sizeof warned, "%s", text);
}

static void test_parts(void **state)
{
    TtParamSet *p = model(TT_F32, 3, "");
    const char *path = DATA "small_backbone.safetensors", *exclude[] = {"2.*"};
    TtWeightsOptions o = {.prefix = "backbone."};
    assert_int_equal(tt_weights_load(p, path, &o), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "missing: 2.weight, 2.bias"));
    o.exclude = exclude, o.exclude_count = 1;
    assert_int_equal(tt_weights_load(p, path, &o), TT_OK);
    assert_loaded(p, ",2.weight,2.bias,");
    tt_params_free(p);
    p = model(TT_F32, 3, "");
    o = (TtWeightsOptions){.prefix = "backbone.", .partial = true};
    tt_warn_sink(take_warning, NULL);
    assert_int_equal(tt_weights_load(p, path, &o), TT_OK);
    tt_warn_sink(NULL, NULL);
    assert_non_null(strstr(warned, "missing: 2.weight, 2.bias"));
    assert_loaded(p, ",2.weight,2.bias,");
    o.prefix = "spine.";
    assert_int_equal(tt_weights_load(p, path, &o), TT_ECHECKPOINT);
    tt_params_free(p);
}

/* A value that is not finite, or not in float32, is refused by name; and what we write is what we read. */
static void test_finite(void **state)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    char *path = tt_fs_join(*state, "m.safetensors");
    TtArena arena = {0};
    for (int i = 0; i < TT_COUNT(bad) + 2; i++) {
        TtParamSet *p = model(i < TT_COUNT(bad) ? TT_F32 : TT_F64, 3, ""), *q = model(TT_F32, 3, "");
        assert_int_equal(tt_weights_load(p, DATA "small.pth", NULL), TT_OK);
        TtParam *victim = tt_params_find(p, "1.running_var");
        if (i < TT_COUNT(bad)) ((float *)victim->value)[1] = bad[i];
        if (i == TT_COUNT(bad)) ((double *)victim->value)[1] = 1e39;
        assert_int_equal(tt_safetensors_save(path, tt_weights_list(p, &arena), p->count), TT_OK);
        if (i == TT_COUNT(bad) + 1) {
            assert_int_equal(tt_weights_load(q, path, NULL), TT_OK);
            assert_loaded(q, "");
        } else {
            assert_int_equal(tt_weights_load(q, path, NULL), TT_ECHECKPOINT);
            assert_non_null(strstr(tt_error_message(), "1.running_var: element 1 is not finite"));
        }
        tt_params_free(p), tt_params_free(q);
    }
    tt_arena_free(&arena);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_bad, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_length, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_pointers, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_conversion, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_library, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_strict, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_parts, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_finite, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
