/* SPDX-License-Identifier: Apache-2.0 */
/* data/npy.h - NumPy's array file (.npy, format 1.0). */
#ifndef TT_DATA_NPY_H
#define TT_DATA_NPY_H

#include "tensor/types.h"

/* Write a contiguous array in C order, of any type but bfloat16, which NumPy lacks. The file is whole or not there.
 * TT_EINTERNAL names the path. */
TtStatus tt_npy_write(const char *path, const TtTensor *t) TT_NODISCARD;

#endif
