/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/recurrent.h - what the two loops over time share: lengths, how threads divide a step, units in lanes.
 *
 * Threads divide the samples, which need not wait for each other. Only where there are too few samples for the threads
 * and a step is worth it, they divide the units, and wait for each other at every step. */
#ifndef TT_KERNELS_CPU_RECURRENT_H
#define TT_KERNELS_CPU_RECURRENT_H

#include <omp.h>
#include <string.h>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/panel.h"
#include "kernels/ops/recurrent.h"
#include "tensor/vmath.h"

/* The sizes of one call. */
typedef struct TtRec {
    TtCell cell;
    bool reverse;
    int64_t n, t, h, gates; /* GATES: floats of a step of a sample */
    int64_t row;            /* from one sample's state to the next in scratch */
    const int64_t *lengths; /* or NULL */
} TtRec;

static inline TtRec tt_rec(const TtKernelArgs *a, const TtTensor *y, const TtTensor *lengths)
{
    const TtRecurrentAttrs *attrs = a->attrs;
    const TtShape *s = &y->shape;
    return (TtRec){.cell = attrs->cell,
                   .reverse = attrs->reverse,
                   .n = s->dims[0],
                   .t = s->dims[1],
                   .h = s->dims[2],
                   .gates = tt_cell_gates(attrs->cell) * s->dims[2],
                   .row = tt_rec_row(s->dims[2]),
                   .lengths = lengths->data};
}

static inline int64_t tt_rec_length(const TtRec *r, int64_t n)
{
    return r->lengths ? r->lengths[n] : r->t;
}

/* Lengths come from files. */
static inline TtStatus tt_rec_check(const TtKernelArgs *a, const TtRec *r)
{
    for (int k = 0; k < a->nin; k++)
        if (a->in[k].data && a->in[k].dtype != TT_F32 && a->in[k].dtype != TT_I64)
            return TT_FAIL(TT_EINTERNAL, "%s has no kernel for %s", a->op->name, tt_dtype_name(a->in[k].dtype));
    for (int64_t n = 0; n < r->n; n++)
        if (tt_rec_length(r, n) < 0 || tt_rec_length(r, n) > r->t)
            return TT_FAIL(TT_EDATA, "recurrent: sample %lld has length %lld; it lies in 0..%lld", (long long)n,
                           (long long)tt_rec_length(r, n), (long long)r->t);
    return TT_OK;
}

/* The place in time of a sample's step number S. */
static inline int64_t tt_rec_time(const TtRec *r, int64_t n, int64_t s)
{
    return r->reverse ? tt_rec_length(r, n) - 1 - s : s;
}

/* The longest of samples FROM to TO - 1. */
static inline int64_t tt_rec_longest(const TtRec *r, int64_t from, int64_t to)
{
    int64_t most = 0;
    for (int64_t n = from; n < to; n++) most = TT_MAX(most, tt_rec_length(r, n));
    return most;
}

/* A thread's share: samples N0..N1-1, and of UNITS (in whole panels) P0..P1-1 of COUNT. */
typedef struct TtRecShare {
    int64_t n0, n1, p0, p1;
    bool wait; /* threads divide the units */
} TtRecShare;

/* Threads worth starting: below this many multiply-adds in a step of a thread, waiting costs more than it gains. */
enum { TT_REC_STEP = 1 << 17 };

static inline bool tt_rec_by_units(const TtRec *r)
{
    int threads = omp_get_max_threads();
    return r->n < 2 * threads && r->n * r->h * r->gates / threads >= TT_REC_STEP;
}

static inline TtRecShare tt_rec_share(const TtRec *r, bool by_units, int64_t panels)
{
    int64_t i = omp_get_thread_num(), all = omp_get_num_threads();
    if (by_units) return (TtRecShare){0, r->n, panels * i / all, panels * (i + 1) / all, all > 1};
    return (TtRecShare){r->n * i / all, r->n * (i + 1) / all, 0, panels, false};
}

#endif
