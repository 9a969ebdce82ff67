/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_options.c - nodes and option tables: the core schema, ranges, messages, suggestions, printing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/yaml.h"
#include "tensor/options.h"

static TtArena arena;

static TtNode *yaml(const char *text)
{
    TtNode *n;
    if (tt_yaml_parse(text, strlen(text), (TtMark){.file = "t.yaml"}, &arena, &n) != TT_OK)
        fail_msg("%s: %s", text, tt_error_message());
    return n;
}

static void expect_message(const char *want)
{
    assert_string_equal(tt_error_message(), want);
    tt_error_clear();
}

/* ---- scalars: YAML 1.2.2, 10.3 */

static void test_floats(void **state)
{
    static const struct {
        const char *text;
        double v;
    } good[] = {{"1e-4", 1e-4},      {"5.e-5", 5e-5},     {".9", 0.9},   {"1E-1", 0.1},      {"-0.0", -0.0},
                {"+12e03", 12e3},    {"0.", 0},           {"-1_", NAN},  {"12", 12},         {"0x10", 16},
                {"0o17", 15},        {"685.230_15", NAN}, {"1.5", 1.5},  {".inf", INFINITY}, {"-.INF", -INFINITY},
                {"1e400", INFINITY}, {"1e", NAN},         {"e1", NAN},   {".", NAN},         {"-.", NAN},
                {"1 2", NAN},        {"0x", NAN},         {"inf", NAN},  {"nan", NAN},       {"1e5.0", NAN},
                {"--1", NAN},        {"'1'", NAN},        {"1.0f", NAN}, {"0x1p3", NAN}};
    for (int i = 0; i < TT_COUNT(good); i++) {
        double v = 7;
        TtStatus status = tt_node_float(yaml(good[i].text), "lr", &v);
        if (isnan(good[i].v))
            assert_int_equal(status, TT_ECONFIG);
        else if (status != TT_OK || v != good[i].v)
            fail_msg("%s is %g, expected %g: %s", good[i].text, v, good[i].v, tt_error_message());
    }
    double v = 0;
    assert_int_equal(tt_node_float(yaml(".NaN"), "lr", &v), TT_OK);
    assert_true(isnan(v));
    assert_int_equal(tt_node_float(yaml("ten"), "lr", &v), TT_ECONFIG);
    expect_message("t.yaml:1:1: lr must be a number, not 'ten'");
}

static void test_ints(void **state)
{
    static const struct {
        const char *text;
        int64_t v;
        bool ok;
    } cases[] = {{"12", 12, true},
                 {"-3", -3, true},
                 {"+7", 7, true},
                 {"007", 7, true},
                 {"0o14", 12, true},
                 {"0xFF", 255, true},
                 {"9223372036854775807", INT64_MAX, true},
                 {"-9223372036854775808", INT64_MIN, true},
                 {"9223372036854775808", 0, false},
                 {"3.5", 0, false},
                 {"3.0", 0, false},
                 {"1e3", 0, false},
                 {"1_000", 0, false},
                 {"0b11", 0, false},
                 {"'3'", 0, false},
                 {"-0x3", 0, false},
                 {"true", 0, false},
                 {"", 0, false},
                 {"12:30", 0, false}};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        int64_t v = 1;
        TtNode n = {.text = cases[i].text}, *node = *cases[i].text ? yaml(cases[i].text) : &n;
        assert_int_equal(tt_node_int(node, "epochs", &v) == TT_OK, cases[i].ok);
        if (cases[i].ok) assert_true(v == cases[i].v);
    }
    int64_t v;
    assert_int_equal(tt_node_int(yaml("9223372036854775808"), "seed", &v), TT_ECONFIG);
    expect_message("t.yaml:1:1: seed: the integer 9223372036854775808 does not fit 64 bits");
}

