/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_optim.c - optimizers against torch.optim (PyTorch 2.11; LARS against the paper's algorithm in double),
 * parameter groups, clipping, moving averages, and independence of the number of threads. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/optimizer.h"
#include "pipeline/yaml.h"
#include "tensor/rng.h"

enum { N = 7, STEPS = 5 };
static const float start[N] = {0.5f, -1.25f, 2, -0.03f, 0, 1.5f, -0.75f};

static TtArena arena;

/* The gradients of the oracle's script. */
static float gradient(int step, int j)
{
    double g = 0.1 * (step + 1) * (j % 2 ? -1 : 1) * (j + 1) / 3 + 0.05 * j;
    return (float)g * (step % 2 ? -0.7f : 1.0f);
}

static TtStatus parse(const char *text, TtOptimizerConfig *c)
{
    TtNode *map;
    assert_int_equal(tt_yaml_parse(text, strlen(text), (TtMark){.file = "o.yaml"}, &arena, &map), TT_OK);
    return tt_optimizer_parse(map, NULL, &arena, c);
}

static void config(const char *text, TtOptimizerConfig *c)
{
    if (parse(text, c) != TT_OK) fail_msg("%s: %s", text, tt_error_message());
}

static TtParam *declare(TtParamSet *set, const char *name, TtShape shape)
{
    TtParam *p;
    assert_int_equal(tt_params_declare(set, name, TT_F32, shape, (TtInit){TT_INIT_CONST, 1, 0}, false, &p), TT_OK);
    return p;
}

static TtOptimizer *open_optimizer(const TtOptimizerConfig *c, TtParamSet *set)
{
    TtOptimizer *o;
    if (tt_optimizer_open(c, set, &o) != TT_OK) fail_msg("%s", tt_error_message());
    assert_int_equal(tt_params_allocate(set), TT_OK);
    tt_params_init(set, 1);
    assert_int_equal(tt_optimizer_allocate(o, false), TT_OK);
    return o;
}

static void test_formulas(void **state)
{
    static const struct {
        const char *yaml;
        float want[N];
    } cases[] = {
        {"{name: sgd, lr: 0.1}",
         {0.483999997f, -1.22600007f, 1.93599987f, 0.0100000016f, -0.112000003f, 1.55600011f, -0.910000026f}},
        {"{name: sgd, lr: 0.1, momentum: 0.9, weight_decay: 0.05}",
         {0.444108456f, -1.14197183f, 1.75986683f, 0.0056411624f, -0.197054803f, 1.44312f, -0.985162139f}},
        {"{name: sgd, lr: 0.1, momentum: 0.8, nesterov: true, weight_decay: 0.05}",
         {0.432058424f, -1.11802649f, 1.71850812f, 0.0400511809f, -0.250574589f, 1.48647606f, -1.05696726f}},
        {"{name: sgd, lr: 0.1, momentum: 0.9, dampening: 0.3, maximize: true}",
         {0.520639539f, -1.27089918f, 2.10267854f, -0.051418554f, 0.184717804f, 1.47806215f, -0.483243108f}},
        {"{name: adam}",
         {0.498440593f, -1.2488699f, 1.99823236f, -0.0313082188f, -0.00179156836f, 1.49854624f, -0.751800835f}},
        {"{name: adam, lr: 0.05, betas: [0.8, 0.7], eps: 1e-3, weight_decay: 0.1, amsgrad: true}",
         {0.337587893f, -1.05253875f, 1.8311255f, -0.0851010606f, -0.0819799155f, 1.3658334f, -0.815010428f}},
        {"{name: adam, lr: 0.05, weight_decay: 0.1, decoupled_weight_decay: true, maximize: true}",
         {0.564546168f, -1.27478385f, 2.03770471f, 0.0346670598f, 0.0883924663f, 1.5339843f, -0.642586768f}},
        {"{name: adamw, lr: 0.05}",
         {0.420885324f, -1.19045317f, 1.90674329f, -0.0951865092f, -0.0894591138f, 1.42372549f, -0.838048041f}},
        {"{name: adamw, lr: 0.05, weight_decay: 0.3, amsgrad: true, betas: [0.5, 0.6]}",
         {0.395730793f, -1.10338831f, 1.78025961f, -0.0777160078f, -0.0749055669f, 1.33735669f, -0.770600498f}},
        {"{name: rmsprop}",
         {0.382799923f, -1.14302564f, 1.87877178f, -0.12355987f, -0.121506393f, 1.41389382f, -0.871598661f}},
        {"{name: rmsprop, lr: 0.02, alpha: 0.8, eps: 1e-2, weight_decay: 0.1, momentum: 0.7, centered: true}",
         {0.288897902f, -0.947112262f, 1.75282228f, -0.098416321f, -0.12061841f, 1.29064238f, -0.852841139f}},
        {"{name: rmsprop, lr: 0.02, momentum: 0.9, maximize: true}",
         {1.13925183f, -1.80756986f, 2.68041492f, 1.05834055f, 0.684635162f, 2.53764105f, -0.0637790039f}},
        {"{name: adagrad}",
         {0.488284975f, -1.23930895f, 1.98788702f, -0.0393612348f, -0.0121399164f, 1.49139059f, -0.762148738f}},
        {"{name: adagrad, lr: 0.1, lr_decay: 0.5, weight_decay: 0.2, initial_accumulator_value: 0.3, eps: 1e-3, "
         "maximize: true}",
         {0.463247269f, -1.15681458f, 1.89904571f, -0.0395470336f, 0.0567499548f, 1.38286173f, -0.656155705f}},
        {"{name: lars, lr: 2.0, weight_decay: 0.1, trust_coefficient: 0.05}",
         {0.329269406f, -0.873981958f, 1.26192714f, -0.0457929202f, -0.272933306f, 1.00094771f, -0.926537336f}},
        {"{name: lars, lr: 0.1, momentum: 0.5, weight_decay: 0.1, adapt: false}",
         {0.442976733f, -1.12752776f, 1.76701419f, 0.00912278481f, -0.133262344f, 1.43135542f, -0.881998191f}},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtOptimizerConfig c;
        config(cases[i].yaml, &c);
        TtParamSet *set = tt_params_new(TT_F32);
        declare(set, "other", TT_SHAPE(3));
        TtParam *p = declare(set, "w", TT_SHAPE(N, 1));
        TtOptimizer *o = open_optimizer(&c, set);
        memcpy(p->value, start, sizeof start);
        for (int step = 0; step < STEPS; step++) {
            for (int j = 0; j < N; j++) p->grad[j] = gradient(step, j);
            tt_optimizer_step(o, step + 1, NAN, 1);
        }
        const float *got = p->value;
        for (int j = 0; j < N; j++)
            if (!(fabsf(got[j] - cases[i].want[j]) <= 2e-7f + 1e-6f * fabsf(cases[i].want[j])))
                fail_msg("%s: element %d is %.9g, expected %.9g", cases[i].yaml, j, got[j], cases[i].want[j]);
        tt_optimizer_free(o);
        tt_params_free(set);
    }
}

/* clip_grad_norm_ of torch on the third gradient with max_norm 0.5, then SGD with the factor in the step. */
static void test_clipping(void **state)
{
    static const float clipped[N] = {0.03658805787563324f, -0.05488209053874016f, 0.14635223150253296f,
                                     -0.0914701446890831f, 0.2561163902282715f,   -0.12805819511413574f,
                                     0.3658805787563324f};
    TtOptimizerConfig c;
    config("{name: sgd, lr: 1.0}", &c);
    TtParamSet *set = tt_params_new(TT_F32);
    TtParam *p = declare(set, "w", TT_SHAPE(N));
    TtOptimizer *o = open_optimizer(&c, set);
    memset(p->value, 0, sizeof start);
    for (int j = 0; j < N; j++) p->grad[j] = gradient(2, j);
    double norm = tt_optimizer_grad_norm(o);
    assert_true(fabs(norm - 1.3665651082992554) < 1e-6);
    tt_optimizer_step(o, 1, NAN, tt_clip_scale(norm, 0.5));
    for (int j = 0; j < N; j++) assert_true(fabsf(((float *)p->value)[j] + clipped[j]) < 1e-7f);
    assert_true(tt_clip_scale(0.1, 0.5) == 1);
    tt_clip_value(p->grad, N, 0.3);
    for (int j = 0; j < N; j++) assert_true(p->grad[j] == fmaxf(fminf(gradient(2, j), 0.3f), -0.3f));
    p->grad[3] = NAN;
    tt_clip_value(p->grad, N, 0.3);
    assert_true(isnan(p->grad[3]));
    assert_false(isfinite(tt_optimizer_grad_norm(o)));
    p->grad[3] = INFINITY;
    assert_false(isfinite(tt_optimizer_grad_norm(o)));
    float ema[2] = {1, -2}, x[2] = {2, 4};
    tt_ema_update(ema, x, 2, 0.75);
    assert_true(ema[0] == 1.25f && ema[1] == -0.5f);
    tt_optimizer_free(o);
    tt_params_free(set);
}

/* A network's names: which group, which rate, which decay. */
static TtParamSet *network(void)
{
    static const struct {
        const char *name;
        int rank;
    } list[] = {{"conv1.weight", 4},
                {"bn1.weight", 1},
                {"bn1.bias", 1},
                {"layer1.0.conv1.weight", 4},
                {"layer1.1.bn1.weight", 1},
                {"layer2.0.conv1.weight", 4},
                {"fc.weight", 2},
                {"fc.bias", 1}};
    TtParamSet *set = tt_params_new(TT_F32);
    for (int i = 0; i < TT_COUNT(list); i++)
        declare(set, list[i].name, (TtShape){.rank = list[i].rank, .dims = {2, 1, 1, 1}});
    TtParam *p;
    assert_int_equal(tt_params_declare(set, "bn1.running_mean", TT_F32, TT_SHAPE(2), (TtInit){0}, true, &p), TT_OK);
    return set;
}

static const TtOptimGroup *group_of(TtOptimizer *o, const TtParamSet *set, const char *name)
{
    return tt_optimizer_group(o, tt_optimizer_group_of(o, tt_params_find(set, name)));
}

static double decay_of(TtOptimizer *o, const TtParamSet *set, const char *name)
{
    return ((const TtOptimOptions *)group_of(o, set, name)->options)->weight_decay;
}

static void test_groups(void **state)
{
    TtOptimizerConfig c;
    config("name: sgd\nlr: 0.1\nmomentum: 0.9\nweight_decay: 0.5\ngroups:\n"
           "  - {match: ['conv1.*', '*bn1.weight'], frozen: true}\n"
           "  - {match: '*.bias', weight_decay: 0, lr_scale: 0.5, momentum: 0}\n"
           "  - {match: ['fc.*'], lr: 0.7}\n",
           &c);
    TtParamSet *set = network();
    TtOptimizer *o = open_optimizer(&c, set);
    assert_int_equal(tt_optimizer_groups(o), 4);
    assert_int_equal(tt_optimizer_group_of(o, tt_params_find(set, "bn1.running_mean")), -1);
    assert_true(group_of(o, set, "conv1.weight")->frozen && group_of(o, set, "layer1.1.bn1.weight")->frozen);
    assert_true(tt_params_find(set, "bn1.weight")->frozen && !tt_params_find(set, "bn1.bias")->frozen);
    assert_true(group_of(o, set, "bn1.bias")->base_lr == 0.05 && decay_of(o, set, "bn1.bias") == 0);
    assert_true(group_of(o, set, "fc.bias")->base_lr == 0.05); /* the first match wins */
    assert_true(group_of(o, set, "fc.weight")->base_lr == 0.7 && decay_of(o, set, "fc.weight") == 0.5);
    assert_true(group_of(o, set, "layer1.0.conv1.weight")->base_lr == 0.1);
    assert_int_equal(group_of(o, set, "conv1.weight")->numel, 6);
    /* a step: frozen ones stay, lr counts as set, the others follow SGD */
    for (int i = 0; i < set->count; i++)
        for (int j = 0; set->list[i]->grad && j < 2; j++) set->list[i]->grad[j] = 1;
    for (int g = 0; g < tt_optimizer_groups(o); g++) tt_optimizer_group(o, g)->lr *= 2;
    tt_optimizer_step(o, 1, NAN, 1);
    tt_optimizer_step(o, 2, NAN, 1);
    assert_true(*(float *)tt_params_find(set, "conv1.weight")->value == 1);
    assert_true(fabsf(*(float *)tt_params_find(set, "fc.bias")->value - 0.8f) < 1e-6f); /* no momentum there */
    assert_string_equal(tt_optimizer_state_name(o, 0), "momentum_buffer");
    assert_null(tt_optimizer_state_name(o, 1));
    assert_true(tt_optimizer_state(o, 0, tt_params_find(set, "fc.bias"))[0] == 0);
    assert_true(tt_optimizer_state(o, 0, tt_params_find(set, "fc.weight"))[0] != 0);
    tt_optimizer_free(o);
    tt_params_free(set);
}

static void test_layer_decay(void **state)
{
    TtOptimizerConfig c;
    config("{name: adamw, lr: 1.0, no_decay_norm_bias: true, layer_decay: 0.5}", &c);
    TtParamSet *set = network();
    TtOptimizer *o = open_optimizer(&c, set);
    /* blocks: conv1, bn1, layer1, layer2, fc */
    assert_true(group_of(o, set, "fc.weight")->base_lr == 1 && group_of(o, set, "fc.bias")->base_lr == 1);
    assert_true(group_of(o, set, "layer2.0.conv1.weight")->base_lr == 0.5);
    assert_true(group_of(o, set, "layer1.0.conv1.weight")->base_lr == 0.25);
    assert_true(group_of(o, set, "layer1.1.bn1.weight")->base_lr == 0.25);
    assert_true(group_of(o, set, "conv1.weight")->base_lr == 0.0625);
    assert_true(decay_of(o, set, "fc.weight") == 0.01 && decay_of(o, set, "fc.bias") == 0);
    assert_true(decay_of(o, set, "layer1.1.bn1.weight") == 0);
    tt_optimizer_free(o);
    tt_params_free(set);
}

/* one_cycle on SGD without momentum of its own: torch sets the momentum, so there must be a buffer. */
static void test_moved_momentum(void **state)
{
    TtOptimizerConfig c;
    config("{name: sgd, lr: 1.0}", &c);
    TtParamSet *set = tt_params_new(TT_F32);
    TtParam *p = declare(set, "w", TT_SHAPE(1));
    TtOptimizer *o;
    assert_int_equal(tt_optimizer_open(&c, set, &o), TT_OK);
    assert_int_equal(tt_params_allocate(set), TT_OK);
    assert_int_equal(tt_optimizer_allocate(o, true), TT_OK);
    *(float *)p->value = 0;
    p->grad[0] = 1;
    tt_optimizer_step(o, 1, 0.5, 1);
    tt_optimizer_step(o, 2, 0.25, 1);
    assert_true(*(float *)p->value == -2.25f);
    tt_optimizer_free(o);
    tt_params_free(set);
}

/* Sizes around the chunks; bit for bit the same with one, two and five threads. */
static void test_threads(void **state)
{
    static const char *const yaml[] = {"{name: adam, amsgrad: true, weight_decay: 0.1}", "{name: lars, lr: 0.5}",
                                       "{name: rmsprop, centered: true, momentum: 0.9}"};
    enum { SIZE = 16384 * 2 + 4099 };
    int before = omp_get_max_threads();
    for (int i = 0; i < TT_COUNT(yaml); i++) {
        float *first = NULL;
        double first_norm = 0;
        for (int threads = 1; threads <= 5; threads += threads == 1 ? 1 : 3) {
            omp_set_num_threads(threads);
            TtOptimizerConfig c;
            config(yaml[i], &c);
            TtParamSet *set = tt_params_new(TT_F32);
            declare(set, "empty", TT_SHAPE(0));
            TtParam *p = declare(set, "w", TT_SHAPE(SIZE));
            declare(set, "small", TT_SHAPE(3));
            TtOptimizer *o = open_optimizer(&c, set);
            TtRng r = tt_rng(4, TT_RNG_TEST, 0, 0, 0);
            double norm = 0, exact = 0;
            for (int step = 1; step <= 3; step++) {
                exact = 0;
                for (int j = 0; j < SIZE; j++) {
                    p->grad[j] = (float)tt_rng_normal(&r);
                    exact += (double)p->grad[j] * p->grad[j];
                }
                norm = tt_optimizer_grad_norm(o);
                tt_optimizer_step(o, step, NAN, 0.5);
            }
            assert_true(fabs(norm - sqrt(exact)) < 1e-9 * norm);
            if (!first) {
                first = malloc(sizeof(float) * SIZE);
                assert_non_null(first);
                memcpy(first, p->value, sizeof(float) * SIZE);
                first_norm = norm;
            }
            assert_memory_equal(first, p->value, sizeof(float) * SIZE);
            assert_true(norm == first_norm);
            tt_optimizer_free(o);
            tt_params_free(set);
        }
        free(first);
    }
    omp_set_num_threads(before);
}

static void test_config_errors(void **state)
{
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"{name: sdg, lr: 1}", "o.yaml:1:8: unknown optimizer 'sdg'; did you mean 'sgd'?"},
        {"{name: lion}", "o.yaml:1:8: unknown optimizer 'lion'; there are sgd, adam, adamw, rmsprop, adagrad, lars"},
        {"{lr: 1}", "o.yaml:1:2: optimizer: the key 'name' is missing"},
        {"{name: sgd, lr: -0.1}", "o.yaml:1:17: lr must be at least 0, not -0.1"},
        {"{name: sgd, lr: '0.1'}", "o.yaml:1:17: lr must be a number, not the string '0.1'"},
        {"{name: lars}", "o.yaml:1:2: the key 'lr' is missing"},
        {"{name: sgd, nesterov: true}", "o.yaml:1:23: nesterov needs a momentum above 0 and no dampening"},
        {"{name: adam, betas: [0.9]}", "o.yaml:1:21: betas needs at least 2 values, not 1"},
        {"{name: adam, betas: [0.9, 1.0]}", "o.yaml:1:27: betas must be less than 1, not 1"},
        {"{name: adam, momentum: 0.9}",
         "o.yaml:1:14: unknown key 'momentum'; known here: lr, betas, eps, weight_decay, "
         "amsgrad, maximize, decoupled_weight_decay, no_decay_norm_bias, layer_decay, "
         "groups, name"},
        {"{name: sgd, groups: {match: x}}", "o.yaml:1:21: groups must be a list of maps, [{match: [...], ...}]"},
        {"{name: sgd, groups: [fc]}", "o.yaml:1:22: a parameter group must be a map, {match: [...], ...}"},
        {"{name: sgd, groups: [{lr: 1}]}", "o.yaml:1:23: the key 'match' is missing"},
        {"{name: sgd, groups: [{match: x, lr: 1, lr_scale: 2}]}", "o.yaml:1:50: give one of lr and lr_scale"},
        {"{name: sgd, groups: [{match: x, momentm: 1}]}",
         "o.yaml:1:33: unknown key 'momentm'; did you mean 'momentum'?"},
        {"{name: sgd, momentum: 0.9, nesterov: true, groups: [{match: x, momentum: 0}]}",
         "o.yaml:1:53: nesterov needs a momentum above 0 and no dampening"},
        {"{name: sgd, layer_decay: 0}", "o.yaml:1:26: layer_decay must be greater than 0, not 0"},
    };
    TtOptimizerConfig c;
    for (int i = 0; i < TT_COUNT(cases); i++) {
        if (parse(cases[i].yaml, &c) != TT_ECONFIG) fail_msg("%s is taken", cases[i].yaml);
        assert_string_equal(tt_error_message(), cases[i].message);
    }
    static const char *const unmatched[] = {"{name: sgd, groups: [{match: ['fc.*', 'classifier.*']}]}",
                                            "{name: sgd, groups: [{match: '*.running_mean'}]}"};
    static const char *const messages[] = {
        "o.yaml:1:39: the pattern 'classifier.*' matches no parameter of the model",
        "o.yaml:1:30: the pattern '*.running_mean' matches no parameter of the model"};
    for (int i = 0; i < 2; i++) {
        TtParamSet *set = network();
        TtOptimizer *o;
        config(unmatched[i], &c);
        assert_int_equal(tt_optimizer_open(&c, set, &o), TT_ECONFIG);
        assert_null(o);
        assert_string_equal(tt_error_message(), messages[i]);
        tt_params_free(set);
    }
}

static int free_arena(void **state)
{
    tt_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),      cmocka_unit_test(test_clipping),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_layer_decay),   cmocka_unit_test(test_moved_momentum), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_config_errors),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
