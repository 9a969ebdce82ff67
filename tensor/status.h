/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/status.h - how a function says that it failed.
 *
 * A function that can fail returns TtStatus. The message is written once, where the fault is known,
 * and kept for the calling thread; callers only propagate the code (TT_TRY). The codes are the
 * process's exit codes, so that what a scheduler sees is decided where the fault is understood.
 * A message is one line: what, where (file, line, key, byte offset), and what to do. */
#ifndef TT_TENSOR_STATUS_H
#define TT_TENSOR_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TtStatus {
    TT_OK = 0,
    TT_EINTERNAL = 1,    /* our own fault, or the machine's: out of memory, disk full */
    TT_ECONFIG = 2,      /* usage or config */
    TT_EDATA = 3,        /* an input file */
    TT_ECHECKPOINT = 4,  /* a checkpoint or weights file is missing or corrupt */
    TT_EDIVERGED = 5,    /* not finite */
    TT_EDISTRIBUTED = 6, /* communication between ranks */
    TT_ESTOPPED = 75,    /* stopped on request, checkpoint valid: run again to go on */
    TT_EINTERRUPTED = 130
} TtStatus;

#if defined(__GNUC__)
#define TT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TT_NODISCARD __attribute__((warn_unused_result))
#define TT_NORETURN __attribute__((noreturn))
#else
#define TT_PRINTF(f, a)
#define TT_NODISCARD
#define TT_NORETURN
#endif

/* Record an error for this thread and return its code; a second failure replaces the first.
 * FILE and LINE are the place in our source, shown with TT_DEBUG=1 in the environment. */
TtStatus tt_fail_at(TtStatus code, const char *file, int line, const char *fmt, ...) TT_PRINTF(4, 5);
TtStatus tt_fail_va(TtStatus code, const char *file, int line, const char *fmt, va_list ap);
#define TT_FAIL(code, ...) tt_fail_at((code), __FILE__, __LINE__, __VA_ARGS__)

#define TT_TRY(expr)                                        \
    do {                                                    \
        TtStatus tt_try_status_ = (expr);                   \
        if (tt_try_status_ != TT_OK) return tt_try_status_; \
    } while (0)

/* The calling thread's last message and code ("" and TT_OK when none). */
const char *tt_error_message(void);
TtStatus tt_error_code(void);
const char *tt_error_origin(void); /* "file.c:12" */
void tt_error_clear(void);
/* Set this thread's error to one that another thread met (origin may be NULL). */
TtStatus tt_error_set(TtStatus code, const char *message, const char *origin);

/* Warnings go to stderr as "warning: ..." unless a sink is set (the trainer's log).
 * Thread-safe. The text is one line without a newline. */
void tt_warn(const char *fmt, ...) TT_PRINTF(1, 2);
typedef void (*TtWarnSink)(void *user, const char *text);
void tt_warn_sink(TtWarnSink sink, void *user);

/* For our own mistakes; stays on in release builds. Input never reaches an assert. */
void tt_assert_fail(const char *expr, const char *file, int line) TT_NORETURN;
#define TT_ASSERT(expr) ((expr) ? (void)0 : tt_assert_fail(#expr, __FILE__, __LINE__))

#define TT_COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define TT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TT_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
