#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expected values of the sound transforms, from torchaudio.

Writes tests/audio_cases.inc (the chain as YAML, its input, the shape of its output, where the values lie) and
tests/data/audio/values.bin (float32). torchaudio runs in float64 on its own float32 tables (windows, filter banks,
resampling kernels), so that the tests' limits measure our rounding and not its. Inputs follow a formula that
tests/support/sound.c repeats. Needs torch, torchaudio and yaml.
"""
import math
import os
import warnings

import numpy as np
import torch
import torchaudio
import torchaudio.transforms as T
import yaml

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
WINDOWS = {"hann_window": torch.hann_window, "hamming_window": torch.hamming_window, "ones": torch.ones,
           "blackman_window": torch.blackman_window, "bartlett_window": torch.bartlett_window,
           "kaiser_window": torch.kaiser_window}


def sound(channels, n, scale, quiet=0):
    out = np.empty((channels, n), np.float32)
    for c in range(channels):
        noise = 12345 + c
        for i in range(n):
            noise = (noise * 1664525 + 1013904223) % 2**32
            slow, fast = i * (7 + 4 * c) % 400, i * (61 + c) % 256
            v = 60 * min(slow, 400 - slow) - 6000 + 40 * min(fast, 256 - fast) - 2560
            v += (3000 if i // 300 % 2 else -3000) + (noise >> 20) - 2048
            out[c, i] = np.float32(v) * (np.float32(scale) / np.float32(16384))
    out[:, :quiet] /= np.float32(1024)
    return torch.from_numpy(out)


def arguments(args):
    args = dict(args)
    for k in ("melkwargs", "speckwargs"):
        if k in args:
            args[k] = arguments(args[k])
    if "wkwargs" in args:  # torch takes alpha and beta only with periodic
        args["wkwargs"] = {"periodic": True, **args["wkwargs"]}
    if "window_fn" in args:
        args["window_fn"] = WINDOWS[args["window_fn"]]
    return args


def run(chain, x):
    for element in chain:
        name, args = (element, {}) if isinstance(element, str) else next(iter(element.items()))
        args = arguments(args or {})
        if name == "Log":
            x = torch.log(x + args.get("eps", 1e-6))
        elif name == "NormalizeDB":
            m = args.get("min_level_db", -100)
            x = torch.clamp((m - 20 * torch.log10(torch.clamp(x, min=1e-5))) / m, 0, 1)
        elif name == "InverseSpectrogram":
            length = args.pop("length", None)
            x = T.InverseSpectrogram(**args).double()(x, length)
        elif name in ("Speed", "SpeedPerturbation"):
            x = getattr(T, name)(**args).double()(x)[0]
        elif name == "Deemphasis":  # the class of 2.11 calls a function that is not there
            x = torchaudio.functional.deemphasis(x, **args)
        elif name == "SlidingWindowCmn":  # it takes (time, freq), the others (freq, time)
            x = T.SlidingWindowCmn(**args)(x.transpose(-1, -2).contiguous()).transpose(-1, -2)
        elif name == "TimeStretch":
            x = T.TimeStretch(**args).double()(x)
        else:
            x = getattr(T, name)(**args).double()(x)
    return x


def mixed(text, x):
    """Two waveforms: "@add_noise CHANNELS SNR", "@fftconvolve CHANNELS SAMPLES MODE"."""
    what, channels, *rest = text[1:].split()
    if what == "add_noise":
        y = sound(int(channels), x.shape[-1], 0.3, x.shape[-1] // 3).double()
        return torchaudio.functional.add_noise(x, y.expand_as(x), torch.full(x.shape[:1], float(rest[0]), dtype=torch.double))
    y = sound(int(channels), int(rest[0]), 0.3, int(rest[0]) // 3).double()
    return T.FFTConvolve(rest[1])(x, y)


class Writer:
    def __init__(self):
        self.lines, self.blob = [], bytearray()

    def add(self, text, channels=1, n=1000, rate=16000, limit=2e-6, scale=0.9, every=1, single=False, quiet=0):
        """LIMIT: largest difference over the largest value; EVERY: only each EVERYth value is kept."""
        x = sound(channels, n, scale, quiet)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = x if single else x.double()
            y = mixed(text, x) if text[0] == "@" else run(yaml.safe_load(text), x)
        if y.dim() < 2:  # one value a clip
            y = y.reshape(1, -1)
        complex_ = y.is_complex()
        if y.dim() == 2:
            y = y.unsqueeze(1)
        y = y.transpose(1, 2)  # (C, frames, bins)
        c, frames, bins = y.shape
        if complex_:
            y = torch.view_as_real(y.contiguous())
        v = y.detach().contiguous().to(torch.float64).numpy().reshape(-1)[::every].astype(np.float32)
        assert np.isfinite(v).all(), text
        self.lines.append('    {"%s", %d, %d, %d, %g, %d, %d, %d, %d, %d, %d, %d, %g},'
                          % (text, channels, n, rate, scale, quiet, c, frames, bins, complex_, len(self.blob) // 4, every, limit))
        self.blob.extend(v.tobytes())

    def write(self):
        os.makedirs(os.path.join(ROOT, "tests/data/audio"), exist_ok=True)
        with open(os.path.join(ROOT, "tests/data/audio/values.bin"), "wb") as f:
            f.write(self.blob)
        with open(os.path.join(ROOT, "tests/audio_cases.inc"), "w") as f:
            f.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
            f.write("/* Written by scripts/make_audio_values.py with torch %s, torchaudio %s. */\n"
                    % (torch.__version__.split("+")[0], torchaudio.__version__.split("+")[0]))
            f.write("\n".join(self.lines) + "\n")
        print(len(self.lines), "cases,", len(self.blob), "bytes")


def spectra(w):
    for n in (201, 399, 400, 401, 1000, 1001):  # reflect padding needs more than n_fft / 2
        w.add("[Spectrogram]", n=n, every=7)
    w.add("[{Spectrogram: {power: null}}]", channels=3, n=777, every=11)
    w.add("[{Spectrogram: {power: 1.0}}]", every=7)
    w.add("[{Spectrogram: {power: 0.5}}]", every=7, limit=1e-5)
    w.add("[{Spectrogram: {power: 3.0}}]", every=7)
    for window in WINDOWS:
        if window == "ones":
            continue
        for periodic in ("true", "false"):
            w.add("[{Spectrogram: {n_fft: 64, window_fn: %s, wkwargs: {periodic: %s}}}]" % (window, periodic), n=301, every=5)
    w.add("[{Spectrogram: {n_fft: 64, window_fn: ones}}]", n=301, every=5)
    w.add("[{Spectrogram: {n_fft: 64, window_fn: hamming_window, wkwargs: {alpha: 0.6, beta: 0.3}}}]", n=301, every=5)
    w.add("[{Spectrogram: {n_fft: 64, window_fn: kaiser_window, wkwargs: {beta: 7.5}}}]", n=301, every=5)
    for args in ("n_fft: 512, win_length: 400, hop_length: 160", "n_fft: 15, win_length: 10, hop_length: 3",
                 "n_fft: 37, hop_length: 50", "n_fft: 64, win_length: 33", "n_fft: 1, hop_length: 1", "n_fft: 2"):
        w.add("[{Spectrogram: {%s}}]" % args, channels=2, n=611, every=13)
    for norm in ("true", "window", "frame_length"):
        for power in ("2.0", "null"):
            w.add("[{Spectrogram: {n_fft: 50, win_length: 40, normalized: %s, power: %s}}]" % (norm, power), n=200, every=5)
    for mode in ("reflect", "constant", "replicate", "circular"):
        w.add("[{Spectrogram: {n_fft: 50, pad_mode: %s, power: 1.0}}]" % mode, n=101, every=3)
        w.add("[{Spectrogram: {n_fft: 51, pad_mode: %s, power: 1.0, pad: 7}}]" % mode, n=101, every=3)
    w.add("[{Spectrogram: {n_fft: 50, pad_mode: constant}}]", n=3)
    w.add("[{Spectrogram: {n_fft: 50, pad_mode: replicate}}]", n=1)
    w.add("[{Spectrogram: {n_fft: 50, center: false}}]", n=163)
    w.add("[{Spectrogram: {n_fft: 50, center: false}}]", n=50)
    w.add("[{Spectrogram: {n_fft: 30, onesided: false}}]", n=97)
    w.add("[{Spectrogram: {n_fft: 31, onesided: false, power: null}}]", n=97)
    w.add("[{SpectralCentroid: {sample_rate: 16000}}]", channels=2)
    w.add("[{SpectralCentroid: {sample_rate: 8001, n_fft: 64, win_length: 50, hop_length: 20, pad: 5,"
          " window_fn: hamming_window, wkwargs: {periodic: false}}}]", n=333)


def inverses(w):
    for args, n in (("n_fft: 64", 500), ("n_fft: 64, win_length: 50, hop_length: 20", 501), ("n_fft: 33, hop_length: 8", 200)):
        w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s}}]" % (args, args), channels=2, n=n)
    args = "n_fft: 64, normalized: window"
    w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s}}]" % (args, args), n=300)
    args = "n_fft: 64, normalized: frame_length, onesided: false"
    w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s}}]" % (args, args), n=300)
    args = "n_fft: 64, pad: 10"
    w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s}}]" % (args, args), n=300)
    for length in (250, 300, 400):  # at the end of the last the window's edge divides by little
        w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s, length: %d}}]" % (args, args, length), n=300,
              limit=2e-5 if length == 400 else 2e-6)
    args = "n_fft: 64, center: false, window_fn: hamming_window, pad_mode: constant"
    w.add("[{Spectrogram: {%s, power: null}}, {InverseSpectrogram: {%s}}]" % (args, args), n=300)
    # A spectrogram that belongs to no waveform.
    w.add("[{Spectrogram: {n_fft: 64, hop_length: 16, power: null}}, {InverseSpectrogram: {n_fft: 64, hop_length: 25}}]", n=300)
    for rate in (0.8, 1.0, 1.3, 2.0):
        w.add("[{Spectrogram: {n_fft: 64, hop_length: 16, power: null}}, {TimeStretch: {n_freq: 33, hop_length: 16,"
              " fixed_rate: %g}}]" % rate, channels=2, n=500, every=5, limit=2e-5)
    w.add("[{Spectrogram: {n_fft: 64, power: null}}, {TimeStretch: {n_freq: 33, fixed_rate: 1.1}}]", n=500, every=5, limit=2e-5)
    w.add("[{Spectrogram: {n_fft: 64}}, {GriffinLim: {n_fft: 64, n_iter: 5, rand_init: false}}]", n=500, limit=1e-4)
    w.add("[{Spectrogram: {n_fft: 64, win_length: 50, power: 1.0}}, {GriffinLim: {n_fft: 64, n_iter: 3, win_length: 50,"
          " power: 1.0, momentum: 0.0, length: 500, rand_init: false}}]", channels=2, n=500, limit=1e-4)
    w.add("[{Spectrogram: {n_fft: 64, hop_length: 16}}, {GriffinLim: {n_fft: 64, hop_length: 16, n_iter: 0, momentum: 0.5,"
          " window_fn: hamming_window, rand_init: false}}]", n=300, limit=1e-5)
    for steps, octave in ((4, 12), (-3, 12), (2, 5), (0, 12)):
        w.add("[{PitchShift: {sample_rate: 16000, n_steps: %d, bins_per_octave: %d}}]" % (steps, octave), channels=2, n=1501,
              every=7, limit=1e-4)
    w.add("[{PitchShift: {sample_rate: 8000, n_steps: 12, n_fft: 64, win_length: 60, hop_length: 20,"
          " window_fn: hamming_window}}]", n=700, every=3, limit=1e-4)


def mels(w):
    w.add("[MelSpectrogram]", channels=2, every=5, limit=5e-6)
    w.add("[{MelSpectrogram: {sample_rate: 16000, n_fft: 512, win_length: 400, hop_length: 160, n_mels: 40}}]", n=1601, limit=5e-6)
    w.add("[{MelSpectrogram: {sample_rate: 22050, n_fft: 512, win_length: 400, hop_length: 200, f_min: 40.0, f_max: 7600.0,"
          " n_mels: 80, power: 1.0, mel_scale: slaney, norm: slaney}}]", n=1700, rate=22050, limit=5e-6)
    w.add("[{MelSpectrogram: {n_mels: 13, f_max: 4000.0, normalized: true, window_fn: hamming_window, pad: 20,"
          " center: false, norm: slaney}}]", limit=5e-6)
    w.add("[{MelSpectrogram: {n_mels: 20, pad_mode: constant, mel_scale: slaney, onesided: true,"
          " wkwargs: {periodic: false}}}]", n=555, limit=5e-6)
    w.add("[{MelSpectrogram: {sample_rate: 8001, n_fft: 2048, n_mels: 17}}]", n=2500, rate=8001, limit=5e-6)
    w.add("[Spectrogram, MelScale]", every=5, limit=5e-6)
    w.add("[{Spectrogram: {n_fft: 100}}, {MelScale: {n_stft: 51, n_mels: 5, sample_rate: 8000, f_min: 100, f_max: 3000,"
          " norm: slaney, mel_scale: slaney}}]", channels=2, n=500, limit=5e-6)
    w.add("[MelSpectrogram, Log]", every=5, limit=5e-6)
    w.add("[MelSpectrogram, {Log: {eps: 1.0e-2}}]", every=5, limit=5e-6)
    w.add("[{MelSpectrogram: {power: 1.0}}, NormalizeDB]", every=5, limit=5e-6)
    w.add("[{MelSpectrogram: {power: 1.0}}, {NormalizeDB: {min_level_db: -30}}]", every=5, scale=0.02, limit=5e-6)
    w.add("[MelSpectrogram, AmplitudeToDB]", every=5, limit=5e-6)
    w.add("[MelSpectrogram, {AmplitudeToDB: {top_db: 30.0}}]", channels=2, every=5, limit=5e-6)
    w.add("[MelSpectrogram, {AmplitudeToDB: {stype: magnitude, top_db: 60}}]", every=5, limit=5e-6)
    w.add("[AmplitudeToDB]", n=300)
    w.add("[MFCC]", limit=2e-5)
    w.add("[{MFCC: {sample_rate: 8000, n_mfcc: 13, norm: null, log_mels: true,"
          " melkwargs: {n_fft: 200, hop_length: 80, n_mels: 23, center: false}}}]", channels=2, n=1234, rate=8000, limit=2e-5)
    w.add("[{MFCC: {dct_type: 2, melkwargs: {n_mels: 40}}}]", limit=2e-5)
    w.add("[LFCC]", limit=2e-5)
    w.add("[{LFCC: {sample_rate: 8000, n_filter: 20, f_min: 100, f_max: 3500, n_lfcc: 12, norm: null, log_lf: true,"
          " speckwargs: {n_fft: 256, hop_length: 100, power: 1.0}}}]", channels=2, n=1000, limit=2e-5)
    w.add("[{MFCC: {n_mfcc: 20}}, ComputeDeltas]", n=2000, limit=2e-5)
    for mode in ("replicate", "constant", "reflect", "circular"):
        w.add("[{MFCC: {n_mfcc: 5}}, {ComputeDeltas: {win_length: 6, mode: %s}}]" % mode, channels=2, n=1500, limit=2e-5)
    w.add("[{MFCC: {n_mfcc: 3}}, {ComputeDeltas: {win_length: 9}}]", n=300, limit=2e-5)


def features(w):
    for args in ("", "cmn_window: 7, min_cmn_window: 3", "cmn_window: 7, min_cmn_window: 3, norm_vars: true",
                 "cmn_window: 6, center: true", "cmn_window: 5, center: true, norm_vars: true", "cmn_window: 100, center: true",
                 "cmn_window: 3, min_cmn_window: 50"):
        w.add("[{MFCC: {n_mfcc: 5}}, {SlidingWindowCmn: {%s}}]" % args, channels=2, n=4000, limit=1e-5)


def waveforms(w):
    for a, b in ((16000, 8000), (8000, 16000), (44100, 16000), (16000, 22050), (48000, 16000), (11025, 16000), (22050, 24000),
                 (16000, 16000), (16000, 15999)):
        for n in (1, 500, 1001):
            w.add("[{Resample: {orig_freq: %d, new_freq: %d}}]" % (a, b), channels=2 if n < 1001 else 1, n=n, rate=a,
                  every=1 if n < 1001 else 3)
    for args in ("lowpass_filter_width: 1", "lowpass_filter_width: 16, rolloff: 0.9", "resampling_method: sinc_interp_kaiser",
                 "resampling_method: sinc_interp_kaiser, beta: 8.5, lowpass_filter_width: 12"):
        w.add("[{Resample: {orig_freq: 16000, new_freq: 11025, %s}}]" % args, n=700)
    for factor in (0.9, 1.0, 1.1, 1.37):
        w.add("[{Speed: {orig_freq: 16000, factor: %g}}]" % factor, channels=2, n=500)
    w.add("[{SpeedPerturbation: {orig_freq: 8000, factors: [1.2]}}]", n=500, rate=8000)
    w.add("[MuLawEncoding]", n=600, limit=0, single=True)
    w.add("[{MuLawEncoding: {quantization_channels: 1024}}]", n=600, limit=0, single=True)
    w.add("[MuLawEncoding, MuLawDecoding]", n=600, single=True)
    w.add("[{MuLawEncoding: {quantization_channels: 30}}, {MuLawDecoding: {quantization_channels: 30}}]", n=300, single=True)
    w.add("[{Vol: {gain: 0.3}}]", n=100)
    w.add("[{Vol: {gain: 3.0, gain_type: amplitude}}]", n=300)
    w.add("[{Vol: {gain: 0.5, gain_type: power}}]", n=100)
    w.add("[{Vol: {gain: -6.0, gain_type: db}}]", n=100)
    for shape in ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine"):
        w.add("[{Fade: {fade_in_len: 40, fade_out_len: 70, fade_shape: %s}}]" % shape, channels=2, n=101)
        w.add("[{Fade: {fade_in_len: 1, fade_out_len: 1, fade_shape: %s}}]" % shape, n=5)
    w.add("[Preemphasis]", channels=2, n=300)
    w.add("[{Preemphasis: {coeff: 0.5}}]", n=300)
    w.add("[Deemphasis]", channels=2, n=300, scale=0.05)
    w.add("[{Deemphasis: {coeff: 0.5}}]", n=300)
    for args, quiet in (("", 9000), ("", 20000), ("pre_trigger_time: 0.1", 9000), ("pre_trigger_time: 0.1", 20000), ("", 0),
                        ("trigger_level: 3, trigger_time: 0.1, search_time: 0.5, allowed_gap: 0.1, boot_time: 0.2,"
                         " noise_up_time: 0.2, noise_down_time: 0.02, noise_reduction_amount: 1.0, measure_freq: 25,"
                         " measure_duration: 0.06, measure_smooth_time: 0.3, hp_filter_freq: 80, lp_filter_freq: 3000,"
                         " hp_lifter_freq: 120, lp_lifter_freq: 1500", 9000)):
        if quiet < 20000 or args:  # nothing at all is left of a clip without speech
            w.add("[{Vad: {sample_rate: 8000, %s}}]" % args, channels=1 + (quiet == 0 or args == "pre_trigger_time: 0.1"), n=16001, rate=8000, quiet=quiet,
                  every=97, single=True)
    w.add("[{Loudness: {sample_rate: 8000}}]", channels=2, n=9000, rate=8000, scale=0.3)
    w.add("[{Loudness: {sample_rate: 4410}}]", channels=5, n=3001, rate=4410, scale=0.02)


def mixes(w):
    for channels, snr in ((1, 7.5), (2, 0), (2, -20), (1, 60)):
        w.add("@add_noise %d %g" % (channels, snr), channels=2, n=501)
    for mode in ("full", "valid", "same"):
        for n, m in ((500, 77), (77, 500), (1, 9), (9, 1), (300, 300), (3001, 40)):
            w.add("@fftconvolve 1 %d %s" % (m, mode), n=n, every=1 if n < 3000 else 7)
    w.add("@fftconvolve 2 50 full", channels=2, n=200)
    w.add("@fftconvolve 2 50 full", channels=1, n=200)
    w.add("@fftconvolve 1 50 same", channels=2, n=200)


if __name__ == "__main__":
    writer = Writer()
    for part in (spectra, inverses, mels, features, waveforms, mixes):
        part(writer)
    writer.write()
