#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# scripts/make_audio_cases.py - writes tests/data/audio: short sound files in each format, made by the formats' own
# encoders, and next to each NAME.s16: what another decoder than FFmpeg's makes of it (or the original, for lossless
# ones), 16-bit samples of all channels, interleaved: the first, the middle and the last 1000 frames.
# Needs flac, vorbis-tools, opus-tools, lame, mpg123, faad, sox and ffmpeg.
import os
import struct
import subprocess
import tempfile
import wave

import numpy as np

OUT = "tests/data/audio"
WINDOW = 1000
os.makedirs(OUT, exist_ok=True)
tmp = tempfile.mkdtemp()


def run(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp)


def tone(channels, rate, frames):
    """A chirp of its own for each channel and a little noise: no two places are alike."""
    t = np.arange(frames) / rate
    rng = np.random.default_rng(frames)
    x = [0.5 * np.sin(2 * np.pi * (200 + 130 * c + 150 * t) * t) * (0.6 + 0.4 * np.sin(3 * t)) for c in range(channels)]
    x = np.stack(x, 1) + 0.01 * rng.standard_normal((frames, channels))
    return np.round(x * 32767).astype("<i2")


def put_wav(name, x, rate):
    with wave.open(os.path.join(tmp, name), "wb") as f:
        f.setnchannels(x.shape[1])
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(x.tobytes())


def get_raw(name, channels):
    return np.fromfile(os.path.join(tmp, name), "<i2").reshape(-1, channels)


