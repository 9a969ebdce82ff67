/* SPDX-License-Identifier: Apache-2.0 */
/* data/idx.c - reading IDX files, plain or compressed. */
#include "data/idx.h"

#include <unistd.h>
#include <zlib.h>

#include "tensor/file.h"
#include "tensor/arena.h"

/* Deflate makes at most 1032 bytes of one (RFC 1951: a match of 258 costs at least two bits). */
enum { DEFLATE_RATIO = 1032, CHUNK = 1 << 20 };
#define LARGEST_ARRAY ((uint64_t)16 << 30)

typedef struct Reader {
    gzFile gz; /* reads plain files as they are */
    const char *name;
    uint64_t file_size, at;
} Reader;

static TtStatus read_bytes(Reader *r, uint8_t *buf, size_t size)
{
    for (size_t done = 0; done < size;) {
        unsigned part = (unsigned)TT_MIN(size - done, (size_t)CHUNK);
        int n = gzread(r->gz, buf + done, part), code;
        const char *why = gzerror(r->gz, &code);
        if (n > 0) done += (size_t)n, r->at += (uint64_t)n;
        if (n < 0 || (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR))
            return TT_FAIL(TT_EDATA, "%s: at byte %lld: damaged: %s", r->name, (long long)gzoffset(r->gz), why);
        if (n < (int)part)
            return TT_FAIL(TT_EDATA, "%s: the data ends after %llu bytes, before what the header promises", r->name,
                           (unsigned long long)r->at);
    }
    return TT_OK;
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static TtStatus read_header(Reader *r, TtIdx *x, size_t *bytes)
{
    uint8_t head[4], dim[4];
    TT_TRY(read_bytes(r, head, sizeof head));
    if (head[0] != 0 || head[1] != 0)
        return TT_FAIL(TT_EDATA, "%s: at byte 0: not an IDX file (it must begin with two zero bytes)", r->name);
    if (head[2] != 0x08)
        return TT_FAIL(TT_EDATA, "%s: at byte 2: element type 0x%02x; only unsigned bytes (0x08) are read", r->name,
                       head[2]);
    if (head[3] < 1 || head[3] > 4)
        return TT_FAIL(TT_EDATA, "%s: at byte 3: %d dimensions; 1 to 4 are read", r->name, head[3]);
    x->rank = head[3];
    uint64_t count = 1;
    /* What the file can hold at most. */
    uint64_t most = TT_MIN(r->file_size, LARGEST_ARRAY) * (gzdirect(r->gz) ? 1 : DEFLATE_RATIO);
    most = TT_MIN(most, LARGEST_ARRAY);
    for (int i = 0; i < x->rank; i++) {
        TT_TRY(read_bytes(r, dim, sizeof dim));
        x->dims[i] = be32(dim);
        if (x->dims[i] == 0)
            return TT_FAIL(TT_EDATA, "%s: at byte %d: dimension %d is 0: there is no data", r->name, 4 + 4 * i, i);
        if ((uint64_t)x->dims[i] > most / count)
            return TT_FAIL(TT_EDATA, "%s: at byte %d: dimension %d is %lld, which the file cannot hold", r->name,
                           4 + 4 * i, i, (long long)x->dims[i]);
        count *= (uint64_t)x->dims[i];
    }
    *bytes = (size_t)count;
    return TT_OK;
}

TtStatus tt_idx_read_fd(int fd, uint64_t size, const char *name, TtIdx *out)
{
    *out = (TtIdx){0};
    Reader r = {.gz = gzdopen(fd, "rb"), .name = name, .file_size = size};
    if (!r.gz) {
        close(fd);
        return TT_FAIL(TT_EINTERNAL, "out of memory: reading %s", name);
    }
    gzbuffer(r.gz, 1 << 17);
    size_t bytes = 0;
    uint8_t rest;
    TtStatus st = read_header(&r, out, &bytes);
    if (st == TT_OK) st = tt_alloc((void **)&out->data, bytes);
    if (st == TT_OK) st = read_bytes(&r, out->data, bytes);
    if (st == TT_OK && gzread(r.gz, &rest, 1) > 0)
        st = TT_FAIL(TT_EDATA, "%s: more data follows the %zu bytes that the header promises", name, bytes);
    /* The checksum is only known at the end of the stream. */
    int code;
    const char *why = gzerror(r.gz, &code);
    if (st == TT_OK && code != Z_OK && code != Z_STREAM_END)
        st = TT_FAIL(TT_EDATA, "%s: at byte %lld: damaged: %s", name, (long long)gzoffset(r.gz), why);
    gzclose(r.gz);
    if (st != TT_OK) tt_idx_free(out);
    return st;
}

TtStatus tt_idx_read(const char *path, TtIdx *out)
{
    int fd;
    uint64_t size;
    *out = (TtIdx){0};
    TT_TRY(tt_file_open(path, &fd, &size));
    return tt_idx_read_fd(fd, size, path, out);
}

void tt_idx_free(TtIdx *x)
{
    tt_free(x->data);
    *x = (TtIdx){0};
}
