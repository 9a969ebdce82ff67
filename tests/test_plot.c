/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_plot.c - plots are PNG files of the stated size that show what they should: looked at with libpng, by
 * counting pixels of the colours that mean something. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <png.h>

#include "tensor/fs.h"
#include "pipeline/plot.h"
#include "tests/support/temp.h"

enum { BLUE = 0x0072b2, VERMILION = 0xd55e00 };

typedef struct Picture {
    int w, h;
    uint8_t *rgb;
} Picture;

static Picture decode(const TtPlot *p)
{
    png_image im = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&im, p->png, p->size));
    im.format = PNG_FORMAT_RGB;
    Picture out = {(int)im.width, (int)im.height, malloc(PNG_IMAGE_SIZE(im))};
    assert_true(png_image_finish_read(&im, NULL, out.rgb, 0, NULL));
    assert_int_equal(out.w, p->w);
    assert_int_equal(out.h, p->h);
    return out;
}

static uint32_t pixel(const Picture *p, int x, int y)
{
    const uint8_t *q = p->rgb + ((size_t)y * (size_t)p->w + (size_t)x) * 3;
    return (uint32_t)q[0] << 16 | (uint32_t)q[1] << 8 | q[2];
}

/* Pixels of a colour with x in [x0,x1). */
static int count_between(const Picture *p, uint32_t rgb, int x0, int x1)
{
    int n = 0;
    for (int y = 0; y < p->h; y++)
        for (int x = x0; x < x1; x++) n += pixel(p, x, y) == rgb;
    return n;
}

static int count(const Picture *p, uint32_t rgb)
{
    return count_between(p, rgb, 0, p->w);
}

static Picture take(TtStatus s, TtPlot *plot)
{
    assert_int_equal(s, TT_OK);
    Picture p = decode(plot);
    tt_plot_free(plot);
    /* a white page with something on it */
    assert_int_equal(pixel(&p, 0, 0), 0xffffff);
    assert_int_equal(pixel(&p, p.w - 1, p.h - 1), 0xffffff);
    assert_true(count(&p, 0xffffff) < p.w * p.h - 200);
    return p;
}

static Picture chart(const TtLine *lines, int n, bool log_y)
{
    TtPlot plot;
    TtStatus s = tt_plot_chart(&(TtChart){.title = "Title",
                                          .subtitle = "sub",
                                          .x_label = "step",
                                          .y_label = "loss",
                                          .lines = lines,
                                          .n = n,
                                          .log_y = log_y},
                               &plot);
    Picture p = take(s, &plot);
    assert_true(p.w == 1600 && p.h == 960);
    return p;
}

static void test_chart_lines(void **state)
{
    double x[3] = {0, 100, 200}, flat[3] = {1, 1, 1}, gap[3] = {1, NAN, 1}, rise[3] = {0, 1, 2};
    Picture p = chart(&(TtLine){.name = "a", .x = x, .y = flat, .n = 3}, 1, false);
    int whole = count_between(&p, BLUE, 400, 700); /* a quarter of the way in, no dots */
    assert_true(whole >= 300);
    free(p.rgb);
    p = chart(&(TtLine){.name = "a", .x = x, .y = gap, .n = 3}, 1, false);
    assert_int_equal(count_between(&p, BLUE, 400, 1500), 0);
    assert_true(count(&p, BLUE) > 0); /* the two points have dots */
    free(p.rgb);
    /* in a rising line the blue of the left half stands below that of the right half */
    p = chart(&(TtLine){.name = "a", .x = x, .y = rise, .n = 3}, 1, false);
    int left = 0, right = p.h;
    for (int y = 300; y < p.h; y++)
        for (int i = 300; i < 320; i++)
            if (pixel(&p, i, y) == BLUE) left = y;
    for (int y = p.h - 1; y >= 160; y--)
        for (int i = 1400; i < 1420; i++)
            if (pixel(&p, i, y) == BLUE) right = y;
    assert_true(left > right + 300);
    free(p.rgb);
}

