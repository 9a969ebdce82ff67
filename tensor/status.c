/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/status.c - per-thread error messages, warnings and assertions. */
#include "tensor/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
    TtStatus code;
    char message[2048];
    char origin[128];
} last;

static struct {
    pthread_mutex_t lock;
    TtWarnSink sink;
    void *user;
} warn = {.lock = PTHREAD_MUTEX_INITIALIZER};

TtStatus tt_fail_va(TtStatus code, const char *file, int line, const char *fmt, va_list ap)
{
    /* The arguments may point into the message itself ("%s: in batch 3"). */
    char text[sizeof last.message];
    vsnprintf(text, sizeof text, fmt, ap);
    memcpy(last.message, text, sizeof text);
    snprintf(last.origin, sizeof last.origin, "%s:%d", file, line);
    last.code = code;
    return code;
}

TtStatus tt_fail_at(TtStatus code, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tt_fail_va(code, file, line, fmt, ap);
    va_end(ap);
    return code;
}

const char *tt_error_message(void)
{
    return last.message;
}

TtStatus tt_error_code(void)
{
    return last.code;
}

const char *tt_error_origin(void)
{
    return last.origin;
}

void tt_error_clear(void)
{
    last.code = TT_OK;
    last.message[0] = last.origin[0] = '\0';
}

TtStatus tt_error_set(TtStatus code, const char *message, const char *origin)
{
    last.code = code;
    if (message != last.message) snprintf(last.message, sizeof last.message, "%s", message);
    snprintf(last.origin, sizeof last.origin, "%s", origin ? origin : "");
    return code;
}

void tt_warn(const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&warn.lock);
    if (warn.sink)
        warn.sink(warn.user, text);
    else
        fprintf(stderr, "warning: %s\n", text);
    pthread_mutex_unlock(&warn.lock);
}

void tt_warn_sink(TtWarnSink sink, void *user)
{
    pthread_mutex_lock(&warn.lock);
    warn.sink = sink;
    warn.user = user;
    pthread_mutex_unlock(&warn.lock);
}

void tt_assert_fail(const char *expr, const char *file, int line)
{
    fprintf(stderr, "ttrain: internal error at %s:%d: %s does not hold; please report this\n", file, line, expr);
    abort();
}
