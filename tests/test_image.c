/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_image.c - whole pictures against Pillow (8 bits) and libpng's own tools (16 bits), orientation, buffers,
 * the PNG writer. Damaged ones are in test_image_damage.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/fs.h"
#include "tests/support/image_data.h"
#include "tests/support/temp.h"
#include "vision/reader.h"

/* JPEG may differ by what another accurate DCT would give, PNG not at all. */
static const struct {
    const char *name;
    int h, w;
    TtDType dtype;
    int max;
    double mean;
    const char *warning;
} whole[] = {
    {"jpeg_baseline_444.jpg", 48, 64, TT_U8, 3, 0.4},
    {"jpeg_420_odd.jpg", 47, 61, TT_U8, 3, 0.4},
    {"jpeg_422.jpg", 40, 56, TT_U8, 3, 0.4},
    {"jpeg_440.jpg", 56, 40, TT_U8, 3, 0.4},
    {"jpeg_411.jpg", 33, 70, TT_U8, 3, 0.4},
    {"jpeg_410.jpg", 34, 66, TT_U8, 3, 0.4},
    {"jpeg_quality_1.jpg", 40, 48, TT_U8, 3, 0.4},
    {"jpeg_progressive.jpg", 45, 63, TT_U8, 3, 0.4},
    {"jpeg_grey.jpg", 29, 43, TT_U8, 3, 0.4},
    {"jpeg_three_scans.jpg", 41, 49, TT_U8, 3, 0.4},
    {"jpeg_cmyk_adobe.jpg", 38, 46, TT_U8, 4, 0.6},
    {"jpeg_cmyk_no_adobe.jpg", 38, 46, TT_U8, 4, 0.6},
    {"jpeg_ycck_adobe.jpg", 36, 52, TT_U8, 4, 0.6},
    {"jpeg_rgb_adobe0.jpg", 33, 44, TT_U8, 3, 0.4},
    {"jpeg_jfif_and_adobe0.jpg", 34, 45, TT_U8, 3, 0.4},
    {"jpeg_arithmetic.jpg", 39, 55, TT_U8, 3, 0.4},
    {"jpeg_restart.jpg", 42, 58, TT_U8, 3, 0.4},
    {"jpeg_exif_1_be.jpg", 21, 30, TT_U8, 3, 0.4},
    {"jpeg_exif_2_le.jpg", 21, 31, TT_U8, 3, 0.4},
    {"jpeg_exif_3_be.jpg", 21, 32, TT_U8, 3, 0.4},
    {"jpeg_exif_4_le.jpg", 21, 33, TT_U8, 3, 0.4},
    {"jpeg_exif_5_be.jpg", 34, 21, TT_U8, 3, 0.4},
    {"jpeg_exif_6_le.jpg", 35, 21, TT_U8, 3, 0.4},
    {"jpeg_exif_7_be.jpg", 36, 21, TT_U8, 3, 0.4},
    {"jpeg_exif_8_le.jpg", 37, 21, TT_U8, 3, 0.4},
    {"jpeg_exif_0.jpg", 24, 31, TT_U8, 3, 0.4},
    {"jpeg_exif_bad_offset.jpg", 24, 31, TT_U8, 3, 0.4},
    {"jpeg_trailing_garbage.jpg", 36, 48, TT_U8, 3, 0.4},
    {"jpeg_icc.jpg", 36, 48, TT_U8, 3, 0.4},
    {"jpeg_fill_bytes.jpg", 36, 48, TT_U8, 3, 0.4},
    {"jpeg_1x1.jpg", 1, 1, TT_U8, 3, 0.4},
    {"jpeg_1x19.jpg", 19, 1, TT_U8, 3, 0.4},
    {"jpeg_18x1.jpg", 1, 18, TT_U8, 3, 0.4},
    {"png_named.jpg", 19, 25, TT_U8, 0, 0},
    {"png_grey1.png", 13, 20, TT_U8, 0, 0},
    {"png_grey2_adam7.png", 13, 21, TT_U8, 0, 0},
    {"png_grey4.png", 13, 23, TT_U8, 0, 0},
    {"png_grey8.png", 13, 27, TT_U8, 0, 0},
    {"png_grey16_adam7.png", 13, 35, TT_U16, 0, 0},
    {"png_palette1_trns.png", 15, 18, TT_U8, 0, 0},
    {"png_palette2.png", 15, 19, TT_U8, 0, 0},
    {"png_palette4_adam7.png", 15, 21, TT_U8, 0, 0},
    {"png_palette8_trns.png", 15, 25, TT_U8, 0, 0},
    {"png_grey8_trns.png", 17, 21, TT_U8, 0, 0},
    {"png_grey2_trns.png", 18, 22, TT_U8, 0, 0},
    {"png_rgb16_trns.png", 16, 23, TT_U16, 0, 0},
    {"png_rgb8.png", 16, 20, TT_U8, 0, 0},
    {"png_rgb16_adam7.png", 16, 21, TT_U16, 0, 0},
    {"png_rgba8_adam7.png", 16, 22, TT_U8, 0, 0},
    {"png_rgba16.png", 16, 23, TT_U16, 0, 0},
    {"png_grey_alpha8.png", 16, 24, TT_U8, 0, 0},
    {"png_grey_alpha16_adam7.png", 16, 25, TT_U16, 0, 0},
    {"png_1x1_adam7.png", 1, 1, TT_U8, 0, 0},
    {"png_1x31_adam7.png", 31, 1, TT_U8, 0, 0},
    {"png_33x1_adam7.png", 1, 33, TT_U8, 0, 0},
    {"png_gama.png", 18, 24, TT_U8, 0, 0},
    {"png_bkgd_alpha.png", 18, 24, TT_U8, 0, 0},
    {"png_exif_6.png", 24, 18, TT_U8, 0, 0},
    {"png_idat_1_byte.png", 18, 24, TT_U8, 0, 0},
    {"png_trailing.png", 12, 24, TT_U8, 0, 0},
    {"png_stored.png", 17, 24, TT_U8, 0, 0},
    {"png_apng.png", 18, 24, TT_U8, 0, 0},
    {"png_ztxt_bomb.png", 16, 24, TT_U8, 0, 0},
    {"png_palette_index_high.png", 1, 4, TT_U8, 0, 0},
    {"png_bad_crc_ancillary.png", 15, 24, TT_U8, 0, 0, "tEXt: CRC error"},
};