static void test_chart_edges(void **state)
{
    double x[4] = {1, 2, 3, 4}, y[4] = {5, NAN, INFINITY, -3}, nan[4] = {NAN, NAN, NAN, NAN};
    double huge[4] = {1e308, -1e308, 1e300, 0}, tiny[4] = {1e-300, 2e-300, 3e-300, 5e-324}, same[4] = {7, 7, 7, 7};
    const double *values[] = {y, nan, huge, tiny, same};
    for (int log_y = 0; log_y < 2; log_y++) {
        free(chart(NULL, 0, log_y).rgb);
        for (int v = 0; v < TT_COUNT(values); v++)
            for (int n = 0; n <= 4; n++)
                for (int smooth = 0; smooth < 2; smooth++)
                    free(chart(&(TtLine){.name = n ? "v" : NULL,
                                         .x = n == 3 ? nan : x,
                                         .y = values[v],
                                         .n = n,
                                         .smooth = smooth ? 1000000 : 0,
                                         .best = smooth ? TT_BEST_MIN : TT_BEST_MAX},
                               1, log_y)
                             .rgb);
    }
    TtPlot plot;
    assert_int_equal(tt_plot_chart(&(TtChart){0}, &plot), TT_OK); /* nothing given at all */
    tt_plot_free(&plot);
    tt_plot_free(&plot); /* harmless */
}

/* Rows with ink of a colour between columns X0 and X1, from row *Y in the direction of STEP up to the next row without;
 * *Y is then that row. */
static int ink(const Picture *p, uint32_t rgb, int x0, int x1, int *y, int step)
{
    int n = 0;
    for (; *y >= 0 && *y < p->h; *y += step) {
        bool found = false;
        for (int x = x0; x < x1 && !found; x++) found = pixel(p, x, *y) == rgb;
        if (!found && n > 0) break;
        n += found;
    }
    return n;
}

/* The words at the best value stand clear of its line: above a maximum, even one of 100 %, and below a minimum. */
static void test_chart_best(void **state)
{
    double x[5] = {0, 10, 20, 30, 40}, peak[5] = {0.5, 0.8, 1, 0.8, 0.5}, valley[5] = {5, 4, 3, 4, 5};
    for (int max = 0; max < 2; max++) {
        TtLine l = {.x = x, .y = max ? peak : valley, .n = 5, .best = max ? TT_BEST_MAX : TT_BEST_MIN};
        TtPlot plot;
        Picture p = take(tt_plot_chart(&(TtChart){.lines = &l, .n = 1, .percent = max}, &plot), &plot);
        int y = max ? 0 : p.h - 1, step = max ? 1 : -1;
        int words = ink(&p, BLUE, 700, 1000, &y, step), gap = y;
        assert_in_range(words, 12, 24);
        int line = ink(&p, BLUE, 700, 1000, &y, step);
        assert_true(line > 50);
        assert_true(abs(y - gap) - line >= 4);
        free(p.rgb);
    }
}

/* Many points cost no more than a page's worth, and extremes within one column are not lost. */
static void test_chart_many(void **state)
{
    enum { N = 1000000 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) x[i] = i, y[i] = i == N / 2 ? 1 : 0;
    Picture p = chart(&(TtLine){.name = "spike", .x = x, .y = y, .n = N}, 1, false);
    int middle = 0;
    for (int row = 300; row < 700; row++) {
        bool found = false;
        for (int i = 780; i < 880; i++) found |= (pixel(&p, i, row) & 0xff) > (pixel(&p, i, row) >> 16) + 40;
        middle += found;
    }
    assert_true(middle > 350);
    free(p.rgb);
    free(x);
    free(y);
}

static const char *const hostile[] = {"plain",
                                      "",
                                      NULL,
                                      "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xb1 \xe6\xbc\xa2\xe5\xad\x97",
                                      "bad \xff\xfe\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80 bytes",
                                      "torn \xe2\x82",
                                      "line\nbreak\ttab\x1b[31m\x7f",
                                      "%s%n%d"};

static char *long_name(void)
{
    char *s = malloc(100001);
    for (int i = 0; i < 100000; i += 2) memcpy(s + i, "\xc3\xa9", 2);
    s[100000] = '\0';
    return s;
}

