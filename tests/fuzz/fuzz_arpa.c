/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_arpa.c - language models from anywhere, plain and compressed. What can be read can be asked. */
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audio/arpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    TT_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    TtArpa *a;
    if (tt_arpa_read_fd(fd, "fuzz", &a) != TT_OK) {
        TT_ASSERT(!a && tt_error_message()[0]);
        return 0;
    }
    int64_t words = tt_arpa_count(a, 1);
    TtArpaState s = tt_arpa_begin(a);
    for (int64_t i = 0; i < 2 * words && i < 10000; i++) {
        double p = tt_arpa_score(a, &s, i % 7 == 6 ? tt_arpa_word(a, "zzz") : i * 5 % words, &s);
        TT_ASSERT(!isnan(p) && s.n < tt_arpa_order(a));
    }
    TT_ASSERT(!isnan(tt_arpa_end(a, &s)));
    tt_arpa_free(a);
    return 0;
}
