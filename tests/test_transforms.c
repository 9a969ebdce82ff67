/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_transforms.c - transforms as a config names them: parsing, errors with their places, independence of
 * order, sizes. The pixels are test_pixels.c's, what is drawn test_transform_draws.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/bench.h"
#include "tests/support/nodes.h"
#include "vision/pixels.h"

/* ---- parsing */

static void test_parse(void **state)
{
    Bench b;
    bench_open(&b, "[{Resize: {size: 256}}, RandomVerticalFlip, {CenterCrop: {size: [224, 200]}},\n"
                   " {Normalize: {mean: [0.5, 0.4, 0.3], std: 0.25}}, {MixUp: {alpha: 0.2}}, CutMix]");
    assert_int_equal(b.chain.n, 4);
    assert_int_equal(b.chain.n_batch, 2);
    assert_string_equal(b.chain.list[1].def->name, "RandomVerticalFlip");
    assert_string_equal(b.chain.batch[1].def->name, "CutMix");
    float mean[3], std[3];
    assert_true(tt_transform_chain_normalize(&b.chain, mean, std));
    assert_true(mean[0] == 0.5f && mean[2] == 0.3f && std[0] == 0.25f && std[2] == 0.25f);
    int h = 0, w = 0;
    tt_transform_chain_size(&b.chain, &h, &w);
    assert_true(h == 224 && w == 200);
    bench_close(&b);
    bench_open(&b, "[]");
    assert_int_equal(b.chain.n + b.chain.n_batch, 0);
    assert_false(tt_transform_chain_normalize(&b.chain, mean, std));
    assert_int_equal(tt_transform_chain_parse(NULL, &b.arena, &b.chain), TT_OK);
    assert_int_equal(b.chain.n + b.chain.n_batch, 0);
    bench_close(&b);
}

