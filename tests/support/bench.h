/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/bench.h - a chain of transforms from YAML, with what one worker needs to run it. */
#ifndef TT_TESTS_SUPPORT_BENCH_H
#define TT_TESTS_SUPPORT_BENCH_H

#include "data/transform.h"

typedef struct Bench {
    TtArena arena;
    TtTransformChain chain;
    TtTransformScratch scratch;
    TtImage image;
} Bench;

void bench_open(Bench *b, const char *yaml); /* fails the test when the list is wrong */
void bench_close(Bench *b);
/* A picture of some noise into b->image or elsewhere. */
void bench_fill(TtImage *im, int h, int w, int c, TtDType dtype);
TtStatus bench_apply(Bench *b, uint64_t seed, uint64_t epoch, uint64_t sample);
void bench_apply_ok(Bench *b, uint64_t sample);

#endif
