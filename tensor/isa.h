/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/isa.h - the instruction set that the vector code of this process uses, chosen once at its first use.
 *
 * Sources that the Makefile compiles once per instruction set (-DTT_ISA=c, avx2, avx512) each export a table; whoever
 * owns the tables keeps them in an array in the order of TtIsa and takes entry tt_isa(). TT_CPU=c|avx2|avx512 in the
 * environment asks for a level; one that the machine lacks is lowered to the best that it has. */
#ifndef TT_TENSOR_ISA_H
#define TT_TENSOR_ISA_H

#include "tensor/status.h"

typedef enum TtIsa { TT_ISA_PLAIN, TT_ISA_AVX2, TT_ISA_AVX512, TT_ISAS } TtIsa;

TtIsa tt_isa(void);
const char *tt_isa_name(TtIsa isa); /* "c", "avx2", "avx512" */
/* The level of a name that this build and machine can run; false for any other. */
bool tt_isa_find(const char *name, TtIsa *out);
void tt_isa_use(TtIsa isa); /* from now on; for tests that compare levels */

/* The tables NAME_c, NAME_avx2, NAME_avx512 of this build, for the initialiser of an array of TT_ISAS pointers. */
#ifdef TT_X86
#define TT_ISA_TABLES(name) name##_c, name##_avx2, name##_avx512
#else
#define TT_ISA_TABLES(name) name##_c
#endif

#endif
