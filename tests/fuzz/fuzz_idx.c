/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_idx.c - IDX files from anywhere, plain and compressed. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    TT_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    TtIdx x;
    if (tt_idx_read_fd(fd, size, "fuzz", &x) != TT_OK) {
        TT_ASSERT(!x.data && tt_error_message()[0]);
        return 0;
    }
    int64_t count = 1;
    unsigned sum = 0;
    for (int i = 0; i < x.rank; i++) count *= x.dims[i];
    for (int64_t i = 0; i < count; i++) sum += x.data[i]; /* all of it is there */
    TT_ASSERT(sum <= 255u * (uint64_t)count);
    tt_idx_free(&x);
    return 0;
}
