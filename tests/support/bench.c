/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/bench.c - run chains of transforms in tests. */
#include "tests/support/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/nodes.h"

void bench_open(Bench *b, const char *yaml)
{
    *b = (Bench){0};
    if (tt_transform_chain_parse(node_parse(&b->arena, yaml), &b->arena, &b->chain) != TT_OK)
        fail_msg("%s: %s", yaml, tt_error_message());
}

void bench_close(Bench *b)
{
    tt_image_free(&b->image);
    tt_transform_scratch_free(&b->scratch);
    tt_arena_free(&b->arena);
}

void bench_fill(TtImage *im, int h, int w, int c, TtDType dtype)
{
    assert_int_equal(tt_image_resize_buffer(im, h, w, c, dtype), TT_OK);
    for (int i = 0; i < h * w * c; i++) {
        const int v = (i * 37 + i / w * 91 + i % 11 * 50) % 256;
        if (dtype == TT_U8)
            ((uint8_t *)im->data)[i] = (uint8_t)v;
        else if (dtype == TT_U16)
            ((uint16_t *)im->data)[i] = (uint16_t)(v * 257);
        else
            ((float *)im->data)[i] = (float)v / 255.0f;
    }
}

TtStatus bench_apply(Bench *b, uint64_t seed, uint64_t epoch, uint64_t sample)
{
    return tt_transform_chain_apply(&b->chain, seed, epoch, sample, "x.png", &b->image, NULL, &b->scratch);
}

void bench_apply_ok(Bench *b, uint64_t sample)
{
    if (bench_apply(b, 7, 0, sample) != TT_OK) fail_msg("%s", tt_error_message());
}
