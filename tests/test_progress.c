/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_progress.c - progress lines as text; what a console puts on a terminal, a pipe and train.log. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "pipeline/progress.h"
#include "tests/support/temp.h"

static TtProgressLine example(void)
{
    return (TtProgressLine){.epoch = 3,
                            .step = 100,
                            .steps = 1251,
                            .loss = 5.91,
                            .mean_loss = 6.02,
                            .lr = 0.1,
                            .samples = "img",
                            .samples_per_second = 823.4,
                            .step_seconds = 0.3111,
                            .data_seconds = 0.0042,
                            .grad_norm = 1.2,
                            .memory = 9.1e9,
                            .eta = 3731};
}

static void test_line(void **state)
{
    char buf[TT_PROGRESS_TEXT];
    TtProgressLine p = example();
    assert_string_equal(tt_progress_format(&p, buf),
                        "train 3 [100/1251 7%] loss 5.910 (6.020) lr 1.0e-01 823 img/s step 0.311s data 0.004s "
                        "gnorm 1.2 mem 9.1G eta 1:02:11");
    p = tt_progress_line();
    assert_string_equal(tt_progress_format(&p, buf), "train 0 [0/0 0%] loss nan");
    p.phase = "val", p.epoch = 2, p.step = p.steps = 40, p.mean_loss = 0.41234, p.extra = "acc1 0.912";
    assert_string_equal(tt_progress_format(&p, buf), "val 2 [40/40 100%] loss (0.4123) acc1 0.912");
    p.loss = NAN, p.mean_loss = INFINITY, p.lr = 0, p.grad_norm = INFINITY, p.eta = INFINITY;
    assert_string_equal(tt_progress_format(&p, buf), "val 2 [40/40 100%] loss (inf) acc1 0.912 lr 0.0e+00 gnorm inf");
}

static void test_extremes(void **state)
{
    char buf[TT_PROGRESS_TEXT], extra[4 * TT_PROGRESS_TEXT];
    memset(extra, 'x', sizeof extra - 1);
    extra[sizeof extra - 1] = '\0';
    TtProgressLine p = {.phase = extra,
                        .epoch = INT64_MAX,
                        .step = INT64_MAX / 100,
                        .steps = INT64_MAX / 100,
                        .loss = -1e308,
                        .mean_loss = 1e308,
                        .extra = extra,
                        .lr = 1e-300,
                        .samples = "img",
                        .samples_per_second = 1e300,
                        .step_seconds = 1e300,
                        .data_seconds = 1e300,
                        .grad_norm = 1e300,
                        .memory = 1e300,
                        .eta = 1e300};
    for (int width = 0; width <= TT_PROGRESS_TEXT; width++)
        assert_true(strlen(tt_progress_fit(&p, width, buf)) < TT_PROGRESS_TEXT);
}

static void test_fit(void **state)
{
    char buf[TT_PROGRESS_TEXT], whole[TT_PROGRESS_TEXT];
    TtProgressLine p = example();
    int n = (int)strlen(tt_progress_format(&p, whole));
    assert_string_equal(tt_progress_fit(&p, n, buf), whole);
    assert_string_equal(tt_progress_fit(&p, n - 1, buf),
                        "train 3 [100/1251 7%] loss 5.910 (6.020) lr 1.0e-01 823 img/s step 0.311s data 0.004s "
                        "gnorm 1.2 eta 1:02:11");
    assert_string_equal(tt_progress_fit(&p, 80, buf),
                        "train 3 [100/1251 7%] loss 5.910 (6.020) lr 1.0e-01 823 img/s eta 1:02:11");
    for (int width = 0; width < n; width++)
        assert_true((int)strlen(tt_progress_fit(&p, width, buf)) <= TT_MAX(width, 21));
    assert_string_equal(tt_progress_fit(&p, 0, buf), "train 3 [100/1251 7%]");
}

