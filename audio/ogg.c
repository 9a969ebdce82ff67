/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ogg.c - the pages of an Ogg file (RFC 3533).
 *
 * FFmpeg goes on at the next page when one is damaged or missing, and takes any end for the end. Here every page's
 * checksum and number are checked, and each stream must have its last page. A file may be a chain of links, each with
 * streams of its own; they are told apart here and decoded one after the other. */
#include <stdlib.h>
#include <string.h>

#include "audio/reader_impl.h"
#include "tensor/arena.h"

enum { HEADER = 27, MOST_STREAMS = 16, MOST_LINKS = 4096 };
enum { CONTINUED = 1, FIRST = 2, LAST = 4 };

typedef struct Stream {
    uint32_t serial, next; /* next: page number */
    bool ended;
    bool audio;
    int64_t granule; /* -1 before the first */
    int pages;       /* that have a granule position above 0: pages of sound */
} Stream;

typedef struct Ogg {
    const TtAudioSource *source;
    TtAudioWindow window;
    uint64_t at;
    Stream streams[MOST_STREAMS]; /* of this link */
    int n_streams, n_ended;
    bool begun; /* a page that begins no stream has come */
    TtOggLink *links;
    int n_links;
    uint32_t table[256];
} Ogg;

/* CRC-32 with 0x04C11DB7, bits in order of falling weight, starting from 0, the field itself taken as 0. */
static void make_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i << 24;
        for (int k = 0; k < 8; k++) v = v << 1 ^ (v >> 31 ? 0x04C11DB7 : 0);
        table[i] = v;
    }
}

static uint32_t page_crc(const Ogg *o, const uint8_t *p, size_t n)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t v = i >= 22 && i < 26 ? 0 : p[i];
        crc = crc << 8 ^ o->table[crc >> 24 ^ v];
    }
    return crc;
}

/* The page at o->at, all of it; *P is NULL when no page begins there and all streams have ended. */
static TtStatus get_page(Ogg *o, const uint8_t **p, size_t *size)
{
    const uint64_t left = o->source->size - o->at;
    *p = NULL, *size = 0;
    if (left >= 4) TT_TRY(tt_window_get(&o->window, o->at, 4, p));
    if (!*p || memcmp(*p, "OggS", 4) != 0) {
        *p = NULL;
        if (o->n_links > 0 && o->n_ended == o->n_streams) return TT_OK; /* a tag behind the sound */
        if (left == 0) return TT_SOURCE_FAIL(o->source, o->at, "the file is cut: its streams do not end");
        return TT_SOURCE_FAIL(o->source, o->at, "no Ogg page begins where one must: the data is damaged or cut");
    }
    TT_TRY(tt_window_get(&o->window, o->at, TT_MIN(left, (uint64_t)HEADER), p));
    size_t n = HEADER;
    if (left >= HEADER) n += (*p)[26];
    if (left >= n) {
        TT_TRY(tt_window_get(&o->window, o->at, n, p));
        for (size_t i = HEADER, segments = n; i < segments; i++) n += (*p)[i];
    }
    if (left < HEADER || left < n)
        return TT_SOURCE_FAIL(o->source, o->source->size, "the file is cut inside an Ogg page");
    TT_TRY(tt_window_get(&o->window, o->at, n, p)); /* 65,307 bytes at most */
    if ((*p)[4] != 0) return TT_SOURCE_FAIL(o->source, o->at + 4, "an Ogg page of version %d", (*p)[4]);
    if (page_crc(o, *p, n) != tt_le32(*p + 22))
        return TT_SOURCE_FAIL(o->source, o->at, "an Ogg page's checksum is wrong: the data is damaged");
    *size = n;
    return TT_OK;
}

/* The first packet names the codec. */
static bool is_audio(const uint8_t *p, size_t n)
{
    static const char *const magics[] = {"\x01vorbis", "OpusHead",
                                         "\x7F"
                                         "FLAC",
                                         "Speex   ", "fLaC"};
    for (int i = 0; i < TT_COUNT(magics); i++)
        if (n >= strlen(magics[i]) && memcmp(p, magics[i], strlen(magics[i])) == 0) return true;
    return false;
}