static void test_words(void **state)
{
    static const char *const yes[] = {"true", "True", "TRUE"}, *const neither[] = {"yes",  "on",     "1",
                                                                                   "tRUE", "'true'", "y"};
    bool b = false;
    for (int i = 0; i < TT_COUNT(yes); i++) assert_true(tt_node_bool(yaml(yes[i]), "x", &b) == TT_OK && b);
    assert_true(tt_node_bool(yaml("False"), "x", &b) == TT_OK && !b);
    for (int i = 0; i < TT_COUNT(neither); i++) assert_int_equal(tt_node_bool(yaml(neither[i]), "x", &b), TT_ECONFIG);
    static const char *const nulls[] = {"~", "null", "Null", "NULL"};
    for (int i = 0; i < TT_COUNT(nulls); i++) assert_true(tt_node_is_null(yaml(nulls[i])));
    assert_false(tt_node_is_null(yaml("'null'")) || tt_node_is_null(yaml("''")) || tt_node_is_null(yaml("nil")));
    const char *s;
    assert_true(tt_node_string(yaml("no"), "name", &s) == TT_OK && strcmp(s, "no") == 0);
    assert_true(tt_node_string(yaml("12"), "name", &s) == TT_OK && strcmp(s, "12") == 0);
    assert_int_equal(tt_node_string(yaml("[a]"), "name", &s), TT_ECONFIG);
    expect_message("t.yaml:1:1: name must be a string, not a list");
    assert_int_equal(tt_node_string(yaml("~"), "name", &s), TT_ECONFIG);
    expect_message("t.yaml:1:1: name must be a string, not null");
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"momentum", "lr", "weight_decay", "RandomHorizontalFlip", "RandomVerticalFlip"};
    static const char *const cases[][2] = {{"momentm", "momentum"},
                                           {"mometnum", "momentum"},
                                           {"Momentum", "momentum"},
                                           {"weigth_decay", "weight_decay"},
                                           {"wd", NULL},
                                           {"l", "lr"},
                                           {"LR", "lr"},
                                           {"RandomHorizontalFlop", "RandomHorizontalFlip"},
                                           {"", NULL},
                                           {"decay", "weight_decay"},
                                           {"sgd_momentum", "momentum"},
                                           {"dec", NULL},
                                           {"completely_different", NULL}};
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const char *near = tt_nearest(cases[i][0], names, TT_COUNT(names));
        if (cases[i][1])
            assert_string_equal(near ? near : "none", cases[i][1]);
        else
            assert_null(near);
    }
    char huge[5000];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(tt_nearest(huge, names, TT_COUNT(names)));
}

/* ---- tables */

typedef struct Inner {
    bool on;
    double rate;
} Inner;
typedef struct Outer {
    double p;
    int64_t workers, limit;
    const char *text;
    int mode;
    TtInts size;
    TtFloats mean;
    TtStrings names;
    const TtNode *any;
    Inner inner;
    bool secret;
} Outer;
static const TtOption inner_table[] = {{"on", TT_OPT_BOOL, offsetof(Inner, on), "true", .help = "whether"},
                                       {"rate", TT_OPT_FLOAT, offsetof(Inner, rate), "1e-5", .help = "how much"},
                                       {0}};
#define AT(f) offsetof(Outer, f)
static const TtOption table[] = {
    {"p", TT_OPT_FLOAT, AT(p), .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN | TT_OPT_BELOW_MAX, .min = 0, .max = 1,
     .help = "chance"},
    {"workers", TT_OPT_INT, AT(workers), "auto", .flags = TT_OPT_AUTO | TT_OPT_RANGED, .min = 1, .max = 8},
    {"limit", TT_OPT_INT, AT(limit), "null", .flags = TT_OPT_NULL},
    {"text", TT_OPT_STRING, AT(text), "null", .flags = TT_OPT_NULL},
    {"mode", TT_OPT_ENUM, AT(mode), "slow", .choices = "fast|slow|off"},
    {"size", TT_OPT_INTS, AT(size), "[3, 4]", .flags = TT_OPT_RANGED, .min = 1, .max = 100, .min_n = 1, .max_n = 2},
    {"mean", TT_OPT_FLOATS, AT(mean), "null", .flags = TT_OPT_NULL},
    {"names", TT_OPT_STRINGS, AT(names), "[]"},
    {"any", TT_OPT_NODE, AT(any)},
    {"inner", TT_OPT_MAP, AT(inner), .sub = inner_table},
    {"secret", TT_OPT_BOOL, AT(secret), "true", .flags = TT_OPT_HIDDEN},
    {0}};

