/* SPDX-License-Identifier: Apache-2.0 */
/* vision/colour.h - values that change one by one, without their neighbours. */
#ifndef TT_VISION_COLOUR_H
#define TT_VISION_COLOUR_H

#include "vision/pixels.h"

/* Change N values in place; BOUND is the type's maximum. */
typedef void (*TtPointFn)(float *x, size_t n, const float *param, float bound);

/* FN on every value of the picture. uint8 goes through a table of its 256 values. */
void tt_colour_point(TtImage *im, TtPointFn fn, const float *param);
/* Replace every uint8 value of channel j by table[j]. */
void tt_colour_lookup(TtImage *im, const uint8_t table[][256]);
/* Grey of three channels, as a whole number for integers: 0.2989 r + 0.587 g + 0.114 b, cut. */
void tt_colour_grey(TtDType dtype, const void *src, size_t pixels, float *grey);

#endif
