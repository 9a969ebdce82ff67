/* SPDX-License-Identifier: Apache-2.0 */
/* audio/options.c - options that several sound transforms take. */
#include "audio/options.h"

#include <math.h>
#include <stdatomic.h>

const TtOption tt_window_options[] = {
    {"periodic", TT_OPT_BOOL, offsetof(TtWindowArgs, periodic), .def = "true", .help = "false: symmetric"},
    {"alpha", TT_OPT_FLOAT, offsetof(TtWindowArgs, alpha), .def = "null", .flags = TT_OPT_NULL,
     .help = "hamming_window's (0.54)"},
    {"beta", TT_OPT_FLOAT, offsetof(TtWindowArgs, beta), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED,
     .min = -500, .max = 500, .help = "hamming_window's (0.46) or kaiser_window's (12)"},
    {0}};

TtStatus tt_spec_init(TtSpecArgs *a, int hop_part, const TtNode *node, TtAudioStft *s, TtArena *arena)
{
    static const TtStftNorm norms[] = {TT_STFT_PLAIN, TT_STFT_BY_WINDOW, TT_STFT_BY_WINDOW, TT_STFT_BY_LENGTH};
    TtWindowArgs *k = &a->wkwargs;
    if (a->win_length == TT_NULL_INT) a->win_length = a->n_fft;
    if (a->win_length > a->n_fft)
        return TT_FAIL_AT_KEY(node, "win_length", "win_length (%lld) must not be greater than n_fft (%lld)",
                              (long long)a->win_length, (long long)a->n_fft);
    if (a->hop_length == TT_NULL_INT) a->hop_length = a->win_length / hop_part;
    if (a->hop_length < 1)
        return TT_FAIL_AT_KEY(node, tt_node_get(node, "win_length") ? "win_length" : "n_fft",
                              "win_length %lld leaves hop_length at 0; give hop_length", (long long)a->win_length);
    if (!isnan(k->alpha) && a->window_fn != TT_WINDOW_HAMMING)
        return TT_FAIL_AT_KEY(tt_node_get(node, "wkwargs"), "alpha", "alpha belongs to hamming_window");
    if (!isnan(k->beta) && a->window_fn != TT_WINDOW_HAMMING && a->window_fn != TT_WINDOW_KAISER)
        return TT_FAIL_AT_KEY(tt_node_get(node, "wkwargs"), "beta", "beta belongs to hamming_window and kaiser_window");
    if (isnan(k->alpha)) k->alpha = 0.54;
    if (isnan(k->beta)) k->beta = a->window_fn == TT_WINDOW_KAISER ? 12.0 : 0.46;
    float *window = TT_NEWN(arena, float, a->win_length);
    tt_window((TtWindowKind)a->window_fn, a->win_length, k->periodic, k->alpha, k->beta, window);
    *s = (TtAudioStft){.n_fft = (int)a->n_fft,
                       .hop = (int)a->hop_length,
                       .pad = a->pad,
                       .pad_mode = (TtPadMode)a->pad_mode,
                       .center = a->center,
                       .onesided = a->onesided};
    return tt_audio_stft_init(s, window, (int)a->win_length, norms[a->normalized], arena);
}

void tt_audio_expect_rate(const TtAudio *a, int64_t sample_rate, const char *who, const char *name)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (a->sample_rate == sample_rate || a->sample_rate == 0 || atomic_flag_test_and_set(&warned)) return;
    tt_warn(
        "%s: %s takes the clip for one of %lld Hz, but it has %d; give its sample_rate, or put a Resample before it",
        name, who, (long long)sample_rate, a->sample_rate);
}
