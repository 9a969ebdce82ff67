/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_wavernn_infer.c - WaveRNN's generation gives torchaudio's samples where there is nothing to draw
 * (scripts/make_wavernn_values.py); draws by the probabilities that the network itself gives for the samples before;
 * and gives the same samples whatever the threads, the company and the order are. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/ops/ops.h"
#include "models/wavernn_infer.h"
#include "tests/support/values.h"
#include "tests/wavernn_torch.inc"

/* The network of scripts/make_wavernn_values.py's generate(). */
static const TtWaveRnn sure = {.upsample_scales = {2, {2, 3}},
                               .n_classes = 32,
                               .hop_length = 6,
                               .n_res_block = 1,
                               .n_rnn = 37,
                               .n_fc = 70,
                               .kernel_size = 3,
                               .n_freq = 7,
                               .n_hidden = 6,
                               .n_output = 13};
enum { SURE_FRAMES = TT_COUNT(sure_classes) / 6, FREQ = 7 };

/* Parameters as a graph declares them, filled by pattern. */
static TtParamSet *network(const TtWaveRnn *o, double scale)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_wavernn_forward(g, o, tt_input(g, "waveform", TT_F32, TT_SHAPE(1, o->hop_length, 1)),
                       tt_input(g, "spec", TT_F32, TT_SHAPE(1, o->kernel_size, o->n_freq)));
    values_ok(tt_graph_status(g));
    values_ok(tt_params_allocate(params));
    tt_params_init(params, 1);
    values_fill_params(params, scale);
    tt_graph_free(g);
    return params;
}

static void test_sure(void **state)
{
    TtParamSet *params = network(&sure, 1);
    const TtParam *w = tt_params_find(params, "fc3.weight"), *b = tt_params_find(params, "fc3.bias");
    for (int64_t i = 0; i < tt_shape_count(&w->shape); i++) ((float *)w->value)[i] *= 131072;
    memset(b->value, 0, sizeof(float) * (size_t)sure.n_classes);
    float spec[SURE_FRAMES * FREQ];
    int32_t classes[TT_COUNT(sure_classes)];
    TtWaveRnnUtterance u = {values_fill(spec, SURE_FRAMES * FREQ, 2), SURE_FRAMES, tt_rng(1, TT_RNG_TEST, 0, 0, 0),
                            classes};
    values_ok(tt_wavernn_generate(&sure, &(TtWaveRnnInfer){.params = params}, &u, 1));
    for (int i = 0; i < TT_COUNT(sure_classes); i++) assert_int_equal(classes[i], sure_classes[i]);
    tt_params_free(params);
}

/* Logits (samples,n_classes) of the network for given samples, by its graph. */
static float *logits_of(const TtWaveRnn *o, TtParamSet *params, const TtWaveRnnUtterance *u)
{
    int64_t pad = (o->kernel_size - 1) / 2, samples = u->frames * o->hop_length;
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    TtVal spec = tt_input(g, "spec", TT_F32, TT_SHAPE(1, u->frames, o->n_freq));
    TtVal waveform = tt_input(g, "waveform", TT_F32, TT_SHAPE(1, samples, 1));
    TtVal logits = tt_wavernn_forward(g, o, waveform, tt_pad_axis(g, spec, TT_PAD_CONSTANT, 0, 1, pad, pad));
    tt_output(g, logits, "logits");
    TtProgram *p;
    values_ok(tt_program_build(g, NULL, &p));
    float *x = malloc(sizeof *x * (size_t)samples), *copy;
    for (int64_t t = 0; t < samples; t++)
        x[t] = t ? (float)(2.0 * u->classes[t - 1] / (double)(o->n_classes - 1) - 1) : 0;
    tt_program_bind(p, spec, (void *)(uintptr_t)u->spec);
    tt_program_bind(p, waveform, x);
    values_ok(tt_program_run(p, &(TtStepInfo){0}));
    TtTensor t = tt_program_tensor(p, logits);
    copy = malloc(tt_tensor_bytes(&t));
    memcpy(copy, t.data, tt_tensor_bytes(&t));
    tt_program_free(p);
    tt_graph_free(g);
    free(x);
    return copy;
}

