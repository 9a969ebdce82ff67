/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_runinfo.c - env.json and status.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "pipeline/json.h"
#include "pipeline/runinfo.h"
#include "tests/support/temp.h"

static json_t *load(const char *dir, const char *name)
{
    char *path = tt_fs_join(dir, name);
    json_t *o;
    assert_int_equal(tt_json_read(path, 1 << 20, TT_EDATA, &o), TT_OK);
    free(path);
    return o;
}

static const char *string_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s) fail_msg("no string \"%s\"", key);
    return s;
}

static int64_t number_of(const json_t *o, const char *key)
{
    assert_true(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

/* ISO 8601 in UTC, and now. */
static void expect_now(const char *s)
{
    struct tm tm = {0};
    const char *end = strptime(s, "%Y-%m-%dT%H:%M:%SZ", &tm);
    assert_true(end && *end == '\0');
    time_t t = timegm(&tm), now = time(NULL);
    assert_true(t <= now && t >= now - 60);
}

static void test_env(void **state)
{
    char *argv[] = {"ttrain", "a config.yaml", "name=\xff\xfe\"\n", "lr=\xc3\xa9"};
    setenv("SLURM_JOB_ID", "1234", 1);
    setenv("OMP_NUM_THREADS", "bad \xff", 1);
    setenv("SECRET_TOKEN", "do-not-keep-me", 1);
    assert_int_equal(tt_runinfo_write(*state, 4, argv, 3), TT_OK);
    json_t *o = load(*state, "env.json");
    assert_string_equal(string_of(o, "ttrain"), TT_VERSION);
    expect_now(string_of(o, "started"));
    assert_int_equal(number_of(o, "pid"), getpid());
    assert_int_equal(number_of(o, "threads"), 3);
    assert_true(number_of(o, "cores") >= 1 && number_of(o, "memory_bytes") > 1 << 20);
    string_of(o, "host"), string_of(o, "kernel"), string_of(o, "isa"), string_of(o, "directory"),
        string_of(o, "compiler");
    const json_t *command = json_object_get(o, "command");
    assert_int_equal(json_array_size(command), 4);
    assert_string_equal(json_string_value(json_array_get(command, 1)), "a config.yaml");
    assert_string_equal(json_string_value(json_array_get(command, 2)), "name=??\"\n");
    assert_string_equal(json_string_value(json_array_get(command, 3)), "lr=\xc3\xa9");
    const json_t *variables = json_object_get(o, "variables");
    assert_string_equal(string_of(variables, "SLURM_JOB_ID"), "1234");
    assert_string_equal(string_of(variables, "OMP_NUM_THREADS"), "bad ?");
    const char *key;
    json_t *v;
    json_t *libraries = json_object_get(o, "libraries");
    assert_true(json_object_size(libraries) >= 10);
    json_object_foreach(libraries, key, v)
    {
        const char *version = json_string_value(v);
        assert_true(version && strpbrk(version, "0123456789") && strchr(version, '.'));
    }
    char *text = tt_json_text(o, 0);
    assert_null(strstr(text, "do-not-keep-me"));
    free(text);
    json_decref(o);
}

static void test_status(void **state)
{
    json_t *more = json_pack("{s:i,s:f}", "step", 7, "val/acc1", 0.5);
    assert_int_equal(tt_runinfo_status(*state, "running", more), TT_OK);
    assert_int_equal(tt_runinfo_status(*state, "done", more), TT_OK);
    json_decref(more);
    json_t *o = load(*state, "status.json");
    assert_string_equal(string_of(o, "state"), "done");
    assert_int_equal(number_of(o, "step"), 7);
    assert_int_equal(number_of(o, "pid"), getpid());
    expect_now(string_of(o, "updated"));
    assert_true(json_real_value(json_object_get(o, "val/acc1")) == 0.5);
    json_decref(o);
    assert_int_equal(temp_entries(*state), 1); /* replaced, nothing left beside it */
    assert_int_equal(tt_runinfo_status(*state, "failed", NULL), TT_OK);
    char *no = tt_fs_join(*state, "no");
    assert_int_equal(tt_runinfo_status(no, "done", NULL), TT_EINTERNAL);
    free(no);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_env, temp_setup, temp_teardown),
                                       cmocka_unit_test_setup_teardown(test_status, temp_setup, temp_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
