/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/metrics.h - metrics.jsonl (one event a line), summary.csv (one row a validation), and the curves of both.
 *
 * Lines are appended whole. At a resume both files are cut to the checkpoint's step, in one step each, so that nothing
 * stands in them twice; a last line torn by a kill goes too. Numbers have nine significant digits, all that a float32
 * needs; one that is not finite is null in metrics.jsonl and an empty cell in summary.csv. */
#ifndef TT_PIPELINE_METRICS_H
#define TT_PIPELINE_METRICS_H

#include <jansson.h>

#include "tensor/status.h"

typedef struct TtMetrics TtMetrics;

/* Open RUN_DIR's files. STEP is where the run goes on: later lines are removed; 0 starts anew. A file that is switched
 * off is cut but not written to. */
TtStatus tt_metrics_open(const char *run_dir, bool jsonl, bool csv, int64_t step, TtMetrics **out) TT_NODISCARD;
void tt_metrics_close(TtMetrics *m); /* NULL is fine */
/* Append an object to metrics.jsonl. It holds "event" and "step"; its reals (tt_json_real) become points of curves. */
TtStatus tt_metrics_event(TtMetrics *m, const json_t *event) TT_NODISCARD;
/* Append a row to summary.csv: the numbers and nulls of ROW, "step" first. A key that the file does not have yet becomes
 * a column at the right, empty in the rows before. Both files are flushed to the disk. */
TtStatus tt_metrics_row(TtMetrics *m, const json_t *row) TT_NODISCARD;

/* What was logged under a key, over all sessions; a null is NaN. Long curves are thinned to means of neighbours. */
typedef struct TtCurve {
    char *key;
    int64_t n;
    double *step, *value;
    /* how it is thinned */
    int64_t stride, pending;
    double sum;
} TtCurve;
enum { TT_CURVE_POINTS = 8192 };
/* NULL when nothing was logged under KEY. Valid until the next event. */
const TtCurve *tt_metrics_curve(const TtMetrics *m, const char *key);

#endif
