/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/image.h - decode, and check what must hold whatever the bytes are. */
#ifndef TT_TESTS_FUZZ_IMAGE_H
#define TT_TESTS_FUZZ_IMAGE_H

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "vision/image.h"

static void ignore_warning(void *user, const char *text)
{
    (void)user, (void)text;
}

static inline void fuzz_image(const uint8_t *data, size_t size, const char *name)
{
    static TtImage im; /* kept, as a loader's worker keeps it */
    tt_warn_sink(ignore_warning, NULL);
    const TtImageOptions options = {.max_pixels = 1 << 18};
    TtImageInfo info;
    TtStatus header = tt_image_info(data, size, name, &options, &info);
    TtStatus status = tt_image_decode(data, size, name, &options, &im);
    TT_ASSERT(status == TT_OK || status == TT_EDATA);
    if (status != TT_OK) {
        TT_ASSERT(strncmp(tt_error_message(), name, strlen(name)) == 0 && !strchr(tt_error_message(), '\n'));
        return;
    }
    TT_ASSERT(header == TT_OK && info.h == im.h && info.w == im.w && info.dtype == im.dtype && im.c == 3);
    TT_ASSERT((int64_t)im.h * im.w <= options.max_pixels);
    /* The whole picture is read: Valgrind then tells of bytes that were never written. */
    unsigned sum = 0;
    for (size_t i = 0; i < tt_image_bytes(&im); i++) sum += ((const uint8_t *)im.data)[i];
    TT_ASSERT(sum <= 255 * tt_image_bytes(&im));
}

#endif
