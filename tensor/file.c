/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/file.c - opening and reading files with errors that name them. */
#include "tensor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TtStatus tt_file_open_as(const char *path, TtStatus code, int *fd, uint64_t *size)
{
    /* O_NONBLOCK: opening a named pipe would wait for its writer. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return TT_FAIL(code, "%s: cannot open: %s", path, strerror(errno));
    struct stat st;
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (uint64_t)st.st_size;
        return TT_OK;
    }
    close(*fd);
    *fd = -1;
    return TT_FAIL(code, "%s: %s, not a file", path, S_ISDIR(st.st_mode) ? "a folder" : "a pipe or device");
}

TtStatus tt_file_open(const char *path, int *fd, uint64_t *size)
{
    return tt_file_open_as(path, TT_EDATA, fd, size);
}

TtStatus tt_file_read_at(int fd, const char *name, void *buf, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return TT_FAIL(TT_EDATA, "%s: at byte %llu: cannot read: %s", name, (unsigned long long)(offset + done),
                           strerror(errno));
        if (n == 0)
            return TT_FAIL(TT_EDATA, "%s: at byte %llu: the file ends early (cut, or still being written)", name,
                           (unsigned long long)(offset + done));
        done += (size_t)n;
    }
    return TT_OK;
}
