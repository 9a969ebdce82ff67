/* SPDX-License-Identifier: Apache-2.0 */
/* audio/audio.c - the clip's buffer. */
#include "audio/audio.h"

#include <stdlib.h>

#include "tensor/arena.h"

size_t tt_audio_floats(const TtAudio *a)
{
    return (size_t)a->channels * (size_t)a->frames * (size_t)a->bins * (a->is_complex ? 2 : 1);
}

TtStatus tt_audio_resize(TtAudio *a, int channels, int64_t frames, int bins, bool is_complex)
{
    TT_ASSERT(channels >= 0 && frames >= 0 && bins >= 0);
    size_t rows, floats;
    if (__builtin_mul_overflow((size_t)channels, (size_t)frames, &rows) ||
        __builtin_mul_overflow(rows, (size_t)bins * (is_complex ? 2 : 1), &floats) || floats > SIZE_MAX / sizeof(float))
        return TT_FAIL(TT_EINTERNAL, "a clip of %d x %lld x %d values is too large", channels, (long long)frames, bins);
    if (floats > a->capacity) {
        tt_free(a->data);
        a->data = NULL, a->capacity = 0;
        TT_TRY(tt_alloc((void **)&a->data, floats * sizeof(float)));
        a->capacity = floats;
    }
    a->channels = channels, a->frames = frames, a->bins = bins, a->is_complex = is_complex;
    return TT_OK;
}

TtStatus tt_audio_check_wave(const TtAudio *a, const char *who, const char *name)
{
    if (a->bins == 1 && !a->is_complex) return TT_OK;
    return TT_FAIL(TT_ECONFIG,
                   "%s works on waveforms, but here it gets %s of %d bins (%s); move it forward in the list", who,
                   a->is_complex ? "a complex spectrogram" : "features", a->bins, name);
}

TtStatus tt_audio_check_real(const TtAudio *a, const char *who, const char *name)
{
    if (!a->is_complex) return TT_OK;
    return TT_FAIL(TT_ECONFIG,
                   "%s works on real values, but here it gets a complex spectrogram (%s); give Spectrogram a power",
                   who, name);
}

void tt_audio_swap(TtAudio *a, TtAudio *b)
{
    TtAudio t = *a;
    *a = *b, *b = t;
}

void tt_audio_free(TtAudio *a)
{
    tt_free(a->data);
    *a = (TtAudio){0};
}
