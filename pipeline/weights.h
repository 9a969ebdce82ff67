/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/weights.h - a model's parameters from a weights file, and back.
 *
 * Strict unless told otherwise, as torch's load_state_dict: every parameter and buffer must be in the file with the
 * same shape, and nothing else may be. BatchNorm's num_batches_tracked may be missing, as in files before PyTorch 0.4.1.
 * Values that are not finite are refused. The prefixes module. (DataParallel) and _orig_mod. (torch.compile) are taken
 * off when every name has them. */
#ifndef TT_PIPELINE_WEIGHTS_H
#define TT_PIPELINE_WEIGHTS_H

#include "pipeline/state_dict.h"
#include "tensor/params.h"

typedef struct TtWeightsOptions {
    /* Missing and extra tensors are only warned about; what is missing keeps its value. Shapes must fit all the same. */
    bool partial;
    /* Names the file and the model are rid of beforehand, "fc.*": what matches is neither read nor missed, so that a
     * model of 10 classes starts from a file of 1000. fnmatch(3) patterns. */
    const char *const *exclude;
    int exclude_count;
    /* Take only the names that begin with it, without it ("backbone."); NULL takes all. */
    const char *prefix;
} TtWeightsOptions;

/* OPTIONS may be NULL. A file that cannot be read or does not fit is TT_ECHECKPOINT, and the message names the file and
 * the tensors; P is then partly filled. */
TtStatus tt_weights_load(TtParamSet *p, const char *path, const TtWeightsOptions *options) TT_NODISCARD;

/* Every parameter and buffer under its own name, for tt_safetensors_put and tt_state_read_all; from ARENA. */
TtNamedTensor *tt_weights_list(const TtParamSet *p, TtArena *arena);

#endif
