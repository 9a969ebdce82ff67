/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_models.c - every model has PyTorch's parameters: names, order, shapes, number; starts as it does; and bad
 * options are refused. Expected values: scripts/make_model_values.py, a row for each line of models/models.def. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "models/model.h"
#include "tests/support/nodes.h"

static uint64_t fnv(uint64_t h, const char *s)
{
    for (; *s; s++) h = (h ^ (uint8_t)*s) * 0x100000001B3u;
    return h;
}

/* Two samples of what a model's task gives it. */
static TtModelInput input(TtGraph *g, const TtModel *m, int side)
{
    switch (tt_model_task(m)) {
    case TT_TASK_CLASSIFICATION: return (TtModelInput){.x = tt_input(g, "x", TT_F32, TT_SHAPE(2, side, side, 3))};
    case TT_TASK_SPEECH: return (TtModelInput){.x = tt_input(g, "x", TT_F32, TT_SHAPE(2, 4000, 1))};
    case TT_TASK_SEPARATION: return (TtModelInput){.x = tt_input(g, "x", TT_F32, TT_SHAPE(2, 403, 1))};
    default:
        return (TtModelInput){.x = tt_input(g, "x", TT_F32, TT_SHAPE(2, 600, 1)),
                              .extra = tt_input(g, "extra", TT_F32, TT_SHAPE(2, 7, 128))};
    }
}

/* Declare a model's parameters by building its graph on two samples. */
static TtParamSet *declare(const TtModel *m, int side)
{
    TtParamSet *p = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p, .training = true});
    TtModelOutput out;
    TtModelInput in = input(g, m, side);
    tt_model_build(m, g, &in, &out);
    if (tt_graph_status(g) != TT_OK) fail_msg("%s: %s", m->def->name, tt_error_message());
    assert_int_equal(tt_dim(g, out.logits, 0), 2);
    assert_int_equal(tt_channels(g, out.logits), tt_model_classes(m));
    tt_graph_free(g);
    return p;
}

static void parse(const char *text, TtArena *arena, TtModel *m)
{
    if (tt_model_parse(node_parse(arena, text), NULL, arena, m) != TT_OK) fail_msg("%s: %s", text, tt_error_message());
}

/* Mark NAME of tests/data/models.tsv as seen in HAVE, which is in the order of tt_models. */
static void note_row(bool have[256], const char *name)
{
    int i = 0;
    while (tt_models[i] && strcmp(tt_models[i]->name, name) != 0) i++;
    if (!tt_models[i]) fail_msg("tests/data/models.tsv has a row for %s, which models/models.def has not", name);
    have[i] = true;
}

/* What a model has no default for; as in the script. */
static const char *arguments(const char *name)
{
    return strcmp(name, "wavernn") == 0 ? ", upsample_scales: [5, 5, 8], n_classes: 256, hop_length: 200" : "";
}

static void test_state_dicts(void **state)
{
    bool have[256] = {false};
    FILE *f = fopen("tests/data/models.tsv", "r");
    assert_non_null(f);
    char name[64], config[256];
    long long count;
    int tensors;
    unsigned long long hash;
    while (fscanf(f, "%63s %lld %d %llx", name, &count, &tensors, &hash) == 4) {
        note_row(have, name);
        TtArena arena = {0};
        TtModel m;
        snprintf(config, sizeof config, "{name: %s%s}", name, arguments(name));
        parse(config, &arena, &m);
        TtParamSet *p = declare(&m, 64);
        uint64_t h = 0xCBF29CE484222325u;
        for (int i = 0; i < p->count; i++) {
            char shape[TT_SHAPE_TEXT];
            h = fnv(fnv(fnv(fnv(h, p->list[i]->name), " "), tt_shape_text(&p->list[i]->shape, shape)), "\n");
        }
        if (tt_params_number(p) != count || p->count != tensors || h != hash)
            fail_msg("%s: %lld parameters in %d tensors, hash %llx; expected %lld, %d, %llx", name,
                     (long long)tt_params_number(p), p->count, (unsigned long long)h, count, tensors, hash);
        tt_params_free(p);
        tt_arena_free(&arena);
    }
    assert_true(feof(f)); /* not a row that could not be read */
    fclose(f);
    for (int i = 0; tt_models[i]; i++)
        if (!have[i])
            fail_msg("%s has no row in tests/data/models.tsv: add it to scripts/make_model_values.py",
                     tt_models[i]->name);
}