static TtStatus parse(const char *text, Outer *o)
{
    memset(o, 0, sizeof *o);
    return tt_options_parse(table, yaml(text), "name", NULL, &arena, o);
}

static void test_defaults(void **state)
{
    Outer o;
    assert_int_equal(parse("{name: x, p: 0.5}", &o), TT_OK);
    assert_true(o.p == 0.5 && o.workers == TT_AUTO_INT && o.limit == TT_NULL_INT && !o.text && o.mode == 1);
    assert_true(o.size.n == 2 && o.size.v[0] == 3 && o.size.v[1] == 4 && o.mean.n == 0 && o.names.n == 0 && !o.any);
    assert_true(o.inner.on && o.inner.rate == 1e-5);
    assert_int_equal(parse("p: 1e-3\nworkers: 8\nlimit: -5\ntext: '12'\nmode: off\nsize: 7\nmean: [1, .5]\n"
                           "names: [a, 'null']\nany: {b: c}\ninner: {on: false}\n",
                           &o),
                     TT_OK);
    assert_true(o.p == 1e-3 && o.workers == 8 && o.limit == -5 && o.mode == 2 && o.size.n == 1 && o.size.v[0] == 7);
    assert_true(o.mean.n == 2 && o.mean.v[1] == 0.5 && o.names.n == 2 && o.any->kind == TT_NODE_MAP && !o.inner.on);
    assert_string_equal(o.text, "12");
    assert_string_equal(o.names.v[1], "null");
    /* a section with nothing in it is a section of defaults */
    assert_int_equal(parse("p: 0.1\ninner:\n", &o), TT_OK);
    assert_true(o.inner.on);
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"{workers: 2}", "t.yaml:1:2: the key 'p' is missing"},
        {"{p: 0}", "t.yaml:1:5: p must be greater than 0, not 0"},
        {"{p: 1.0}", "t.yaml:1:5: p must be less than 1, not 1"},
        {"{p: .nan}", "t.yaml:1:5: p must be a finite number, not .nan"},
        {"{p: 1e999}", "t.yaml:1:5: p must be a finite number, not 1e999"},
        {"{p: ~}", "t.yaml:1:5: p must be a number, not null"},
        {"{p: 0.5, workers: 9}", "t.yaml:1:19: workers must be at most 8, not 9"},
        {"{p: 0.5, workers: 0}", "t.yaml:1:19: workers must be at least 1, not 0"},
        {"{p: 0.5, workers: many}", "t.yaml:1:19: workers must be an integer, not 'many'"},
        {"{p: 0.5, limit: auto}", "t.yaml:1:17: limit must be an integer, not 'auto'"},
        {"{p: 0.5, mode: fsat}", "t.yaml:1:16: mode must be fast, slow or off, not 'fsat'; did you mean 'fast'?"},
        {"{p: 0.5, size: [1, 2, 3]}", "t.yaml:1:16: size takes at most 2 values, not 3"},
        {"{p: 0.5, size: []}", "t.yaml:1:16: size needs at least 1 value, not 0"},
        {"{p: 0.5, size: [1, x]}", "t.yaml:1:20: size must be an integer, not 'x'"},
        {"{p: 0.5, size: [1, 0]}", "t.yaml:1:20: size must be at least 1, not 0"},
        {"{p: 0.5, size: {a: 1}}", "t.yaml:1:16: size must be a list, not a map"},
        {"{p: 0.5, mean: [[1]]}", "t.yaml:1:17: mean must be a number, not a list"},
        {"{p: 0.5, inner: 3}", "t.yaml:1:17: inner must be a map of keys to values, not a single value"},
        {"{p: 0.5, inner: {rat: 3}}", "t.yaml:1:18: unknown key 'rat'; did you mean 'rate'?"},
        {"{p: 0.5, inner: {zzzzz: 3}}", "t.yaml:1:18: unknown key 'zzzzz'; known here: on, rate"},
        {"{p: 0.5, nmae: 3}", "t.yaml:1:10: unknown key 'nmae'; did you mean 'name'?"},
        {"{p: 0.5, \"a\\nb\\e\": 3}", "t.yaml:1:10: unknown key 'a b '; did you mean 'p'?"},
        {"[p]", "t.yaml:1:1: this must be a map of keys to values, not a list"},
    };
    Outer o;
    for (int i = 0; i < TT_COUNT(cases); i++) {
        if (parse(cases[i][0], &o) != TT_ECONFIG) fail_msg("%s is taken", cases[i][0]);
        if (strncmp(tt_error_message(), "t.yaml:1:10: unknown key 'a b '", 31) == 0) continue; /* one line */
        expect_message(cases[i][1]);
    }
    TtNode key = {.text = "flip", .mark = {.file = "t.yaml", .line = 4, .col = 2}};
    assert_int_equal(tt_options_parse(table, yaml("{}"), NULL, &key, &arena, &o), TT_ECONFIG);
    expect_message("t.yaml:4:2: flip: the key 'p' is missing");
}

