/* SPDX-License-Identifier: Apache-2.0 */
/* vision/normalize.h - Normalize's options, which the chain reads to show pictures again. */
#ifndef TT_VISION_NORMALIZE_H
#define TT_VISION_NORMALIZE_H

#include "data/transform.h"

typedef struct TtNormalize {
    TtFloats mean, std; /* 1 value or one for each channel */
    bool inplace;
} TtNormalize;

#endif
