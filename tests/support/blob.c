/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/blob.c - bytes for files in tests. Running over the end is a mistake of the test and stops it. */
#include "tests/support/blob.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void blob_put(Blob *b, const void *data, size_t size)
{
    if (size > sizeof b->bytes - b->size) abort();
    memcpy(b->bytes + b->size, data, size);
    b->size += size;
}

void blob_text(Blob *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = sizeof b->bytes - b->size;
    int n = vsnprintf(b->bytes + b->size, room, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= room) abort();
    b->size += (size_t)n;
}

const char *blob_write(const Blob *b, const char *folder, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->bytes, 1, b->size, f) != b->size || fclose(f) != 0) abort();
    return path;
}
