/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_conv.h - what the convolution ops need from oneDNN when a program is built. */
#ifndef TT_KERNELS_CPU_DNNL_CONV_H
#define TT_KERNELS_CPU_DNNL_CONV_H

#include "kernels/cpu/dnnl_state.h"

TtStatus tt_dnnl_conv2d_prepare(TtKernelArgs *a, void **state);
TtStatus tt_dnnl_conv2d_dx_prepare(TtKernelArgs *a, void **state);
TtStatus tt_dnnl_conv2d_dw_prepare(TtKernelArgs *a, void **state);
size_t tt_dnnl_conv2d_dw_scratch(const TtKernelArgs *a);
void tt_dnnl_conv2d_dw_release(void *state);

#endif