static void test_hostile_names(void **state)
{
    enum { N = TT_COUNT(hostile) + 1 };
    const char *names[N];
    char *longest = long_name();
    memcpy(names, hostile, sizeof hostile);
    names[N - 1] = longest;
    int64_t counts[N * N], seen[N];
    double values[N], x[2] = {1, 2}, y[2] = {1, 2};
    TtLine lines[N];
    TtTile tiles[N];
    const uint8_t red[3] = {255, 0, 0};
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) counts[i * N + j] = i * j * 1000003;
        values[i] = i / 8.0, seen[i] = INT64_MAX;
        lines[i] = (TtLine){.name = names[i], .x = x, .y = y, .n = 2};
        tiles[i] = (TtTile){.rgb = red, .h = 1, .w = 1, .caption = {names[i], names[N - 1 - i]}};
    }
    TtPlot plot;
    for (int i = 0; i < N; i++) {
        const char *t = names[i];
        TtStatus s = tt_plot_chart(
            &(TtChart){.title = t, .subtitle = t, .x_label = t, .y_label = t, .lines = lines, .n = N}, &plot);
        free(take(s, &plot).rgb);
        s = tt_plot_confusion(&(TtConfusion){.title = t, .subtitle = t, .counts = counts, .classes = N, .names = names},
                              &plot);
        free(take(s, &plot).rgb);
        s = tt_plot_bars(
            &(TtBars){
                .title = t, .subtitle = t, .x_label = t, .names = names, .values = values, .counts = seen, .n = N},
            &plot);
        free(take(s, &plot).rgb);
        s = tt_plot_grid(&(TtGridPlot){.title = t, .subtitle = t, .tiles = tiles, .n = N}, &plot);
        free(take(s, &plot).rgb);
    }
    free(longest);
}

static void test_confusion(void **state)
{
    TtPlot plot;
    int64_t two[4] = {10, 0, 0, 0}; /* the second class has no samples */
    Picture p = take(tt_plot_confusion(&(TtConfusion){.counts = two, .classes = 2}, &plot), &plot);
    int full = count(&p, 0x08306b); /* the darkest shade: one cell, and the end of the scale */
    assert_true(full > 126 * 126 / 2 && full < 2 * 126 * 126);
    free(p.rgb);
    free(take(tt_plot_confusion(&(TtConfusion){.title = "none", .classes = 0}, &plot), &plot).rgb);
    const int sizes[] = {1, 30, 31, 512, 1000, 1025};
    for (int k = 0; k < TT_COUNT(sizes); k++) {
        int n = sizes[k];
        int64_t *m = calloc((size_t)n * (size_t)n, sizeof *m);
        for (int i = 0; i < n; i++) m[(size_t)i * (size_t)n + (size_t)i] = 3;
        p = take(tt_plot_confusion(&(TtConfusion){.title = "t", .counts = m, .classes = n}, &plot), &plot);
        assert_true(p.w <= 2400 && p.h <= 2400);
        assert_true(count(&p, 0x08306b) > (n > 30 ? n / 2 : 30));
        free(p.rgb);
        free(m);
    }
}

static void test_bars(void **state)
{
    TtPlot plot;
    const char *names[3] = {"a", "b", "c"};
    double values[3] = {0.25, NAN, 0.5};
    int64_t counts[3] = {4, 0, 2};
    int areas[2];
    for (int k = 0; k < 2; k++) { /* twice the values, twice the blue */
        Picture p =
            take(tt_plot_bars(&(TtBars){.names = names, .values = values, .counts = counts, .n = 3}, &plot), &plot);
        areas[k] = count(&p, BLUE);
        free(p.rgb);
        values[0] = 0.5, values[2] = 1;
    }
    assert_true(abs(areas[1] - 2 * areas[0]) < areas[0] / 20);
    double many[1000];
    for (int i = 0; i < 1000; i++) many[i] = i / 1000.0 - 0.1 + (i > 990);
    free(take(tt_plot_bars(&(TtBars){.title = "t", .values = many, .n = 1000}, &plot), &plot).rgb);
    free(take(tt_plot_bars(&(TtBars){.title = "t", .values = many, .n = 41}, &plot), &plot).rgb);
    free(take(tt_plot_bars(&(TtBars){.title = "t", .n = 0}, &plot), &plot).rgb);
}

