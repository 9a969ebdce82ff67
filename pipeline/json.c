/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/json.c - reading and printing JSON. */
#include "pipeline/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/fs.h"

json_t *tt_json_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static char *dump(const json_t *v, size_t flags)
{
    char *text = json_dumps(v, flags | JSON_ENCODE_ANY);
    TT_ASSERT(text); /* only a cycle or a value with bad UTF-8, both our own mistakes, cannot be printed */
    return text;
}

char *tt_json_line(const json_t *v)
{
    return dump(v, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

char *tt_json_text(const json_t *v, int indent)
{
    return dump(v, (indent ? JSON_INDENT((size_t)indent) : JSON_COMPACT) | JSON_REAL_PRECISION(17));
}

TtStatus tt_json_parse(const char *text, size_t size, const char *name, TtStatus code, json_t **out)
{
    json_error_t e;
    char say[TT_JSON_NAME];
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &e);
    if (*out) return TT_OK;
    return TT_FAIL(code, "%s:%d:%d: not valid JSON: %s", name, e.line, e.column, tt_json_name(e.text, say));
}

TtStatus tt_json_read(const char *path, size_t limit, TtStatus code, json_t **out)
{
    char *text;
    size_t size;
    *out = NULL;
    TT_TRY(tt_fs_read(path, limit, code, &text, &size));
    TtStatus status = tt_json_parse(text, size, path, code, out);
    free(text);
    return status;
}

TtStatus tt_json_write(const char *path, const json_t *v)
{
    char *text = tt_json_text(v, 2);
    size_t size = strlen(text);
    text[size++] = '\n'; /* in the place of the NUL, which is not written */
    TtStatus status = tt_fs_write(path, text, size);
    free(text);
    return status;
}

const char *tt_json_name(const char *name, char buf[TT_JSON_NAME])
{
    size_t n = 0;
    for (; n < TT_JSON_NAME - 1 && name[n]; n++)
        buf[n] = (unsigned char)name[n] < ' ' || name[n] == 0x7f ? '?' : name[n];
    if (name[n]) {
        while (n > TT_JSON_NAME - 4 || (n > 0 && ((unsigned char)buf[n] & 0xc0) == 0x80))
            n--; /* not inside a character */
        memcpy(buf + n, "...", 3);
        n += 3;
    }
    buf[n] = '\0';
    return buf;
}
