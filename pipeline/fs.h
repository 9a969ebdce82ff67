/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/fs.h - now tensor/fs.h, so that the readers and data/ can use it too. */
#include "tensor/fs.h"
