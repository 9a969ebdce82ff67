/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/predict.h - classes of pictures that are in no data set. */
#ifndef TT_PIPELINE_PREDICT_H
#define TT_PIPELINE_PREDICT_H

#include "pipeline/session.h"

typedef struct TtPredictOptions {
    const char *weights;    /* NULL: the run's best checkpoint, else its last */
    const char *output_dir; /* predictions.jsonl or predictions.csv go there; NULL: stdout */
    int64_t top_k;
    bool csv;
} TtPredictOptions;

/* INPUTS are picture files or folders (searched recursively, sorted). One result a picture, in order:
 *   {"file": "a.png", "predictions": [{"class": "Bag", "index": 8, "probability": 0.98}, ...]}
 * Class names come from the checkpoint's class map, else from the config's data. */
TtStatus tt_predict(const TtConfig *c, const TtPredictOptions *o, int n_inputs, char **inputs) TT_NODISCARD;

#endif
