/* SPDX-License-Identifier: Apache-2.0 */
/* audio/boxes.c - containers made of boxes that each give their size: whether the file holds what they say.
 *
 * A cut file often decodes well up to its end, and FFmpeg says nothing. The outermost sizes tell. */
#include <string.h>

#include "audio/reader_impl.h"

static TtStatus cut(const TtAudioSource *s, uint64_t at, uint64_t size)
{
    return TT_SOURCE_FAIL(s, s->size, "the file is cut: what begins at byte %llu has %llu bytes",
                          (unsigned long long)(s->base + at), (unsigned long long)size);
}

/* MP4 (ISO/IEC 14496-12, 4.2): size, type; size 1 means that 64 bits follow, 0 up to the end. Bytes behind the last box
 * that make no header are no concern. */
static TtStatus check_mp4(const TtAudioSource *s)
{
    uint8_t b[16];
    for (uint64_t at = 0; s->size - at >= 8;) {
        size_t n = (size_t)TT_MIN(s->size - at, (uint64_t)16);
        TT_TRY(tt_source_read(s, b, n, at));
        uint64_t size = tt_be32(b), header = 8;
        if (size == 0) return TT_OK;
        if (size == 1 && n == 16) size = tt_be64(b + 8), header = 16;
        if (size < header) return TT_SOURCE_FAIL(s, at, "a box of %llu bytes", (unsigned long long)size);
        if (size > s->size - at) return cut(s, at, size);
        at += size;
    }
    return TT_OK;
}

/* An EBML number: the first byte's leading zeros tell its length; all ones mean unknown. */
static bool vint(const uint8_t *p, size_t n, bool keep_marker, uint64_t *value, size_t *len)
{
    *len = 1;
    while (*len <= 8 && !(p[0] >> (8 - *len) & 1)) ++*len;
    if (*len > 8 || *len > n) return false;
    uint64_t v = keep_marker ? p[0] : p[0] & (0xFFU >> *len);
    for (size_t i = 1; i < *len; i++) v = v << 8 | p[i];
    if (!keep_marker && v == ((uint64_t)1 << (7 * *len)) - 1) v = UINT64_MAX;
    *value = v;
    return true;
}

/* Matroska (RFC 8794, RFC 9559): EBML header, Segment, and in it Clusters of blocks. FFmpeg looks for the next element
 * that it knows when one is damaged, so all are visited: Segment and Cluster are entered, others passed over. */
static TtStatus check_matroska(const TtAudioSource *s)
{
    static const uint32_t enter[] = {0x18538067, 0x1F43B675};
    static const uint32_t known[] = {0x1A45DFA3, 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B, 0x1941A469,
                                     0x1043A770, 0x1254C367, 0xE7,       0xA3,       0xA0,       0xA7,
                                     0xAB,       0xAF,       0x5854,     0xEC,       0xBF};
    uint8_t b[16];
    for (uint64_t at = 0, end = s->size; at < end;) {
        size_t n = (size_t)TT_MIN(s->size - at, (uint64_t)sizeof b), id_len, size_len;
        uint64_t id, size;
        bool is_known = false, is_master = false;
        TT_TRY(tt_source_read(s, b, n, at));
        if (!vint(b, n, true, &id, &id_len) || !vint(b + id_len, n - id_len, false, &size, &size_len))
            return TT_SOURCE_FAIL(s, at, "no Matroska element begins where one must: the data is damaged or cut");
        for (int i = 0; i < TT_COUNT(known); i++) is_known |= id == known[i];
        for (int i = 0; i < TT_COUNT(enter); i++) is_master |= id == enter[i];
        if (!is_known && !is_master)
            return TT_SOURCE_FAIL(s, at, "an unknown Matroska element: the data is damaged or cut");
        uint64_t header = id_len + size_len;
        if (size == UINT64_MAX && is_master) /* streamed */
            size = s->size - at - header;
        if (size > s->size - at - header) return cut(s, at, size);
        if (id == enter[0]) end = at + header + size;
        at += header + (is_master ? 0 : size);
    }
    return TT_OK;
}

/* AVI: the size of the outer chunk; streaming writers leave 0 or a large number, and some count a pad byte that is not
 * there. */
static TtStatus check_avi(const TtAudioSource *s)
{
    uint8_t b[8];
    if (s->size < sizeof b) return cut(s, 0, sizeof b);
    TT_TRY(tt_source_read(s, b, sizeof b, 0));
    uint64_t size = tt_le32(b + 4);
    return size > s->size - sizeof b + 1 && size < 0x7FFFF000 ? cut(s, 0, size + sizeof b) : TT_OK;
}

/* CAF: chunks of 64-bit sizes behind an 8-byte header; the last may have the size -1. */
static TtStatus check_caf(const TtAudioSource *s)
{
    uint8_t b[12];
    for (uint64_t at = 8; at <= s->size && s->size - at >= sizeof b;) {
        TT_TRY(tt_source_read(s, b, sizeof b, at));
        uint64_t size = tt_be64(b + 4);
        at += sizeof b;
        if (size == UINT64_MAX) return TT_OK;
        if (size > s->size - at) return cut(s, at - sizeof b, size);
        at += size;
    }
    return TT_OK;
}

TtStatus tt_boxes_check(const TtAudioSource *s, const char *format)
{
    if (strcmp(format, "mp4") == 0) return check_mp4(s);
    if (strcmp(format, "matroska") == 0) return check_matroska(s);
    if (strcmp(format, "avi") == 0) return check_avi(s);
    if (strcmp(format, "caf") == 0) return check_caf(s);
    if (strcmp(format, "mpegts") == 0 && s->size % 188 != 0)
        return TT_SOURCE_FAIL(s, s->size, "the file is cut inside a packet of 188 bytes");
    return TT_OK;
}
