/* SPDX-License-Identifier: Apache-2.0 */
/* vision/warp.h - resampling a picture along a map of coordinates, for rotations, affine and perspective maps. */
#ifndef TT_VISION_WARP_H
#define TT_VISION_WARP_H

#include "vision/pixels.h"

/* Output pixel (x, y) shows the source at ((t[0] . p) / d, (t[1] . p) / d), where p = (x + x0, y + y0, 1) and
 * d = t[2] . p (1 when AFFINE), in coordinates of [-1,1] between the outer edges of the picture, less SHIFT. */
typedef struct TtWarpMap {
    float t[3][3];
    float x0, y0;
    float shift;
    bool affine;
} TtWarpMap;

TtStatus tt_warp(TtTransformArgs *a, const TtWarpMap *map, int64_t out_h, int64_t out_w, TtWarp warp,
                 const TtFloats *fill) TT_NODISCARD;

/* The inverse of rotating by m->angle, scaling, shearing and moving around CENTER: two rows of three. */
void tt_affine_inverse(const TtAffine *m, const double center[2], double out[6]);
/* The map of such a matrix (about the middle of the picture) for an output of out_h x out_w. */
TtWarpMap tt_affine_map(const double matrix[6], const TtImage *im, int out_h, int out_w);

#endif
