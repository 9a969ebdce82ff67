/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_pixels.c - the pixels of every transform against torchvision.transforms.v2.functional, at each
 * instruction set. The cases and their results are written by scripts/make_transform_values.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "vision/pixels.h"
#include "vision/rows.h"

typedef enum Op {
    RESIZE,
    RESIZED_CROP,
    CROP,
    CENTER_CROP,
    PAD,
    HFLIP,
    VFLIP,
    ROTATE,
    AFFINE,
    PERSPECTIVE,
    GRAYSCALE,
    BRIGHTNESS,
    CONTRAST,
    SATURATION,
    HUE,
    SHARPNESS,
    INVERT,
    POSTERIZE,
    SOLARIZE,
    AUTOCONTRAST,
    EQUALIZE,
    PERMUTE,
    BLUR,
    TO_DTYPE,
    NORMALIZE,
    ERASE
} Op;

typedef struct Case {
    const char *family;
    Op op;
    int h, w, c;
    TtDType dtype;
    double p[20];
    int out_h, out_w, out_c;
    TtDType out_dtype;
    size_t at;
    uint64_t hash; /* of the bytes, when the case must be equal to the last bit and is large */
    double limit;  /* largest difference allowed */
    double share;  /* how many of all values may differ; 0: as many as like */
} Case;

static const Case cases[] = {
#include "tests/transform_cases.inc"
};

/* picture() of the script. */
static int value(int y, int x, int c)
{
    const int k = x % 7 == 3 ? 0 : c;
    return (x * 5 + y * 3 + k * 70 + ((x * x * 31 + y * y * 17 + x * y * 7 + k * 13) % 61) * 2 +
            ((x / 9 + y / 7) % 2) * 90) %
           256;
}

static void picture(TtImage *im, int h, int w, int c, TtDType dtype)
{
    assert_int_equal(tt_image_resize_buffer(im, h, w, c, dtype), TT_OK);
    for (int y = 0, i = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int j = 0; j < c; j++, i++) {
                const int v = value(y, x, j);
                if (dtype == TT_U8)
                    ((uint8_t *)im->data)[i] = (uint8_t)v;
                else if (dtype == TT_U16)
                    ((uint16_t *)im->data)[i] = (uint16_t)TT_MAX(v * 257 - v * 91 % 257, 0);
                else
                    ((float *)im->data)[i] = (float)v / 255.0f;
            }
}

static TtFloats floats(const double *p)
{
    return (TtFloats){(int)p[0], (double *)(uintptr_t)(p + 1)};
}

static TtStatus run_geometry(const Case *k, TtTransformArgs *a)
{
    const double *p = k->p;
    TtFloats fill;
    switch (k->op) {
    case RESIZE: return tt_pixels_resize(a, 0, 0, k->h, k->w, (int)p[0], (int)p[1], (TtInterpolation)p[2], p[3] != 0);
    case RESIZED_CROP:
        return tt_pixels_resize(a, (int)p[0], (int)p[1], (int)p[2], (int)p[3], (int)p[4], (int)p[5],
                                (TtInterpolation)p[6], p[7] != 0);
    case CROP: return tt_pixels_crop(a, (int)p[0], (int)p[1], (int)p[2], (int)p[3]);
    case CENTER_CROP: return tt_pixels_center_crop(a, (int)p[0], (int)p[1]);
    case PAD:
        fill = floats(p + 5);
        return tt_pixels_pad(a, (int)p[0], (int)p[1], (int)p[2], (int)p[3], &fill, (TtPadMode)p[4]);
    case HFLIP: return tt_pixels_horizontal_flip(a);
    case VFLIP: return tt_pixels_vertical_flip(a);
    case ROTATE:
        fill = floats(p + 6);
        return tt_pixels_rotate(a, p[0], (TtWarp)p[1], p[2] != 0, p[3] != 0 ? p + 4 : NULL, &fill);
    case AFFINE: {
        const TtAffine m = {p[0], {p[1], p[2]}, p[3], {p[4], p[5]}};
        fill = floats(p + 10);
        return tt_pixels_affine(a, &m, (TtWarp)p[6], &fill, p[7] != 0 ? p + 8 : NULL);
    }
    default: {
        const int x = k->w - 1, y = k->h - 1, start[4][2] = {{0, 0}, {x, 0}, {x, y}, {0, y}};
        int end[4][2];
        for (int i = 0; i < 8; i++) end[i / 2][i % 2] = (int)p[i];
        fill = floats(p + 9);
        return tt_pixels_perspective(a, start, (const int(*)[2])end, (TtWarp)p[8], &fill);
    }
    }
}

