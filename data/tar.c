/* SPDX-License-Identifier: Apache-2.0 */
/* data/tar.c - going through the headers of a tar file.
 *
 * Headers are read through a small window: in the files at hand a text of a few bytes follows each picture, and its
 * header, content and the next header then come with one read. */
#include "data/tar.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/file.h"
#include "tensor/arena.h"

enum { BLOCK = 512, WINDOW = 8 * BLOCK, LONGEST_NAME = 4096, LONGEST_PAX = 1 << 20 };

/* Fields of a header block: offset and length (POSIX.1-2001, "ustar Interchange Format"). */
enum { NAME = 0, NAME_LEN = 100, SIZE = 124, SIZE_LEN = 12, CHECKSUM = 148, CHECKSUM_LEN = 8, TYPE = 156 };
enum { MAGIC = 257, PREFIX = 345, PREFIX_LEN = 155 };

typedef struct Scan {
    int fd;
    const char *name;
    uint64_t file_size, at; /* at: the current header */
    uint8_t window[WINDOW];
    uint64_t window_at;
    size_t window_size;
    char member[LONGEST_NAME + 1];
    char long_name[LONGEST_NAME + 1]; /* from a GNU or pax header, for the next member; "" none */
    bool has_pax_size;
    uint64_t pax_size;
} Scan;

#define TAR_FAIL(s, ...) tar_fail((s), __LINE__, __VA_ARGS__)
static TtStatus tar_fail(const Scan *s, int line, const char *what)
{
    return tt_fail_at(TT_EDATA, __FILE__, line, "%s: at byte %llu: %s", s->name, (unsigned long long)s->at, what);
}

/* The block at OFFSET, which lies within the file. */
static TtStatus get_block(Scan *s, uint64_t offset, const uint8_t **out)
{
    if (offset < s->window_at || offset - s->window_at + BLOCK > s->window_size) {
        s->window_at = offset;
        s->window_size = (size_t)TT_MIN(s->file_size - offset, (uint64_t)WINDOW);
        TtStatus st = tt_file_read_at(s->fd, s->name, s->window, s->window_size, offset);
        if (st != TT_OK) s->window_size = 0;
        TT_TRY(st);
    }
    *out = s->window + (offset - s->window_at);
    return TT_OK;
}

