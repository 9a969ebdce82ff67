/* SPDX-License-Identifier: Apache-2.0 */
/* audio/resample.h - band-limited interpolation between any two integer rates (torchaudio.transforms.Resample; J. O.
 * Smith, "Digital Audio Resampling").
 *
 * With orig and new divided by their greatest common divisor, output j * new + p is the product of phase p's windowed
 * sinc with the samples around j * orig. The kernels are computed in double from torchaudio's phases (which it rounds
 * to float32); taps that are zero are not stored. Clips are taken as zero before and after. */
#ifndef TT_AUDIO_RESAMPLE_H
#define TT_AUDIO_RESAMPLE_H

#include "audio/audio.h"
#include "data/transform.h"

typedef enum TtResampleMethod { TT_SINC_HANN, TT_SINC_KAISER } TtResampleMethod;

typedef struct TtResampleArgs {
    int64_t orig_freq, new_freq; /* Hz, or any numbers of that ratio; at least 1 */
    int width;                   /* lowpass_filter_width: zero crossings on each side; 0 is 6 */
    double rolloff;              /* share of the lower Nyquist frequency that passes; 0 is 0.99 */
    TtResampleMethod method;
    double beta; /* kaiser's; 0 is 14.769656459379492 */
} TtResampleArgs;

/* Immutable; used by many threads at a time. */
typedef struct TtResampler TtResampler;

/* Resamplers are shared by the whole process: the same arguments give the same one, and what nobody
 * holds stays for the next caller until 64 MiB of kernels have gathered. Asking costs a lock and a short search. TT_ECONFIG when the kernels would be too large (rates without a useful ratio). */
TtStatus tt_resampler_get(const TtResampleArgs *args, const TtResampler **out) TT_NODISCARD;
void tt_resampler_put(const TtResampler *r); /* NULL is fine */
/* Samples that n make: torchaudio's ceil(new * n / orig), of the float32 nearest to the fraction. */
int64_t tt_resampler_length(const TtResampler *r, int64_t n);

/* A waveform (C, n, 1) to OUT; the clip's sample_rate is multiplied by new / orig (rounded). WHO and NAME are for
 * messages. */
TtStatus tt_resample(const TtResampler *r, const TtAudio *in, TtAudio *out, TtTransformScratch *scratch,
                     const char *who, const char *name) TT_NODISCARD;

/* Bring a clip to RATE in place as Resample does by default; nothing happens when it has it. */
TtStatus tt_audio_to_rate(TtAudio *a, int rate, TtTransformScratch *scratch, const char *name) TT_NODISCARD;

#endif
