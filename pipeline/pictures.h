/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pictures.h - the plots of a run: the first batch as the model sees it, curves, confusion matrix, accuracy per
 * class, worst mistakes. They go to plots/ (logging.plots); what TensorBoard cannot draw itself goes there too
 * (logging.images). A run without either draws nothing, and never looks for a font. */
#ifndef TT_PIPELINE_PICTURES_H
#define TT_PIPELINE_PICTURES_H

#include "pipeline/metrics.h"
#include "pipeline/plot.h"
#include "pipeline/tensorboard.h"
#include "pipeline/trainer_impl.h"

/* plots/first_batch.png. TB may be NULL. */
TtStatus tt_pictures_first_batch(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb) TT_NODISCARD;
/* Whether the last validation is one of the about ten whose pictures TensorBoard gets (it shows no more): the first at or
 * behind each tenth of the run, and the last. Depends on the step alone, so that a resumed run chooses the same. */
bool tt_pictures_is_tenth(const TtTrainer *t);
/* Of the last validation: plots/{loss,lr,grad_norm,speed}.png and the task's own. */
TtStatus tt_pictures_validation(const TtTrainer *t, const TtValidation *v, const TtMetrics *m,
                                TtTensorboard *tb) TT_NODISCARD;

/* For the tasks' own pictures. To plots/NAME.png and TensorBoard, as the config wants; frees the plot. TAG NULL: not to
 * TensorBoard. */
TtStatus tt_pictures_deliver(const TtTrainer *t, TtPlot *plot, const char *name, TtTensorboard *tb,
                             const char *tag) TT_NODISCARD;
/* "NAME, step 100, epoch 3": where the last validation was; MORE may be NULL. */
const char *tt_pictures_where(const TtTrainer *t, const char *more, char buf[256]);

#endif
