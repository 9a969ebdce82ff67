/* SPDX-License-Identifier: Apache-2.0 */
/* vision/options.h - options that several transforms take, each described once. */
#ifndef TT_VISION_OPTIONS_H
#define TT_VISION_OPTIONS_H

#include "data/transform.h"

/* One size for a square, or [height, width]; TtInts size. */
#define TT_OPTION_SIZE(type)                                                                                     \
    {                                                                                                            \
        "size", TT_OPT_INTS, offsetof(type, size), .flags = TT_OPT_RANGED, .min = 1, .max = 65536, .min_n = 1,   \
                                                   .max_n = 2, .help = "pixels: of a square, or [height, width]" \
    }

/* TtFloats fill, in the picture's own range (0 to 255 for uint8); null is torchvision's None. */
#define TT_OPTION_FILL(type, value)                                                \
    {                                                                              \
        "fill", TT_OPT_FLOATS, offsetof(type, fill),                               \
            .def = value, .flags = TT_OPT_NULL, .min_n = 1, .max_n = 4,            \
            .help = "value outside the picture: a number, or one for each channel" \
    }

/* TtFloats member of one range [min, max]. */
#define TT_OPTION_RANGE(type, member, value, lo, hi, text)                                                          \
    {                                                                                                               \
#member, TT_OPT_FLOATS, offsetof(type, member), .def = value, .flags = TT_OPT_RANGED, .min = lo, .max = hi, \
                                                        .min_n = 2, .max_n = 2, .help = text                        \
    }

/* Padding of 1, 2 or 4 values, and a fill for each channel with constant padding only. */
TtStatus tt_check_padding(const TtInts *padding, const TtFloats *fill, int mode, const TtNode *node) TT_NODISCARD;
/* Left, top, right, bottom. */
void tt_padding_sides(const TtInts *padding, int64_t sides[4]);
/* The values of KEY must rise. */
TtStatus tt_check_range(const TtFloats *range, const char *key, const TtNode *node) TT_NODISCARD;
/* An angle option: one number a stands for [-a, a] and must not be negative; otherwise 2 (or MOST) values. */
TtStatus tt_check_angle(TtFloats *angle, const char *key, int most, const TtNode *node, TtArena *arena) TT_NODISCARD;

#endif
