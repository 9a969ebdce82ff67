/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mulaw.h - mu-law companding as torchaudio.functional.mu_law_encoding and mu_law_decoding, in float32. */
#ifndef TT_AUDIO_MULAW_H
#define TT_AUDIO_MULAW_H

#include "tensor/status.h"

/* With mu = classes - 1: trunc((sign(x) log1p(mu |x|) / log1p(mu) + 1) / 2 mu + 0.5). Values beyond [-1, 1] give
 * classes beyond [0, mu], as in torchaudio; NaN gives 0. */
int64_t tt_mulaw_encode(float x, int classes);
/* y = 2 c / mu - 1; sign(y) (exp(|y| log1p(mu)) - 1) / mu. */
float tt_mulaw_decode(float c, int classes);

#endif
