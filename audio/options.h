/* SPDX-License-Identifier: Apache-2.0 */
/* audio/options.h - options that several sound transforms take, each described once. */
#ifndef TT_AUDIO_OPTIONS_H
#define TT_AUDIO_OPTIONS_H

#include "audio/stft.h"

/* torch's window functions take these beside the length. */
typedef struct TtWindowArgs {
    bool periodic;
    double alpha, beta; /* NaN: the function's own default */
} TtWindowArgs;

/* What Spectrogram takes, and every transform that makes or undoes one. */
typedef struct TtSpecArgs {
    int64_t n_fft, win_length, hop_length, pad;
    int window_fn, normalized, pad_mode;
    TtWindowArgs wkwargs;
    bool center, onesided;
} TtSpecArgs;

extern const TtOption tt_window_options[];

#define TT_OPTION_FREQUENCY(type, member, value, null, text)                                                    \
    {                                                                                                           \
#member, TT_OPT_FLOAT, offsetof(type, member), .def = value, .flags = TT_OPT_RANGED | (null), .min = 0, \
                                                       .max = 1e9, .help = text                                 \
    }
#define TT_OPTION_SAMPLE_RATE(type, ...)                                                                          \
    {                                                                                                             \
        "sample_rate", TT_OPT_INT, offsetof(type, sample_rate), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 30, \
                                                                .help = "Hz of the waveform", __VA_ARGS__         \
    }
#define TT_OPTION_COUNT(type, member, value, least, text)                                                \
    {                                                                                                    \
#member, TT_OPT_INT, offsetof(type, member), .def = value, .flags = TT_OPT_RANGED, .min = least, \
                                                     .max = 1 << 20, .help = text                        \
    }

/* The options of SPEC, a TtSpecArgs in TYPE: the frames', the window's, and the three of spectrograms alone. */
#define TT_OPTIONS_FRAMES(type, spec, fft)                                                       \
    {"n_fft",                                                                                    \
     TT_OPT_INT,                                                                                 \
     offsetof(type, spec.n_fft),                                                                 \
     .def = fft,                                                                                 \
     .flags = TT_OPT_RANGED,                                                                     \
     .min = 1,                                                                                   \
     .max = 1 << 20,                                                                             \
     .help = "samples of a frame's transform"},                                                  \
        {"win_length",                                                                           \
         TT_OPT_INT,                                                                             \
         offsetof(type, spec.win_length),                                                        \
         .def = "null",                                                                          \
         .flags = TT_OPT_NULL | TT_OPT_RANGED,                                                   \
         .min = 1,                                                                               \
         .max = 1 << 20,                                                                         \
         .help = "samples of the window, which stands in the middle of the frame; null: n_fft"}, \
    {                                                                                            \
        "hop_length", TT_OPT_INT, offsetof(type, spec.hop_length),                               \
            .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 1, .max = 1 << 30,       \
            .help = "samples from frame to frame; null: a part of win_length"                    \
    }
#define TT_OPTION_PAD(type, spec)                                                                                  \
    {                                                                                                              \
        "pad", TT_OPT_INT, offsetof(type, spec.pad), .def = "0", .flags = TT_OPT_RANGED, .min = 0, .max = 1 << 24, \
                                                     .help = "zeros put on both sides first, in samples"           \
    }
#define TT_OPTIONS_WINDOW(type, spec)                                                                                \
    {"window_fn",     TT_OPT_ENUM, offsetof(type, spec.window_fn), .def = "hann_window", .choices = TT_WINDOW_NAMES, \
     .help = "window"},                                                                                              \
    {                                                                                                                \
        "wkwargs", TT_OPT_MAP, offsetof(type, spec.wkwargs), .def = "{}", .sub = tt_window_options,                  \
                                                             .help = "the window's own arguments"                    \
    }
#define TT_OPTIONS_SPECTRUM(type, spec)                                                                              \
    {"normalized",                                                                                                   \
     TT_OPT_ENUM,                                                                                                    \
     offsetof(type, spec.normalized),                                                                                \
     .def = "false",                                                                                                 \
     .choices = "false|true|window|frame_length",                                                                    \
     .help = "divide by the root of the window's energy (true, window) or of n_fft (frame_length)"},                 \
        {"center", TT_OPT_BOOL, offsetof(type, spec.center), .def = "true",                                          \
         .help = "frame t is centred at t * hop_length; false: it begins there"},                                    \
    {                                                                                                                \
        "pad_mode", TT_OPT_ENUM, offsetof(type, spec.pad_mode),                                                      \
            .def = "reflect", .choices = TT_PAD_MODE_NAMES, .help = "what stands before and after the clip for that" \
    }
#define TT_OPTION_ONESIDED(type, spec)                                                                          \
    {                                                                                                           \
        "onesided", TT_OPT_BOOL, offsetof(type, spec.onesided), .def = "true",                                  \
                                                                .help = "n_fft // 2 + 1 bins; false: all n_fft" \
    }

/* Fill in the defaults that depend on other options, then the transform. HOP_PART: hop_length's default is
 * win_length // HOP_PART. Options that a transform does not have must stand at their defaults. */
TtStatus tt_spec_init(TtSpecArgs *a, int hop_part, const TtNode *node, TtAudioStft *s, TtArena *arena) TT_NODISCARD;

/* Features depend on the rate, which is an argument of its own as in torchaudio; warn (once) when the clip has another. */
void tt_audio_expect_rate(const TtAudio *a, int64_t sample_rate, const char *who, const char *name);

/* Give the clip what stands in the scratch. */
static inline TtStatus tt_audio_take(TtTransformArgs *a, TtStatus status)
{
    if (status == TT_OK) tt_audio_swap(a->audio, &a->scratch->audio);
    return status;
}

#endif
