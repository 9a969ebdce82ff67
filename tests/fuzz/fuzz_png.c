/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_png.c - the picture readers on anything that may be a PNG. A mutation breaks the CRC of its chunk and
 * would hardly get further than that; so each input is read once more with right ones. */
#include <stdlib.h>
#include <zlib.h>

#include "tests/fuzz/image.h"

static size_t be32(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

static void repair(uint8_t *p, size_t size)
{
    for (size_t at = 8; at < size && size - at >= 12;) {
        size_t n = be32(p + at);
        if (n > size - at - 12) n = size - at - 12;
        uint32_t crc = (uint32_t)crc32(0, p + at + 4, (uInt)n + 4);
        for (int i = 0; i < 4; i++) p[at + 8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += n + 12;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_image(data, size, "fuzz.png");
    uint8_t *copy = malloc(size + 1);
    TT_ASSERT(copy);
    memcpy(copy, data, size);
    repair(copy, size);
    fuzz_image(copy, size, "fuzz.png");
    free(copy);
    return 0;
}
