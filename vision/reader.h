/* SPDX-License-Identifier: Apache-2.0 */
/* vision/reader.h - between image.c and the readers of single formats. */
#ifndef TT_VISION_READER_H
#define TT_VISION_READER_H

#include "vision/image.h"

/* A file in memory, with what messages need. */
typedef struct TtImageSource {
    const uint8_t *bytes;
    size_t size;
    const char *name;
    int64_t max_pixels;
    char warning[256]; /* the first irregularity met; shown only when the picture is whole */
} TtImageSource;

/* Decode into OUT; ORIENTATION is EXIF's, 1 to 8. With INFO_ONLY only OUT's size and type are set. */
TtStatus tt_jpeg_decode(TtImageSource *s, bool info_only, TtImage *out, int *orientation) TT_NODISCARD;
TtStatus tt_png_decode(TtImageSource *s, bool info_only, TtImage *out, int *orientation) TT_NODISCARD;

/* Keep TEXT as the file's warning unless there is one. */
void tt_image_irregular(TtImageSource *s, size_t at, const char *text);
/* Refuse a size before anything of that size is allocated. */
TtStatus tt_image_check_size(const TtImageSource *s, uint64_t width, uint64_t height) TT_NODISCARD;
/* Room for three channels. Too little memory is the file's fault here: TT_EDATA says how much it wants. */
TtStatus tt_image_make_room(const TtImageSource *s, TtImage *out, int h, int w, TtDType dtype) TT_NODISCARD;
/* The orientation in a TIFF structure as EXIF has it (IFD0 only); 1 when there is none or it is damaged. */
int tt_exif_orientation(const uint8_t *tiff, size_t size);

#endif
