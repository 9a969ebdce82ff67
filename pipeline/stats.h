/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/stats.h - classification metrics, summed batch by batch in integers. */
#ifndef TT_PIPELINE_STATS_H
#define TT_PIPELINE_STATS_H

#include "tensor/status.h"

typedef struct TtClassStats {
    int classes;
    int64_t samples, top1, top5;
    int64_t *confusion;                /* [true class][predicted class]; NULL above TT_CONFUSION_CLASSES */
    int64_t *seen, *right, *predicted; /* per class */
} TtClassStats;

enum { TT_CONFUSION_CLASSES = 4096 };

TtStatus tt_class_stats_init(TtClassStats *s, int classes) TT_NODISCARD;
void tt_class_stats_free(TtClassStats *s);
/* LOGITS (n,classes), LABELS n in 0..classes-1 (others are left out). The prediction is the first largest logit, NaN
 * being larger than any number (torch.argmax). Top-5 counts a label when fewer than 5 logits are larger, or equal and
 * earlier: torch.topk agrees where nothing is equal, and leaves open which of equals it takes. With 5 classes or fewer
 * it counts all. */
void tt_class_stats_add(TtClassStats *s, const float *logits, const int64_t *labels, int n);

/* The predicted class of one row: the first largest logit, NaN above all (torch.argmax). */
int tt_class_predicted(const float *row, int64_t classes);

/* Fractions; NaN when there is nothing to divide by. */
double tt_class_stats_acc1(const TtClassStats *s);
double tt_class_stats_acc5(const TtClassStats *s);
double tt_class_stats_recall(const TtClassStats *s, int c); /* the class's accuracy */
double tt_class_stats_precision(const TtClassStats *s, int c);
double tt_class_stats_f1(const TtClassStats *s, int c);

/* Mean of one of these over the classes for which it is defined: of recall it is the balanced accuracy
 * (sklearn.metrics.balanced_accuracy_score), of F1 f1_score(average="macro"). */
double tt_class_stats_macro(const TtClassStats *s, double (*of)(const TtClassStats *s, int c));

#endif