static void test_errors(void **state)
{
    static const struct {
        const char *yaml, *message;
    } cases[] = {
        {"[{Resize: {size: 256}}, {RandomHorizontalFlop: {p: 0.5}}]",
         "test.yaml:1:26: unknown transform 'RandomHorizontalFlop'; did you mean 'RandomHorizontalFlip'?"},
        {"[frobnicate]", "test.yaml:1:2: unknown transform 'frobnicate'; `ttrain list"},
        {"[{Resize: {size: 1}, CenterCrop: {size: 1}}]", "test.yaml:1:22: a list element holds one transform"},
        {"[{RandomResizedCrop: {size: 32, scal: [0.5, 1]}}]",
         "test.yaml:1:33: unknown key 'scal'; did you mean 'scale'?"},
        {"[{RandomResizedCrop: {size: 32, interpolation: bilinaer}}]",
         "test.yaml:1:48: interpolation must be nearest, nearest-exact, bilinear, bicubic or lanczos, not 'bilinaer'; "
         "did you mean 'bilinear'?"},
        {"{Resize: {size: 1}}", "test.yaml:1:1: transforms must be a list"},
        {"Resize", "test.yaml:1:1: transforms must be a list"},
        {"[[Resize]]", "test.yaml:1:2: a transform is written {Name: {argument: value}}"},
        {"[{}]", "test.yaml:1:2: a transform is written"},
        {"[null]", "test.yaml:1:2: a transform is written"},
        {"[Resize]", "test.yaml:1:2: Resize: the key 'size' is missing"},
        {"[{Resize: {}}]", "test.yaml:1:3: Resize: the key 'size' is missing"},
        {"[{Resize: 256}]", "test.yaml:1:11: Resize must be a map of keys to values"},
        {"[{Resize: {size: null}}]", "test.yaml:1:18: Resize needs max_size when size is null"},
        {"[{Resize: {size: [4, 5], max_size: 9}}]", "test.yaml:1:36: max_size goes with one size"},
        {"[{Resize: {size: 9, max_size: 9}}]", "test.yaml:1:31: max_size must be greater than size (9)"},
        {"[{Resize: {size: 0}}]", "test.yaml:1:18: size must be at least 1, not 0"},
        {"[{Resize: {size: [1, 2, 3]}}]", "test.yaml:1:18: size takes at most 2 values, not 3"},
        {"[{Resize: {size: 9, antialias: false, interpolation: lanczos}}]", "test.yaml:1:54: lanczos needs antialias"},
        {"[{RandomResizedCrop: {size: 9, scale: [1.0, 0.5]}}]", "test.yaml:1:39: scale must be [min, max]"},
        {"[{RandomHorizontalFlip: {p: 1.5}}]", "test.yaml:1:29: p must be at most 1, not 1.5"},
        {"[{Normalize: {mean: [0, 0, 0], std: [1, 0, 1]}}]", "test.yaml:1:41: std must be greater than 0, not 0"},
        {"[{Normalize: {mean: [0, 0, 0], std: [1, 1]}}]", "test.yaml:1:37: std has 2 values, but mean has 3"},
        {"[{RandomResize: {min_size: 9, max_size: 9}}]", "test.yaml:1:41: max_size must be greater than min_size (9)"},
        {"[{Pad: {padding: [1, 2, 3]}}]", "test.yaml:1:18: padding takes 1, 2 or 4 values, not 3"},
        {"[{Pad: {padding: 1, fill: [1, 2, 3], padding_mode: edge}}]", "test.yaml:1:27: fill for each channel"},
        {"[{RandomRotation: {degrees: -3}}]", "test.yaml:1:29: degrees must not be negative"},
        {"[{RandomRotation: {degrees: [9, 3]}}]", "test.yaml:1:29: degrees must be [min, max]"},
        {"[{RandomAffine: {degrees: 3, shear: [1, 2, 3]}}]", "test.yaml:1:37: shear takes 1, 2 or 4 values, not 3"},
        {"[{ColorJitter: {hue: 0.6}}]", "test.yaml:1:22: hue must be at most 0.5"},
        {"[{ColorJitter: {brightness: [0.9, 0.8]}}]", "test.yaml:1:29: brightness must be a number, or a rising range"},
        {"[{ColorJitter: {contrast: -1}}]", "test.yaml:1:27: contrast must not be negative"},
        {"[{GaussianBlur: {kernel_size: 4}}]", "test.yaml:1:31: kernel_size must be odd"},
        {"[{Grayscale: {num_output_channels: 2}}]", "test.yaml:1:36: num_output_channels must be 1 or 3, not 2"},
        {"[{RandomErasing: {value: noise}}]", "test.yaml:1:26: value must be a number, a list of numbers or `random`"},
        {"[{RandAugment: {magnitude: 31}}]", "test.yaml:1:28: magnitude must be less than num_magnitude_bins (31)"},
        {"[RandomApply]", "test.yaml:1:2: the key 'transforms' is missing"},
        {"[{RandomApply: {p: 0.5}}]", "test.yaml:1:17: the key 'transforms' is missing"},
        {"[{RandomApply: {transforms: []}}]", "test.yaml:1:29: transforms must name at least one transform"},
        {"[{RandomChoice: {transforms: [ToImage, Rezise], p: [1, 2]}}]",
         "test.yaml:1:40: unknown transform 'Rezise'; did you mean 'Resize'?"},
        {"[{RandomChoice: {transforms: [ToImage, ToImage], p: [1]}}]",
         "test.yaml:1:53: p has 1 values for 2 transforms"},
        {"[{RandomChoice: {transforms: [ToImage], p: [0]}}]", "test.yaml:1:44: p must not be 0 throughout"},
        {"[{RandomChoice: {transforms: [ToImage, MixUp]}}]", "test.yaml:1:40: ToImage and MixUp cannot stand together"},
        {"[MixUp, ToImage]", "test.yaml:1:9: ToImage works on single pictures and cannot follow MixUp"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        TtArena arena = {0};
        TtTransformChain chain;
        assert_int_equal(tt_transform_chain_parse(node_parse(&arena, cases[i].yaml), &arena, &chain), TT_ECONFIG);
        if (strncmp(tt_error_message(), cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s\n  gave %s\n  not  %s", cases[i].yaml, tt_error_message(), cases[i].message);
        tt_arena_free(&arena);
    }
}

static void test_depth(void **state)
{
    char yaml[4000] = "ToImage";
    for (int depth = 1; depth <= 20; depth++) {
        char inner[4000];
        snprintf(inner, sizeof inner, "{Compose: {transforms: [%.3900s]}}", yaml);
        strcpy(yaml, inner);
        TtArena arena = {0};
        TtTransformChain chain;
        char list[4010];
        snprintf(list, sizeof list, "[%s]", yaml);
        const TtStatus status = tt_transform_chain_parse(node_parse(&arena, list), &arena, &chain);
        assert_int_equal(status, depth < 8 ? TT_OK : TT_ECONFIG);
        tt_arena_free(&arena);
    }
    assert_non_null(strstr(tt_error_message(), "nested deeper than 8"));
}

/* ---- every transform, at its defaults, on pictures of every type and awkward sizes */

static const char *arguments(const char *name)
{
    static const char *const needed[][2] = {
        {"Resize", "{size: 7}"},
        {"RandomResize", "{min_size: 3, max_size: 9}"},
        {"CenterCrop", "{size: 5}"},
        {"RandomCrop", "{size: 4, pad_if_needed: true}"},
        {"RandomResizedCrop", "{size: [6, 5]}"},
        {"Pad", "{padding: [1, 2]}"},
        {"RandomRotation", "{degrees: 180, expand: true}"},
        {"RandomAffine", "{degrees: 30, translate: [0.1, 0.2], scale: [0.5, 2], shear: [-5, 5, -6, 6]}"},
        {"RandomPerspective", "{p: 1}"},
        {"ColorJitter", "{brightness: 0.5, contrast: 0.5, saturation: 0.5, hue: 0.5}"},
        {"RandomPosterize", "{bits: 3, p: 1}"},
        {"RandomSolarize", "{threshold: 0.5, p: 1}"},
        {"RandomAutocontrast", "{p: 1}"},
        {"RandomEqualize", "{p: 1}"},
        {"RandomInvert", "{p: 1}"},
        {"RandomGrayscale", "{p: 1}"},
        {"RandomAdjustSharpness", "{sharpness_factor: 2, p: 1}"},
        {"GaussianBlur", "{kernel_size: [3, 1]}"},
        {"RandomErasing", "{p: 1, value: random}"},
        {"Normalize", "{mean: 0.5, std: 0.25}"},
        {"ToDtype", "{dtype: uint16, scale: true}"},
        {"RandomApply", "{transforms: [RandomVerticalFlip], p: 1}"},
        {"RandomChoice", "{transforms: [RandomVerticalFlip, RandomHorizontalFlip]}"},
        {"RandomOrder", "{transforms: [RandomVerticalFlip, RandomHorizontalFlip]}"},
        {"Compose", "{transforms: [RandomVerticalFlip, RandomHorizontalFlip]}"},
    };
    for (int i = 0; i < TT_COUNT(needed); i++)
        if (strcmp(needed[i][0], name) == 0) return needed[i][1];
    return "{}";
}

static void test_every_transform(void **state)
{
    static const TtDType dtypes[] = {TT_U8, TT_U16, TT_F32};
    static const int sizes[][2] = {{1, 1}, {1, 9}, {8, 1}, {2, 3}, {17, 23}, {64, 31}};
    int failures = 0, runs = 0;
    for (int t = 0; tt_transforms[t]; t++) {
        assert_ptr_equal(tt_transform_find(tt_transforms[t]->name), tt_transforms[t]);
        assert_non_null(tt_transforms[t]->help);
        if (tt_transforms[t]->media == TT_MEDIA_SOUND) continue;
        char yaml[300];
        snprintf(yaml, sizeof yaml, "[{%s: %s}]", tt_transforms[t]->name, arguments(tt_transforms[t]->name));
        Bench b;
        bench_open(&b, yaml);
        for (int i = 0; i < TT_COUNT(dtypes) * TT_COUNT(sizes) * 2 * 6; i++) {
            const int c = i % 2 ? 3 : 1, *size = sizes[i / 2 % TT_COUNT(sizes)];
            bench_fill(&b.image, size[0], size[1], c, dtypes[i / 2 / TT_COUNT(sizes) % TT_COUNT(dtypes)]);
            const TtStatus status = bench_apply(&b, 1, 0, (uint64_t)i);
            runs++;
            if (status != TT_OK) {
                assert_int_equal(status, TT_EDATA);
                assert_non_null(strstr(tt_error_message(), "x.png"));
                failures++;
                continue;
            }
            assert_int_equal(b.image.dtype, TT_F32);
            assert_true(tt_image_bytes(&b.image) > 0 && tt_image_bytes(&b.image) <= b.image.capacity);
            for (size_t k = 0; k < tt_image_bytes(&b.image) / 4; k++) assert_true(isfinite(((float *)b.image.data)[k]));
            int h = size[0], w = size[1];
            tt_transform_chain_size(&b.chain, &h, &w);
            if (h && w) assert_true(h == b.image.h && w == b.image.w);
        }
        bench_close(&b);
    }
    assert_true(failures < runs / 50); /* only blurring a picture of one column is refused */
    assert_null(tt_transform_find("Rotate"));
}

static void test_data_errors(void **state)
{
    static const struct {
        const char *yaml;
        int h, w;
        const char *message;
    } cases[] = {
        {"[{RandomCrop: {size: 32, padding: 2}}]", 20, 40,
         "x.png: RandomCrop wants 32x32, but the picture has only 44x24"},
        {"[{Resize: {size: 224}}]", 1, 30000, "x.png: a transform would make a picture of 6720000x224"},
        {"[{Resize: {size: null, max_size: 2}}]", 1, 9, "x.png: a transform would leave 2x0 pixels"},
        {"[{Pad: {padding: 9, padding_mode: reflect}}]", 9, 20,
         "x.png: padding of 9 by reflection needs a height of at "
         "least 10 pixels, but the picture has 9"},
        {"[{Pad: {padding: [30, 0], padding_mode: symmetric}}]", 9, 20,
         "x.png: padding of 30 by symmetry needs a width"},
        {"[{GaussianBlur: {kernel_size: 23}}]", 20, 11,
         "x.png: GaussianBlur with a kernel of 23x23 needs at least 12x12"},
        {"[{Pad: {padding: 1, fill: [1, 2]}}]", 9, 9, "x.png: fill has 2 values, but the picture has 3 channels"},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        Bench b;
        bench_open(&b, cases[i].yaml);
        bench_fill(&b.image, cases[i].h, cases[i].w, 3, TT_U8);
        assert_int_equal(bench_apply(&b, 1, 1, 1), TT_EDATA);
        if (!strstr(tt_error_message(), cases[i].message))
            fail_msg("%s: %s, not %s", cases[i].yaml, tt_error_message(), cases[i].message);
        bench_close(&b);
    }
    /* what no other picture would change is the config's fault */
    Bench b;
    bench_open(&b, "[Grayscale, {Normalize: {mean: [0.5, 0.5, 0.5], std: 1}}]");
    bench_fill(&b.image, 4, 4, 3, TT_U8);
    assert_int_equal(bench_apply(&b, 1, 1, 1), TT_ECONFIG);
    assert_string_equal(tt_error_message(), "Normalize has 3 values of mean, but the picture has 1 channel (x.png)");
    bench_close(&b);
}

/* ---- conversion at the end, floats left alone */

static void test_conversion(void **state)
{
    Bench b;
    bench_open(&b, "[]");
    for (int bits = 8; bits <= 16; bits += 8) {
        bench_fill(&b.image, 1, 2, 1, bits == 8 ? TT_U8 : TT_U16);
        memset(b.image.data, 255, tt_image_bytes(&b.image));
        bench_apply_ok(&b, 0);
        assert_true(b.image.dtype == TT_F32 && fabsf(((float *)b.image.data)[1] - 1.0f) < 1e-6f);
    }
    bench_close(&b);
    bench_open(&b, "[{ToDtype: {dtype: float32}}]"); /* torchvision's default is scale=False */
    bench_fill(&b.image, 1, 1, 1, TT_U8);
    ((uint8_t *)b.image.data)[0] = 200;
    bench_apply_ok(&b, 0);
    assert_true(((float *)b.image.data)[0] == 200.0f);
    bench_close(&b);
    bench_open(&b, "[ToTensor, {Normalize: {mean: 0.5, std: 0.5}}]");
    bench_fill(&b.image, 1, 1, 1, TT_U8);
    ((uint8_t *)b.image.data)[0] = 255;
    bench_apply_ok(&b, 0);
    assert_true(fabsf(((float *)b.image.data)[0] - 1.0f) < 1e-6f); /* not scaled twice */
    bench_close(&b);
}

/* A chain without growth keeps its buffers. */
static void test_steady_state(void **state)
{
    Bench b;
    bench_open(&b, "[{Resize: {size: 40}}, {CenterCrop: {size: 32}}, RandomHorizontalFlip,\n"
                   " {ColorJitter: {brightness: 0.3, contrast: 0.3, saturation: 0.3, hue: 0.1}}, RandomErasing,\n"
                   " {Normalize: {mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}}]");
    const void *seen[3][3] = {{0}};
    for (int i = 0; i < 9; i++) {
        bench_fill(&b.image, 60, 77, 3, TT_U8);
        bench_apply_ok(&b, (uint64_t)i);
        assert_null(b.scratch.arena.head);
        if (i >= 6) {
            seen[i - 6][0] = b.image.data, seen[i - 6][1] = b.scratch.image.data, seen[i - 6][2] = b.scratch.table;
        }
    }
    for (int i = 1; i < 3; i++) {
        assert_ptr_equal(seen[0][2], seen[i][2]);
        /* the two pictures may have changed places */
        assert_true((seen[0][0] == seen[i][0] && seen[0][1] == seen[i][1]) ||
                    (seen[0][0] == seen[i][1] && seen[0][1] == seen[i][0]));
    }
    bench_close(&b);
}

/* ---- random numbers */

#define EVERYTHING                                                                                                 \
    "[{RandomResizedCrop: {size: 24}}, RandomHorizontalFlip, RandomVerticalFlip, TrivialAugmentWide,\n"            \
    " {ColorJitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}}, {RandomRotation: {degrees: 9}}," \
    " {RandomApply: {transforms: [{GaussianBlur: {kernel_size: 3}}, RandomInvert], p: 0.5}},\n"                    \
    " {RandomChoice: {transforms: [ToImage, RandomEqualize, RandAugment]}}, {RandomErasing: {value: random}}]"

static void test_keyed(void **state)
{
    enum { N = 24, SIZE = 24 * 24 * 3 };
    static float first[N][SIZE];
    Bench b, other;
    bench_open(&b, EVERYTHING);
    bench_open(&other, EVERYTHING);
    for (int i = 0; i < N; i++) {
        bench_fill(&b.image, 50, 40, 3, TT_U8);
        assert_int_equal(bench_apply(&b, 7, 3, (uint64_t)i), TT_OK);
        memcpy(first[i], b.image.data, sizeof first[i]);
    }
    int same[3] = {0};
    for (int i = N - 1; i >= 0; i--) { /* the other way round, with other buffers */
        bench_fill(&other.image, 50, 40, 3, TT_U8);
        assert_int_equal(bench_apply(&other, 7, 3, (uint64_t)i), TT_OK);
        assert_memory_equal(first[i], other.image.data, sizeof first[i]);
        const uint64_t keys[3][3] = {{7, 4, (uint64_t)i}, {8, 3, (uint64_t)i}, {7, 3, (uint64_t)i + 1000}};
        for (int k = 0; k < 3; k++) {
            bench_fill(&other.image, 50, 40, 3, TT_U8);
            assert_int_equal(bench_apply(&other, keys[k][0], keys[k][1], keys[k][2]), TT_OK);
            same[k] += memcmp(first[i], other.image.data, sizeof first[i]) == 0;
        }
    }
    for (int k = 0; k < 3; k++) assert_int_equal(same[k], 0);
    bench_close(&b);
    bench_close(&other);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *yaml;
        int h, w, out_h, out_w;
    } cases[] = {
        /* from torchvision's _compute_resized_output_size */
        {"[{Resize: {size: 256}}]", 375, 500, 256, 341},
        {"[{Resize: {size: 256}}]", 500, 375, 341, 256},
        {"[{Resize: {size: 256, max_size: 300}}]", 375, 500, 225, 300},
        {"[{Resize: {size: null, max_size: 300}}]", 375, 500, 225, 300},
        {"[{Resize: {size: [30, 40]}}]", 0, 0, 30, 40},
        {"[{Resize: {size: 256}}]", 0, 0, 0, 0},
        {"[{Pad: {padding: [1, 2, 3, 4]}}]", 10, 20, 16, 24},
        {"[{RandomRotation: {degrees: 5}}]", 10, 20, 10, 20},
        {"[{RandomRotation: {degrees: 5, expand: true}}]", 10, 20, 0, 0},
        {"[{RandomApply: {transforms: [{CenterCrop: {size: 5}}]}}]", 10, 20, 0, 0},
        {"[{RandomApply: {transforms: [RandomInvert]}}]", 10, 20, 10, 20},
        {"[{RandomChoice: {transforms: [{CenterCrop: {size: 5}}, {RandomResizedCrop: {size: 5}}]}}]", 10, 20, 5, 5},
        {"[{RandomChoice: {transforms: [{CenterCrop: {size: 5}}, {RandomResizedCrop: {size: 6}}]}}]", 10, 20, 0, 0},
        {"[{Compose: {transforms: [{Resize: {size: 9}}, {CenterCrop: {size: 5}}]}}]", 10, 20, 5, 5},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        Bench b;
        int h = cases[i].h, w = cases[i].w;
        bench_open(&b, cases[i].yaml);
        tt_transform_chain_size(&b.chain, &h, &w);
        if (h != cases[i].out_h || w != cases[i].out_w) fail_msg("%s: %dx%d", cases[i].yaml, h, w);
        bench_close(&b);
    }
}

/* docs/transforms.md ends with what the option tables say; TT_WRITE_DOCS=1 writes it anew. */
static void test_reference_page(void **state)
{
    char *page = NULL, *text = NULL;
    size_t size = 0, page_size;
    bool sound = false; /* they come last */
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; tt_transforms[i]; i++) {
        const TtTransformDef *t = tt_transforms[i];
        if (t->media == TT_MEDIA_SOUND && !sound) fprintf(out, "\n# Sound\n");
        sound = t->media == TT_MEDIA_SOUND;
        fprintf(out, "\n## %s\n\n%s\n", t->name, t->help);
        if (tt_options_count(t->options) == 0) continue;
        fprintf(out, "\n| argument | type | default | range | meaning |\n|---|---|---|---|---|\n");
        tt_options_markdown(out, t->options, "");
    }
    fclose(out);
    FILE *f = fopen("docs/transforms.md", "r");
    assert_non_null(f);
    out = open_memstream(&page, &page_size);
    for (int c; (c = getc(f)) != EOF;) putc(c, out);
    fclose(f), fclose(out);
    const char *reference = strstr(page, "<!-- reference -->\n");
    assert_non_null(reference);
    const char *old = strchr(reference, '\n') + 1;
    if (strcmp(old, text) != 0 && getenv("TT_WRITE_DOCS")) {
        f = fopen("docs/transforms.md", "w");
        fprintf(f, "%.*s%s", (int)(old - page), page, text);
        fclose(f);
    } else if (strcmp(old, text) != 0) {
        fail_msg("docs/transforms.md is out of date: run TT_WRITE_DOCS=1 %s", "build/tests/test_transforms");
    }
    free(page), free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),           cmocka_unit_test(test_errors),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_every_transform), cmocka_unit_test(test_data_errors), cmocka_unit_test(test_conversion),
        cmocka_unit_test(test_steady_state),    cmocka_unit_test(test_keyed),       cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_reference_page),
    };
    return cmocka_run_group_tests_name("transforms", tests, NULL, NULL);
}
