/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/interpolate.h - torch.nn.functional.interpolate, modes nearest and (bi)linear, on channels-last data. */
#ifndef TT_KERNELS_OPS_INTERPOLATE_H
#define TT_KERNELS_OPS_INTERPOLATE_H

#include "tensor/op.h"

/* SCALE is input over output pixels. As in torch: with align_corners (n-1)/(m-1), and position = i * scale; else
 * n/m, or 1/factor where the caller gave a factor, and position = (i + 0.5) * scale - 0.5, not below 0; nearest takes
 * floor(i * scale). */
typedef struct TtInterpolateAttrs {
    bool linear, align_corners;
    int64_t h, w;       /* of the output */
    int64_t in_h, in_w; /* of the input */
    float scale_h, scale_w;
} TtInterpolateAttrs;

typedef struct TtInterpolateOptions {
    int64_t h, w;            /* size of the output, or */
    double factor, factor_w; /* floor(size * factor); factor_w 0: the same for both */
    bool linear;             /* false: nearest */
    bool align_corners;      /* linear only */
} TtInterpolateOptions;

/* X (N,H,W,C), or a sequence (N,T,C) whose length is options.w. */
TtVal tt_interpolate_with(TtGraph *g, TtVal x, const TtInterpolateOptions *o);
#define tt_interpolate(g, x, ...) tt_interpolate_with((g), (x), &(TtInterpolateOptions){__VA_ARGS__})

#endif