static void test_grid(void **state)
{
    TtPlot plot;
    enum { BIG = 600 };
    uint8_t red[3] = {255, 0, 0}, *big = malloc(BIG * 20 * 3);
    for (int i = 0; i < BIG * 20; i++) memcpy(big + 3 * i, (uint8_t[]){0, 255, 0}, 3);
    TtTile tiles[100];
    for (int i = 0; i < 100; i++) tiles[i] = (TtTile){.rgb = red, .h = 1, .w = 1, .caption = {"x", "y"}, .wrong = true};
    tiles[0] = (TtTile){.rgb = big, .h = 20, .w = BIG};
    tiles[1] = (TtTile){.rgb = big, .h = BIG, .w = 20};
    tiles[2] = (TtTile){.rgb = NULL, .h = 5, .w = 5};
    tiles[3] = (TtTile){.rgb = red, .h = 0, .w = 0};
    Picture p = take(tt_plot_grid(&(TtGridPlot){.title = "t", .tiles = tiles, .n = 100}, &plot), &plot);
    assert_int_equal(count(&p, 0xff0000), 60 * 232 * 232); /* 64 tiles, 4 of which are not red */
    assert_true(count(&p, 0x00ff00) >= 2 * 232 * 6);
    assert_true(count(&p, VERMILION) > 0);
    free(p.rgb);
    free(take(tt_plot_grid(&(TtGridPlot){.title = "t", .n = 0}, &plot), &plot).rgb);
    free(take(tt_plot_grid(&(TtGridPlot){.title = "t", .tiles = tiles, .n = 5, .columns = 1000}, &plot), &plot).rgb);
    free(big);
}

static void test_pixels(void **state)
{
    const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    /* round(255 * clip(x * std + mean, 0, 1)), by NumPy */
    const float x[6] = {0, 1, -1, 10, -10, NAN};
    uint8_t out[6];
    tt_plot_pixels(x, 1, 2, mean, std, out);
    const uint8_t expected[6] = {124, 173, 46, 255, 0, 0};
    assert_memory_equal(out, expected, 6);
}

static void test_save(void **state)
{
    TtPlot plot;
    char *path = tt_fs_join(*state, "a.png"), *got;
    size_t size;
    assert_int_equal(tt_plot_bars(&(TtBars){.title = "t", .n = 0}, &plot), TT_OK);
    assert_int_equal(tt_plot_save(&plot, path), TT_OK);
    assert_int_equal(tt_fs_read(path, 1 << 24, TT_EDATA, &got, &size), TT_OK);
    assert_int_equal(size, plot.size);
    assert_memory_equal(got, plot.png, size);
    assert_int_equal(temp_entries(*state), 1);
    free(got);
    free(path);
    path = tt_fs_join(*state, "no/a.png");
    assert_int_equal(tt_plot_save(&plot, path), TT_EINTERNAL);
    free(path);
    tt_plot_free(&plot);
}

/* A machine without a font: in a process of its own, as fontconfig looks only once. */
static void test_no_fonts(void **state)
{
    char *config = tt_fs_join(*state, "fonts.conf");
    const char *text = "<?xml version=\"1.0\"?><fontconfig></fontconfig>\n";
    assert_int_equal(tt_fs_write(config, text, strlen(text)), TT_OK);
    pid_t child = fork();
    if (child == 0) {
        setenv("FONTCONFIG_FILE", config, 1);
        execl("/proc/self/exe", "test_plot", "fontless", (char *)NULL);
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    free(config);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int draw_without_fonts(void)
{
    TtPlot plot;
    double x[2] = {1, 2}, y[2] = {1, 2};
    TtLine line = {.name = "a", .x = x, .y = y, .n = 2, .best = TT_BEST_MAX};
    if (tt_plot_chart(&(TtChart){.title = "t", .lines = &line, .n = 1}, &plot) != TT_OK) return 1;
    Picture p = decode(&plot);
    int blue = count(&p, BLUE);
    free(p.rgb);
    tt_plot_free(&plot);
    return blue > 500 ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fontless") == 0) return draw_without_fonts();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart_lines),
        cmocka_unit_test(test_chart_edges),
        cmocka_unit_test(test_chart_best),
        cmocka_unit_test(test_chart_many),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_confusion),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test_setup_teardown(test_save, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(test_no_fonts, temp_setup, temp_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
