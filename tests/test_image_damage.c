/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_image_damage.c - damaged, hostile and odd pictures: refused with a message that names the file, or whole
 * with a warning; never anything between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/image_data.h"

static void expect_refused(Bytes b, const char *why)
{
    TtImage im = {0};
    TtStatus s = image_decode(b, "dir/x.img", NULL, &im);
    if (s != TT_EDATA) fail_msg("status %d where '%s' was expected", s, why);
    const char *m = tt_error_message();
    assert_memory_equal(m, "dir/x.img: ", 11);
    if (!strstr(m, why)) fail_msg("'%s' does not say '%s'", m, why);
    assert_null(strchr(m, '\n'));
    assert_string_equal(image_warning, ""); /* the error is the first thing said */
    tt_image_free(&im);
}

/* The picture NAME, whole; WARNING is in the warning, or NULL for none. */
static void expect_whole(Bytes b, const char *name, const char *warning)
{
    bool png = strstr(name, ".png") != NULL;
    TtImage im = {0};
    if (image_decode(b, "dir/x.img", NULL, &im) != TT_OK) fail_msg("%s: %s", name, tt_error_message());
    image_expect(&im, name, png ? 0 : 3, png ? 0 : 0.4);
    if (!warning) {
        assert_string_equal(image_warning, "");
    } else {
        assert_memory_equal(image_warning, "dir/x.img: ", 11);
        if (!strstr(image_warning, warning)) fail_msg("'%s' does not say '%s'", image_warning, warning);
    }
    tt_image_free(&im);
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *why;
    } cases[] = {
        {"jpeg_bomb_65500.jpg", "byte "},
        {"jpeg_bomb_scan.jpg", "60000x50000 pixels exceed the limit"},
        {"jpeg_cut_half.jpg", "truncated"},
        {"jpeg_cut_in_dht.jpg", "truncated"},
        {"jpeg_cut_progressive_first_scan.jpg", "truncated"},
        {"jpeg_no_eoi.jpg", "truncated"},
        {"jpeg_only_soi.jpg", "truncated"},
        {"jpeg_corrupt_scan.jpg", "premature end of data segment"},
        {"jpeg_wrong_rst.jpg", "byte "},
        {"jpeg_two_components.jpg", "2 components"},
        {"jpeg_bad_segment_length.jpg", "marker length"},
        {"jpeg_12bit.jpg", "precision 12"},
        {"text_named.jpg", "neither JPEG nor PNG"},
        {"png_bad_crc_idat.png", "CRC"},
        {"png_cut_half.png", "truncated"},
        {"png_short_idat.png", "Not enough image data"},
        {"png_corrupt_zlib.png", "byte "},
        {"png_filter5.png", "filter"},
        {"png_bomb_30000.png", "30000x30000 pixels exceed the limit"},
        {"png_zero_width.png", "width is zero"},
        {"png_bad_depth.png", "bit depth"},
        {"png_no_plte.png", "PLTE"},
        {"png_near_limit.png", "byte "},
    };
    for (int i = 0; i < TT_COUNT(cases); i++) expect_refused(bytes_read(cases[i].name), cases[i].why);
    expect_refused(bytes_of("", 0), "empty");
    expect_refused(bytes_of("\xff", 1), "neither");
    expect_refused(bytes_of("\x89PNG\r\n\x1a", 7), "neither");
    expect_refused(bytes_of("\x89PNG\r\n\x1a\n", 8), "truncated");
}

/* The same for every length: refused, but for a PNG that lacks no more than its IEND. */
static void test_truncation(void **state)
{
    static const char *const names[] = {"jpeg_420_odd.jpg",     "jpeg_progressive.jpg", "jpeg_arithmetic.jpg",
                                        "jpeg_three_scans.jpg", "png_rgb16_adam7.png",  "png_palette8_trns.png"};
    for (int i = 0; i < TT_COUNT(names); i++) {
        Bytes b = bytes_read(names[i]);
        for (size_t n = 0; n < b.n; n++) {
            Bytes cut = bytes_of(b.p, n);
            if (strstr(names[i], ".png") && n >= b.n - 12)
                expect_whole(cut, names[i], "IEND");
            else
                expect_refused(cut, n == 0 ? "empty" : n < (b.p[0] == 0xff ? 2 : 8) ? "neither" : "truncated");
        }
        bytes_free(&b);
    }
}

/* An end marker right behind the cut does not make the rest harmless. */
static void test_false_end(void **state)
{
    Bytes b = bytes_read("jpeg_420_odd.jpg");
    for (size_t n = jpeg_find(b, 0xda, 0) + 20; n + 4 < b.n; n += 7) {
        Bytes cut = bytes_of(b.p, n);
        bytes_append(&cut, "\xff\xd9", 2);
        expect_refused(cut, "premature end");
    }
    bytes_free(&b);
}

/* ------------------------------------------------------------------ JPEG */

