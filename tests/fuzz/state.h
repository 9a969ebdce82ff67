/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/state.h - bytes as a file of tensors: open it, read whatever it lists, and hold what must always hold. */
#ifndef TT_TESTS_FUZZ_STATE_H
#define TT_TESTS_FUZZ_STATE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/state_dict.h"

typedef TtStatus (*FuzzOpen)(const char *path, TtStateDict **out);

/* A file in memory that a path can name. */
static inline int fuzz_file(const void *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    TT_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static inline void fuzz_read_all(TtStateDict *d)
{
    enum { MAX = 1 << 16 };
    static const TtDType types[] = {TT_F32, TT_I64, TT_U8};
    double *to = malloc(MAX * sizeof *to);
    TT_ASSERT(to);
    for (int i = 0; i < d->count; i++) {
        const TtStateTensor *t = &d->list[i];
        TT_ASSERT(tt_state_fits(t) && tt_state_find(d, t->name) == t && (i == 0 || strcmp(t[-1].name, t->name) < 0));
        for (int k = 0; k < TT_COUNT(types) && tt_shape_count(&t->shape) <= MAX; k++)
            if (tt_state_read(d, t, types[k], to) != TT_OK) tt_error_clear();
    }
    free(to);
}

static inline void fuzz_state(const void *data, size_t size, FuzzOpen open)
{
    char path[64];
    TtStateDict *d;
    int fd = fuzz_file(data, size, path);
    if (open(path, &d) == TT_OK)
        fuzz_read_all(d);
    else
        TT_ASSERT(!d && strncmp(tt_error_message(), path, strlen(path)) == 0 && !strchr(tt_error_message(), '\n'));
    tt_state_close(d);
    close(fd);
}

#endif