static Stream *find_stream(Ogg *o, uint32_t serial)
{
    for (int i = 0; i < o->n_streams; i++)
        if (o->streams[i].serial == serial) return &o->streams[i];
    return NULL;
}

/* What is told of a link that ends at o->at. */
static TtStatus end_link(Ogg *o)
{
    TtOggLink *link = &o->links[o->n_links - 1];
    if (o->n_ended < o->n_streams)
        return TT_SOURCE_FAIL(o->source, o->at, "the data is cut: a stream has no last page");
    link->size = o->at - link->offset;
    for (int i = 0; i < o->n_streams; i++) {
        const Stream *s = &o->streams[i];
        if (!s->audio) continue;
        link->granule = s->granule;
        link->one_page = s->pages == 1;
        return TT_OK;
    }
    return TT_SOURCE_FAIL(o->source, link->offset, "no stream of sound that is known");
}

static TtStatus begin_stream(Ogg *o, const uint8_t *p, size_t size)
{
    uint32_t serial = tt_le32(p + 14);
    if (o->n_links == 0 || o->begun) {
        if (o->n_links > 0) TT_TRY(end_link(o));
        if (o->n_links == MOST_LINKS) return TT_SOURCE_FAIL(o->source, o->at, "more than %d links", MOST_LINKS);
        o->links = tt_realloc(o->links, sizeof *o->links * (size_t)(o->n_links + 1));
        o->links[o->n_links++] = (TtOggLink){.offset = o->at};
        o->n_streams = o->n_ended = 0;
        o->begun = false;
    }
    if (find_stream(o, serial)) return TT_SOURCE_FAIL(o->source, o->at, "two streams of one number");
    if (o->n_streams == MOST_STREAMS) return TT_SOURCE_FAIL(o->source, o->at, "more than %d streams", MOST_STREAMS);
    size_t content = HEADER + (size_t)p[26];
    o->streams[o->n_streams++] = (Stream){
        .serial = serial, .next = tt_le32(p + 18), .granule = -1, .audio = is_audio(p + content, size - content)};
    return TT_OK;
}

static TtStatus take_page(Ogg *o, bool *end)
{
    const uint8_t *p;
    size_t size;
    TT_TRY(get_page(o, &p, &size));
    *end = !p;
    if (*end) return TT_OK;
    if (p[5] & FIRST)
        TT_TRY(begin_stream(o, p, size));
    else
        o->begun = true;
    Stream *s = find_stream(o, tt_le32(p + 14));
    if (!s || s->ended)
        return TT_SOURCE_FAIL(o->source, o->at, "a page of a stream that %s", s ? "has ended" : "never began");
    if (tt_le32(p + 18) != s->next)
        return TT_SOURCE_FAIL(o->source, o->at, "page %u of the stream is missing: page %u follows", s->next,
                              tt_le32(p + 18));
    s->next++;
    int64_t granule = (int64_t)tt_le64(p + 6);
    if (granule >= 0) s->granule = granule;
    if (granule > 0) s->pages++;
    s->ended = p[5] & LAST;
    o->n_ended += s->ended;
    o->at += size;
    return TT_OK;
}

TtStatus tt_ogg_check(const TtAudioSource *s, TtOggLink **links, int *n)
{
    Ogg *o = tt_realloc(NULL, sizeof *o);
    *o = (Ogg){.source = s, .window.source = s};
    make_table(o->table);
    TtStatus st = TT_OK;
    for (bool end = false; st == TT_OK && !end;) st = take_page(o, &end);
    if (st == TT_OK) st = end_link(o);
    *links = o->links;
    *n = o->n_links;
    free(o);
    if (st != TT_OK) {
        free(*links);
        *links = NULL;
    }
    return st;
}
