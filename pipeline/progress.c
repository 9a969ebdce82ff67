/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/progress.c - bar, lines, log file. */
#include "pipeline/progress.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tensor/arena.h"

struct TtConsole {
    pthread_mutex_t lock;
    FILE *log;
    bool bar, shown;
    double last; /* when the bar was drawn */
    char text[TT_PROGRESS_TEXT];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *tt_duration_format(double s, char buf[32])
{
    if (!(s >= 0) || s > 1e9) return strcpy(buf, "?");
    long long t = (long long)(s + 0.5);
    if (t < 60)
        snprintf(buf, 32, "%llds", t);
    else if (t < 86400 * 2)
        snprintf(buf, 32, "%lld:%02lld:%02lld", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(buf, 32, "%lldd %02lld:%02lld", t / 86400, t / 3600 % 24, t / 60 % 60);
    return buf;
}

static const char *bytes_text(double b, char buf[32])
{
    snprintf(buf, 32, b >= 1e9 ? "%.1fG" : "%.0fM", b >= 1e9 ? b / 1e9 : b / 1e6);
    return buf;
}

const char *tt_progress_format(const TtProgressLine *p, char buf[TT_PROGRESS_TEXT])
{
    char memory[32], eta[32];
    snprintf(buf, TT_PROGRESS_TEXT,
             "train %lld [%lld/%lld %d%%] loss %.4g (%.4g) lr %.1e %.*f img/s step %.3fs data %.3fs gnorm %.2g mem %s "
             "eta %s",
             (long long)p->epoch, (long long)p->step, (long long)p->steps,
             p->steps > 0 ? (int)(100 * p->step / p->steps) : 0, p->loss, p->mean_loss, p->lr,
             p->images_per_second < 10 ? 1 : 0, p->images_per_second, p->step_seconds, p->data_seconds, p->grad_norm,
             bytes_text(p->memory, memory), tt_duration_format(p->eta, eta));
    return buf;
}

/* ---- console */

static void write_log(TtConsole *c, const char *text)
{
    if (!c->log) return;
    char stamp[32];
    time_t t = time(NULL);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &tm);
    fprintf(c->log, "%s %s\n", stamp, text);
    fflush(c->log);
}

static void hide(TtConsole *c)
{
    if (c->shown) fputs("\r\033[K", stderr);
    c->shown = false;
}

static void draw(TtConsole *c)
{
    struct winsize w;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
    fprintf(stderr, "\r\033[K%.*s", columns - 1, c->text);
    fflush(stderr);
    c->shown = true;
}

static void print_line(TtConsole *c, const char *text)
{
    pthread_mutex_lock(&c->lock);
    bool again = c->shown;
    hide(c);
    fprintf(stderr, "%s\n", text);
    write_log(c, text);
    if (again) draw(c);
    pthread_mutex_unlock(&c->lock);
}

static void on_warning(void *user, const char *text)
{
    char line[2200];
    snprintf(line, sizeof line, "warning: %s", text);
    print_line(user, line);
}

TtStatus tt_console_open(const char *log_path, int bar, TtConsole **out)
{
    TtConsole *c = tt_realloc(NULL, sizeof *c);
    *c = (TtConsole){.bar = bar < 0 ? isatty(STDERR_FILENO) : bar};
    if (log_path && !(c->log = fopen(log_path, "a"))) {
        free(c);
        return TT_FAIL(TT_EINTERNAL, "%s: cannot be written: %s", log_path, strerror(errno));
    }
    pthread_mutex_init(&c->lock, NULL);
    tt_warn_sink(on_warning, c);
    *out = c;
    return TT_OK;
}

void tt_console_close(TtConsole *c)
{
    if (!c) return;
    tt_warn_sink(NULL, NULL);
    hide(c);
    if (c->log) fclose(c->log);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

bool tt_console_has_bar(const TtConsole *c)
{
    return c->bar;
}

void tt_console_print(TtConsole *c, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_line(c, text);
}

void tt_console_bar(TtConsole *c, const char *text)
{
    if (!c->bar) return;
    pthread_mutex_lock(&c->lock);
    snprintf(c->text, sizeof c->text, "%s", text);
    double t = now();
    if (t - c->last >= 0.1) {
        draw(c);
        c->last = t;
    }
    pthread_mutex_unlock(&c->lock);
}

void tt_console_clear(TtConsole *c)
{
    pthread_mutex_lock(&c->lock);
    hide(c);
    fflush(stderr);
    pthread_mutex_unlock(&c->lock);
}

/* ---- memory */

double tt_memory_resident(void)
{
    long pages = 0, total;
    FILE *f = fopen("/proc/self/statm", "r");
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