/* Octal digits with blanks or NULs around them, or (GNU, first bit set) a big-endian binary number. */
static bool parse_number(const uint8_t *p, int len, uint64_t *out)
{
    uint64_t v = 0;
    int i = 0;
    if (p[0] & 0x80) {
        v = p[0] & 0x7F;
        for (i = 1; i < len; i++) {
            if (v >> 55) return false; /* beyond 2^63, or negative */
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    while (i < len && (p[i] == ' ' || p[i] == '\0')) i++;
    for (; i < len && p[i] >= '0' && p[i] <= '7'; i++) v = v << 3 | (uint64_t)(p[i] - '0');
    for (; i < len; i++)
        if (p[i] != ' ' && p[i] != '\0') return false;
    *out = v;
    return true;
}

/* The sum of all bytes with the checksum's own field as blanks; old writers took the bytes as signed. */
static bool checksum_holds(const uint8_t *b)
{
    uint64_t want;
    int64_t plain = 0, with_sign = 0;
    if (!parse_number(b + CHECKSUM, CHECKSUM_LEN, &want)) return false;
    for (int i = 0; i < BLOCK; i++) {
        uint8_t v = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_LEN ? ' ' : b[i];
        plain += v;
        with_sign += (int8_t)v;
    }
    return (int64_t)want == plain || (int64_t)want == with_sign;
}

/* Content of a GNU 'L' or pax 'x' header: SIZE bytes, bounded by MOST, NUL behind them. */
static TtStatus read_extra(Scan *s, uint64_t offset, uint64_t size, size_t most, char **out)
{
    *out = NULL;
    if (size > most) return TAR_FAIL(s, "an extended header is unreasonably long");
    *out = tt_realloc(NULL, (size_t)size + 1);
    (*out)[size] = '\0';
    return tt_file_read_at(s->fd, s->name, *out, (size_t)size, offset);
}

static TtStatus set_long_name(Scan *s, const char *name, size_t len)
{
    if (len > LONGEST_NAME) return TAR_FAIL(s, "a member's name is longer than 4096 bytes");
    memcpy(s->long_name, name, len);
    s->long_name[len] = '\0';
    return TT_OK;
}

/* One "LENGTH KEY=VALUE\n" record, of which path and size matter here. */
static TtStatus pax_record(Scan *s, const char *key, size_t key_len, const char *value, size_t len)
{
    if (key_len == 4 && memcmp(key, "path", 4) == 0) return set_long_name(s, value, len);
    if (key_len > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
        return TAR_FAIL(s, "a sparse member; rewrite the file without --sparse");
    if (key_len != 4 || memcmp(key, "size", 4) != 0) return TT_OK;
    uint64_t v = 0;
    if (len == 0 || len > 18) return TAR_FAIL(s, "the size in a pax header is no number");
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9') return TAR_FAIL(s, "the size in a pax header is no number");
        v = v * 10 + (uint64_t)(value[i] - '0');
    }
    s->has_pax_size = true;
    s->pax_size = v;
    return TT_OK;
}

static TtStatus parse_pax(Scan *s, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t len = 0, p = at;
        for (; p < size && text[p] >= '0' && text[p] <= '9' && len <= LONGEST_PAX; p++)
            len = len * 10 + (size_t)(text[p] - '0');
        /* digits, a blank, a key, '=', a value, a line end; LEN counts all of it */
        if (p == at || p >= size || text[p] != ' ' || len > size - at || len < p - at + 3 || text[at + len - 1] != '\n')
            return TAR_FAIL(s, "a damaged pax header");
        const char *key = text + p + 1, *end = text + at + len - 1, *eq = memchr(key, '=', (size_t)(end - key));
        if (!eq || eq == key) return TAR_FAIL(s, "a damaged pax header");
        TT_TRY(pax_record(s, key, (size_t)(eq - key), eq + 1, (size_t)(end - eq - 1)));
        at += len;
    }
    return TT_OK;
}

static void plain_name(Scan *s, const uint8_t *b)
{
    size_t n = 0;
    if (memcmp(b + MAGIC, "ustar\0", 6) == 0 && b[PREFIX]) {
        n = strnlen((const char *)b + PREFIX, PREFIX_LEN);
        memcpy(s->member, b + PREFIX, n);
        s->member[n++] = '/';
    }
    size_t len = strnlen((const char *)b + NAME, NAME_LEN);
    memcpy(s->member + n, b + NAME, len);
    s->member[n + len] = '\0';
}

/* What the header at s->at announces, SIZE bytes of it at DATA. */
static TtStatus handle_member(Scan *s, const uint8_t *b, uint64_t data, uint64_t size, TtTarVisit visit, void *user)
{
    char *extra = NULL;
    TtStatus st = TT_OK;
    switch (b[TYPE]) {
    case 'L': /* GNU: the next member's name */
        st = read_extra(s, data, size, LONGEST_NAME + 1, &extra);
        if (st == TT_OK) st = set_long_name(s, extra, strlen(extra));
        break;
    case 'x': /* pax: records for the next member */
        st = read_extra(s, data, size, LONGEST_PAX, &extra);
        if (st == TT_OK) st = parse_pax(s, extra, (size_t)size);
        break;
    case 'S': return TAR_FAIL(s, "a sparse member; rewrite the file without --sparse");
    case '0':
    case '\0':
    case '7':
        if (s->long_name[0])
            memcpy(s->member, s->long_name, strlen(s->long_name) + 1);
        else
            plain_name(s, b);
        st = visit(user, &(TtTarMember){.name = s->member, .offset = data, .size = size});
        break;
    default: break; /* folders, links, devices, global headers, long link names: nothing to read */
    }
    free(extra);
    return st;
}

static bool is_zero(const uint8_t *b)
{
    return b[0] == 0 && memcmp(b, b + 1, BLOCK - 1) == 0;
}

static TtStatus scan_member(Scan *s, TtTarVisit visit, void *user, bool *end)
{
    const uint8_t *b;
    uint8_t block[BLOCK];
    uint64_t size;
    if (s->file_size - s->at < BLOCK) return TAR_FAIL(s, "the file is cut inside a header");
    TT_TRY(get_block(s, s->at, &b));
    *end = is_zero(b);
    if (*end) return TT_OK;
    memcpy(block, b, BLOCK);
    if (!checksum_holds(block)) {
        if (s->at == 0 && block[0] == 0x1F && block[1] == 0x8B)
            return TAR_FAIL(s,
                            "compressed with gzip; members of a shard are read in any order: unpack it to plain .tar");
        return TAR_FAIL(s, s->at == 0 ? "not a tar file (the first header's checksum is wrong)"
                                      : "a header's checksum is wrong");
    }
    if (!parse_number(block + SIZE, SIZE_LEN, &size)) return TAR_FAIL(s, "a member's size is no number");
    bool extension = strchr("xgLK", block[TYPE]) && block[TYPE];
    if (s->has_pax_size && !extension) size = s->pax_size;
    if (block[TYPE] >= '1' && block[TYPE] <= '6') size = 0; /* links, devices and folders have no content */
    uint64_t data = s->at + BLOCK;
    if (size > s->file_size - data)
        return TAR_FAIL(s, "the member that starts here reaches beyond the end of the file");
    TT_TRY(handle_member(s, block, data, size, visit, user));
    if (!extension) {
        s->long_name[0] = '\0';
        s->has_pax_size = false;
    }
    uint64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
    s->at = data + TT_MIN(padded, s->file_size - data); /* the last padding may be missing */
    return TT_OK;
}

TtStatus tt_tar_scan(int fd, uint64_t size, const char *name, TtTarVisit visit, void *user)
{
    Scan *s = tt_realloc(NULL, sizeof *s);
    *s = (Scan){.fd = fd, .name = name, .file_size = size};
    TtStatus st = size == 0 ? TAR_FAIL(s, "the file is empty") : TT_OK;
    bool end = false;
    while (st == TT_OK && !end && s->at < size) st = scan_member(s, visit, user, &end);
    if (st == TT_OK && !end) tt_warn("%s: no end mark; the file may have lost members at its end", name);
    free(s);
    return st;
}