static void test_stray_bytes(void **state)
{
    static const char stray[] = "stray bytes!";
    const char *name = "jpeg_baseline_444.jpg";
    Bytes b = bytes_read(name);
    expect_whole(bytes_put(b, 2, stray, 3), name, "3 extraneous bytes");
    expect_whole(bytes_put(b, jpeg_find(b, 0xc4, 0), stray, 1), name, "1 extraneous bytes");
    expect_whole(bytes_put(b, jpeg_find(b, 0xda, 0), stray, 12), name, "12 extraneous bytes");
    expect_whole(bytes_put(b, b.n - 2, stray, 12), name, "extraneous bytes before marker 0xd9");
    expect_whole(bytes_put(b, b.n, stray, 12), name, NULL);
    bytes_free(&b);
    name = "jpeg_progressive.jpg";
    b = bytes_read(name);
    expect_whole(bytes_put(b, jpeg_find(b, 0xda, 3), stray, 12), name, "extraneous bytes");
    expect_whole(bytes_put(b, jpeg_find(b, 0xda, 3), "\xff\xfe\0\4ab", 6), name, NULL); /* a comment is none */
    bytes_free(&b);
}

static void test_restart_markers(void **state)
{
    Bytes b = bytes_read("jpeg_restart.jpg");
    size_t first = jpeg_find(b, 0xd0, 0), second = jpeg_find(b, 0xd1, 0);
    expect_refused(bytes_cut(b, first, second - first), "byte ");     /* an interval is lost */
    expect_refused(bytes_cut(b, first, 2), "byte ");                  /* a marker */
    expect_refused(bytes_put(b, first, "twelve bytes", 12), "byte "); /* an interval has too many bytes */
    expect_refused(bytes_cut(b, second - 4, 4), "byte ");             /* or too few */
    bytes_free(&b);
}

static void test_scans(void **state)
{
    const char *name = "jpeg_three_scans.jpg";
    Bytes b = bytes_read(name);
    size_t second = jpeg_find(b, 0xda, 1), third = jpeg_find(b, 0xda, 2);
    expect_refused(bytes_cut(b, third, b.n - 2 - third), "before component 3 of 3");
    expect_refused(bytes_cut(b, second, third - second), "before component 2 of 3");
    /* the same scan again changes nothing; a thousand times is an attack */
    const TtImageOptions small = {.max_pixels = 49 * 41};
    for (int n = 10; n <= 1000; n *= 100) {
        Bytes many = bytes_of(b.p, third);
        for (int i = 0; i < n; i++) bytes_append(&many, b.p + second, third - second);
        bytes_append(&many, b.p + third, b.n - third);
        TtImage im = {0};
        TtStatus s = image_decode(many, "x", &small, &im);
        if (n == 10) {
            assert_int_equal(s, TT_OK);
            image_expect(&im, name, 3, 0.4);
        } else {
            assert_int_equal(s, TT_EDATA);
            assert_non_null(strstr(tt_error_message(), "too many scans"));
        }
        tt_image_free(&im);
    }
    bytes_free(&b);
    /* A progressive file may leave out refinement, but says so here. */
    b = bytes_read("jpeg_progressive.jpg");
    size_t last = jpeg_find(b, 0xda, 9);
    TtImage im = {0};
    assert_int_equal(image_decode(bytes_cut(b, last, b.n - 2 - last), "x", NULL, &im), TT_OK);
    assert_non_null(strstr(image_warning, "refine"));
    tt_image_free(&im);
    bytes_free(&b);
}

static void test_jpeg_sizes(void **state)
{
    Bytes b = bytes_read("jpeg_progressive.jpg"), c;
    size_t sof = jpeg_find(b, 0xc2, 0);
    for (int i = 0; i < 3; i++) {
        static const char *const sizes[] = {"\0\0\0\x3f", "\0\x2d\0\0", "\xea\x60\x0f\xa0"}; /* h, w */
        c = bytes_of(b.p, b.n);
        memcpy(c.p + sof + 5, sizes[i], 4);
        expect_refused(c, i < 2 ? "Empty JPEG image" : "premature end"); /* 240 megapixels of nothing */
    }
    c = bytes_of(b.p, b.n);
    memcpy(c.p + sof + 5, "\xff\xff\xff\xff", 4);
    expect_refused(c, "Maximum supported image dimension");
    bytes_free(&b);
}

/* ------------------------------------------------------------------ PNG, 3x2 */

