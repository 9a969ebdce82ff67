/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_core.c - status, arena, types, random numbers, parameters, memory plan, graph. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/ops/shape.h"
#include "kernels/ops/reduce.h"
#include "tensor/plan.h"
#include "tensor/program.h"
#include "tensor/rng.h"

static TtStatus inner(void)
{
    return TT_FAIL(TT_EDATA, "%s: at byte %d: broken", "a.png", 7);
}

static TtStatus outer(void)
{
    TT_TRY(inner());
    return TT_OK;
}

static void test_status(void **state)
{
    assert_int_equal(outer(), TT_EDATA);
    assert_string_equal(tt_error_message(), "a.png: at byte 7: broken");
    assert_non_null(strstr(tt_error_origin(), "test_core.c:"));
    /* a message may be built from the last one */
    assert_int_equal(TT_FAIL(TT_ECONFIG, "again: %s", tt_error_message()), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "again: a.png: at byte 7: broken");
    tt_error_clear();
    assert_int_equal(tt_error_code(), TT_OK);
}

static void test_arena(void **state)
{
    TtArena a = {0};
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        char *p = tt_arena_alloc(&a, size);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        memset(p, 1, size);
    }
    assert_string_equal(tt_arena_printf(&a, "%s-%d", "x", 5), "x-5");
    assert_string_equal(tt_arena_strndup(&a, "abcdef", 3), "abc");
    tt_arena_free(&a);
    tt_arena_free(&a);
    void *p;
    assert_int_equal(tt_alloc(&p, SIZE_MAX - 10), TT_EINTERNAL);
    assert_null(p);
}