static void moments(const TtParam *q, double *mean, double *std, double *max)
{
    double sum = 0, squares = 0;
    int64_t n = tt_shape_count(&q->shape);
    *max = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = ((const float *)q->value)[i];
        sum += v, squares += v * v, *max = fmax(*max, fabs(v));
    }
    *mean = sum / (double)n, *std = sqrt(squares / (double)n - *mean * *mean);
}

/* torchvision: convolutions normal with std sqrt(2 / fan_out), linear uniform in +-1/sqrt(in), batch norm 1 and 0. */
static void test_initialisation(void **state)
{
    TtArena arena = {0};
    TtModel m;
    parse("{name: resnet18, num_classes: 10, zero_init_residual: true}", &arena, &m);
    TtParamSet *p = declare(&m, 64);
    assert_int_equal(tt_params_allocate(p), TT_OK);
    tt_params_init(p, 1);
    double mean, std, max;
    moments(tt_params_find(p, "layer3.0.conv2.weight"), &mean, &std, &max);
    assert_true(fabs(std / sqrt(2.0 / (256 * 9)) - 1) < 0.01 && fabs(mean) < 1e-3);
    moments(tt_params_find(p, "fc.weight"), &mean, &std, &max);
    assert_true(max <= 1 / sqrt(512.0) && fabs(std * sqrt(3 * 512.0) - 1) < 0.05);
    moments(tt_params_find(p, "layer3.0.bn1.weight"), &mean, &std, &max);
    assert_true(mean == 1 && std == 0);
    moments(tt_params_find(p, "layer3.0.bn2.weight"), &mean, &std, &max);
    assert_true(max == 0);
    moments(tt_params_find(p, "bn1.running_var"), &mean, &std, &max);
    assert_true(mean == 1);
    /* another seed is another start; the same is the same */
    float was = *(float *)tt_params_find(p, "conv1.weight")->value;
    tt_params_init(p, 2);
    assert_true(*(float *)tt_params_find(p, "conv1.weight")->value != was);
    tt_params_init(p, 1);
    assert_true(*(float *)tt_params_find(p, "conv1.weight")->value == was);
    tt_params_free(p);
    tt_arena_free(&arena);
}

static void test_open_resnet(void **state)
{
    TtArena arena = {0};
    TtModel m;
    parse("{name: resnet, block: bottleneck, layers: [1, 2], widths: [8, 16], stem: cifar, num_classes: 7, groups: 2, "
          "width_per_group: 32, replace_stride_with_dilation: [true, false, false], dropout: 0.5}",
          &arena, &m);
    TtParamSet *p = declare(&m, 9);
    assert_non_null(tt_params_find(p, "layer2.1.conv2.weight"));
    TtShape expected = TT_SHAPE(16, 8, 3, 3);
    assert_true(tt_shape_equal(&tt_params_find(p, "layer2.0.conv2.weight")->shape, &expected));
    tt_params_free(p);
    tt_arena_free(&arena);
}

static void test_refused(void **state)
{
    static const struct {
        const char *config, *message;
    } cases[] = {
        {"{name: resent18}", "did you mean 'resnet18'"},
        {"{num_classes: 3}", "name"},
        {"[resnet18]", "map"},
        {"{name: resnet18, num_clases: 3}", "did you mean 'num_classes'"},
        {"{name: resnet18, num_classes: 0}", "at least 1"},
        {"{name: resnet18, groups: 2}", "basic"},
        {"{name: resnet, layers: [1, 2]}", "stages"},
        {"{name: resnet50, replace_stride_with_dilation: [true]}", "three"},
        {"{name: resnet18, dropout: 1.0}", "less than 1"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtArena arena = {0};
        TtModel m;
        assert_int_equal(tt_model_parse(node_parse(&arena, cases[i].config), NULL, &arena, &m), TT_ECONFIG);
        if (!strstr(tt_error_message(), cases[i].message)) fail_msg("%s: %s", cases[i].config, tt_error_message());
        tt_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_state_dicts), cmocka_unit_test(test_initialisation),
                                       cmocka_unit_test(test_open_resnet), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