static const uint8_t rows[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

/* PNG with CHUNK put before the image data, or behind it. */
static Bytes with_chunk(const char *type, const void *data, size_t n, bool behind)
{
    Bytes b = png_start();
    png_header(&b, 3, 2, 8, 2);
    if (!behind) png_chunk(&b, type, data, n);
    png_data(&b, rows, sizeof rows);
    if (behind) png_chunk(&b, type, data, n);
    png_chunk(&b, "IEND", "", 0);
    return b;
}

static Bytes spoil_crc(Bytes b, const char *type)
{
    size_t at = png_find(b, type);
    b.p[at + 8 + b.p[at + 3]] ^= 1; /* the length is below 256 */
    return b;
}

static void expect_rows(Bytes b, const char *warning)
{
    TtImage im = {0};
    if (image_decode(b, "x.png", NULL, &im) != TT_OK) fail_msg("%s", tt_error_message());
    assert_true(im.h == 2 && im.w == 3 && im.dtype == TT_U8);
    assert_memory_equal(im.data, rows + 1, 9);
    assert_memory_equal((uint8_t *)im.data + 9, rows + 11, 9);
    if (warning)
        assert_non_null(strstr(image_warning, warning));
    else
        assert_string_equal(image_warning, "");
    tt_image_free(&im);
}

static void test_png_chunks(void **state)
{
    /* none of these changes a sample, right or wrong */
    static const char *const types[] = {"gAMA", "cHRM", "sRGB", "iCCP", "sBIT", "bKGD", "hIST", "pHYs", "tRNS",
                                        "tIME", "tEXt", "zTXt", "iTXt", "eXIf", "acTL", "fcTL", "cICP", "prVt"};
    static const uint8_t content[40] = {0, 0, 0xb1, 0x8f};
    for (int i = 0; i < TT_COUNT(types); i++)
        for (int behind = 0; behind < 2; behind++) {
            expect_rows(with_chunk(types[i], "", 0, behind), NULL);
            expect_rows(with_chunk(types[i], content, sizeof content, behind), NULL);
            expect_rows(spoil_crc(with_chunk(types[i], content, sizeof content, behind), types[i]), "CRC");
        }
    expect_rows(with_chunk("PLTE", content, 3, false), NULL); /* a suggestion */
    expect_refused(with_chunk("NEWx", content, 4, false), "critical");
    static const char *const critical[] = {"IHDR", "PLTE", "IDAT", "IEND"};
    for (int i = 0; i < TT_COUNT(critical); i++)
        expect_refused(spoil_crc(with_chunk("PLTE", content, 3, false), critical[i]), "CRC");
    /* a length that leads out of the file */
    Bytes b = with_chunk("tEXt", content, 4, false);
    memset(b.p + png_find(b, "tEXt"), 0x7f, 4);
    expect_refused(b, "truncated");
}

static void test_png_data(void **state)
{
    Bytes b = with_chunk("tEXt", "", 0, true);
    size_t at = png_find(b, "IDAT"), n = b.p[at + 3];
    /* behind the zlib stream: harmless; a wrong or missing checksum is not */
    const uint8_t *z = b.p + at + 8;
    for (int i = 0; i < 4; i++) {
        uint8_t data[100];
        memcpy(data, z, n);
        memcpy(data + n, "more", 4);
        if (i == 1) data[n - 1] ^= 1;
        Bytes c = png_start();
        png_header(&c, 3, 2, 8, 2);
        png_chunk(&c, "IDAT", data, i == 0 ? n + 4 : i == 1 ? n : i == 2 ? n - 2 : n / 2);
        if (i == 3) png_chunk(&c, "IDAT", data + n / 2, n - n / 2);
        png_chunk(&c, "IEND", "", 0);
        if (i == 0) expect_rows(c, "Extra compressed data");
        if (i == 1) expect_refused(c, "incorrect data check");
        if (i == 2) expect_refused(c, "Not enough image data");
        if (i == 3) expect_rows(c, NULL);
    }
    bytes_free(&b);
}

static void test_png_palette(void **state)
{
    for (int depth = 1; depth <= 8; depth *= 2)
        for (int bad = 0; bad < 2; bad++) {
            uint8_t row[5] = {0};                         /* filter, indices 0, 0, 0 and one that is there or not */
            int colours = bad ? 1 : 2, index = 3 * depth; /* in bits, from the left */
            row[1 + index / 8] = (uint8_t)(1 << (8 - depth - index % 8));
            Bytes b = png_start();
            png_header(&b, 4, 1, depth, 3);
            png_chunk(&b, "PLTE", "abcdef", (size_t)colours * 3);
            png_data(&b, row, 1 + (4 * (size_t)depth + 7) / 8);
            png_chunk(&b, "IEND", "", 0);
            if (bad) {
                expect_refused(b, "palette");
                continue;
            }
            TtImage im = {0};
            assert_int_equal(image_decode(b, "x.png", NULL, &im), TT_OK);
            assert_memory_equal(im.data, "abcabcabcdef", 12);
            tt_image_free(&im);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_truncation), cmocka_unit_test(test_false_end),
        cmocka_unit_test(test_stray_bytes),     cmocka_unit_test(test_scans),      cmocka_unit_test(test_jpeg_sizes),
        cmocka_unit_test(test_restart_markers), cmocka_unit_test(test_png_chunks), cmocka_unit_test(test_png_data),
        cmocka_unit_test(test_png_palette),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
