/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_pth.c - files of torch.save against safetensors' own copy of them, and pickles that mean harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/pickle.h"
#include "pipeline/pth.h"
#include "tests/support/blob.h"
#include "tests/support/temp.h"

#define DATA "tests/data/weights/"

static Blob blob;

/* Every tensor of the file, to the bit. Types that we have none for are read as int64. */
static void assert_same_tensors(TtStateDict *want, const char *path)
{
    TtStateDict *got;
    char a[1024], b[1024];
    if (tt_state_open(path, &got) != TT_OK) fail_msg("%s", tt_error_message());
    assert_int_equal(got->count, want->count);
    for (int i = 0; i < want->count; i++) {
        const TtStateTensor *w = &want->list[i], *g = tt_state_find(got, w->name);
        assert_non_null(g);
        assert_int_equal(g->type, w->type);
        assert_true(tt_shape_equal(&g->shape, &w->shape));
        TtDType type = TT_I64;
        for (int t = 0; t < TT_DTYPES; t++)
            if (tt_stored_of((TtDType)t) == w->type) type = (TtDType)t;
        size_t bytes = (size_t)tt_shape_count(&w->shape) * tt_dtype_size(type);
        assert_true(bytes <= sizeof a);
        assert_int_equal(tt_state_read(want, w, type, a), TT_OK);
        if (tt_state_read(got, g, type, b) != TT_OK) fail_msg("%s", tt_error_message());
        if (bytes && memcmp(a, b, bytes) != 0) fail_msg("%s: %s differs", path, w->name);
    }
    tt_state_close(got);
}

static void test_mixed(void **state)
{
    static const char *const files[] = {"zip",        "protocol4", "legacy",        "deflated",
                                        "big_endian", "wrapped",   "wrapped_legacy"};
    TtStateDict *want;
    assert_int_equal(tt_state_open(DATA "mixed.safetensors", &want), TT_OK);
    assert_int_equal(want->count, 25);
    for (int i = 0; i < TT_COUNT(files); i++) {
        char path[128];
        snprintf(path, sizeof path, DATA "mixed_%s.pth", files[i]);
        assert_same_tensors(want, path);
    }
    tt_state_close(want);
}