static TtStatus run(const Case *k, TtTransformArgs *a)
{
    static const TtDType dtypes[] = {TT_U8, TT_U16, TT_F32};
    const double *p = k->p;
    const int64_t order[3] = {(int64_t)p[0], (int64_t)p[1], (int64_t)p[2]};
    TtFloats first = floats(p), second, value_;
    switch (k->op) {
    case GRAYSCALE: return tt_pixels_grayscale(a, (int)p[0]);
    case BRIGHTNESS: return tt_pixels_brightness(a, p[0]);
    case CONTRAST: return tt_pixels_contrast(a, p[0]);
    case SATURATION: return tt_pixels_saturation(a, p[0]);
    case HUE: return tt_pixels_hue(a, p[0]);
    case SHARPNESS: return tt_pixels_sharpness(a, p[0]);
    case INVERT: return tt_pixels_invert(a);
    case POSTERIZE: return tt_pixels_posterize(a, (int)p[0]);
    case SOLARIZE: return tt_pixels_solarize(a, p[0]);
    case AUTOCONTRAST: return tt_pixels_autocontrast(a);
    case EQUALIZE: return tt_pixels_equalize(a);
    case PERMUTE: return tt_pixels_permute_channels(a, order);
    case BLUR: return tt_pixels_gaussian_blur(a, (const int[2]){(int)p[0], (int)p[1]}, p + 2);
    case TO_DTYPE: return tt_pixels_to_dtype(a, dtypes[(int)p[0]], p[1] != 0);
    case NORMALIZE: second = (TtFloats){first.n, first.v + 3}; return tt_pixels_normalize(a, &first, &second);
    case ERASE: value_ = floats(p + 4); return tt_pixels_erase(a, (int)p[0], (int)p[1], (int)p[2], (int)p[3], &value_);
    default: return run_geometry(k, a);
    }
}

