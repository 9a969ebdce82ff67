/* SPDX-License-Identifier: Apache-2.0 */
/* bench/wavernn_generate.c - samples a second of WaveRNN's generation, for torchaudio's default model or a smaller one.
 *
 *     wavernn_generate [voices=1] [threads=1] [bf16=0] [rnn=512] [fc=512] [classes=256] [frames=20] [hop=275]
 *
 * The peer, one voice on one core with the default model:
 *     torch.set_num_threads(1); m = torchaudio.models.WaveRNN([5, 5, 11], 256, 275).eval()
 *     with torch.inference_mode(): m.infer(torch.rand(1, 128, 20))
 * Weights are untrained; their values do not matter for the time, which includes the preparation. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/ops.h"
#include "models/wavernn_infer.h"
#include "tensor/clock.h"
#include "tensor/isa.h"

typedef struct Settings {
    int64_t voices, threads, bf16, rnn, fc, classes, frames, hop;
} Settings;

static int usage(void)
{
    fprintf(stderr, "usage: wavernn_generate [voices=1] [threads=1] [bf16=0] [rnn=512] [fc=512] [classes=256] "
                    "[frames=20] [hop=275]\n");
    return 2;
}

static bool parse(int argc, char **argv, Settings *s)
{
    static const char *const names[] = {"voices", "threads", "bf16", "rnn", "fc", "classes", "frames", "hop"};
    int64_t *const places[] = {&s->voices, &s->threads, &s->bf16, &s->rnn, &s->fc, &s->classes, &s->frames, &s->hop};
    for (int i = 1; i < argc; i++) {
        int k = 0;
        const char *eq = strchr(argv[i], '=');
        while (eq && k < TT_COUNT(names) && (strncmp(argv[i], names[k], (size_t)(eq - argv[i])) || eq == argv[i])) k++;
        if (!eq || k == TT_COUNT(names)) return false;
        *places[k] = strtoll(eq + 1, NULL, 10);
    }
    return s->voices > 0 && s->threads > 0 && s->rnn > 0 && s->fc > 0 && s->classes > 1 && s->frames > 0 && s->hop > 0;
}

static TtStatus parameters(const TtWaveRnn *o, TtParamSet *params)
{
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_wavernn_forward(g, o, tt_input(g, "waveform", TT_F32, TT_SHAPE(1, o->hop_length, 1)),
                       tt_input(g, "spec", TT_F32, TT_SHAPE(1, o->kernel_size, o->n_freq)));
    TtStatus st = tt_graph_status(g);
    tt_graph_free(g);
    if (st == TT_OK) st = tt_params_allocate(params);
    if (st == TT_OK) tt_params_init(params, 1);
    return st;
}

static TtStatus run(const Settings *s)
{
    TtWaveRnn o = {.upsample_scales = {1, {s->hop}},
                   .n_classes = s->classes,
                   .hop_length = s->hop,
                   .n_res_block = 10,
                   .n_rnn = s->rnn,
                   .n_fc = s->fc,
                   .kernel_size = 5,
                   .n_freq = 128,
                   .n_hidden = 128,
                   .n_output = 128};
    if (s->hop == 275) o.upsample_scales = (TtInts){3, {5, 5, 11}};
    TtParamSet *params = tt_params_new(TT_F32);
    size_t samples = (size_t)(s->frames * s->hop), values = (size_t)(s->frames * o.n_freq);
    TtWaveRnnUtterance *u = calloc((size_t)s->voices, sizeof *u);
    float *spec = calloc(values, sizeof *spec);
    int32_t *classes = calloc((size_t)s->voices * samples, sizeof *classes);
    TtRng r = tt_rng(1, TT_RNG_SYNTHETIC, 0, 0, 0);
    for (size_t i = 0; i < values; i++) spec[i] = tt_rng_float(&r);
    for (int64_t i = 0; i < s->voices; i++)
        u[i] = (TtWaveRnnUtterance){spec, s->frames, tt_rng(1, TT_RNG_SYNTHETIC, (uint64_t)i + 1, 0, 0),
                                    classes + (size_t)i * samples};
    omp_set_num_threads((int)s->threads);
    TtStatus st = parameters(&o, params);
    double least = 1e30;
    for (int i = 0; i < 3 && st == TT_OK; i++) {
        double start = tt_now();
        st = tt_wavernn_generate(&o, &(TtWaveRnnInfer){.params = params, .bf16 = s->bf16}, u, (int)s->voices);
        double seconds = tt_now() - start;
        if (seconds < least) least = seconds;
    }
    if (st == TT_OK)
        printf("rnn %lld, fc %lld, classes %lld, hop %lld, %s, %lld voices, %lld threads, %s: %.0f samples/s, %.0f a "
               "voice\n",
               (long long)s->rnn, (long long)s->fc, (long long)s->classes, (long long)s->hop,
               s->bf16 ? "bf16" : "float32", (long long)s->voices, (long long)s->threads, tt_isa_name(tt_isa()),
               (double)samples * (double)s->voices / least, (double)samples / least);
    free(u), free(spec), free(classes);
    tt_params_free(params);
    return st;
}

int main(int argc, char **argv)
{
    Settings s = {1, 1, 0, 512, 512, 256, 20, 275};
    if (!parse(argc, argv, &s)) return usage();
    TtStatus st = run(&s);
    if (st != TT_OK) fprintf(stderr, "wavernn_generate: %s\n", tt_error_message());
    return st;
}
