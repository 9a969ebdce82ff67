/* SPDX-License-Identifier: Apache-2.0 */
/* audio/mask.h - masks over a stretch of frames or bins (torchaudio.functional.mask_along_axis and _iid). */
#ifndef TT_AUDIO_MASK_H
#define TT_AUDIO_MASK_H

#include "audio/audio.h"
#include "tensor/rng.h"

typedef enum TtMaskAxis { TT_MASK_FREQUENCY, TT_MASK_TIME } TtMaskAxis;

/* A stretch [start, end) of an axis of SIZE: its length is the whole part of u1 * most, its start that of
 * u2 * (size - u1 * most), u1 and u2 uniform on [0, 1). With p < 1, MOST is at first limited to trunc(size * p). */
void tt_mask_draw(TtRng *rng, int64_t size, int64_t most, double p, int64_t *start, int64_t *end);
/* Set the stretch to VALUE in one channel, or in all when CHANNEL is -1. */
void tt_mask(TtAudio *a, int channel, TtMaskAxis axis, int64_t start, int64_t end, float value);

#endif
