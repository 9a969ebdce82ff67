/* SPDX-License-Identifier: Apache-2.0 */
/* data/idx.h - IDX, the format of MNIST and its relatives (http://yann.lecun.com/exdb/mnist): two zero bytes, a type
 * byte, the number of dimensions, each dimension as a big-endian uint32, then the elements. Only unsigned bytes are
 * read. The file may be compressed with gzip. */
#ifndef TT_DATA_IDX_H
#define TT_DATA_IDX_H

#include "tensor/types.h"

typedef struct TtIdx {
    int rank; /* 1 to 4 */
    int64_t dims[4];
    uint8_t *data; /* product of the dims; owned */
} TtIdx;

/* A header that promises more or less than the file holds is TT_EDATA, before room for it is taken. */
TtStatus tt_idx_read(const char *path, TtIdx *out) TT_NODISCARD;
/* The same from an open file, which is closed. */
TtStatus tt_idx_read_fd(int fd, uint64_t size, const char *name, TtIdx *out) TT_NODISCARD;
void tt_idx_free(TtIdx *x);

#endif
