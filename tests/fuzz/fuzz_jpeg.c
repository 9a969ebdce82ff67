/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_jpeg.c - the picture readers on anything that may be a JPEG. */
#include "tests/fuzz/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_image(data, size, "fuzz.jpg");
    return 0;
}