static void test_numbers(void **state)
{
    const struct {
        double v;
        const char *text;
    } numbers[] = {{5.91, "5.910"},     {0.4112, "0.4112"},   {12.3, "12.30"},  {123.4, "123.4"},  {1234, "1234"},
                   {99999, "1.00e+05"}, {1.2e-5, "1.20e-05"}, {0, "0.00000"},   {-0.5, "-0.5000"}, {NAN, "nan"},
                   {INFINITY, "inf"},   {-INFINITY, "-inf"},  {0.05, "0.05000"}},
      durations[] = {{0, "0s"},         {59.4, "59s"},       {59.6, "0:01:00"},
                     {3731, "1:02:11"}, {86400, "1d 00:00"}, {273900, "3d 04:05"},
                     {-1, "?"},         {NAN, "?"},          {INFINITY, "?"}},
      sizes[] = {{0, "0B"}, {999, "999B"}, {812e6, "812M"}, {9.1e9, "9.1G"}, {999.6e6, "1.0G"}, {2e15, "2.0P"}};
    char buf[32];
    for (int i = 0; i < TT_COUNT(numbers); i++)
        assert_string_equal(tt_number_format(numbers[i].v, buf), numbers[i].text);
    for (int i = 0; i < TT_COUNT(durations); i++)
        assert_string_equal(tt_duration_format(durations[i].v, buf), durations[i].text);
    for (int i = 0; i < TT_COUNT(sizes); i++) assert_string_equal(tt_bytes_format(sizes[i].v, buf), sizes[i].text);
}

static void test_escape(void **state)
{
    char buf[64];
    tt_console_escape("a\nb\tc\x1b[2Jd\x7f\xc2\x9b"
                      "e\xc3\xa9\xe2\x82\xac",
                      buf, sizeof buf);
    assert_string_equal(buf, "a\\nb\\tc\\x1b[2Jd\\x7f\\x9be\xc3\xa9\xe2\x82\xac");
    tt_console_escape("\xe2\x82\xac\xe2\x82\xac", buf, 6); /* two euro signs need 7 bytes */
    assert_string_equal(buf, "\xe2\x82\xac");
    tt_console_escape("\xc2", buf, sizeof buf); /* torn UTF-8 */
    assert_string_equal(buf, "\xc2");
    tt_console_escape("abc", buf, 1);
    assert_string_equal(buf, "");
}

/* ---- consoles */

/* Put FD in stderr's place while a console works; the old one comes back. */
static int stderr_to(int fd)
{
    fflush(stderr);
    int old = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    return old;
}

static void stderr_back(int old)
{
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
}

static void read_all(int fd, char *buf, size_t size)
{
    size_t n = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t r; n < size - 1 && (r = read(fd, buf + n, size - 1 - n)) > 0;) n += (size_t)r;
    buf[n] = '\0';
}

static void *warn_thread(void *arg)
{
    for (int i = 0; i < 50; i++) tt_warn("thread %d: %s", *(int *)arg, "bad file \x1b[31m.jpg");
    return NULL;
}

