/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_scheduler.c - schedules against torch.optim.lr_scheduler (PyTorch 2.11, base rate 0.1), state, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/scheduler.h"
#include "pipeline/yaml.h"

static TtArena arena;

static TtStatus parse(const char *text, TtScheduler **s)
{
    TtNode *map;
    assert_int_equal(tt_yaml_parse(text, strlen(text), (TtMark){.file = "s.yaml"}, &arena, &map), TT_OK);
    return tt_scheduler_parse(map, NULL, &arena, s);
}

static TtScheduler *scheduler(const char *text)
{
    TtScheduler *s;
    if (parse(text, &s) != TT_OK) fail_msg("%s: %s", text, tt_error_message());
    return s;
}

static void near(double got, double want, const char *what, int t)
{
    if (!(fabs(got - want) <= 1e-12 + 1e-9 * fabs(want)))
        fail_msg("%s at %d: %.17g, expected %.17g", what, t, got, want);
}

enum { STEPS = 8 };
static void test_formulas(void **state)
{
    static const struct {
        const char *yaml;
        double lr[STEPS];
    } cases[] = {
        {"{name: constant, interval: step}",
         {0.03333333333333333, 0.03333333333333333, 0.03333333333333333, 0.03333333333333333, 0.03333333333333333, 0.1,
          0.1, 0.1}},
        {"{name: linear, interval: step, start_factor: 0.25, total_iters: 4, end_factor: 0.75}",
         {0.025, 0.037500000000000006, 0.05, 0.0625, 0.075, 0.075, 0.075, 0.075}},
        {"{name: step, interval: step, step_size: 3, gamma: 0.5}", {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025}},
        {"{name: multistep, interval: step, milestones: [2, 2, 5]}",
         {0.1, 0.1, 0.0010000000000000002, 0.0010000000000000002, 0.0010000000000000002, 0.00010000000000000003,
          0.00010000000000000003, 0.00010000000000000003}},
        {"{name: exponential, interval: step, gamma: 0.9}",
         {0.1, 0.09000000000000001, 0.08100000000000002, 0.07290000000000002, 0.06561000000000002, 0.05904900000000002,
          0.05314410000000002, 0.04782969000000002}},
        {"{name: polynomial, interval: step, total_iters: 6, power: 2.0}",
         {0.1, 0.06944444444444446, 0.04444444444444447, 0.02500000000000001, 0.011111111111111117,
          0.0027777777777777775, 0.0, 0.0}},
        {"{name: cosine, min_lr: 0.001}",
         {0.1, 0.0962320368593087, 0.0855017856687341, 0.06944282990207196, 0.0505, 0.03155717009792806,
          0.0154982143312659, 0.004767963140691306}},
        {"{name: cosine, T_max: 3, eta_min: 0.01}",
         {0.1, 0.0775, 0.032500000000000015, 0.01, 0.0325, 0.07750000000000005, 0.10000000000000007,
          0.07750000000000007}},
        {"{name: cosine_restarts, interval: step, T_0: 3, eta_min: 0.01}",
         {0.1, 0.0775, 0.032500000000000015, 0.1, 0.0775, 0.032500000000000015, 0.1, 0.0775}},
        {"{name: cosine_restarts, interval: step, T_0: 2, T_mult: 2}",
         {0.1, 0.05, 0.1, 0.08535533905932738, 0.05, 0.014644660940672627, 0.1, 0.09619397662556434}},
        {"{name: cosine, warmup_steps: 3, min_lr: 0.002}",
         {0.03333333333333333, 0.06666666666666667, 0.1, 0.1, 0.09064183272437243, 0.06614183272437242,
          0.03585816727562757, 0.011358167275627579}},
        {"{name: step, interval: step, step_size: 2, warmup_steps: 4}",
         {0.025, 0.05, 0.07500000000000001, 0.1, 0.1, 0.1, 0.010000000000000002, 0.010000000000000002}},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const TtScheduler *s = scheduler(cases[i].yaml);
        double m;
        assert_null(tt_scheduler_monitor(s));
        assert_false(tt_scheduler_momentum(s, &(TtScheduleTime){0, STEPS, 4}, &m));
        for (int t = 0; t < STEPS; t++)
            near(tt_scheduler_lr(s, &(TtScheduleTime){t, STEPS, 4}, 0.1), cases[i].lr[t], cases[i].yaml, t);
        /* by epochs of three steps: the same values, each for a whole epoch */
        if (!strstr(cases[i].yaml, "interval: step")) continue;
        TtNode *map;
        const char *text = cases[i].yaml;
        assert_int_equal(tt_yaml_parse(text, strlen(text), (TtMark){.file = "s.yaml"}, &arena, &map), TT_OK);
        tt_node_get(map, "interval")->text = "epoch";
        TtNode *warm = tt_node_key(map, "warmup_steps");
        if (warm) warm->text = "warmup_epochs";
        TtScheduler *e;
        assert_int_equal(tt_scheduler_parse(map, NULL, &arena, &e), TT_OK);
        for (int t = 0; t < STEPS * 3; t++)
            near(tt_scheduler_lr(e, &(TtScheduleTime){t, STEPS * 3, 3}, 0.1), cases[i].lr[t / 3], cases[i].yaml, t);
    }
}

