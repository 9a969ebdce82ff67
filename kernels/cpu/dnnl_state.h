/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/dnnl_state.h - what op definitions name of oneDNN, without its headers. */
#ifndef TT_KERNELS_CPU_DNNL_STATE_H
#define TT_KERNELS_CPU_DNNL_STATE_H

#include "tensor/op.h"

size_t tt_dnnl_state_scratch(const TtKernelArgs *a);
void tt_dnnl_state_release(void *state);

#endif