static void test_refused(void **state)
{
    static const struct {
        const char *file, *say;
    } cases[] = {
        {"bad_call.pth", "posix.getpid"},
        {"bad_call_legacy.pth", "posix.getpid"},
        {"bad_call_protocol4.pth", "posix.getpid"},
        {"bad_module.pth", "torch.nn.modules.linear.Linear"},
        {"bad_negated.pth", "resolve_neg"},
        {"bad_tensor.pth", "single tensor"},
        {"bad_entry.pth", "epoch in the state dict is no tensor"},
        {"bad_sparse.pth", "_rebuild_sparse_tensor"},
        {"bad_zip.pth", "no data.pkl"},
        {"bad_storage_size.pth", "storage 3 of 1.bias holds 9 bytes, not the 8 of 2 elements"},
        {"bad_pickle.pth", "not in a format of torch.save"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtStateDict *d;
        char path[128];
        snprintf(path, sizeof path, DATA "%s", cases[i].file);
        if (tt_state_open(path, &d) != TT_ECHECKPOINT) fail_msg("%s was accepted", path);
        if (!strstr(tt_error_message(), cases[i].say)) fail_msg("%s", tt_error_message());
        assert_ptr_equal(strstr(tt_error_message(), path), tt_error_message());
    }
    /* a wrong bit in a storage is found when it is read */
    TtStateDict *d;
    float v[6];
    assert_int_equal(tt_state_open(DATA "bad_crc.pth", &d), TT_OK);
    assert_int_equal(tt_state_read(d, tt_state_find(d, "2.bias"), TT_F32, v), TT_OK);
    assert_int_equal(tt_state_read(d, tt_state_find(d, "2.weight"), TT_F32, v), TT_ECHECKPOINT);
    assert_non_null(strstr(tt_error_message(), "CRC"));
    tt_state_close(d);
}

/* Every file cut at every length: an error, or all of it (a zip's directory stands at its end). */
static void test_cut(void **state)
{
    static const char *const files[] = {"small.pth", "mixed_legacy.pth"};
    for (int i = 0; i < TT_COUNT(files); i++) {
        char source[128];
        snprintf(source, sizeof source, DATA "%s", files[i]);
        FILE *f = fopen(source, "rb");
        assert_non_null(f);
        size_t size = fread(blob.bytes, 1, sizeof blob.bytes, f);
        fclose(f);
        for (blob.size = 0; blob.size < size; blob.size += blob.size < 600 ? 1 : 37) {
            TtStateDict *d;
            assert_int_equal(tt_state_open(blob_write(&blob, *state, "cut.pth"), &d), TT_ECHECKPOINT);
        }
    }
}

/* ------------------------------------------------------------------ pickles by hand */

static TtStatus read_blob(TtPickle *p, TtArena *arena)
{
    return tt_pickle_read(arena, "p", blob.bytes, blob.size, p);
}

#define PICKLE(bytes) (blob.size = 0, blob_put(&blob, bytes, sizeof(bytes) - 1))

static void test_values(void **state)
{
    TtArena arena = {0};
    TtPickle p;
    /* pickle.dumps({'a': [1, -2, 300, 70000, 1<<40, -(1<<40), True, None, 1.5, b'xy', (1,), (1, 2), (1, 2, 3, 4)]}, 4) */
    PICKLE("\x80\x04\x95\x4f\0\0\0\0\0\0\0}\x94\x8c\x01"
           "a\x94]\x94(K\x01J\xfe\xff\xff\xffM\x2c\x01Jp\x11\x01\0\x8a\x06\0\0\0\0\0\x01\x8a\x06\0\0\0\0\0\xff\x88NG"
           "?\xf8\0\0\0\0\0\0C\x02xy\x94K\x01\x85\x94K\x01K\x02\x86\x94(K\x01K\x02K\x03K\x04t\x94"
           "es.");
    if (read_blob(&p, &arena) != TT_OK) fail_msg("%s", tt_error_message());
    assert_int_equal(p.used, blob.size);
    assert_int_equal(p.value.kind, TT_PICKLE_DICT);
    const TtPickleValue *a = tt_pickle_get(p.value.seq, "a");
    assert_non_null(a);
    assert_null(tt_pickle_get(p.value.seq, "b"));
    assert_int_equal(a->kind, TT_PICKLE_LIST);
    assert_int_equal(a->seq->count, 13);
    static const int64_t ints[] = {1, -2, 300, 70000, 1LL << 40, -(1LL << 40)};
    for (int i = 0; i < TT_COUNT(ints); i++) assert_true(a->seq->items[i].i == ints[i]);
    assert_true(a->seq->items[6].kind == TT_PICKLE_BOOL && a->seq->items[6].i == 1);
    assert_int_equal(a->seq->items[7].kind, TT_PICKLE_NONE);
    assert_true(a->seq->items[8].f == 1.5);
    assert_string_equal(a->seq->items[9].text->bytes, "xy");
    for (int i = 0; i < 2; i++) assert_int_equal(a->seq->items[10 + i].seq->count, i + 1);
    assert_int_equal(a->seq->items[12].seq->count, 4);
    /* a list in itself */
    PICKLE("\x80\x02]q\0h\0a.");
    assert_int_equal(read_blob(&p, &arena), TT_OK);
    assert_ptr_equal(p.value.seq->items[0].seq, p.value.seq);
    tt_arena_free(&arena);
}

#define TENSOR(args)                                                                       \
    "\x80\x02"                                                                             \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" \
    "0X\3\0\0\0cpuK\x06tQ" args "tR."

static void test_hostile(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *say;
    } cases[] = {
#define P(bytes, say) {bytes, sizeof(bytes) - 1, say}
        P("", "too early"),
        P("\x80\x02", "too early"),
        P(".", "stack is empty"),
        P("(.", "stack is empty"),
        P("\x80\x06N.", "protocol"),
        P("t.", "no mark"),
        P("0.", "stack is empty"),
        P("1.", "no mark"),
        P("2.", "stack is empty"),
        P("a.", "stack is empty"),
        P("Na.", "without a container"),
        P("NNa.", "without a container"),
        P(")Na.", "without a container"),
        P("](a.", "stack is empty"),
        P("](Nu.", "without a container"),
        P("}(Nu.", "without a container"),
        P("}NNe.", "no mark"),
        P("(Nd.", "key without a value"),
        P("q\0.", "nothing to remember"),
        P("(q\0.", "nothing to remember"),
        P("h\0.", "unknown memo"),
        P("Nq\1h\0.", "unknown memo"),
        P("Nr\xff\xff\xff\xff.", "memo number"),
        P("Nr\xff\xff\xff\0.", "memo number"),
        P("X\xff\xff\xff\xff.", "too early"),
        P("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "too early"),
        P("\x8a\x09\1\1\1\1\1\1\1\1\1.", "64 bits"),
        P("\x8a\xff.", "64 bits"),
        P("G\0\0.", "too early"),
        P("cos", "too early"),
        P("cos\nsystem", "too early"),
        P("cos\nsystem\n.", "asks for os.system"),
        P("c__builtin__\neval\n.", "asks for __builtin__.eval"),
        P("ctorch\nload\n.", "asks for torch.load"),
        P("c\n\n.", "asks for ."),
        P("X\2\0\0\0osX\6\0\0\0system\x93.", "asks for os.system"),
        P("NN\x93.", "no text"),
        P("(S'ls'\nios\nsystem\n.", "opcode 0x53"),
        P("(ios\nsystem\n.", "makes an object"),
        P("(cos\nsystem\no.", "os.system"),
        P("ccollections\nOrderedDict\n)\x81.", "makes an object"),
        P("ccollections\nOrderedDict\n)}\x92.", "makes an object"),
        P("\x82\x01.", "makes an object"),
        P("N)R.", "a call"),
        P("ccollections\nOrderedDict\nNR.", "a call"),
        P("ccollections\nOrderedDict\nN\x85R.", "wrong arguments"),
        P("ccollections\nOrderedDict\n]Na\x85R.", "wrong arguments"),
        P("ctorch\nFloatStorage\n)R.", "torch.FloatStorage"),
        P("ctorch._utils\n_rebuild_parameter\n)R.", "no tensor"),
        P("ctorch._utils\n_rebuild_tensor_v2\n)R.", "wrong arguments"),
        P("N}b.", "no object"),
        P("}b.", "no object"),
        P("NQ.", "not a reference"),
        P(")Q.", "not a reference"),
        P("(X\7\0\0\0storageNX\1\0\0\0"
          "0X\3\0\0\0cpuK\x06tQ.",
          "not a reference"),
        P("(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
          "0X\3\0\0\0cpuJ\xff\xff\xff\xfftQ.",
          "not a reference"),
        P("(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
          "0NK\1X\1\0\0\0vtQ.",
          "views of others"),
        P("(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
          "0N\x8a\x08\0\0\0\0\0\0\0\x7ftQ.",
          "without end"),
        P("\xff.", "opcode 0xff"),
        P("I1\n.", "opcode 0x49"),
        P("\x8f.", "opcode 0x8f"),
        P(TENSOR("NK\x03\x85K\1\x85"), "wrong arguments"),
        P(TENSOR("K\0K\x07\x85K\1\x85"), "beyond its storage"),
        P(TENSOR("K\1K\x06\x85K\1\x85"), "beyond its storage"),
        P(TENSOR("K\0K\x03K\x02\x86K\x03K\x01\x86"), "beyond its storage"),
        P(TENSOR("J\xff\xff\xff\xffK\x01\x85K\1\x85"), "beyond its storage"),
        P(TENSOR("K\x07K\0\x85K\1\x85"), "beyond its storage"),
        P(TENSOR("K\0\x8a\x08\0\0\0\0\0\0\0\x40\x85\x8a\x08\0\0\0\0\0\0\0\x40\x85"), "beyond its storage"),
        P(TENSOR("K\0K\2\x85J\xff\xff\xff\xff\x85"), "cannot be read"),
        P(TENSOR("K\0J\xff\xff\xff\xff\x85K\1\x85"), "cannot be read"),
        P(TENSOR("K\0K\2\x85)"), "cannot be read"),
        P(TENSOR("K\0(KKKKKKKKKKKKKKt)"), "cannot be read"),
        P(TENSOR("K\0NN"), "cannot be read"),
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtArena arena = {0};
        TtPickle p;
        blob.size = 0;
        blob_put(&blob, cases[i].bytes, cases[i].size);
        if (read_blob(&p, &arena) != TT_ECHECKPOINT) fail_msg("pickle %d (%s) was accepted", i, cases[i].say);
        if (!strstr(tt_error_message(), cases[i].say)) fail_msg("pickle %d: %s", i, tt_error_message());
        tt_arena_free(&arena);
    }
}

/* Small files that ask for much. */
static void test_bombs(void **state)
{
    static const char *const repeated[] = {"(", "}", "N", "]q\xff\0", "}0", "2", "N2", "\x8c\0", "))", "]2a"};
    static char text[24 << 20];
    for (int i = 0; i < TT_COUNT(repeated); i++) {
        size_t n = strlen(repeated[i]), at = 2;
        if (i == 3) n = 4;
        memcpy(text, "N]", 2);
        while (at + n <= sizeof text) memcpy(text + at, repeated[i], n), at += n;
        TtArena arena = {0};
        TtPickle p;
        assert_int_equal(tt_pickle_read(&arena, "p", text, at, &p), TT_ECHECKPOINT);
        tt_arena_free(&arena);
    }
}

static void test_good_tensor(void **state)
{
    TtArena arena = {0};
    TtPickle p;
    PICKLE(TENSOR("K\1K\x02K\x02\x86K\x03K\x01\x86"));
    assert_int_equal(read_blob(&p, &arena), TT_OK);
    assert_int_equal(p.value.kind, TT_PICKLE_TENSOR);
    const TtPickleTensor *t = p.value.tensor;
    assert_true(t->offset == 1 && t->strides[0] == 3 && t->shape.dims[1] == 2 && t->storage->numel == 6);
    assert_ptr_equal(p.storages, t->storage);
    PICKLE(TENSOR("K\x06K\0\x85K\1\x85")); /* empty, at the very end */
    assert_int_equal(read_blob(&p, &arena), TT_OK);
    PICKLE(TENSOR("K\x05))")); /* a scalar */
    assert_int_equal(read_blob(&p, &arena), TT_OK);
    tt_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test_setup_teardown(test_cut, temp_setup, temp_teardown),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_good_tensor),
    };
    return cmocka_run_group_tests_name("pth", tests, NULL, NULL);
}