static void test_one_cycle(void **state)
{
    static const struct {
        const char *yaml;
        double lr[10], momentum[10];
    } cases[] = {
        {"{name: one_cycle}",
         {0.0040000000000000036, 0.052000000000000005, 0.1, 0.09504846320134738, 0.0811745653949763,
          0.06112620219362893, 0.03887419780637107, 0.0188258346050237, 0.004951936798652629, 4e-07},
         {0.95, 0.8999999999999999, 0.85, 0.854951556604879, 0.8688255099070633, 0.8888739533021842, 0.9111260466978157,
          0.9311744900929366, 0.945048443395121, 0.95}},
        {"{name: one_cycle, three_phase: true, anneal_strategy: linear}",
         {0.004, 0.052000000000000005, 0.1, 0.052000000000000005, 0.0040000000000000036, 0.00320008, 0.00240016,
          0.0016002400000000002, 0.0008003200000000002, 4.0000000000022656e-07},
         {0.95, 0.8999999999999999, 0.85, 0.8999999999999999, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95}},
        {"{name: one_cycle, pct_start: 0.5, div_factor: 10, final_div_factor: 100, base_momentum: 0.8, max_momentum: "
         "0.9}",
         {0.009999999999999995, 0.023180194846605356, 0.055, 0.08681980515339464, 0.1, 0.09046039886902862,
          0.06548539886902863, 0.03461460113097138, 0.00963960113097138, 0.0001},
         {0.9, 0.8853553390593274, 0.8500000000000001, 0.8146446609406727, 0.8, 0.8095491502812526, 0.8345491502812526,
          0.8654508497187474, 0.8904508497187474, 0.9}},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const TtScheduler *s = scheduler(cases[i].yaml);
        for (int t = 0; t < 10; t++) {
            TtScheduleTime time = {t, 10, 5};
            double m = 0;
            assert_true(tt_scheduler_momentum(s, &time, &m));
            near(tt_scheduler_lr(s, &time, 0.1), cases[i].lr[t], cases[i].yaml, t);
            near(m, cases[i].momentum[t], cases[i].yaml, t);
        }
    }
    double m;
    assert_false(
        tt_scheduler_momentum(scheduler("{name: one_cycle, cycle_momentum: false}"), &(TtScheduleTime){0, 9, 1}, &m));
    /* a run of one step, or one asked beyond its end, stays finite */
    const TtScheduler *s = scheduler("{name: one_cycle}");
    assert_true(isfinite(tt_scheduler_lr(s, &(TtScheduleTime){0, 1, 1}, 0.1)));
    near(tt_scheduler_lr(s, &(TtScheduleTime){20, 10, 5}, 0.1), 4e-07, "beyond", 20);
}

static void test_plateau(void **state)
{
    static const double values[16] = {1.0,  0.9,  0.95, 0.92, 0.91, 0.89999, 0.93, 0.8,
                                      0.85, 0.86, 0.87, 0.88, 0.89, NAN,     0.9,  0.91};
    static const struct {
        const char *yaml;
        double lr[16];
    } cases[] = {
        {"{name: plateau, patience: 1, factor: 0.5, cooldown: 1}",
         {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125, 0.00625, 0.00625, 0.00625,
          0.003125}},
        {"{name: plateau, mode: max, patience: 2, threshold: 0.01, threshold_mode: abs, min_lr: 0.02}",
         {0.1, 0.1, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02}},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtScheduler *s = scheduler(cases[i].yaml);
        assert_string_equal(tt_scheduler_monitor(s), "val/loss");
        for (int t = 0; t < 16; t++) {
            tt_scheduler_metric(s, values[t]);
            near(tt_scheduler_lr(s, &(TtScheduleTime){t, 16, 1}, 0.1), cases[i].lr[t], cases[i].yaml, t);
            /* through a checkpoint's JSON into a new scheduler */
            json_t *j = tt_scheduler_state(s);
            char *text = json_dumps(j, 0);
            json_decref(j);
            j = json_loads(text, 0, NULL);
            free(text);
            s = scheduler(cases[i].yaml);
            assert_int_equal(tt_scheduler_restore(s, j), TT_OK);
            json_decref(j);
        }
    }
    TtScheduler *s = scheduler("{name: plateau}");
    json_t *bad = json_pack("{s:f,s:i,s:i}", "best", 1.0, "bad", 2, "cooldown", -1);
    assert_int_equal(tt_scheduler_restore(s, bad), TT_ECHECKPOINT);
    assert_int_equal(tt_scheduler_restore(s, NULL), TT_ECHECKPOINT);
    assert_int_equal(tt_scheduler_restore(scheduler("{name: cosine}"), bad), TT_OK);
    json_decref(bad);
}

