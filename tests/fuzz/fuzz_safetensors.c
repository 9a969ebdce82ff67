/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_safetensors.c - any bytes as a safetensors file. */
#include "pipeline/safetensors.h"
#include "tests/fuzz/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_state(data, size, tt_safetensors_open);
    return 0;
}
