/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/stats.c - counts behind accuracies. */
#include "pipeline/stats.h"

#include <math.h>
#include <string.h>

#include "tensor/arena.h"

static TtStatus counters(int64_t **out, size_t n)
{
    TT_TRY(tt_alloc((void **)out, n * sizeof **out));
    memset(*out, 0, n * sizeof **out);
    return TT_OK;
}

TtStatus tt_class_stats_init(TtClassStats *s, int classes)
{
    *s = (TtClassStats){.classes = classes};
    size_t n = (size_t)classes;
    TtStatus st = counters(&s->seen, n);
    if (st == TT_OK) st = counters(&s->right, n);
    if (st == TT_OK) st = counters(&s->predicted, n);
    if (st == TT_OK && classes <= TT_CONFUSION_CLASSES) st = counters(&s->confusion, n * n);
    if (st != TT_OK) tt_class_stats_free(s);
    return st;
}

void tt_class_stats_free(TtClassStats *s)
{
    tt_free(s->confusion);
    tt_free(s->seen);
    tt_free(s->right);
    tt_free(s->predicted);
    *s = (TtClassStats){0};
}

/* torch's order: NaN is larger than any number. */
static bool larger(float a, float b)
{
    return a > b || (isnan(a) && !isnan(b));
}

int tt_class_predicted(const float *row, int64_t classes)
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (larger(row[c], row[best])) best = c;
    return best;
}

void tt_class_stats_add(TtClassStats *s, const float *logits, const int64_t *labels, int n)
{
    for (int i = 0; i < n; i++) {
        const float *row = logits + (size_t)i * (size_t)s->classes;
        int64_t label = labels[i];
        if (label < 0 || label >= s->classes) continue;
        int best = tt_class_predicted(row, s->classes), above = 0;
        for (int c = 0; c < s->classes; c++)
            above += larger(row[c], row[label]) || (c < label && !larger(row[label], row[c]));
        s->samples++;
        s->seen[label]++;
        s->predicted[best]++;
        s->right[label] += best == label;
        s->top1 += best == label;
        s->top5 += above < 5;
        if (s->confusion) s->confusion[label * s->classes + best]++;
    }
}

static double ratio(int64_t a, int64_t b)
{
    return b ? (double)a / (double)b : NAN;
}

double tt_class_stats_acc1(const TtClassStats *s)
{
    return ratio(s->top1, s->samples);
}

double tt_class_stats_acc5(const TtClassStats *s)
{
    return ratio(s->top5, s->samples);
}

double tt_class_stats_recall(const TtClassStats *s, int c)
{
    return ratio(s->right[c], s->seen[c]);
}

double tt_class_stats_precision(const TtClassStats *s, int c)
{
    return ratio(s->right[c], s->predicted[c]);
}

double tt_class_stats_f1(const TtClassStats *s, int c)
{
    return ratio(2 * s->right[c], s->seen[c] + s->predicted[c]);
}

double tt_class_stats_macro(const TtClassStats *s, double (*of)(const TtClassStats *s, int c))
{
    double sum = 0;
    int n = 0;
    for (int c = 0; c < s->classes; c++) {
        double v = of(s, c);
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    return n ? sum / n : NAN;
}
