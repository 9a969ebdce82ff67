/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/file.h - reading files that may be anything. */
#ifndef TT_TENSOR_FILE_H
#define TT_TENSOR_FILE_H

#include "tensor/status.h"

/* Open for reading; a folder, a pipe or a device is refused without waiting for it. Sets *size. An error has CODE and
 * names the file. */
TtStatus tt_file_open_as(const char *path, TtStatus code, int *fd, uint64_t *size) TT_NODISCARD;
TtStatus tt_file_open(const char *path, int *fd, uint64_t *size) TT_NODISCARD; /* TT_EDATA */
/* Read exactly SIZE bytes at OFFSET; fewer is TT_EDATA. */
TtStatus tt_file_read_at(int fd, const char *name, void *buf, size_t size, uint64_t offset) TT_NODISCARD;

#endif
