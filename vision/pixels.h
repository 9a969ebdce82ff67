/* SPDX-License-Identifier: Apache-2.0 */
/* vision/pixels.h - the pixel work behind the transforms: explicit parameters in, pixels out, nothing random.
 *
 * Each function replaces a->image, writing into a->scratch->image and swapping where it cannot work in place, and
 * gives what the function of the same name in torchvision.transforms.v2.functional gives on a tensor. Pictures are
 * uint8, uint16 or float32 with 1 or 3 channels; uint16 follows the rules of uint8 with 65535 for 255. What a
 * picture cannot bear (too small for a reflection, too large a result) is TT_EDATA and names the sample. */
#ifndef TT_VISION_PIXELS_H
#define TT_VISION_PIXELS_H

#include "data/transform.h"

/* In the order of TT_INTERPOLATIONS, for options of type TT_OPT_ENUM. */
typedef enum TtInterpolation { TT_NEAREST, TT_NEAREST_EXACT, TT_BILINEAR, TT_BICUBIC, TT_LANCZOS } TtInterpolation;
#define TT_INTERPOLATIONS "nearest|nearest-exact|bilinear|bicubic|lanczos"

/* What rotations and other warps can do, as on torchvision's tensors. */
typedef enum TtWarp { TT_WARP_NEAREST, TT_WARP_BILINEAR } TtWarp;
#define TT_WARPS "nearest|bilinear"

typedef enum TtPadMode { TT_PAD_CONSTANT, TT_PAD_EDGE, TT_PAD_REFLECT, TT_PAD_SYMMETRIC } TtPadMode;
#define TT_PAD_MODES "constant|edge|reflect|symmetric"

/* ---- for the files of vision/ */

/* Make a->scratch->image a picture of this size, content undefined. */
TtStatus tt_pixels_target(TtTransformArgs *a, int64_t h, int64_t w, int c, TtDType dtype) TT_NODISCARD;
/* 255, 65535 or 1. */
float tt_pixels_bound(TtDType dtype);
/* Fill values as many as channels, as a number of the picture's type, into OUT (8 bytes each); a single value
 * stands for all. NONE (fill->n == 0) gives zeros. */
TtStatus tt_pixels_fill(const TtTransformArgs *a, const TtFloats *fill, float out[4]) TT_NODISCARD;
/* Write N elements from float32, limited and truncated, or rounded, to the type's range (float32: copied). */
void tt_pixels_store(TtDType dtype, float *src, size_t n, bool round, void *dst);
void tt_pixels_load(TtDType dtype, const void *src, size_t n, float *dst);
/* TT_EDATA unless the picture has 1 or 3 channels; WHAT is the transform's name. */
TtStatus tt_pixels_colour(const TtTransformArgs *a, const char *what) TT_NODISCARD;

/* ---- geometry */

/* The window (top, left, h, w) resized to out_h x out_w. uint8: fixed point, to the bit as ATen's
 * _upsample_bilinear2d_aa and its relatives (horizontal pass first, uint8 between the passes). */
TtStatus tt_pixels_resize(TtTransformArgs *a, int top, int left, int h, int w, int64_t out_h, int64_t out_w,
                          TtInterpolation interpolation, bool antialias) TT_NODISCARD;
/* Where the window leaves the picture it is 0. */
TtStatus tt_pixels_crop(TtTransformArgs *a, int64_t top, int64_t left, int64_t h, int64_t w) TT_NODISCARD;
TtStatus tt_pixels_center_crop(TtTransformArgs *a, int64_t h, int64_t w) TT_NODISCARD;
TtStatus tt_pixels_pad(TtTransformArgs *a, int64_t left, int64_t top, int64_t right, int64_t bottom,
                       const TtFloats *fill, TtPadMode mode) TT_NODISCARD;
TtStatus tt_pixels_horizontal_flip(TtTransformArgs *a) TT_NODISCARD;
TtStatus tt_pixels_vertical_flip(TtTransformArgs *a) TT_NODISCARD;
/* ANGLE in degrees, counter-clockwise. CENTER is (x, y) in pixels from the upper left corner, NULL the middle.
 * fill->n == 0 is torchvision's None: what lies outside is 0 and blends in with bilinear. */
TtStatus tt_pixels_rotate(TtTransformArgs *a, double angle, TtWarp warp, bool expand, const double *center,
                          const TtFloats *fill) TT_NODISCARD;
typedef struct TtAffine {
    double angle; /* degrees, clockwise */
    double translate[2], scale;
    double shear[2]; /* degrees */
} TtAffine;
TtStatus tt_pixels_affine(TtTransformArgs *a, const TtAffine *m, TtWarp warp, const TtFloats *fill,
                          const double *center) TT_NODISCARD;
/* The corners (x, y), from the upper left clockwise, are moved from START to END. */
TtStatus tt_pixels_perspective(TtTransformArgs *a, const int start[4][2], const int end[4][2], TtWarp warp,
                               const TtFloats *fill) TT_NODISCARD;

/* ---- colour */

TtStatus tt_pixels_grayscale(TtTransformArgs *a, int channels) TT_NODISCARD;
TtStatus tt_pixels_brightness(TtTransformArgs *a, double factor) TT_NODISCARD;
TtStatus tt_pixels_contrast(TtTransformArgs *a, double factor) TT_NODISCARD;
TtStatus tt_pixels_saturation(TtTransformArgs *a, double factor) TT_NODISCARD;
TtStatus tt_pixels_hue(TtTransformArgs *a, double factor) TT_NODISCARD;
TtStatus tt_pixels_sharpness(TtTransformArgs *a, double factor) TT_NODISCARD;
TtStatus tt_pixels_invert(TtTransformArgs *a) TT_NODISCARD;
TtStatus tt_pixels_posterize(TtTransformArgs *a, int bits) TT_NODISCARD;
TtStatus tt_pixels_solarize(TtTransformArgs *a, double threshold) TT_NODISCARD;
TtStatus tt_pixels_autocontrast(TtTransformArgs *a) TT_NODISCARD;
TtStatus tt_pixels_equalize(TtTransformArgs *a) TT_NODISCARD;
/* Channel j of the result is channel order[j]. */
TtStatus tt_pixels_permute_channels(TtTransformArgs *a, const int64_t *order) TT_NODISCARD;
/* kernel: width and height, odd; sigma likewise. */
TtStatus tt_pixels_gaussian_blur(TtTransformArgs *a, const int kernel[2], const double sigma[2]) TT_NODISCARD;

/* ---- values */

TtStatus tt_pixels_to_dtype(TtTransformArgs *a, TtDType dtype, bool scale) TT_NODISCARD;
/* N values of mean and std, 1 or as many as channels. */
TtStatus tt_pixels_normalize(TtTransformArgs *a, const TtFloats *mean, const TtFloats *std) TT_NODISCARD;
/* The window gets VALUE (1 or as many as channels), or with NULL normal random numbers from a->rng. */
TtStatus tt_pixels_erase(TtTransformArgs *a, int top, int left, int h, int w, const TtFloats *value) TT_NODISCARD;

/* ---- batches: (N,H,W,C) float32 and (N,classes) float32 rows, contiguous, in place */

/* x[i] = lam * x[i] + (1 - lam) * x[i - 1], with x[-1] the last; the rows likewise. */
void tt_batch_mixup(TtTensor x, TtTensor targets, double lam);
/* The box (x1, y1, x2, y2) of each picture comes from the one before; rows are mixed by LAM. */
void tt_batch_cutmix(TtTensor x, TtTensor targets, const int box[4], double lam);

#endif
