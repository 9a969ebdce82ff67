/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/recurrent.c - one sample, one step, one unit after the other, in double.
 *
 * The gradient recomputes the cells from y (and the LSTM's c) and the saved pre-activations' values; it shares only the
 * formulas of kernels/ops/recurrent.h with the vector kernels. */
#include "kernels/ops/recurrent.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double at2(const TtTensor *t, int64_t i, int64_t j)
{
    return t->data ? tt_ref_at(t, i * t->shape.dims[1] + j) : 0;
}

static double at3(const TtTensor *t, int64_t i, int64_t j, int64_t k)
{
    return t->data ? tt_ref_at(t, (i * t->shape.dims[1] + j) * t->shape.dims[2] + k) : 0;
}

static void put3(const TtTensor *t, int64_t i, int64_t j, int64_t k, double v)
{
    tt_ref_put(t, (i * t->shape.dims[1] + j) * t->shape.dims[2] + k, v);
}

static int64_t save_place(const TtTensor *t, int64_t n, int64_t step, int64_t what, int64_t unit)
{
    const int64_t *d = t->shape.dims;
    return ((n * d[1] + step) * d[2] + what) * d[3] + unit;
}

static TtStatus length_of(const TtTensor *lengths, int64_t n, int64_t steps, int64_t *out)
{
    *out = lengths->data ? tt_ref_int_at(lengths, n) : steps;
    if (*out < 0 || *out > steps)
        return TT_FAIL(TT_EDATA, "recurrent: length %lld of sample %lld is not in 0..%lld", (long long)*out,
                       (long long)n, (long long)steps);
    return TT_OK;
}

/* One step of one sample: h and c (of H units) are replaced. */
static void step(const TtKernelArgs *a, TtCell cell, int64_t n, int64_t t, double *h, double *c)
{
    const TtTensor *x = &a->in[TT_REC_GATES], *w = &a->in[TT_REC_W_HH], *bias = &a->in[TT_REC_B_HH];
    int64_t hidden = w->shape.dims[1];
    int gates = tt_cell_gates(cell);
    double *next = malloc(sizeof *next * (size_t)hidden);
    for (int64_t u = 0; u < hidden; u++) {
        double in[4] = {0}, rec[4] = {0};
        for (int k = 0; k < gates; k++) {
            in[k] = at3(x, n, t, k * hidden + u);
            rec[k] = bias->data ? tt_ref_at(bias, k * hidden + u) : 0;
            for (int64_t j = 0; j < hidden; j++) rec[k] += at2(w, k * hidden + u, j) * h[j];
        }
        double s[5] = {0};
        if (cell == TT_CELL_GRU) {
            s[0] = sigmoid(in[0] + rec[0]), s[1] = sigmoid(in[1] + rec[1]), s[3] = rec[2];
            s[2] = tanh(in[2] + s[0] * rec[2]);
            next[u] = (1 - s[1]) * s[2] + s[1] * h[u];
        } else if (cell == TT_CELL_LSTM) {
            s[0] = sigmoid(in[0] + rec[0]), s[1] = sigmoid(in[1] + rec[1]);
            s[2] = tanh(in[2] + rec[2]), s[3] = sigmoid(in[3] + rec[3]);
            s[4] = c[u] = s[1] * c[u] + s[0] * s[2];
            next[u] = s[3] * tanh(c[u]);
        } else {
            double v = in[0] + rec[0];
            next[u] = cell == TT_CELL_TANH ? tanh(v) : v < 0 ? 0 : v;
        }
        const TtTensor *save = &a->out[TT_REC_SAVE];
        for (int k = 0; k < tt_cell_saved(cell); k++) tt_ref_put(save, save_place(save, n, t, k, u), s[k]);
    }
    for (int64_t u = 0; u < hidden; u++) put3(&a->out[TT_REC_Y], n, t, u, h[u] = next[u]);
    free(next);
}

TtStatus tt_ref_recurrent(TtKernelArgs *a)
{
    const TtRecurrentAttrs *attrs = a->attrs;
    const TtTensor *y = &a->out[TT_REC_Y];
    int64_t steps = y->shape.dims[1], hidden = y->shape.dims[2];
    double *h = malloc(sizeof *h * 2 * (size_t)hidden), *c = h + hidden;
    TtStatus st = TT_OK;
    for (int64_t n = 0; n < y->shape.dims[0] && st == TT_OK; n++) {
        int64_t length;
        st = length_of(&a->in[TT_REC_LENGTHS], n, steps, &length);
        if (st != TT_OK) break;
        for (int64_t u = 0; u < hidden; u++) h[u] = at2(&a->in[TT_REC_H0], n, u), c[u] = at2(&a->in[TT_REC_C0], n, u);
        for (int64_t s = 0; s < length; s++) step(a, attrs->cell, n, attrs->reverse ? length - 1 - s : s, h, c);
        for (int64_t t = length; t < steps; t++)
            for (int64_t u = 0; u < hidden; u++) put3(y, n, t, u, 0);
        for (int64_t u = 0; u < hidden; u++) {
            tt_ref_put(&a->out[TT_REC_H], n * hidden + u, h[u]);
            if (attrs->cell == TT_CELL_LSTM) tt_ref_put(&a->out[TT_REC_C], n * hidden + u, c[u]);
        }
    }
    free(h);
    return st;
}

/* What flows through one step: DH, DC are the gradients behind the step, then before it. */
typedef struct Flow {
    const TtKernelArgs *a;
    TtCell cell;
    int64_t n, t, before; /* BEFORE: the time of the state before, or -1 for the initial one */
    double *dh, *dc, *through;
} Flow;

static double saved(const Flow *f, int what, int64_t t, int64_t u)
{
    const TtTensor *save = &f->a->in[TT_REC_BWD_SAVE];
    return tt_ref_at(save, save_place(save, f->n, t, what, u));
}

static double h_before(const Flow *f, int64_t u)
{
    return f->before < 0 ? at2(&f->a->in[TT_REC_BWD_H0], f->n, u) : at3(&f->a->in[TT_REC_BWD_Y], f->n, f->before, u);
}

static double c_before(const Flow *f, int64_t u)
{
    return f->before < 0 ? at2(&f->a->in[TT_REC_BWD_C0], f->n, u) : saved(f, 4, f->before, u);
}

/* Of one unit: gradients of the input's gates (DX) and of the state's (DR); f->dh and f->dc become what reaches the
 * state before not through w_hh. */
static void unit_back(const Flow *f, int64_t u, double dx[4], double dr[4])
{
    double d = f->dh[u] + at3(&f->a->in[TT_REC_BWD_DY], f->n, f->t, u);
    if (f->cell == TT_CELL_GRU) {
        double r = saved(f, 0, f->t, u), z = saved(f, 1, f->t, u), n = saved(f, 2, f->t, u), q = saved(f, 3, f->t, u);
        dx[2] = d * (1 - z) * (1 - n * n);
        dx[1] = dr[1] = d * (h_before(f, u) - n) * z * (1 - z);
        dx[0] = dr[0] = dx[2] * q * r * (1 - r);
        dr[2] = dx[2] * r;
        f->dh[u] = d * z;
    } else if (f->cell == TT_CELL_LSTM) {
        double i = saved(f, 0, f->t, u), k = saved(f, 1, f->t, u), g = saved(f, 2, f->t, u), o = saved(f, 3, f->t, u);
        double tc = tanh(saved(f, 4, f->t, u)), dc = f->dc[u] + d * o * (1 - tc * tc);
        dx[0] = dc * g * i * (1 - i), dx[1] = dc * c_before(f, u) * k * (1 - k);
        dx[2] = dc * i * (1 - g * g), dx[3] = d * tc * o * (1 - o);
        for (int j = 0; j < 4; j++) dr[j] = dx[j];
        f->dc[u] = dc * k, f->dh[u] = 0;
    } else {
        double y = at3(&f->a->in[TT_REC_BWD_Y], f->n, f->t, u);
        dx[0] = dr[0] = f->cell == TT_CELL_TANH ? d * (1 - y * y) : y > 0 ? d : 0;
        f->dh[u] = 0;
    }
}

static void step_back(const Flow *f)
{
    const TtTensor *w = &f->a->in[TT_REC_BWD_W_HH];
    int64_t hidden = w->shape.dims[1];
    for (int64_t j = 0; j < hidden; j++) f->through[j] = 0;
    for (int64_t u = 0; u < hidden; u++) {
        double dx[4] = {0}, dr[4] = {0};
        unit_back(f, u, dx, dr);
        for (int k = 0; k < tt_cell_gates(f->cell); k++) {
            put3(&f->a->out[TT_REC_BWD_DGATES], f->n, f->t, k * hidden + u, dx[k]);
            if (f->cell == TT_CELL_GRU) put3(&f->a->out[TT_REC_BWD_DGATES_H], f->n, f->t, k * hidden + u, dr[k]);
            for (int64_t j = 0; j < hidden; j++) f->through[j] += dr[k] * at2(w, k * hidden + u, j);
        }
        put3(&f->a->out[TT_REC_BWD_H_PREV], f->n, f->t, u, h_before(f, u));
    }
    for (int64_t j = 0; j < hidden; j++) f->dh[j] += f->through[j];
}

static void zero_step(TtKernelArgs *a, bool gru, int64_t n, int64_t t)
{
    int64_t gates = a->out[TT_REC_BWD_DGATES].shape.dims[2], hidden = a->out[TT_REC_BWD_H_PREV].shape.dims[2];
    for (int64_t k = 0; k < gates; k++) {
        put3(&a->out[TT_REC_BWD_DGATES], n, t, k, 0);
        if (gru) put3(&a->out[TT_REC_BWD_DGATES_H], n, t, k, 0);
    }
    for (int64_t u = 0; u < hidden; u++) put3(&a->out[TT_REC_BWD_H_PREV], n, t, u, 0);
}

TtStatus tt_ref_recurrent_bwd(TtKernelArgs *a)
{
    const TtRecurrentAttrs *attrs = a->attrs;
    const TtTensor *y = &a->in[TT_REC_BWD_Y];
    int64_t steps = y->shape.dims[1], hidden = y->shape.dims[2];
    double *dh = malloc(sizeof *dh * 3 * (size_t)hidden), *dc = dh + hidden, *through = dc + hidden;
    TtStatus st = TT_OK;
    for (int64_t n = 0; n < y->shape.dims[0] && st == TT_OK; n++) {
        int64_t length;
        st = length_of(&a->in[TT_REC_BWD_LENGTHS], n, steps, &length);
        if (st != TT_OK) break;
        for (int64_t u = 0; u < hidden; u++) {
            dh[u] = at2(&a->in[TT_REC_BWD_DH], n, u), dc[u] = at2(&a->in[TT_REC_BWD_DC], n, u);
        }
        for (int64_t s = length - 1; s >= 0; s--) {
            int64_t t = attrs->reverse ? length - 1 - s : s, before = s == 0 ? -1 : attrs->reverse ? t + 1 : t - 1;
            step_back(&(Flow){a, attrs->cell, n, t, before, dh, dc, through});
        }
        for (int64_t t = length; t < steps; t++) zero_step(a, attrs->cell == TT_CELL_GRU, n, t);
        for (int64_t u = 0; u < hidden; u++) {
            tt_ref_put(&a->out[TT_REC_BWD_DH0], n * hidden + u, dh[u]);
            if (attrs->cell == TT_CELL_LSTM) tt_ref_put(&a->out[TT_REC_BWD_DC0], n * hidden + u, dc[u]);
        }
    }
    free(dh);
    return st;
}
