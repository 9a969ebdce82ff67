/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_tar.c - tar files from anywhere. Whatever is listed lies within the file, in order. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Seen {
    uint64_t file_size, end; /* end: of the member before */
} Seen;

static TtStatus visit(void *user, const TtTarMember *m)
{
    Seen *s = user;
    TT_ASSERT(strlen(m->name) <= 4096);
    TT_ASSERT(m->offset >= s->end + 512 && m->offset <= s->file_size && m->size <= s->file_size - m->offset);
    s->end = m->offset + m->size;
    return TT_OK;
}

static void ignore(void *user, const char *text)
{
}

/* Put the right checksum into everything that looks like a header; no mutation would find it. */
static void seal(uint8_t *data, size_t size)
{
    for (uint8_t *h = data; size - (size_t)(h - data) >= 512; h += 512) {
        unsigned sum = 0;
        char text[8];
        if (memcmp(h + 257, "ustar", 5) != 0) continue;
        memset(h + 148, ' ', 8);
        for (int i = 0; i < 512; i++) sum += h[i];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(h + 148, text, 7);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    TT_ASSERT(copy);
    memcpy(copy, data, size);
    seal(copy, size);
    TT_ASSERT(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
    free(copy);
    tt_warn_sink(ignore, NULL);
    Seen s = {.file_size = size};
    TtStatus st = tt_tar_scan(fd, size, "fuzz", visit, &s);
    TT_ASSERT(st == TT_OK || (st == TT_EDATA && tt_error_message()[0]));
    close(fd);
    return 0;
}