/* Text of everything a table prints. */
static char *printed(const Outer *o, bool help)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    tt_options_print(f, table, o, 2, help);
    fclose(f);
    return text;
}

static void test_print(void **state)
{
    Outer o, again;
    assert_int_equal(parse("p: 0.1\nmean: [1e-7, 100, 123456789.5, 1e22]\nnames: [a, 'yes', '1', \"x: #y\", '', '- z', "
                           "\"t\\tn\\n\\u2028\\u0085\\\"\\\\\"]\nsize: [5]\n",
                           &o),
                     TT_OK);
    char *text = printed(&o, false);
    assert_string_equal(text, "  p: 0.1\n  workers: auto\n  limit: null\n  text: null\n  mode: slow\n  size: [5]\n"
                              "  mean: [1.0e-07, 100.0, 123456789.5, 1.0e+22]\n"
                              "  names: [a, \"yes\", \"1\", \"x: #y\", \"\", \"- z\", "
                              "\"t\\tn\\n\\u2028\\u0085\\\"\\\\\"]\n  any: null\n  inner:\n    on: true\n"
                              "    rate: 1.0e-05\n");
    assert_int_equal(parse(text, &again), TT_OK);
    char *second = printed(&again, false);
    assert_string_equal(text, second);
    free(second);
    free(text);
    text = printed(&o, true);
    assert_non_null(strstr(text, "  p: 0.1  # chance\n"));
    assert_non_null(strstr(text, "    rate: 1.0e-05  # how much (default 1e-5)\n"));
    assert_null(strstr(text, "secret"));
    free(text);
}

/* Values and texts from Python's repr. */
static void test_float_text(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {100, "100.0"},
                 {1e-5, "1e-05"},
                 {1e16, "1e+16"},
                 {1234567890123456, "1234567890123456.0"},
                 {0.0001, "0.0001"},
                 {0.00012345, "0.00012345"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0, "0.0"},
                 {-0.0, "-0.0"},
                 {5e-324, "5e-324"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {123456.789, "123456.789"},
                 {-2.5e-10, "-2.5e-10"},
                 {9007199254740993.0, "9007199254740992.0"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {3, "3.0"},
                 {1e15, "1000000000000000.0"}};
    char buf[TT_FLOAT_TEXT];
    for (int i = 0; i < TT_COUNT(cases); i++) assert_string_equal(tt_float_text(cases[i].v, buf), cases[i].text);
    assert_string_equal(tt_float_text(NAN, buf), ".nan");
    assert_string_equal(tt_float_text(-INFINITY, buf), "-.inf");
}

static void test_markdown(void **state)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    tt_options_markdown(f, table, "x.");
    fclose(f);
    assert_non_null(strstr(text, "| `x.p` | number | required | above 0 to 1, excluded | chance |\n"));
    assert_non_null(strstr(text, "| `x.workers` | integer or auto | `auto` | 1 to 8 |  |\n"));
    assert_non_null(strstr(text, "| `x.mode` | choice | `slow` | fast, slow, off |  |\n"));
    assert_non_null(strstr(text, "| `x.inner.rate` | number | `1e-5` |  | how much |\n"));
    assert_null(strstr(text, "secret"));
    free(text);
}

static int free_arena(void **state)
{
    tt_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),  cmocka_unit_test(test_ints),       cmocka_unit_test(test_words),
        cmocka_unit_test(test_nearest), cmocka_unit_test(test_defaults),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_print),   cmocka_unit_test(test_float_text), cmocka_unit_test(test_markdown),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
