/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pictures.h - the plots of a run: the first batch as the model sees it, curves, confusion matrix, accuracy per
 * class, worst mistakes. They go to plots/ (logging.plots); what TensorBoard cannot draw itself goes there too
 * (logging.images). A run without either draws nothing, and never looks for a font. */
#ifndef TT_PIPELINE_PICTURES_H
#define TT_PIPELINE_PICTURES_H

#include "pipeline/metrics.h"
#include "pipeline/tensorboard.h"
#include "pipeline/trainer_impl.h"

/* plots/first_batch.png. TB may be NULL. */
TtStatus tt_pictures_first_batch(const TtTrainer *t, const TtBatch *b, TtTensorboard *tb) TT_NODISCARD;
/* After a validation: plots/{loss,accuracy,lr,grad_norm,speed,confusion_matrix,class_accuracy,worst_mistakes}.png.
 * TensorBoard gets about ten of each over a run: it shows no more. */
TtStatus tt_pictures_validation(const TtTrainer *t, const TtValidation *v, const TtMetrics *m,
                                TtTensorboard *tb) TT_NODISCARD;

#endif
