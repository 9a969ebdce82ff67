/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_matmul.h - what the matmul op needs from oneDNN when a program is built. */
#ifndef TT_KERNELS_CPU_DNNL_MATMUL_H
#define TT_KERNELS_CPU_DNNL_MATMUL_H

#include "kernels/cpu/dnnl_state.h"

TtStatus tt_dnnl_matmul_prepare(TtKernelArgs *a, void **state);

#endif
