/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_wavernn.c - WaveRNN has torchaudio's parameters and gives its logits and gradients:
 * scripts/make_wavernn_values.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/ops/ops.h"
#include "models/wavernn.h"
#include "tests/support/values.h"
#include "tests/wavernn_torch.inc"

enum { SAMPLES = 2, FRAMES = 9, TIME = (FRAMES - 4) * 6, FREQ = 7, CLASSES = 8 };

static const TtWaveRnn options = {.upsample_scales = {2, {3, 2}},
                                  .n_classes = CLASSES,
                                  .hop_length = 6,
                                  .n_res_block = 2,
                                  .n_rnn = 12,
                                  .n_fc = 10,
                                  .kernel_size = 5,
                                  .n_freq = FREQ,
                                  .n_hidden = 6,
                                  .n_output = 9};

typedef struct Net {
    TtParamSet *params;
    TtGraph *g;
    TtProgram *p;
    TtVal in[2], din[2], logits; /* waveform, spectrogram */
    float waveform[SAMPLES * TIME], spec[SAMPLES * FRAMES * FREQ];
} Net;

static void net_open(Net *n, bool training, bool bf16)
{
    *n = (Net){.params = tt_params_new(TT_F32)};
    n->g = tt_graph_new(&(TtGraphOptions){.params = n->params, .training = training, .bf16 = bf16});
    n->in[0] = tt_input(n->g, "waveform", TT_F32, TT_SHAPE(SAMPLES, TIME, 1));
    n->in[1] = tt_input(n->g, "spec", TT_F32, TT_SHAPE(SAMPLES, FRAMES, FREQ));
    n->logits = tt_wavernn_forward(n->g, &options, n->in[0], n->in[1]);
    tt_output(n->g, n->logits, "logits");
    if (training) {
        TtVal weighted = tt_mul(n->g, n->logits, values_const(n->g, tt_shape(n->g, n->logits), 5));
        TtVal loss = tt_sum(n->g, tt_flatten(n->g, weighted, 0, -1), (int[]){0}, 1, false);
        tt_grad(n->g, loss, TT_NONE, n->in, 2, n->din);
        for (int k = 0; k < 2; k++) tt_output(n->g, n->din[k] = tt_contiguous(n->g, n->din[k]), "din");
    }
    values_ok(tt_graph_status(n->g));
    values_ok(tt_params_allocate(n->params));
    tt_params_init(n->params, 1);
    values_fill_params(n->params, 1);
    values_ok(tt_program_build(n->g, NULL, &n->p));
    tt_program_bind(n->p, n->in[0], values_fill(n->waveform, SAMPLES * TIME, 1));
    tt_program_bind(n->p, n->in[1], values_fill(n->spec, SAMPLES * FRAMES * FREQ, 2));
    values_ok(tt_program_run(n->p, &(TtStepInfo){0}));
}

static void net_close(Net *n)
{
    tt_program_free(n->p);
    tt_graph_free(n->g);
    tt_params_free(n->params);
}

static void expect_logits(const Net *n, const double *expected, double tolerance)
{
    TtTensor t = tt_program_tensor(n->p, n->logits);
    assert_int_equal(tt_tensor_count(&t), SAMPLES * TIME * CLASSES);
    values_expect("logits", t.data, expected, tt_tensor_count(&t), tolerance);
}

static void test_evaluation(void **state)
{
    Net n;
    net_open(&n, false, false);
    expect_logits(&n, eval_logits, 5e-6);
    net_close(&n);
}

/* Digests come in the order of parameters, which is the state dict's without buffers; then the inputs'. */
static void test_training(void **state)
{
    Net n;
    net_open(&n, true, false);
    expect_logits(&n, train_logits, 1e-5);
    int k = 0;
    for (int i = 0; i < n.params->count; i++) {
        const TtParam *p = n.params->list[i];
        if (p->buffer) continue;
        assert_string_equal(p->name, gradients[k].name);
        values_expect_digest("gradient", p->grad, tt_shape_count(&p->shape), &gradients[k++], 5e-5);
    }
    assert_int_equal(k + 2, TT_COUNT(gradients));
    for (int i = 0; i < 2; i++) {
        TtTensor t = tt_program_tensor(n.p, n.din[i]);
        values_expect_digest("gradient", t.data, tt_tensor_count(&t), &gradients[k + i], 5e-5);
    }
    net_close(&n);
}

static void test_autocast(void **state)
{
    Net n;
    net_open(&n, false, true);
    expect_logits(&n, eval_logits, 5e-2);
    net_close(&n);
}

static uint64_t fnv(uint64_t h, const char *s)
{
    for (; *s; s++) h = (h ^ (uint8_t)*s) * 0x100000001B3u;
    return h;
}

static void test_state_dict(void **state)
{
    TtWaveRnn o = {{3, {5, 5, 11}}, 256, 275, 10, 512, 512, 5, 128, 128, 128};
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_wavernn_forward(g, &o, tt_input(g, "waveform", TT_F32, TT_SHAPE(1, 275, 1)),
                       tt_input(g, "spec", TT_F32, TT_SHAPE(1, 5, 128)));
    values_ok(tt_graph_status(g));
    uint64_t h = 0xCBF29CE484222325u;
    for (int i = 0; i < params->count; i++) {
        char shape[TT_SHAPE_TEXT];
        h = fnv(fnv(fnv(fnv(h, params->list[i]->name), " "), tt_shape_text(&params->list[i]->shape, shape)), "\n");
    }
    assert_int_equal(params->count, DEFAULT_TENSORS);
    assert_true(h == default_hash);
    const TtParam *stretch = tt_params_find(params, "upsample.upsample_layers.5.weight");
    assert_true(stretch->init.kind == TT_INIT_CONST && stretch->init.a == 1.0 / 23);
    tt_graph_free(g);
    tt_params_free(params);
}

static void refuse(TtWaveRnn o, int64_t samples, int64_t frames, const char *message)
{
    TtParamSet *params = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = params});
    tt_wavernn_forward(g, &o, tt_input(g, "waveform", TT_F32, TT_SHAPE(1, samples, 1)),
                       tt_input(g, "spec", TT_F32, TT_SHAPE(1, frames, FREQ)));
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    if (!strstr(tt_error_message(), message)) fail_msg("%s", tt_error_message());
    tt_graph_free(g);
    tt_params_free(params);
}

static void test_refused(void **state)
{
    refuse(options, 29, 9, "stand for 30");
    refuse(options, 0, 4, "needs as many");
    TtWaveRnn o = options;
    o.kernel_size = 4;
    refuse(o, 36, 9, "odd");
    o = options, o.hop_length = 12;
    refuse(o, 60, 9, "product");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_evaluation), cmocka_unit_test(test_training),
                                       cmocka_unit_test(test_autocast), cmocka_unit_test(test_state_dict),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