static uint64_t fnv(const uint8_t *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static double element(TtDType t, const void *p, size_t i)
{
    return t == TT_U8    ? ((const uint8_t *)p)[i]
           : t == TT_U16 ? ((const uint16_t *)p)[i]
                         : (double)((const float *)p)[i];
}

static uint8_t *read_family(const char *family)
{
    char path[256];
    snprintf(path, sizeof path, "tests/data/transforms/%s.bin", family);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is missing: run from the root of the tree", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long size = ftell(f);
    rewind(f);
    uint8_t *p = malloc((size_t)size);
    assert_int_equal(fread(p, 1, (size_t)size, f), size);
    fclose(f);
    return p;
}

/* Compare; -1 when good, or the number of wrong elements. */
static void compare(const Case *k, const TtImage *im, const uint8_t *expected, int number)
{
    const size_t n = (size_t)im->h * (size_t)im->w * (size_t)im->c;
    size_t differ = 0;
    double most = 0;
    if (im->h != k->out_h || im->w != k->out_w || im->c != k->out_c || im->dtype != k->out_dtype)
        fail_msg("case %d (%s, op %d): %dx%dx%d %s, not %dx%dx%d %s", number, k->family, k->op, im->h, im->w, im->c,
                 tt_dtype_name(im->dtype), k->out_h, k->out_w, k->out_c, tt_dtype_name(k->out_dtype));
    if (k->hash) {
        if (fnv(im->data, tt_image_bytes(im)) != k->hash)
            fail_msg("case %d (%s, op %d): hash", number, k->family, k->op);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double d = fabs(element(im->dtype, im->data, i) - element(im->dtype, expected + k->at, i));
        differ += d > 0, most = fmax(most, d);
    }
    if (most > k->limit || (k->share > 0 && (double)differ > TT_MAX(k->share * (double)n, 1.0)))
        fail_msg("case %d (%s, op %d): %zu of %zu differ, by up to %g (allowed %g)", number, k->family, k->op, differ,
                 n, most, k->limit);
}

static void run_family(const char *family)
{
    uint8_t *expected = read_family(family);
    TtTransformScratch scratch = {0};
    TtImage im = {0};
    int done = 0;
    for (int i = 0; i < TT_COUNT(cases); i++) {
        const Case *k = &cases[i];
        if (strcmp(k->family, family) != 0) continue;
        TtTransformArgs a = {.image = &im, .scratch = &scratch, .name = "test"};
        picture(&im, k->h, k->w, k->c, k->dtype);
        if (run(k, &a) != TT_OK) fail_msg("case %d (%s): %s", i, family, tt_error_message());
        compare(k, &im, expected, i);
        done++;
    }
    assert_true(done > 10);
    tt_image_free(&im);
    tt_transform_scratch_free(&scratch);
    free(expected);
}

static void test_resize(void **state)
{
    run_family("resize");
}

static void test_geometry(void **state)
{
    run_family("geometry");
}

static void test_warp(void **state)
{
    run_family("warp");
}

static void test_colour(void **state)
{
    run_family("colour");
}

static void test_values(void **state)
{
    run_family("values");
}

/* MixUp with lambda 0.3, then CutMix with the box (1, 2, 5, 6). */
static void test_batch(void **state)
{
    enum { N = 3, H = 6, W = 7, C = 3, K = 4, SIZE = H * W * C };
    static const int labels[N] = {2, 0, 3}, box[4] = {1, 2, 5, 6};
    uint8_t *bytes = read_family("batch");
    const float *expected = (const float *)(const void *)bytes;
    for (int which = 0; which < 2; which++) {
        float x[N * SIZE], y[N * K] = {0};
        for (int i = 0; i < N; i++) {
            for (int e = 0; e < SIZE; e++)
                x[i * SIZE + e] = (float)((value(e / (W * C), e / C % W, e % C) + 37 * i) % 256) / 256.0f;
            y[i * K + labels[i]] = 1;
        }
        const TtTensor tx = tt_tensor(x, TT_F32, TT_SHAPE(N, H, W, C)), ty = tt_tensor(y, TT_F32, TT_SHAPE(N, K));
        if (which == 0)
            tt_batch_mixup(tx, ty, 0.3);
        else
            tt_batch_cutmix(tx, ty, box, 1 - 16.0 / 42);
        for (int e = 0; e < N * SIZE; e++) assert_true(fabsf(x[e] - expected[e]) < 1e-6f);
        expected += N * SIZE;
        for (int e = 0; e < N * K; e++) assert_true(fabsf(y[e] - expected[e]) < 1e-6f);
        expected += N * K;
    }
    free(bytes);
}

/* ---- the tables of all instruction sets give the same bits */

enum { LONG = 1531 }; /* odd, so that every loop has a rest */

static void fill_random(TtRng *r, uint8_t *u8, uint16_t *u16, float *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        u8[i] = (uint8_t)tt_rng_below(r, 256), u16[i] = (uint16_t)tt_rng_below(r, 65536);
        f[i] = (float)tt_rng_uniform(r, -0.2, 1.2);
    }
}

