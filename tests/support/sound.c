/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/sound.c - run chains of sound transforms in tests. */
#include "tests/support/sound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/nodes.h"

TtStatus sound_parse(Sound *s, const char *yaml)
{
    *s = (Sound){0};
    return tt_transform_chain_parse(node_parse(&s->arena, yaml), &s->arena, &s->chain);
}

void sound_open(Sound *s, const char *yaml)
{
    if (sound_parse(s, yaml) != TT_OK) fail_msg("%s: %s", yaml, tt_error_message());
}

void sound_close(Sound *s)
{
    tt_audio_free(&s->audio);
    tt_transform_scratch_free(&s->scratch);
    tt_arena_free(&s->arena);
}

void sound_fill(TtAudio *a, int channels, int64_t n, int sample_rate, float scale, int64_t quiet)
{
    assert_int_equal(tt_audio_resize(a, channels, n, 1, false), TT_OK);
    a->sample_rate = sample_rate;
    for (int c = 0; c < channels; c++) {
        uint32_t noise = 12345u + (uint32_t)c;
        for (int64_t i = 0; i < n; i++) {
            noise = noise * 1664525u + 1013904223u;
            const int64_t slow = i * (7 + 4 * c) % 400, fast = i * (61 + c) % 256;
            const int64_t v = 60 * (slow < 200 ? slow : 400 - slow) - 6000 + 40 * (fast < 128 ? fast : 256 - fast) -
                              2560 + (i / 300 % 2 ? 3000 : -3000) + (int64_t)(noise >> 20) - 2048;
            a->data[c * n + i] = (float)v * (scale / 16384.0f) * (i < quiet ? 1.0f / 1024.0f : 1.0f);
        }
    }
}

TtStatus sound_apply(Sound *s, uint64_t seed, uint64_t epoch, uint64_t sample)
{
    return tt_transform_chain_apply(&s->chain, seed, epoch, sample, "x.wav", NULL, &s->audio, &s->scratch);
}

void sound_apply_ok(Sound *s, uint64_t sample)
{
    if (sound_apply(s, 7, 0, sample) != TT_OK) fail_msg("%s", tt_error_message());
}
