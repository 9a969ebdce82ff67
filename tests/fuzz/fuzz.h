/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz.h - what a fuzz target is.
 *
 * tests/fuzz/fuzz_NAME.c defines the function below and nothing else that is global. `make fuzz` links it with libFuzzer
 * as build/fuzz/fuzz/NAME and starts from tests/fuzz/corpus/NAME/; `make test` only replays that folder through it
 * (tests/fuzz/replay.c). A file that once made a target fail is added to the folder. */
#ifndef TT_TESTS_FUZZ_FUZZ_H
#define TT_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