/* The contract's own words, in other numbers than above. */
static void test_warmup(void **state)
{
    const TtScheduler *s = scheduler("{name: cosine, warmup_epochs: 2, min_lr: 0.01}");
    for (int t = 0; t < 100; t++) {
        double want = t < 20 ? 0.3 * (t + 1) / 20 : 0.01 + (0.3 - 0.01) * (1 + cos(M_PI * (t - 20) / (100.0 - 20))) / 2;
        near(tt_scheduler_lr(s, &(TtScheduleTime){t, 100, 10}, 0.3), want, "cosine", t);
    }
    /* part of an epoch; a warm-up as long as the run */
    s = scheduler("{name: cosine, warmup_epochs: 0.5}");
    near(tt_scheduler_lr(s, &(TtScheduleTime){1, 100, 10}, 1), 0.4, "half an epoch", 1);
    s = scheduler("{name: cosine, warmup_steps: 100}");
    near(tt_scheduler_lr(s, &(TtScheduleTime){99, 100, 10}, 1), 1, "all", 99);
    /* by epochs with a warm-up by steps: a factor; milestones are not moved */
    s = scheduler("{name: multistep, milestones: [2], warmup_steps: 4}");
    static const double want[] = {0.25, 0.5, 0.75, 1, 1, 1, 0.1, 0.1};
    for (int t = 0; t < 8; t++) near(tt_scheduler_lr(s, &(TtScheduleTime){t, 9, 3}, 1), want[t], "multistep", t);
    /* min_lr bounds a schedule from below, but no group is raised above its own rate */
    s = scheduler("{name: exponential, gamma: 0.5, interval: step, min_lr: 0.2}");
    near(tt_scheduler_lr(s, &(TtScheduleTime){5, 9, 3}, 1), 0.2, "floor", 5);
    near(tt_scheduler_lr(s, &(TtScheduleTime){5, 9, 3}, 0.1), 0.1, "floor", 5);
    /* none at all */
    TtScheduler *none;
    assert_int_equal(tt_scheduler_parse(NULL, NULL, &arena, &none), TT_OK);
    near(tt_scheduler_lr(none, &(TtScheduleTime){5, 9, 3}, 0.7), 0.7, "none", 5);
    assert_false(tt_scheduler_metric(none, 1));
    json_t *j = tt_scheduler_state(none);
    assert_int_equal(json_object_size(j), 0);
    json_decref(j);
}

static void test_errors(void **state)
{
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"{name: cosin}", "s.yaml:1:8: unknown scheduler 'cosin'; did you mean 'cosine'?"},
        {"{name: Cosine}", "s.yaml:1:8: unknown scheduler 'Cosine'; did you mean 'cosine'?"},
        {"{gamma: 1}", "s.yaml:1:2: scheduler: the key 'name' is missing"},
        {"[cosine]", "s.yaml:1:1: scheduler must be a map of keys to values, {name: ..., ...}, not a list"},
        {"{name: step}", "s.yaml:1:2: the key 'step_size' is missing"},
        {"{name: step, step_size: 0}", "s.yaml:1:25: step_size must be at least 1, not 0"},
        {"{name: step, step_size: 3, gama: 1}", "s.yaml:1:28: unknown key 'gama'; did you mean 'gamma'?"},
        {"{name: cosine, min_lr: .inf}", "s.yaml:1:24: min_lr must be a finite number, not .inf"},
        {"{name: cosine, min_lr: 0.1, eta_min: 0.1}", "s.yaml:1:38: eta_min and min_lr are the same; give one of them"},
        {"{name: cosine, warmup_epochs: 1, warmup_steps: 5}",
         "s.yaml:1:48: give one of warmup_epochs and warmup_steps"},
        {"{name: cosine, warmup_epochs: 1.5, interval: epoch}",
         "s.yaml:1:31: with interval: epoch, warmup_epochs must be an integer"},
        {"{name: one_cycle, warmup_steps: 5}", "s.yaml:1:33: one_cycle has a warm-up of its own; remove this one"},
        {"{name: multistep, milestones: [5, 2]}", "s.yaml:1:35: milestones must be in ascending order"},
        {"{name: multistep, milestones: [1.5]}", "s.yaml:1:32: milestones must be integers"},
        {"{name: multistep, milestones: 1.5}", "s.yaml:1:31: milestones must be integers"},
        {"{name: multistep, milestones: []}", "s.yaml:1:31: milestones needs at least 1 value, not 0"},
        {"{name: plateau, mode: most}", "s.yaml:1:23: mode must be min or max, not 'most'"},
        {"{name: plateau, factor: 1.0}", "s.yaml:1:25: factor must be less than 1, not 1"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtScheduler *s;
        if (parse(cases[i].yaml, &s) != TT_ECONFIG) fail_msg("%s is taken", cases[i].yaml);
        assert_string_equal(tt_error_message(), cases[i].message);
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
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_one_cycle), cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_warmup),   cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
