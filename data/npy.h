/* SPDX-License-Identifier: Apache-2.0 */
/* data/npy.h - NumPy's array file (.npy, format 1.0). */
#ifndef TT_DATA_NPY_H
#define TT_DATA_NPY_H

#include "tensor/types.h"

/* Write a contiguous array of uint8, uint16, int64, float32 or float64, little-endian, C order; written aside and
 * renamed, so that a failure leaves no file. TT_EINTERNAL names the path. */
TtStatus tt_npy_write(const char *path, const TtTensor *t) TT_NODISCARD;

#endif
