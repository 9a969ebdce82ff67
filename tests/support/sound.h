/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/sound.h - a chain of sound transforms from YAML, with what one worker needs to run it. */
#ifndef TT_TESTS_SUPPORT_SOUND_H
#define TT_TESTS_SUPPORT_SOUND_H

#include "data/transform.h"

typedef struct Sound {
    TtArena arena;
    TtTransformChain chain;
    TtTransformScratch scratch;
    TtAudio audio;
} Sound;

void sound_open(Sound *s, const char *yaml); /* fails the test when the list is wrong */
TtStatus sound_parse(Sound *s, const char *yaml);
void sound_close(Sound *s);
/* Triangles, steps and noise, other in each channel: the same floats as in scripts/make_audio_values.py. SCALE is the
 * largest value; the first QUIET samples are a thousandth of that. */
void sound_fill(TtAudio *a, int channels, int64_t n, int sample_rate, float scale, int64_t quiet);
TtStatus sound_apply(Sound *s, uint64_t seed, uint64_t epoch, uint64_t sample);
void sound_apply_ok(Sound *s, uint64_t sample);

#endif