static void test_pipe_and_log(void **state)
{
    char *path = tt_fs_join(*state, "train.log"), got[65536], *log;
    size_t size;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int old = stderr_to(pipes[1]);
    TtConsole *c;
    TtStatus s = tt_console_open(path, -1, &c);
    bool bar = tt_console_has_bar(c);
    tt_console_bar(c, "never seen");
    tt_console_print(c, "first %d", 1);
    tt_console_log(c, "log only");
    pthread_t t[2];
    int id[2] = {0, 1};
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, warn_thread, &id[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    tt_console_close(c);
    stderr_back(old);
    close(pipes[1]);
    read_all(pipes[0], got, sizeof got);
    close(pipes[0]);
    assert_int_equal(s, TT_OK);
    assert_false(bar);
    assert_true(strncmp(got, "first 1\nwarning: thread ", 24) == 0);
    assert_null(strchr(got, '\x1b'));
    assert_null(strchr(got, '\r'));
    assert_null(strstr(got, "log only"));
    /* train.log: the same lines and the log-only one, each with a stamp; appended to, never truncated */
    assert_int_equal(tt_console_open(path, 0, &c), TT_OK);
    tt_console_close(c);
    assert_int_equal(tt_fs_read(path, 1 << 20, TT_EDATA, &log, &size), TT_OK);
    int lines = 0, y, mo, d, h, mi, se, ms, at;
    for (char *p = log; *p; p = strchr(p, '\n') + 1, lines++) {
        at = 0;
        assert_int_equal(sscanf(p, "%d-%d-%d %d:%d:%d.%d %n", &y, &mo, &d, &h, &mi, &se, &ms, &at), 7);
        assert_int_equal(at, 24);
        if (lines == 0) assert_true(strncmp(p + at, "first 1\n", 8) == 0);
        if (lines == 1) assert_true(strncmp(p + at, "log only\n", 9) == 0);
        if (lines > 1) assert_true(strncmp(p + at + 17, ": bad file \\x1b[31m.jpg\n", 24) == 0);
    }
    assert_int_equal(lines, 102);
    free(log);
    free(path);
}

static void test_terminal(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    struct winsize w = {.ws_row = 24, .ws_col = 11};
    ioctl(slave, TIOCSWINSZ, &w);
    setenv("TERM", "xterm", 1);
    char got[4096];
    TtConsole *c;
    int old = stderr_to(slave);
    TtStatus s = tt_console_open(NULL, -1, &c);
    bool bar = tt_console_has_bar(c);
    int width = tt_console_width(c);
    tt_console_bar(c, "0123456789abc"); /* cut to 10 columns */
    tt_console_bar(c, "too soon");      /* not drawn on its own */
    tt_warn("careful");                 /* shows the newest text again below */
    tt_console_clear(c);
    tt_console_print(c, "end");
    tt_console_close(c);
    stderr_back(old);
    read_all(master, got, sizeof got);
    close(slave);
    close(master);
    assert_int_equal(s, TT_OK);
    assert_true(bar);
    assert_int_equal(width, 10);
    assert_string_equal(got, "\r\033[K0123456789\r\033[Kwarning: careful\r\n\r\033[Ktoo soon\r\033[Kend\r\n");
    /* a terminal that cannot erase a line gets no bar */
    setenv("TERM", "dumb", 1);
    assert_int_equal(tt_console_open(NULL, -1, &c), TT_OK);
    assert_false(tt_console_has_bar(c));
    tt_console_close(c);
}

static void test_unwritable(void **state)
{
    char *path = tt_fs_join(*state, "no/train.log");
    TtConsole *c = (TtConsole *)1;
    assert_int_equal(tt_console_open(path, 0, &c), TT_EINTERNAL);
    assert_null(c);
    assert_non_null(strstr(tt_error_message(), path));
    free(path);
    assert_int_equal(tt_console_open("/dev/full", 0, &c), TT_OK);
    tt_console_log(c, "one"); /* says once that the log is lost, and goes on */
    tt_console_log(c, "two");
    tt_console_close(c);
    tt_console_close(NULL);
}

static void test_memory(void **state)
{
    double before = tt_memory_resident();
    size_t n = 64 << 20;
    volatile char *p = malloc(n);
    for (size_t i = 0; i < n; i += 1024) p[i] = 1;
    assert_true(tt_memory_resident() >= before + 60e6);
    assert_true(tt_memory_peak() >= before + 60e6);
    free((char *)p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),     cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_fit),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_escape),   cmocka_unit_test_setup_teardown(test_pipe_and_log, temp_setup, temp_teardown),
        cmocka_unit_test(test_terminal), cmocka_unit_test_setup_teardown(test_unwritable, temp_setup, temp_teardown),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
