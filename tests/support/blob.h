/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/blob.h - bytes put together piece by piece, to make good and bad files in tests. */
#ifndef TT_TESTS_SUPPORT_BLOB_H
#define TT_TESTS_SUPPORT_BLOB_H

#include <stddef.h>

typedef struct Blob {
    size_t size;
    char bytes[1 << 20];
} Blob;

void blob_put(Blob *b, const void *data, size_t size);
void blob_text(Blob *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Into FOLDER/NAME; gives back the path, from a static buffer. */
const char *blob_write(const Blob *b, const char *folder, const char *name);

#endif