/* Known answers of Philox4x32-10 (Random123's kat_vectors). */
static void test_philox(void **state)
{
    static const struct {
        uint32_t key[2], counter[4], out[4];
    } cases[] = {
        {{0, 0}, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0xa4093822, 0x299f31d0},
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        uint32_t out[4];
        tt_philox(cases[i].key, cases[i].counter, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void test_rng(void **state)
{
    /* the same name is the same stream, any other name another */
    TtRng a = tt_rng(1, TT_RNG_TRANSFORM, 2, 3, 4), b = a;
    assert_true(tt_rng_u64(&a) == tt_rng_u64(&b));
    uint64_t first = tt_rng_u64(&b);
    const uint64_t names[][4] = {{2, 2, 3, 4}, {1, 3, 3, 4}, {1, 2, 4, 4}, {1, 2, 3, 5}, {1, 3, 2, 4}, {1, 2, 4, 3}};
    for (int i = 0; i < TT_COUNT(names); i++) {
        TtRng c = tt_rng(names[i][0], TT_RNG_TRANSFORM, names[i][1], names[i][2], names[i][3]);
        tt_rng_u64(&c);
        assert_true(tt_rng_u64(&c) != first);
    }
    /* moments: 200,000 draws, bounds of about six standard errors */
    enum { N = 200000 };
    double u = 0, n = 0, nn = 0, g = 0, bt = 0, counts[7] = {0};
    TtRng r = tt_rng(9, TT_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        double x = tt_rng_normal(&r);
        float f = tt_rng_float(&r);
        assert_true(f >= 0 && f < 1);
        u += tt_rng_double(&r), n += x, nn += x * x, g += tt_rng_gamma(&r, 0.4), bt += tt_rng_beta(&r, 0.2, 0.6);
        counts[tt_rng_below(&r, 7)]++;
    }
    assert_true(fabs(u / N - 0.5) < 0.004 && fabs(n / N) < 0.014 && fabs(nn / N - 1) < 0.02);
    assert_true(fabs(g / N - 0.4) < 0.009 && fabs(bt / N - 0.25) < 0.005);
    for (int i = 0; i < 7; i++) assert_true(fabs(counts[i] - N / 7.0) < 6 * sqrt(N / 7.0));
    int64_t items[100], seen[100] = {0};
    for (int i = 0; i < 100; i++) items[i] = i;
    tt_rng_shuffle(&r, items, 100);
    for (int i = 0; i < 100; i++) seen[items[i]]++;
    int moved = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(seen[i], 1);
        moved += items[i] != i;
    }
    assert_true(moved > 80);
}

static void test_half(void **state)
{
    /* every float16 goes to float32 and back unchanged; NaN stays NaN */
    for (uint32_t h = 0; h < 65536; h++) {
        float f = tt_f16_to_f32((uint16_t)h);
        if (isnan(f))
            assert_true(isnan(tt_f16_to_f32(tt_f32_to_f16(f))));
        else
            assert_int_equal(tt_f32_to_f16(f), h);
        float b = tt_bf16_to_f32((uint16_t)h);
        if (!isnan(b)) assert_int_equal(tt_f32_to_bf16(b), h);
    }
    /* values from NumPy: rounding to even, overflow, subnormals */
    assert_int_equal(tt_f32_to_f16(2049.0f), 0x6800);
    assert_int_equal(tt_f32_to_f16(2051.0f), 0x6802);
    assert_int_equal(tt_f32_to_f16(65519.0f), 0x7bff);
    assert_int_equal(tt_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(tt_f32_to_f16(1e-8f), 0x0000);
    assert_int_equal(tt_f32_to_f16(5.960464e-08f), 0x0001);
    assert_int_equal(tt_f32_to_f16(6.1e-5f), 0x03ff);
    assert_true(isnan(tt_bf16_to_f32(tt_f32_to_bf16(NAN))));
}

static void test_plan(void **state)
{
    TtRng r = tt_rng(3, TT_RNG_TEST, 0, 0, 0);
    for (int round = 0; round < 200; round++) {
        enum { N = 60, STEPS = 40 };
        TtPiece p[N];
        for (int i = 0; i < N; i++) {
            int first = (int)tt_rng_below(&r, STEPS), last = first + (int)tt_rng_below(&r, (uint64_t)(STEPS - first));
            p[i] = (TtPiece){.size = tt_rng_below(&r, 5000), .first = first, .last = last};
        }
        size_t bound, total = tt_plan(p, N, STEPS, &bound);
        assert_true(total >= bound);
        assert_true((double)total <= 1.6 * (double)bound);
        for (int i = 0; i < N; i++) {
            assert_true(p[i].offset % 64 == 0 && p[i].offset + p[i].size <= total);
            for (int k = 0; k < i; k++) {
                bool together = p[i].first <= p[k].last && p[k].first <= p[i].last;
                bool overlap = p[i].offset < p[k].offset + p[k].size && p[k].offset < p[i].offset + p[i].size;
                assert_false(together && overlap);
            }
        }
    }
    assert_int_equal(tt_plan(NULL, 0, 5, NULL), 0);
}

static void test_params(void **state)
{
    TtParamSet *p = tt_params_new(TT_F32);
    TtParam *q, *again;
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d.weight", i);
        assert_int_equal(
            tt_params_declare(p, name, TT_F32, TT_SHAPE(3, i), (TtInit){TT_INIT_CONST, i, 0}, i % 3 == 2, &q), TT_OK);
    }
    assert_int_equal(tt_params_declare(p, "layer7.weight", TT_F32, TT_SHAPE(3, 7), (TtInit){0}, false, &q), TT_OK);
    assert_ptr_equal(q, tt_params_find(p, "layer7.weight"));
    assert_int_equal(tt_params_declare(p, "layer7.weight", TT_F32, TT_SHAPE(3, 8), (TtInit){0}, false, &again),
                     TT_EINTERNAL);
    assert_non_null(strstr(tt_error_message(), "layer7.weight"));
    assert_null(tt_params_find(p, "layer300.weight"));
    assert_int_equal(tt_params_allocate(p), TT_OK);
    tt_params_init(p, 5);
    for (int i = 0; i < p->count; i++) {
        q = p->list[i];
        assert_int_equal((uintptr_t)q->value % 64, 0);
        assert_int_equal(q->grad == NULL, q->buffer);
        assert_true(q->buffer == (q->offset >= p->trainable_count) || tt_shape_count(&q->shape) == 0);
        for (int64_t k = 0; k < tt_shape_count(&q->shape); k++) assert_true(((float *)q->value)[k] == (float)i);
    }
    assert_int_equal(tt_params_declare(p, "late", TT_F32, TT_SHAPE(1), (TtInit){0}, false, &q), TT_EINTERNAL);
    tt_params_free(p);
}

static void test_graph_errors(void **state)
{
    TtParamSet *p = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p});
    TtVal x = tt_input(g, "x", TT_F32, TT_SHAPE(2, 3));
    tt_graph_push(g, "layer%d", 1);
    tt_graph_push(g, "conv");
    TtVal bad = tt_reshape(g, x, TT_SHAPE(5));
    tt_graph_pop(g);
    tt_graph_pop(g);
    assert_false(tt_val_ok(bad));
    /* everything after the first error is quiet, and the first is kept */
    TtVal worse = tt_slice(g, tt_reshape(g, bad, TT_SHAPE(7)), 0, 5, 9, 1);
    assert_false(tt_val_ok(worse));
    assert_int_equal(tt_graph_status(g), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "model layer layer1.conv: cannot view (2,3) as (5)");
    TtProgram *program;
    assert_int_equal(tt_program_build(g, NULL, &program), TT_ECONFIG);
    assert_null(program);
    tt_graph_free(g);
    tt_params_free(p);
}