static void compare_rows(const TtRows *x, const TtRows *y, TtRng *r)
{
    static uint8_t u8[LONG], a8[LONG], b8[LONG];
    static uint16_t u16[LONG], a16[LONG], b16[LONG];
    static float f[3][LONG], a[3][LONG], b[3][LONG], mean[TT_ROW_PATTERN], std[TT_ROW_PATTERN];
    for (int k = 0; k < 3; k++) fill_random(r, u8, u16, f[k], LONG);
    for (int i = 0; i < TT_ROW_PATTERN; i++) mean[i] = 0.3f + (float)(i % 3), std[i] = 0.2f + (float)(i % 3);
#define SAME(call_x, call_y, p, q)           \
    do {                                     \
        call_x;                              \
        call_y;                              \
        assert_memory_equal(p, q, sizeof p); \
    } while (0)
    SAME(x->load_u8(u8, LONG, a[0]), y->load_u8(u8, LONG, b[0]), a[0], b[0]);
    SAME(x->load_u16(u16, LONG, a[0]), y->load_u16(u16, LONG, b[0]), a[0], b[0]);
    SAME(x->normalize_u8(u8, LONG, 0.1f, mean, std, a[0]), y->normalize_u8(u8, LONG, 0.1f, mean, std, b[0]), a[0],
         b[0]);
    SAME(x->normalize_u16(u16, LONG, 0.1f, mean, std, a[0]), y->normalize_u16(u16, LONG, 0.1f, mean, std, b[0]), a[0],
         b[0]);
    SAME(x->normalize_f32(f[0], LONG, mean, std, a[0]), y->normalize_f32(f[0], LONG, mean, std, b[0]), a[0], b[0]);
    SAME(x->scale(a[0], LONG, 77.7f), y->scale(b[0], LONG, 77.7f), a[0], b[0]);
    SAME(x->store_u8(a[0], LONG, a8), y->store_u8(b[0], LONG, b8), a8, b8);
    SAME(x->store_u16(a[0], LONG, a16), y->store_u16(b[0], LONG, b16), a16, b16);
    SAME(x->round(a[0], LONG), y->round(b[0], LONG), a[0], b[0]);
    SAME(x->blend(a[0], f[1], LONG, 0.3f, 0.7f, 50.0f), y->blend(b[0], f[1], LONG, 0.3f, 0.7f, 50.0f), a[0], b[0]);
    memcpy(a, f, sizeof a), memcpy(b, f, sizeof b);
    SAME(x->hue(a[0], a[1], a[2], LONG, 0.31f), y->hue(b[0], b[1], b[2], LONG, 0.31f), a, b);
    SAME(x->taps_v_f32(f[0], LONG, 3, mean, LONG, a[0]), y->taps_v_f32(f[0], LONG, 3, mean, LONG, b[0]), a[0], b[0]);
    SAME(x->convolve(f[0], 3, 5, mean, LONG - 12, a[0]), y->convolve(f[0], 3, 5, mean, LONG - 12, b[0]), a[0], b[0]);
    static const int16_t w[8] = {-700, 9000, 9000, -916, 0, 0, 0, 0};
    for (int count = 1; count <= 4; count++) {
        int16_t cut[8] = {0};
        memcpy(cut, w, (size_t)count * sizeof *w);
        SAME(x->taps_v_u8(u8, 300, count, cut, 14, 401, a8), y->taps_v_u8(u8, 300, count, cut, 14, 401, b8), a8, b8);
    }
#undef SAME
}

static void test_instruction_sets(void **state)
{
    const TtRows *plain = tt_rows_of("c");
    TtRng r = tt_rng(1, TT_RNG_TEST, 0, 0, 0);
    assert_non_null(plain);
    assert_null(tt_rows_of("sparc"));
    for (int i = 0; i < 2; i++) {
        const TtRows *other = tt_rows_of(i ? "avx512" : "avx2");
        if (other) compare_rows(plain, other, &r);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize),           cmocka_unit_test(test_geometry), cmocka_unit_test(test_warp),
        cmocka_unit_test(test_colour),           cmocka_unit_test(test_values),   cmocka_unit_test(test_batch),
        cmocka_unit_test(test_instruction_sets),
    };
    int failed = cmocka_run_group_tests_name("pixels", tests, NULL, NULL);
    if (argc == 1 && !getenv("TT_CPU")) { /* once more with the plain loops */
        char command[600];
        snprintf(command, sizeof command, "TT_CPU=c '%s' again", argv[0]);
        failed += system(command) != 0;
    }
    return failed;
}
