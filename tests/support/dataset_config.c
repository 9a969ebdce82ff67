/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/dataset_config.c - helpers of the tests of data sets. */
#include "tests/support/dataset_config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/fs.h"

static TtNode *scalar(TtArena *a, const char *text, size_t n)
{
    TtNode *node = TT_NEW(a, TtNode);
    *node = (TtNode){.kind = TT_NODE_SCALAR, .text = tt_arena_strndup(a, text, n), .mark = {"test.yaml", 1, 1}};
    return node;
}

static TtNode *value(TtArena *a, const char *text)
{
    if (text[0] != '[') return scalar(a, text, strlen(text));
    TtNode *list = TT_NEW(a, TtNode);
    *list = (TtNode){.kind = TT_NODE_LIST, .items = TT_NEWN(a, TtNode *, 64), .mark = {"test.yaml", 1, 1}};
    for (const char *p = text + 1; *p && *p != ']';) {
        p += strspn(p, " ,");
        size_t n = strcspn(p, ",]");
        if (n > 0) list->items[list->count++] = scalar(a, p, n);
        p += n;
    }
    return list;
}

TtNode *config_map(TtArena *a, ...)
{
    TtNode *map = TT_NEW(a, TtNode);
    *map = (TtNode){.kind = TT_NODE_MAP, .mark = {"test.yaml", 1, 1}};
    map->keys = TT_NEWN(a, TtNode *, 32);
    map->items = TT_NEWN(a, TtNode *, 32);
    va_list ap;
    va_start(ap, a);
    for (const char *key; (key = va_arg(ap, const char *)); map->count++) {
        map->keys[map->count] = scalar(a, key, strlen(key));
        map->items[map->count] = value(a, va_arg(ap, const char *));
    }
    va_end(ap);
    return map;
}

TtStatus open_dataset(const TtNode *map, TtDataset **out)
{
    return tt_dataset_open(map, &(TtImageOptions){0}, out);
}

const char *in_dir(const char *dir, const char *fmt, ...)
{
    static char buffers[8][PATH_MAX];
    static int turn;
    char *buf = buffers[turn++ % 8];
    va_list ap;
    int n = snprintf(buf, PATH_MAX, "%s/", dir);
    va_start(ap, fmt);
    vsnprintf(buf + n, (size_t)(PATH_MAX - n), fmt, ap);
    va_end(ap);
    return buf;
}

static void make_parents(const char *path)
{
    char *copy = strdup(path), *slash = strrchr(copy, '/');
    if (slash && slash != copy) {
        *slash = '\0';
        assert_int_equal(tt_fs_mkdirs(copy), TT_OK);
    }
    free(copy);
}

void put_file(const char *path, const void *data, size_t size)
{
    make_parents(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

void put_png(const char *path, int h, int w, uint8_t r, uint8_t g, uint8_t b)
{
    size_t n = (size_t)h * (size_t)w;
    uint8_t *pixels = tt_realloc(NULL, 3 * n);
    for (size_t i = 0; i < n; i++) pixels[3 * i] = r, pixels[3 * i + 1] = g, pixels[3 * i + 2] = b;
    make_parents(path);
    assert_int_equal(tt_png_write(path, pixels, h, w, 3), TT_OK);
    free(pixels);
}

void expect_error(TtStatus got, TtStatus code, ...)
{
    const char *message = tt_error_message();
    if (got != code) print_error("status %d, message: %s\n", got, message);
    assert_int_equal(got, code);
    assert_null(strchr(message, '\n'));
    va_list ap;
    va_start(ap, code);
    for (const char *text; (text = va_arg(ap, const char *));) {
        if (!strstr(message, text)) fail_msg("'%s' is not in '%s'", text, message);
    }
    va_end(ap);
}

static char warnings[1 << 16];
static size_t warnings_used;

static void keep_warning(void *user, const char *text)
{
    size_t n = strlen(text);
    if (sizeof warnings - warnings_used < n + 2) return;
    memcpy(warnings + warnings_used, text, n);
    memcpy(warnings + warnings_used + n, "\n", 2);
    warnings_used += n + 1;
}

void capture_warnings(void)
{
    warnings[warnings_used = 0] = '\0';
    tt_warn_sink(keep_warning, NULL);
}

const char *captured_warnings(void)
{
    return warnings;
}

void release_warnings(void)
{
    tt_warn_sink(NULL, NULL);
}