static void test_whole(void **state)
{
    TtImage im = {0}; /* one for all, as a worker has */
    for (int i = 0; i < TT_COUNT(whole); i++) {
        Bytes b = bytes_read(whole[i].name);
        TtImageInfo info;
        assert_int_equal(tt_image_info(b.p, b.n, whole[i].name, NULL, &info), TT_OK);
        assert_string_equal(info.format, b.p[0] == 0xff ? "jpeg" : "png");
        if (image_decode(b, whole[i].name, NULL, &im) != TT_OK) fail_msg("%s", tt_error_message());
        assert_int_equal(im.h, whole[i].h);
        assert_int_equal(im.w, whole[i].w);
        assert_int_equal(im.c, 3);
        assert_int_equal(im.dtype, whole[i].dtype);
        assert_true(info.h == im.h && info.w == im.w && info.dtype == im.dtype);
        image_expect(&im, whole[i].name, whole[i].max, whole[i].mean);
        if (whole[i].warning) {
            assert_non_null(strstr(image_warning, whole[i].name));
            assert_non_null(strstr(image_warning, whole[i].warning));
        } else {
            assert_string_equal(image_warning, "");
        }
    }
    tt_image_free(&im);
}

/* ------------------------------------------------------------------ orientation */

/* EXIF 2.32, tag 274, in its own words: where the 0th row and the 0th column of the stored picture belong.
 * 1 top left, 2 top right, 3 bottom right, 4 bottom left, 5 left top, 6 right top, 7 right bottom, 8 left bottom. */
static void place(int orientation, int row, int column, int h, int w, int *y, int *x)
{
    static const char *const edges[] = {"", "tl", "tr", "br", "bl", "lt", "rt", "rb", "lb"};
    const char *e = edges[orientation];
    bool rows_stand = e[0] == 'l' || e[0] == 'r'; /* stored rows are columns of the upright picture */
    int up_h = rows_stand ? w : h, up_w = rows_stand ? h : w;
    int down = rows_stand ? column : row, across = rows_stand ? row : column;
    *y = strchr(e, 't') ? down : up_h - 1 - down;
    *x = strchr(e, 'l') ? across : up_w - 1 - across;
}