/* y = w + w + w[0:1] broadcast: fan-out is summed, the gradient lands in the parameter's memory. */
static void test_gradient_memory(void **state)
{
    TtParamSet *p = tt_params_new(TT_F32);
    TtGraph *g = tt_graph_new(&(TtGraphOptions){.params = p});
    TtVal w = tt_param(g, "w", TT_SHAPE(4), (TtInit){TT_INIT_CONST, 2, 0});
    TtVal frozen = tt_param(g, "frozen", TT_SHAPE(4), (TtInit){TT_INIT_CONST, 1, 0});
    tt_params_find(p, "frozen")->frozen = true;
    TtVal head = tt_expand(g, tt_slice(g, w, 0, 0, 1, 1), TT_SHAPE(4));
    TtVal parts[4] = {w, w, tt_contiguous(g, head), frozen};
    TtVal loss = tt_sum_to(g, tt_add_n(g, parts, 4), (TtShape){0});
    tt_output(g, loss, "loss");
    tt_grad(g, loss, TT_NONE, NULL, 0, NULL);
    assert_int_equal(tt_params_allocate(p), TT_OK);
    tt_params_init(p, 1);
    TtProgram *program;
    assert_int_equal(tt_program_build(g, NULL, &program), TT_OK);
    assert_int_equal(tt_program_run(program, &(TtStepInfo){0}), TT_OK);
    assert_true(*(float *)tt_program_tensor(program, loss).data == 28);
    const float *d = tt_params_find(p, "w")->grad, *none = tt_params_find(p, "frozen")->grad;
    assert_true(d[0] == 6 && d[1] == 2 && d[2] == 2 && d[3] == 2);
    assert_true(none[0] == 0 && none[3] == 0);
    TtProgramStats s = tt_program_stats(program);
    assert_true(s.lower_bound <= s.activation_bytes && s.activation_bytes <= s.unplanned_bytes);
    tt_program_free(program);
    tt_graph_free(g);
    tt_params_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status), cmocka_unit_test(test_arena),        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_rng),    cmocka_unit_test(test_half),         cmocka_unit_test(test_plan),
        cmocka_unit_test(test_params), cmocka_unit_test(test_graph_errors), cmocka_unit_test(test_gradient_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
