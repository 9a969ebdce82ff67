/* SPDX-License-Identifier: Apache-2.0 */
/* audio/loops.h - the inner loops of the sound transforms, compiled once per instruction set.
 *
 * loops.c is built with -DTT_ISA=c, avx2 and avx512; tt_audio_loops() gives the table for this machine (TT_CPU
 * overrides, as for the kernels). Every table gives the same bits: nothing is contracted, and sums run in an order that
 * does not depend on the vectors' length. */
#ifndef TT_AUDIO_LOOPS_H
#define TT_AUDIO_LOOPS_H

#include "tensor/status.h"

enum { TT_BAND_LANES = 16 };

/* A matrix (n_in, n_out) that is zero outside a band, as filter banks are: outputs are taken in groups of
 * TT_BAND_LANES, and group g needs inputs start[g] .. start[g] + count[g] - 1 only. */
typedef struct TtBands {
    int n_in, n_out, groups;
    int32_t *start, *count;
    size_t *at; /* where the group's weights begin in w, in floats */
    float *w;   /* (count, TT_BAND_LANES) a group, zeros behind the last output */
} TtBands;

typedef struct TtAudioLoops {
    /* Of n complex values: y = scale * |z|^2, y = scale * |z|. */
    void (*power)(const float *z, size_t n, float scale, float *y);
    void (*magnitude)(const float *z, size_t n, float scale, float *y);
    /* Rows of y = rows of x times the matrix; strides in floats. */
    void (*bands)(const TtBands *b, const float *x, size_t x_stride, size_t rows, float *y, size_t y_stride);
    /* y[i] = sum over k < taps of x[start[i] + k] * w[i * taps + k]; taps is a multiple of 16. */
    void (*dots)(const float *x, const int32_t *start, const float *w, size_t taps, size_t n, float *y);
    /* In place: log(x + eps); multiplier * log10(max(x, least)); (x - mean) / std; x * scale. */
    void (*log)(float *x, size_t n, float eps);
    void (*decibel)(float *x, size_t n, float multiplier, float least);
    void (*normalize)(float *x, size_t n, float mean, float std);
    void (*scale)(float *x, size_t n, float scale);
    void (*clamp)(float *x, size_t n, float lo, float hi);                    /* NaN stays */
    float (*max)(const float *x, size_t n);                                   /* -inf of nothing; NaN is passed over */
    void (*multiply_add)(const float *x, const float *w, size_t n, float *y); /* y += x * w */
} TtAudioLoops;

const TtAudioLoops *tt_audio_loops(void);
/* The table of one instruction set by name, or NULL when this machine or build lacks it; for tests. */
const TtAudioLoops *tt_audio_loops_of(const char *isa);

#endif