static void check_orientation(int orientation, const char *before, int depth)
{
    enum { H = 37, W = 70 }; /* more than one tile, no multiple of it */
    size_t sample = (size_t)depth / 8, stride = 1 + W * 3 * sample;
    uint8_t *rows = calloc(H, stride), exif[26] = "MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1";
    for (int y = 0; y < H; y++)
        for (size_t i = 0; i < stride - 1; i++)
            rows[(size_t)y * stride + 1 + i] = (uint8_t)((size_t)y * 7 + i * 13 + i / 100);
    exif[19] = (uint8_t)orientation;
    Bytes b = png_start();
    png_header(&b, W, H, depth, 2);
    if (strcmp(before, "IDAT") == 0) png_chunk(&b, "eXIf", exif, sizeof exif);
    png_data(&b, rows, H * stride);
    if (strcmp(before, "IEND") == 0) png_chunk(&b, "eXIf", exif, sizeof exif);
    png_chunk(&b, "IEND", "", 0);
    TtImage im = {0};
    assert_int_equal(image_decode(b, "o.png", NULL, &im), TT_OK);
    assert_int_equal(im.h, orientation >= 5 ? W : H);
    assert_int_equal(im.w, orientation >= 5 ? H : W);
    for (int row = 0; row < H; row++)
        for (int column = 0; column < W; column++) {
            int y, x;
            place(orientation, row, column, H, W, &y, &x);
            const uint8_t *stored = rows + (size_t)row * stride + 1 + (size_t)column * 3 * sample;
            const uint8_t *got = (uint8_t *)im.data + ((size_t)y * (size_t)im.w + (size_t)x) * 3 * sample;
            for (int c = 0; c < 3; c++)
                assert_int_equal(sample == 1 ? got[c] : ((const uint16_t *)got)[c],
                                 sample == 1 ? stored[c] : stored[2 * c] * 256 + stored[2 * c + 1]);
        }
    tt_image_free(&im);
    free(rows);
}

static void test_orientation(void **state)
{
    for (int o = 1; o <= 8; o++) {
        check_orientation(o, "IDAT", 8);
        check_orientation(o, "IEND", 16);
    }
}

#define LE "II*\0\x08\0\0\0"
#define BE "MM\0*\0\0\0\x08"
static void test_exif(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int want;
    } cases[] = {
#define EXIF(want, text) {text, sizeof(text) - 1, want}
        EXIF(6, LE "\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"),
        EXIF(6, BE "\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"),
        EXIF(6, LE "\1\0\x12\1\4\0\1\0\0\0\6\0\0\0"),                           /* LONG */
        EXIF(3, BE "\0\2\1\0\0\3\0\0\0\1\0\x10\0\0\1\x12\0\3\0\0\0\1\0\3\0\0"), /* second entry */
        EXIF(3, BE "\xff\xff\1\x12\0\3\0\0\0\1\0\3\0\0"),                       /* fewer entries than promised */
        EXIF(8, "MM\0*\0\0\0\x0c????\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0"),         /* IFD0 further on */
        EXIF(1, BE "\0\1\1\x12\0\3\0\0\0\1\0\0\0\0"),                           /* 0 */
        EXIF(1, BE "\0\1\1\x12\0\3\0\0\0\1\0\x09\0\0"),                         /* 9 */
        EXIF(1, BE "\0\1\1\x12\0\3\0\0\0\2\0\6\0\0"),                           /* two values */
        EXIF(1, BE "\0\1\1\x12\0\2\0\0\0\1\0\6\0\0"),                           /* ASCII */
        EXIF(1, BE "\0\1\1\x12\0\3\0\0\0\1\0\6"),                               /* cut */
        EXIF(1, BE "\0\0\0\0\0\x0e\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"),             /* only IFD1 has it */
        EXIF(1, "MM\0*\xff\xff\xff\xff"),
        EXIF(1, "MM\0*\0\0\0\7"),
        EXIF(1, "MM\0+\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"),
        EXIF(1, "IM*\0\x08\0\0\0"),
        EXIF(1, BE),
        EXIF(1, "MM"),
        EXIF(1, ""),
#undef EXIF
    };
    for (int i = 0; i < TT_COUNT(cases); i++) {
        Bytes b = bytes_of(cases[i].bytes, cases[i].n);
        if (tt_exif_orientation(b.p, b.n) != cases[i].want) fail_msg("case %d", i);
        bytes_free(&b);
    }
}

/* ------------------------------------------------------------------ options and buffers */

