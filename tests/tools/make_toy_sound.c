/* SPDX-License-Identifier: Apache-2.0 */
/* tests/tools/make_toy_sound.c - sound to train on in seconds: make_toy_sound DIR SPLIT COUNT SEED
 *
 * Writes COUNT clips of 8 kHz and their manifests, SPLIT_speech.tsv (path, text, frames: each letter from a to e is a tone
 * of its own), SPLIT_mixtures.tsv (mixture, source1, source2: a low voice and a high one, all of one length) and
 * SPLIT_voices.tsv (path, speaker). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audio/reader.h"
#include "tensor/rng.h"

enum { RATE = 8000, LETTER = 800, MIX = 3203 };

static void check(TtStatus s)
{
    if (s == TT_OK) return;
    fprintf(stderr, "%s\n", tt_error_message());
    exit(1);
}

static void tone(float *x, int n, double hz, double volume, double phase)
{
    for (int i = 0; i < n; i++) {
        double edge = fmin(1, fmin(i, n - 1 - i) / 80.0);
        x[i] += (float)(volume * edge * (sin(2 * M_PI * hz * i / RATE + phase) + 0.4 * sin(4 * M_PI * hz * i / RATE)));
    }
}

static void save(const char *dir, const char *name, TtAudio *a)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    a->sample_rate = RATE;
    check(tt_wav_write(path, a, false));
}

static void speech(const char *dir, const char *split, int i, TtRng *r, FILE *list)
{
    char text[16] = "", name[256];
    int n = 3 + (int)tt_rng_below(r, 4);
    TtAudio a = {0};
    check(tt_audio_resize(&a, 1, (n + 1) * LETTER, 1, false));
    memset(a.data, 0, tt_audio_floats(&a) * sizeof *a.data);
    for (int k = 0; k < n; k++) {
        int letter = (int)tt_rng_below(r, 5);
        text[k] = (char)('a' + letter);
        tone(a.data + LETTER / 2 + k * LETTER, LETTER - 100, 300 + 350 * letter, 0.3, tt_rng_uniform(r, 0, 6));
    }
    for (size_t k = 0; k < tt_audio_floats(&a); k++) a.data[k] += 0.005f * (float)tt_rng_normal(r);
    snprintf(name, sizeof name, "%s_speech_%d.wav", split, i);
    save(dir, name, &a);
    fprintf(list, "%s\t%s\t%lld\n", name, text, (long long)a.frames);
    tt_audio_free(&a);
}

static void mixture(const char *dir, const char *split, int i, TtRng *r, FILE *mixtures, FILE *voices)
{
    TtAudio mix = {0}, source = {0};
    char name[3][256];
    check(tt_audio_resize(&mix, 1, MIX, 1, false));
    memset(mix.data, 0, MIX * sizeof(float));
    for (int k = 0; k < 2; k++) {
        check(tt_audio_resize(&source, 1, MIX, 1, false));
        memset(source.data, 0, MIX * sizeof(float));
        double hz = k ? tt_rng_uniform(r, 900, 1300) : tt_rng_uniform(r, 150, 250);
        for (int at = 0; at < MIX; at += LETTER)
            tone(source.data + at, TT_MIN(LETTER, MIX - at), hz * tt_rng_uniform(r, 0.9, 1.1), 0.25, 0);
        for (int t = 0; t < MIX; t++) mix.data[t] += source.data[t];
        snprintf(name[k + 1], sizeof name[0], "%s_mix_%d_%d.wav", split, i, k + 1);
        save(dir, name[k + 1], &source);
        fprintf(voices, "%s\t%s\n", name[k + 1], k ? "high" : "low");
    }
    snprintf(name[0], sizeof name[0], "%s_mix_%d.wav", split, i);
    save(dir, name[0], &mix);
    fprintf(mixtures, "%s\t%s\t%s\n", name[0], name[1], name[2]);
    tt_audio_free(&mix);
    tt_audio_free(&source);
}

static FILE *open_list(const char *dir, const char *split, const char *what, const char *header)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%s.tsv", dir, split, what);
    FILE *f = fopen(path, "w");
    if (!f) exit(1);
    fprintf(f, "%s\n", header);
    return f;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: make_toy_sound DIR SPLIT COUNT SEED\n");
        return 2;
    }
    const char *dir = argv[1], *split = argv[2];
    mkdir(dir, 0777);
    FILE *words = open_list(dir, split, "speech", "path\ttext\tframes");
    FILE *mixtures = open_list(dir, split, "mixtures", "mixture\tsource1\tsource2");
    FILE *voices = open_list(dir, split, "voices", "path\tspeaker");
    TtRng r = tt_rng((uint64_t)atoi(argv[4]), TT_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < atoi(argv[3]); i++) {
        speech(dir, split, i, &r, words);
        mixture(dir, split, i, &r, mixtures, voices);
    }
    return fclose(words) || fclose(mixtures) || fclose(voices);
}
