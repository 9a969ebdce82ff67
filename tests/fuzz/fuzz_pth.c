/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_pth.c - any bytes as a file of torch.save. What is no zip is taken as the older format without its
 * fixed beginning, so that changed bytes get past it and past a zip's checksums to the pickle. */
#include "pipeline/pth.h"
#include "tests/fuzz/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.";
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0) {
        fuzz_state(data, size, tt_pth_open_zip);
        return 0;
    }
    char *whole = malloc(sizeof magic - 1 + size);
    TT_ASSERT(whole);
    memcpy(whole, magic, sizeof magic - 1);
    if (size) memcpy(whole + sizeof magic - 1, data, size);
    fuzz_state(whole, sizeof magic - 1 + size, tt_pth_open_legacy);
    free(whole);
    return 0;
}