def keep(name, expected):
    data = open(os.path.join(tmp, name), "rb").read()
    open(os.path.join(OUT, name), "wb").write(data)
    n = len(expected)
    windows = [expected[at : at + WINDOW] for at in (0, (n - WINDOW) // 2, n - WINDOW)]
    np.concatenate(windows).astype("<i2").tofile(os.path.join(OUT, name + ".s16"))
    print(name, len(data), "bytes", expected.shape[::-1])


def ogg_crc(page):
    crc = 0
    for b in page:
        crc ^= b << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc


stereo = tone(2, 16000, 20001)
put_wav("stereo.wav", stereo, 16000)
mono = tone(1, 16000, 192007)
put_wav("mono.wav", mono, 16000)
short = tone(1, 22050, 7001)
put_wav("short.wav", short, 22050)
wide = tone(8, 48000, 6000)
put_wav("wide.wav", wide, 48000)

# lossless: the original
run("flac", "-f", "--blocksize=1152", "stereo.wav", "-o", "16.flac")
keep("16.flac", stereo)
run("sox", "stereo.wav", "-b", "24", "24.wav", "vol", "0.5")
run("flac", "-f", "24.wav", "-o", "24.flac")
run("sox", "-D", "24.flac", "-t", "raw", "-b", "16", "24.raw")
keep("24.flac", get_raw("24.raw", 2))
run("flac", "-f", "--ogg", "short.wav", "-o", "flac.oga")
keep("flac.oga", short)
for name in ("short.aiff", "short.au", "short.w64", "short.sph"):
    run("sox", "short.wav", name)
    keep(name, short)
for name, codec in (("short.caf", "pcm_s16be"), ("alac.m4a", "alac"), ("short.wv", "wavpack"), ("short.tta", "tta")):
    run("ffmpeg", "-y", "-i", "short.wav", "-c:a", codec, "-fflags", "+bitexact", name)
    keep(name, short)

# Ogg
run("oggenc", "-q", "1", "-s", "1", "mono.wav", "-o", "vorbis.ogg")
run("oggdec", "-R", "vorbis.ogg", "-o", "vorbis.raw")
keep("vorbis.ogg", get_raw("vorbis.raw", 1))
run("oggenc", "-q", "-1", "-s", "2", "wide.wav", "-o", "wide.ogg")
run("sox", "-D", "wide.ogg", "-t", "raw", "-b", "16", "-e", "signed", "wide.raw")
keep("wide.ogg", get_raw("wide.raw", 8))
run("opusenc", "--serial", "3", "--bitrate", "12", "mono.wav", "voice.opus")
run("opusenc", "--serial", "4", "--bitrate", "64", "stereo.wav", "gain.opus")
path = os.path.join(tmp, "gain.opus")
data = bytearray(open(path, "rb").read())  # the first page has one packet, OpusHead: a gain of -6 dB
size = 27 + data[26] + sum(data[27 : 27 + data[26]])
head = data.index(b"OpusHead")
data[head + 16 : head + 18] = struct.pack("<h", -6 * 256)
data[22:26] = bytes(4)
data[22:26] = struct.pack("<I", ogg_crc(data[:size]))
open(path, "wb").write(data)
for name, channels in (("voice.opus", 1), ("gain.opus", 2)):
    run("opusdec", "--rate", "48000", "--no-dither", name, "opus.raw")
    keep(name, get_raw("opus.raw", channels))

# MPEG
for name, source, args in (("cbr.mp3", "mono.wav", ("-b", "16")), ("vbr.mp3", "stereo.wav", ("-V", "6"))):
    run("lame", *args, source, name)
    run("mpg123", "-s", "-w", "mp3.wav", name)
    run("sox", "mp3.wav", "-t", "raw", "mp3.raw")
    keep(name, get_raw("mp3.raw", 1 if source == "mono.wav" else 2))
run("lame", "-t", "-b", "32", "-p", "short.wav", "bare.mp3")  # no tag, checksums
run("mpg123", "-s", "-w", "mp3.wav", "--no-gapless", "bare.mp3")
run("sox", "mp3.wav", "-t", "raw", "mp3.raw")
keep("bare.mp3", get_raw("mp3.raw", 1))
put_wav("aac.wav", tone(2, 44100, 9001), 44100)  # faad takes lower rates for half of an SBR stream's
for name in ("short.m4a", "adts.aac"):
    run("ffmpeg", "-y", "-i", "aac.wav", "-c:a", "aac", "-aac_pns", "0", "-fflags", "+bitexact", name)
    run("faad", "-f", "2", "-o", "aac.raw", name)
    aac = get_raw("aac.raw", 2)
    keep(name, aac)
# a picture, a video track and sound
run("ffmpeg", "-y", "-f", "lavfi", "-i", "color=red:s=32x32:r=10:d=0.3", "-i", "short.wav", "-c:v", "mpeg4", "-c:a", "alac",
    "-fflags", "+bitexact", "video.mp4")
keep("video.mp4", short)
run("ffmpeg", "-y", "-f", "lavfi", "-i", "color=red:s=32x32:r=1:d=1", "-frames:v", "1", "cover.png")
run("ffmpeg", "-y", "-i", "short.wav", "-i", "cover.png", "-map", "0", "-map", "1", "-c:v", "copy", "-disposition:v",
    "attached_pic", "-c:a", "flac", "-fflags", "+bitexact", "cover.flac")
keep("cover.flac", short)

# others inside WAV, and G.722 (only FFmpeg has it here: the original, for comparison)
run("sox", "short.wav", "-e", "ima-adpcm", "ima.wav")
run("sox", "ima.wav", "-t", "raw", "-e", "signed", "-b", "16", "ima.raw")
keep("ima.wav", get_raw("ima.raw", 1))
run("ffmpeg", "-y", "-i", "mono.wav", "-t", "0.5", "-c:a", "g722", "-f", "g722", "speech.g722")
keep("speech.g722", mono[:8000])

# all codes of G.711
open(os.path.join(tmp, "codes.raw"), "wb").write(bytes(range(256)))
for law in ("a-law", "mu-law"):
    run("sox", "-t", "raw", "-e", law, "-b", "8", "-r", "8000", "-c", "1", "codes.raw", "-t", "raw", "-e", "signed", "-b",
        "16", "codes.s16")
    os.replace(os.path.join(tmp, "codes.s16"), os.path.join(OUT, law + ".s16"))
