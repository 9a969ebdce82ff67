/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/bench.h - speed of the training step and of the loader, each alone. */
#ifndef TT_PIPELINE_BENCH_H
#define TT_PIPELINE_BENCH_H

#include "pipeline/config.h"

typedef struct TtBenchOptions {
    int64_t steps; /* in all; the first is not timed when there are more */
    bool json;
} TtBenchOptions;

/* Whole optimizer steps on random pictures of the shapes that the config's training data has. */
TtStatus tt_bench_step(const TtConfig *c, const TtBenchOptions *o) TT_NODISCARD;
/* Batches as training would get them. */
TtStatus tt_bench_data(const TtConfig *c, const TtBenchOptions *o) TT_NODISCARD;

#endif
