/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/progress.h - the text of the progress bar, and of the lines that stand for it in a log file.
 *
 *   train 3 [100/1251 8%] loss 5.910 (6.020) lr 1.0e-01 823 img/s step 0.311s data 0.004s gnorm 1.20 mem 9.1G eta 1:02:11
 *
 * On a terminal the trainer hands it to tt_console_bar, elsewhere to tt_console_print every logging.interval. */
#ifndef TT_PIPELINE_PROGRESS_H
#define TT_PIPELINE_PROGRESS_H

#include "pipeline/log.h"

/* A number that is not known is NaN, and its field is left out; only the loss says "nan" (or "inf"). */
typedef struct TtProgressLine {
    const char *phase; /* NULL: "train" */
    int64_t epoch;
    int64_t step, steps;    /* done, of how many: this epoch's steps or this validation's batches */
    double loss, mean_loss; /* of the step, and of the epoch so far */
    const char *extra;      /* such as "acc1 0.912"; may be NULL */
    const char *samples;    /* what is counted: "img" */
    double lr, samples_per_second, step_seconds, data_seconds, grad_norm;
    double memory; /* bytes resident */
    double eta;    /* seconds to the end of the run */
} TtProgressLine;

/* Nothing known yet. */
TtProgressLine tt_progress_line(void);

enum { TT_PROGRESS_TEXT = 256 };
/* The line above, without an end of line; returns BUF. */
const char *tt_progress_format(const TtProgressLine *p, char buf[TT_PROGRESS_TEXT]);
/* The same in at most WIDTH characters: the least important fields give way, memory first, the loss last. */
const char *tt_progress_fit(const TtProgressLine *p, int width, char buf[TT_PROGRESS_TEXT]);

/* Four significant digits, so that columns stand still: "5.910", "0.4112", "12.30", "1.20e-05", "nan". */
const char *tt_number_format(double v, char buf[32]);
/* "59s", "1:02:11", "3d 04:05"; "?" when not finite or negative. */
const char *tt_duration_format(double seconds, char buf[32]);
/* "812M", "9.1G": powers of 1000. */
const char *tt_bytes_format(double bytes, char buf[32]);

#endif
