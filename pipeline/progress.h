/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/progress.h - what stands on stderr while a run works: a bar on a terminal, elsewhere one line per
 * logging.interval; and train.log, which gets every line with a time stamp.
 *
 *   train 3 [100/1251 8%] loss 5.91 (6.02) lr 1.0e-01 823 img/s step 0.311s data 0.004s gnorm 1.2 mem 9.1G eta 1:02:11 */
#ifndef TT_PIPELINE_PROGRESS_H
#define TT_PIPELINE_PROGRESS_H

#include "tensor/status.h"

typedef struct TtProgressLine {
    int64_t epoch, step, steps; /* of the epoch, counted from 1 */
    double loss, mean_loss;     /* of the step, and of the epoch so far */
    double lr, images_per_second, step_seconds, data_seconds, grad_norm;
    double memory; /* bytes resident */
    double eta;    /* seconds to the end of the run; NaN: unknown */
} TtProgressLine;

enum { TT_PROGRESS_TEXT = 256 };
/* The line above, without an end of line; returns BUF. */
const char *tt_progress_format(const TtProgressLine *p, char buf[TT_PROGRESS_TEXT]);
/* "59s", "1:02:11", "3d 04:05" into BUF (at least 32 bytes). */
const char *tt_duration_format(double seconds, char buf[32]);

typedef struct TtConsole TtConsole;
/* LOG_PATH (may be NULL) is opened for appending. BAR: 1 on, 0 off, -1 when stderr is a terminal. Warnings go here
 * from now on (tt_warn). */
TtStatus tt_console_open(const char *log_path, int bar, TtConsole **out) TT_NODISCARD;
void tt_console_close(TtConsole *c); /* NULL is fine */
bool tt_console_has_bar(const TtConsole *c);
/* A line that stays. */
void tt_console_print(TtConsole *c, const char *fmt, ...) TT_PRINTF(2, 3);
/* The bar's new text (at most ten times a second; a no-op without a bar). */
void tt_console_bar(TtConsole *c, const char *text);
void tt_console_clear(TtConsole *c); /* take the bar away */

double tt_memory_resident(void); /* bytes now */
double tt_memory_peak(void);     /* bytes at most so far */

#endif
