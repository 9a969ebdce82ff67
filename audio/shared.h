/* SPDX-License-Identifier: Apache-2.0 */
/* audio/shared.h - tables that the whole process shares. */
#ifndef TT_AUDIO_SHARED_H
#define TT_AUDIO_SHARED_H

#include "tensor/fft.h"

/* The plan for transforms of n, made at the first call and kept to the end of the process. Lengths come from configs,
 * or are powers of two where they depend on a file, so that the number of plans is bounded. Thread-safe. */
TtStatus tt_fft_shared(int64_t n, const TtFft **out) TT_NODISCARD;

#endif
