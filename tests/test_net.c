/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_net.c - a whole network with its loss: the switches (fusion, planning, poison, reference kernels) change
 * nothing, micro-batches add up, and a few steps of gradient descent lower the loss. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/net.h"
#include "tensor/rng.h"

enum { N = 6, SIDE = 12, CLASSES = 3 };

typedef struct Fixture {
    TtArena arena;
    TtModel model;
    TtLoss loss;
    float x[N * SIDE * SIDE * 3];
    int64_t labels[N];
} Fixture;

static TtNode *scalar(TtArena *a, const char *text)
{
    TtNode *n = TT_NEW(a, TtNode);
    n->text = text;
    return n;
}

static TtNode *list(TtArena *a, int n, const char **texts)
{
    TtNode *l = TT_NEW(a, TtNode);
    l->kind = TT_NODE_LIST, l->count = n, l->items = TT_NEWN(a, TtNode *, n);
    for (int i = 0; i < n; i++) l->items[i] = scalar(a, texts[i]);
    return l;
}

static void set(TtArena *a, TtNode *map, const char *key, TtNode *value)
{
    if (!map->items) map->items = TT_NEWN(a, TtNode *, 16), map->keys = TT_NEWN(a, TtNode *, 16);
    map->kind = TT_NODE_MAP;
    map->keys[map->count] = scalar(a, key);
    map->items[map->count++] = value;
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    TtArena *a = &f->arena;
    TtNode *m = TT_NEW(a, TtNode), *l = TT_NEW(a, TtNode);
    set(a, m, "name", scalar(a, "resnet"));
    set(a, m, "num_classes", scalar(a, "3"));
    set(a, m, "block", scalar(a, "bottleneck"));
    set(a, m, "layers", list(a, 2, (const char *[]){"1", "2"}));
    set(a, m, "widths", list(a, 2, (const char *[]){"8", "12"}));
    set(a, m, "stem", scalar(a, "cifar"));
    set(a, l, "name", scalar(a, "cross_entropy"));
    set(a, l, "label_smoothing", scalar(a, "0.1"));
    set(a, l, "weight", list(a, 3, (const char *[]){"1", "2", "0.5"}));
    assert_int_equal(tt_model_parse(m, NULL, a, &f->model), TT_OK);
    assert_int_equal(tt_loss_parse(l, NULL, TT_TASK_CLASSIFICATION, CLASSES, a, &f->loss), TT_OK);
    TtRng r = tt_rng(1, TT_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < TT_COUNT(f->x); i++) f->x[i] = (float)tt_rng_normal(&r);
    for (int i = 0; i < N; i++) {
        f->labels[i] = i % CLASSES;
        for (int k = 0; k < SIDE * SIDE * 3; k += 3) f->x[i * SIDE * SIDE * 3 + k + f->labels[i]] += 1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    tt_arena_free(&((Fixture *)*state)->arena);
    free(*state);
    return 0;
}

static TtNet *open_net(const Fixture *f, TtNetOptions o)
{
    TtNet *n;
    o.model = &f->model, o.loss = &f->loss;
    if (tt_net_open(&o, &(TtNetShape){.x = TT_SHAPE(SIDE, SIDE, 3)}, 3, &n) != TT_OK)
        fail_msg("%s", tt_error_message());
    return n;
}

static TtNetInput input(const Fixture *f, int first, int count)
{
    void *x = (void *)(uintptr_t)(f->x + first * SIDE * SIDE * 3);
    return (TtNetInput){
        .n = count, .x = tt_tensor(x, TT_F32, TT_SHAPE(count, SIDE, SIDE, 3)), .labels = f->labels + first};
}

static double run(TtNet *n, const Fixture *f, bool training, int first, int count, double scale)
{
    TtNetInput in = input(f, first, count);
    in.scale = scale;
    TtNetOutput out;
    if (tt_net_run(n, training, &in, &(TtStepInfo){0}, &out) != TT_OK) fail_msg("%s", tt_error_message());
    return out.loss;
}

/* Loss and gradients of one configuration against the plain one. */
static void compare(const Fixture *f, TtNetOptions o, double tolerance)
{
    TtNet *a = open_net(f, (TtNetOptions){0}), *b = open_net(f, o);
    double la = run(a, f, true, 0, N, 0.1), lb = run(b, f, true, 0, N, 0.1);
    assert_true(fabs(la - lb) <= tolerance * fabs(la));
    const TtParamSet *p = tt_net_params(a), *q = tt_net_params(b);
    assert_int_equal(p->count, q->count);
    for (int i = 0; i < p->count; i++) {
        int64_t n = tt_shape_count(&p->list[i]->shape);
        double norm = 0, off = 0;
        const float *x = p->list[i]->buffer ? p->list[i]->value : p->list[i]->grad;
        const float *y = q->list[i]->buffer ? q->list[i]->value : q->list[i]->grad;
        if (p->list[i]->dtype != TT_F32) continue;
        for (int64_t k = 0; k < n; k++) norm += x[k] * x[k], off += (x[k] - y[k]) * (x[k] - y[k]);
        if (sqrt(off) > tolerance * (sqrt(norm) + 1e-3))
            fail_msg("%s differs by %g of %g", p->list[i]->name, sqrt(off), sqrt(norm));
    }
    tt_net_close(a);
    tt_net_close(b);
}

static void test_switches(void **state)
{
    const Fixture *f = *state;
    compare(f, (TtNetOptions){.program.no_plan = true}, 0);
    compare(f, (TtNetOptions){.program.poison = true}, 0);
    compare(f, (TtNetOptions){.no_fusion = true}, 1e-5);
    compare(f, (TtNetOptions){.program.reference = true}, 1e-3);
    compare(f, (TtNetOptions){.bf16 = true}, 0.5);
}

/* Fusion removes the batch norms' activations: six bn+relu and three bn+add+relu chains. */
static void test_fusion_happens(void **state)
{
    const Fixture *f = *state;
    TtNet *a = open_net(f, (TtNetOptions){0}), *b = open_net(f, (TtNetOptions){.no_fusion = true});
    TtProgram *p, *q;
    TtNetInput in = input(f, 0, N);
    assert_int_equal(tt_net_program(a, false, &in, &p), TT_OK);
    assert_int_equal(tt_net_program(b, false, &in, &q), TT_OK);
    assert_int_equal(tt_program_stats(q).nodes - tt_program_stats(p).nodes, 1 + 2 * 3 + 2 * 3);
    tt_net_close(a);
    tt_net_close(b);
}

/* Batch norm sees the micro-batch, so only the loss's weighting can be compared: in evaluation, where it does not. */
static void test_micro_batches(void **state)
{
    const Fixture *f = *state;
    TtNet *a = open_net(f, (TtNetOptions){0});
    double scale = 1 / tt_loss_weight(&f->loss, f->labels, N);
    assert_true(fabs(1 / scale - 7) < 1e-12);
    double whole = run(a, f, false, 0, N, scale);
    double parts = run(a, f, false, 0, 4, scale) + run(a, f, false, 4, 1, scale) + run(a, f, false, 5, 1, scale);
    assert_true(fabs(whole - parts) < 1e-6);
    tt_net_close(a);
}

static void test_learns(void **state)
{
    const Fixture *f = *state;
    TtNet *a = open_net(f, (TtNetOptions){0});
    TtParamSet *p = tt_net_params(a);
    double first = run(a, f, true, 0, N, 1.0 / 7), last = first;
    for (int step = 0; step < 30; step++) {
        float *w = p->values, *g = p->grads;
        for (int64_t i = 0; i < p->trainable_count; i++) w[i] -= 0.1f * g[i];
        last = run(a, f, true, 0, N, 1.0 / 7);
    }
    assert_true(last < 0.5 * first);
    tt_net_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_switches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fusion_happens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_micro_batches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_learns, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