static void test_options(void **state)
{
    TtImage im = {0};
    TtImageInfo info;
    const TtImageOptions as_stored = {.ignore_orientation = true};
    assert_int_equal(image_decode(bytes_read("jpeg_exif_6_le.jpg"), "a", &as_stored, &im), TT_OK);
    assert_true(im.h == 21 && im.w == 35);
    Bytes b = bytes_read("jpeg_exif_6_le.jpg");
    assert_int_equal(tt_image_info(b.p, b.n, "a", &as_stored, &info), TT_OK);
    assert_true(info.h == 21 && info.w == 35);
    bytes_free(&b);
    static const char *const names[] = {"jpeg_exif_6_le.jpg", "png_rgb8.png"};
    for (int i = 0; i < 2; i++) {
        int64_t pixels = i == 0 ? 21 * 35 : 16 * 20;
        const TtImageOptions enough = {.max_pixels = pixels}, short_of = {.max_pixels = pixels - 1};
        assert_int_equal(image_decode(bytes_read(names[i]), "a", &enough, &im), TT_OK);
        assert_int_equal(image_decode(bytes_read(names[i]), "a.b", &short_of, &im), TT_EDATA);
        assert_non_null(strstr(tt_error_message(), "a.b: "));
        assert_non_null(strstr(tt_error_message(), "data.max_pixels"));
    }
    tt_image_free(&im);
}

static void test_buffer(void **state)
{
    TtImage a = {0}, b = {0};
    assert_int_equal(tt_image_resize_buffer(&a, 10, 20, 3, TT_U16), TT_OK);
    assert_int_equal(tt_image_bytes(&a), 1200);
    void *data = a.data;
    assert_int_equal(tt_image_resize_buffer(&a, 2, 5, 1, TT_F32), TT_OK); /* smaller: the same memory */
    assert_ptr_equal(a.data, data);
    assert_int_equal(a.capacity, 1200);
    tt_image_swap(&a, &b);
    assert_true(a.data == NULL && b.data == data && b.w == 5);
    /* too large: nothing is kept, and the buffer can be used again */
    assert_int_equal(tt_image_resize_buffer(&b, INT32_MAX, INT32_MAX, 3, TT_F32), TT_EINTERNAL);
    assert_true(b.data == NULL && b.capacity == 0 && b.h == 0);
    assert_int_equal(tt_image_resize_buffer(&b, 1, 1, 3, TT_U8), TT_OK);
    tt_image_free(&b);
    tt_image_free(&b);
    assert_string_equal(tt_image_format((const uint8_t *)"\xff\xd8", 2), "jpeg");
    assert_null(tt_image_format((const uint8_t *)"\xff", 1));
    assert_null(tt_image_format((const uint8_t *)"\x89PNG\r\n\x1a", 7));
}

/* ------------------------------------------------------------------ writer */

static void check_written(const char *path, int h, int w, int c)
{
    uint8_t *pixels = calloc((size_t)h * (size_t)w, (size_t)c);
    for (int i = 0; i < h * w * c; i++) pixels[i] = (uint8_t)(i * 31 + i / 7);
    assert_int_equal(tt_png_write(path, pixels, h, w, c), TT_OK);
    char *data;
    size_t size;
    assert_int_equal(tt_fs_read(path, 1 << 20, TT_EDATA, &data, &size), TT_OK);
    TtImage im = {0};
    assert_int_equal(image_decode(bytes_of(data, size), path, NULL, &im), TT_OK);
    assert_true(im.h == h && im.w == w && im.dtype == TT_U8);
    for (int i = 0; i < h * w * 3; i++) assert_int_equal(((uint8_t *)im.data)[i], pixels[c == 3 ? i : i / 3]);
    tt_image_free(&im);
    free(data);
    free(pixels);
}

static int no_space(TtFsOp op, const char *path, const char *target)
{
    return op == TT_FS_OP_WRITE ? ENOSPC : 0;
}

static void test_png_write(void **state)
{
    char *path = tt_fs_join(*state, "a.png");
    check_written(path, 13, 31, 3);
    check_written(path, 28, 28, 1);
    check_written(path, 1, 1, 3);
    assert_int_equal(temp_entries(*state), 1);
    char *other = tt_fs_join(*state, "b.png");
    tt_fs_test_hook(no_space);
    assert_int_equal(tt_png_write(other, (const uint8_t[3]){1, 2, 3}, 1, 1, 3), TT_EINTERNAL);
    tt_fs_test_hook(NULL);
    assert_non_null(strstr(tt_error_message(), other));
    assert_non_null(strstr(tt_error_message(), "No space left"));
    assert_int_equal(temp_entries(*state), 1);
    free(other);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),  cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_exif),   cmocka_unit_test(test_options),
        cmocka_unit_test(test_buffer), cmocka_unit_test_setup_teardown(test_png_write, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
