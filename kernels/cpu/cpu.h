/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/cpu.h - for the files that are compiled once per instruction set.
 *
 * The Makefile compiles the sources of kernels/cpu (but dnnl*.c and dispatch.c) with -DTT_ISA=c, avx2 and avx512 and the
 * matching -m flags; TT_CPU(relu) then names tt_cpu_relu_c, tt_cpu_relu_avx2 and so on. Code is plain C with
 * `#pragma omp simd` or GCC vector types; -ffast-math is off, so a reduction that shall be vectorised uses
 * several explicit accumulators (and thereby has a fixed order). Threads: `#pragma omp parallel for` over
 * work whose split does not change the result: reductions go through chunks of fixed size, never per thread,
 * so that the number of threads cannot change a bit. */
#ifndef TT_KERNELS_CPU_H
#define TT_KERNELS_CPU_H

#include "tensor/op.h"

#ifndef TT_ISA
#define TT_ISA c
#endif
#define TT_CPU_JOIN2(a, b) tt_cpu_##a##_##b
#define TT_CPU_JOIN(a, b) TT_CPU_JOIN2(a, b)
#define TT_CPU(name) TT_CPU_JOIN(name, TT_ISA)

/* The prototypes of all kernels of this instruction set. */
#define OP(name) TtStatus TT_CPU(name)(TtKernelArgs * a);
#define OP_DNNL(name) TtStatus tt_dnnl_##name(TtKernelArgs *a);
#define VIEW(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW

/* Below this many elements a loop stays on one thread. */
enum { TT_GRAIN = 16384 };

#endif
