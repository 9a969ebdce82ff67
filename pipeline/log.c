/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/log.c - stderr, the bar, train.log. One lock orders all three. */
#include "pipeline/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tensor/arena.h"
#include "tensor/clock.h"

enum { LINE = 4096 };
static const double redraw_after = 0.1; /* seconds */

struct TtConsole {
    pthread_mutex_t lock;
    FILE *log;
    char *log_path;
    bool bar, shown;
    double drawn; /* when, in seconds */
    char text[512];
};

/* ---- text */

/* C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey too. */
static bool is_control(const unsigned char *p)
{
    return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
}

void tt_console_escape(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        char one[8];
        if (*p == '\n' || *p == '\t' || *p == '\r')
            snprintf(one, sizeof one, "\\%c", *p == '\n' ? 'n' : *p == '\t' ? 't' : 'r');
        else if (is_control(p))
            snprintf(one, sizeof one, "\\x%02x", *p == 0xc2 ? *++p : *p);
        else {
            int bytes = 1;
            one[0] = (char)*p;
            while ((p[1] & 0xc0) == 0x80 && bytes < 4) one[bytes++] = (char)*++p;
            one[bytes] = '\0';
        }
        size_t length = strlen(one);
        if (n + length >= size) break;
        memcpy(out + n, one, length);
        n += length;
    }
    if (size > 0) out[n] = '\0';
}

/* Bytes of the first COLUMNS characters. */
static int prefix(const char *text, int columns)
{
    int n = 0;
    while (text[n]) {
        int next = n + 1;
        while (((unsigned char)text[next] & 0xc0) == 0x80) next++;
        if (columns-- == 0) break;
        n = next;
    }
    return n;
}

/* ---- the three places */

static void write_log(TtConsole *c, const char *line)
{
    if (!c->log) return;
    char stamp[32];
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &tm);
    fprintf(c->log, "%s.%03ld %s\n", stamp, t.tv_nsec / 1000000, line);
    if (fflush(c->log) == 0) return;
    /* The run is worth more than its log. */
    fprintf(stderr, "warning: %s: cannot be written, no more lines go there: %s\n", c->log_path, strerror(errno));
    fclose(c->log);
    c->log = NULL;
}

static void hide(TtConsole *c)
{
    if (c->shown) fputs("\r\033[K", stderr);
    c->shown = false;
}

static void draw(TtConsole *c)
{
    fprintf(stderr, "\r\033[K%.*s", prefix(c->text, tt_console_width(c)), c->text);
    fflush(stderr);
    c->shown = true;
}

/* PREFIX, TEXT escaped. */
static void print_line(TtConsole *c, const char *before, const char *text, bool log_only)
{
    char line[LINE];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", before);
    tt_console_escape(text, line + n, sizeof line - n);
    pthread_mutex_lock(&c->lock);
    if (!log_only) {
        bool again = c->shown;
        hide(c);
        fprintf(stderr, "%s\n", line);
        if (again) draw(c);
    }
    write_log(c, line);
    pthread_mutex_unlock(&c->lock);
}

static void on_warning(void *user, const char *text)
{
    print_line(user, "warning: ", text, false);
}

/* ---- for callers */

TtStatus tt_console_open(const char *log_path, int bar, TtConsole **out)
{
    const char *term = getenv("TERM");
    bool able = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    TtConsole *c = tt_realloc(NULL, sizeof *c);
    *c = (TtConsole){.bar = bar < 0 ? able : bar > 0, .drawn = -1};
    *out = NULL;
    if (log_path && !(c->log = fopen(log_path, "ae"))) {
        free(c);
        return TT_FAIL(TT_EINTERNAL, "%s: cannot be opened for appending: %s", log_path, strerror(errno));
    }
    if (log_path) c->log_path = strcpy(tt_realloc(NULL, strlen(log_path) + 1), log_path);
    pthread_mutex_init(&c->lock, NULL);
    tt_warn_sink(on_warning, c);
    *out = c;
    return TT_OK;
}

void tt_console_close(TtConsole *c)
{
    if (!c) return;
    tt_warn_sink(NULL, NULL);
    tt_console_clear(c);
    if (c->log) fclose(c->log);
    free(c->log_path);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

bool tt_console_has_bar(const TtConsole *c)
{
    return c->bar;
}

int tt_console_width(const TtConsole *c)
{
    struct winsize w;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0;
    /* The last column stays free: a character there makes some terminals wrap. */
    return known ? w.ws_col - 1 : 119;
}

void tt_console_print(TtConsole *c, const char *fmt, ...)
{
    char text[LINE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_line(c, "", text, false);
}

void tt_console_log(TtConsole *c, const char *fmt, ...)
{
    char text[LINE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_line(c, "", text, true);
}

void tt_console_bar(TtConsole *c, const char *text)
{
    if (!c->bar) return;
    pthread_mutex_lock(&c->lock);
    tt_console_escape(text, c->text, sizeof c->text);
    double t = tt_now();
    if (c->drawn < 0 || t - c->drawn >= redraw_after) {
        draw(c);
        c->drawn = t;
    }
    pthread_mutex_unlock(&c->lock);
}

void tt_console_clear(TtConsole *c)
{
    pthread_mutex_lock(&c->lock);
    hide(c);
    c->drawn = -1;
    fflush(stderr);
    pthread_mutex_unlock(&c->lock);
}

/* ---- memory */

double tt_memory_resident(void)
{
    long pages = 0, total;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return tt_memory_peak();
    if (fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

double tt_memory_peak(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (double)u.ru_maxrss * 1024 : 0;
}
