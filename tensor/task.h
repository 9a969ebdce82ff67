/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/task.h - the kinds of job, by which data set, model and loss are matched. */
#ifndef TT_TENSOR_TASK_H
#define TT_TENSOR_TASK_H

/* Bits, so that a loss can serve several; where a definition leaves it 0 it is classification. */
typedef enum TtTask {
    TT_TASK_CLASSIFICATION = 1, /* pictures to one class each */
    TT_TASK_SPEECH = 2,         /* sound to text */
    TT_TASK_SEPARATION = 4,     /* a mixture to its sources */
    TT_TASK_VOCODER = 8         /* features to a waveform, sample by sample */
} TtTask;

#endif
