/* SPDX-License-Identifier: Apache-2.0 */
/* data/bad_samples.h - samples that could not be read and were left out: bad_samples.tsv.
 *
 * Two things are told apart: that a sample failed in this process (so that it is not tried again), and that it was
 * counted. Counting happens when a batch is delivered and in its order, so the file, the count and the moment at which
 * a bound is passed do not depend on the workers. A line is PATH, BYTE (empty when unknown), MESSAGE, between tabs. */
#ifndef TT_DATA_BAD_SAMPLES_H
#define TT_DATA_BAD_SAMPLES_H

#include "data/dataset.h"

typedef struct TtBadSamples TtBadSamples;

/* PATH may be NULL: no file. Samples of D that the file already lists count as counted. */
TtStatus tt_bad_samples_open(const TtDataset *d, const char *path, TtBadSamples **out) TT_NODISCARD;
void tt_bad_samples_close(TtBadSamples *b); /* NULL is fine */

/* Any thread. */
bool tt_bad_samples_failed(TtBadSamples *b, int64_t index);
void tt_bad_samples_add(TtBadSamples *b, int64_t index, const char *message);
int64_t tt_bad_samples_count(TtBadSamples *b);

/* The delivering thread: count a sample that was added; when it is new, write its line and warn (the first few, then
 * ever more rarely). Returns its message, which lives as long as B. */
const char *tt_bad_samples_record(TtBadSamples *b, int64_t index);

#endif
