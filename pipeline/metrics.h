/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/metrics.h - metrics.jsonl (one event a line) and summary.csv (one row a validation).
 *
 * Lines are appended whole and flushed. At a resume both files are cut to the checkpoint's step, so that nothing stands
 * in them twice; a last line torn by a kill goes too. */
#ifndef TT_PIPELINE_METRICS_H
#define TT_PIPELINE_METRICS_H

#include <jansson.h>

#include "tensor/status.h"

typedef struct TtMetrics TtMetrics;

/* Open RUN_DIR's files. STEP is where the run goes on: later lines are removed (atomically); 0 starts anew. */
TtStatus tt_metrics_open(const char *run_dir, bool jsonl, bool csv, int64_t step, TtMetrics **out) TT_NODISCARD;
void tt_metrics_close(TtMetrics *m); /* NULL is fine */
/* Append an object to metrics.jsonl. */
TtStatus tt_metrics_event(TtMetrics *m, const json_t *event) TT_NODISCARD;
/* Append a row to summary.csv: the numbers of ROW, whose keys are the header of a new file. In a file that exists the
 * columns keep their order; a key that it does not have is left out. */
TtStatus tt_metrics_row(TtMetrics *m, const json_t *row) TT_NODISCARD;

#endif