/* Each class is the one whose share of [0, 1) holds the uniform number, give or take SLACK. */
static void expect_drawn(const TtWaveRnn *o, TtParamSet *params, const TtWaveRnnUtterance *u, double slack)
{
    float *logits = logits_of(o, params, u);
    TtRng rng = u->rng;
    int changes = 0;
    for (int64_t t = 0; t < u->frames * o->hop_length; t++) {
        const float *l = logits + t * o->n_classes;
        double total = 0, below = 0, at = tt_rng_double(&rng);
        for (int64_t c = 0; c < o->n_classes; c++) total += exp((double)l[c]);
        for (int64_t c = 0; c < u->classes[t]; c++) below += exp((double)l[c]) / total;
        double share = exp((double)l[u->classes[t]]) / total;
        if (at < below - slack || at > below + share + slack)
            fail_msg("sample %lld: class %d has %.9g..%.9g, the number is %.9g", (long long)t, u->classes[t], below,
                     below + share, at);
        changes += t && u->classes[t] != u->classes[t - 1];
    }
    assert_true(u->frames * o->hop_length < 10 || changes > 3);
    free(logits);
}

enum { VOICES = 9, LONGEST = 9 };

typedef struct Voices {
    TtWaveRnnUtterance u[VOICES];
    float spec[VOICES][LONGEST * FREQ];
    int32_t *classes;
} Voices;

static void voices_make(Voices *v, const TtWaveRnn *o)
{
    size_t most = (size_t)(LONGEST * o->hop_length);
    v->classes = calloc(VOICES * most, sizeof *v->classes);
    for (int i = 0; i < VOICES; i++)
        v->u[i] = (TtWaveRnnUtterance){values_fill(v->spec[i], LONGEST * FREQ, i + 1), 1 + i * 5 % LONGEST,
                                       tt_rng(7, TT_RNG_TEST, (uint64_t)i, 0, 0), v->classes + (size_t)i * most};
}

static void check(const TtWaveRnn *o, double scale)
{
    TtParamSet *params = network(o, scale);
    size_t most = (size_t)(LONGEST * o->hop_length);
    int32_t *alone = calloc(most, sizeof *alone);
    int threads = omp_get_max_threads();
    Voices v;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        TtWaveRnnInfer with = {params, bf16};
        voices_make(&v, o);
        values_ok(tt_wavernn_generate(o, &with, v.u, VOICES));
        for (int i = 0; i < VOICES; i++) expect_drawn(o, params, &v.u[i], bf16 ? 3e-2 : 2e-5);
        for (int i = 0; i < 3 * VOICES; i++) { /* alone and in pairs, with another number of threads */
            int which = i % VOICES, n = which + 1 < VOICES && i % 2 ? 2 : 1;
            int32_t *was = v.u[which].classes;
            size_t bytes = sizeof *was * (size_t)(v.u[which].frames * o->hop_length);
            v.u[which].classes = alone;
            omp_set_num_threads(1 + i / VOICES);
            values_ok(tt_wavernn_generate(o, &with, v.u + which, n));
            omp_set_num_threads(threads);
            assert_memory_equal(alone, was, bytes);
            v.u[which].classes = was;
        }
        free(v.classes);
    }
    free(alone);
    tt_params_free(params);
}

static void test_small(void **state)
{
    check(&sure, 1);
}

/* Threads divide the units of a layer; classes are no power of two, there are no features behind the first layer's, and
 * panels are full. */
static void test_wide(void **state)
{
    TtWaveRnn o = {.upsample_scales = {3, {2, 1, 2}},
                   .n_classes = 130,
                   .hop_length = 4,
                   .n_res_block = 0,
                   .n_rnn = 208,
                   .n_fc = 192,
                   .kernel_size = 5,
                   .n_freq = FREQ,
                   .n_hidden = 5,
                   .n_output = 3};
    check(&o, 0.25);
}

static void test_refused(void **state)
{
    TtParamSet *params = network(&sure, 1);
    TtWaveRnnInfer with = {.params = params};
    float spec[FREQ] = {0};
    int32_t classes[6];
    TtWaveRnnUtterance u = {spec, 0, tt_rng(1, TT_RNG_TEST, 0, 0, 0), classes};
    assert_int_equal(tt_wavernn_generate(&sure, &with, &u, 1), TT_EDATA);
    assert_int_equal(tt_wavernn_generate(&sure, &with, &u, 0), TT_OK);
    u.frames = 1;
    TtWaveRnn o = sure;
    o.hop_length = 5;
    assert_int_equal(tt_wavernn_generate(&o, &with, &u, 1), TT_ECONFIG);
    o = sure, o.n_rnn = 38;
    assert_int_equal(tt_wavernn_generate(&o, &with, &u, 1), TT_EINTERNAL);
    o = sure, o.n_classes = 1;
    assert_int_equal(tt_wavernn_generate(&o, &with, &u, 1), TT_ECONFIG);
    tt_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sure), cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_wide), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
