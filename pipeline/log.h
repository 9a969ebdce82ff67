/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/log.h - the console of a run: what goes to stderr, the bar at its foot, and train.log, which gets every line
 * with a time stamp (the bar leaves no trace there).
 *
 * Lines may come from any thread; they never tear each other or the bar. Control characters, which a file's name can
 * hold, are shown as escapes: no input can move the cursor of somebody's terminal or forge a line of the log. */
#ifndef TT_PIPELINE_LOG_H
#define TT_PIPELINE_LOG_H

#include "tensor/status.h"

typedef struct TtConsole TtConsole;

/* LOG_PATH (may be NULL) is opened for appending. BAR: 1 on, 0 off, -1 when stderr is a terminal that can erase a line.
 * Warnings go here from now on (tt_warn), as lines that begin with "warning: ". */
TtStatus tt_console_open(const char *log_path, int bar, TtConsole **out) TT_NODISCARD;
void tt_console_close(TtConsole *c); /* NULL is fine */
bool tt_console_has_bar(const TtConsole *c);
/* Columns that the bar may use. */
int tt_console_width(const TtConsole *c);
/* A line that stays. */
void tt_console_print(TtConsole *c, const char *fmt, ...) TT_PRINTF(2, 3);
/* A line for train.log only (the command line, an error that the process prints itself as it ends). */
void tt_console_log(TtConsole *c, const char *fmt, ...) TT_PRINTF(2, 3);
/* The bar's new text, drawn at most ten times a second; nothing happens without a bar. */
void tt_console_bar(TtConsole *c, const char *text);
void tt_console_clear(TtConsole *c); /* take the bar away */

/* TEXT in OUT of SIZE bytes, control characters as \n, \t or \x1b; cut where SIZE ends, between characters. */
void tt_console_escape(const char *text, char *out, size_t size);

double tt_memory_resident(void); /* bytes of physical memory in use now */
double tt_memory_peak(void);     /* the most so far */

#endif
