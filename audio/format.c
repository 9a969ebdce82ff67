/* SPDX-License-Identifier: Apache-2.0 */
/* audio/format.c - what a file is, by its first bytes.
 *
 * Only the formats listed here are given to FFmpeg, each to the one reader that is meant: the list is also what a hostile
 * file can reach of it. */
#include <string.h>
#include <strings.h>

#include "audio/reader_impl.h"

static const struct {
    int offset, size;
    const char *magic;
    int offset2;
    const char *magic2; /* and this; NULL: nothing more */
    TtAudioFormat format;
} signatures[] = {
    {0, 4, "RIFF", 8, "WAVE", {"wav", "wav"}},
    {0, 4, "RF64", 8, "WAVE", {"wav", "wav"}},
    {0, 4, "BW64", 8, "WAVE", {"wav", "wav"}},
    {0, 4, "RIFX", 8, "WAVE", {"rifx", "wav"}},
    {0, 16, "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00", 0, NULL, {"w64", "w64"}},
    {0, 4, "fLaC", 0, NULL, {"flac", "flac"}},
    {0, 4, "OggS", 0, NULL, {"ogg", "ogg"}},
    {4, 4, "ftyp", 0, NULL, {"mp4", "mov"}},
    {4, 4, "moov", 0, NULL, {"mp4", "mov"}},
    {4, 4, "mdat", 0, NULL, {"mp4", "mov"}},
    {4, 4, "wide", 0, NULL, {"mp4", "mov"}},
    {4, 4, "free", 0, NULL, {"mp4", "mov"}},
    {4, 4, "skip", 0, NULL, {"mp4", "mov"}},
    {0, 4, "FORM", 8, "AIFF", {"aiff", "aiff"}},
    {0, 4, "FORM", 8, "AIFC", {"aiff", "aiff"}},
    {0, 4, "caff", 0, NULL, {"caf", "caf"}},
    {0, 4, ".snd", 0, NULL, {"au", "au"}},
    {0, 7, "NIST_1A", 0, NULL, {"nist", "nistsphere"}},
    {0, 4, "\x1A\x45\xDF\xA3", 0, NULL, {"matroska", "matroska"}},
    {0, 4, "RIFF", 8, "AVI ", {"avi", "avi"}},
    {0, 1, "G", 188, "G", {"mpegts", "mpegts"}},
    {0, 4, "\x00\x00\x01\xBA", 0, NULL, {"mpegps", "mpeg"}},
    {0, 4, "FLV\x01", 0, NULL, {"flv", "flv"}},
    {0, 20, "Creative Voice File\x1A", 0, NULL, {"voc", "voc"}},
    {0, 4, "MPCK", 0, NULL, {"musepack", "mpc8"}},
    {0, 4, "MP+\x07", 0, NULL, {"musepack", "mpc"}},
    {0, 4, "wvpk", 0, NULL, {"wavpack", "wv"}},
    {0, 4, "MAC ", 0, NULL, {"ape", "ape"}},
    {0, 4, "TTA1", 0, NULL, {"tta", "tta"}},
    {0, 9, "#!AMR-WB\n", 0, NULL, {"amr", "amr"}},
    {0, 6, "#!AMR\n", 0, NULL, {"amr", "amr"}},
    {0, 16, "\x30\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9\x00\xAA\x00\x62\xCE\x6C", 0, NULL, {"asf", "asf"}},
};

static const TtAudioFormat mp3 = {"mp3", "mp3"}, adts = {"aac", "aac"}, g722 = {"g722", "g722"};

/* The first bytes of two frames that belong to one stream agree in version, layer and rate (MPEG audio), or in all
 * that an ADTS header fixes. */
static bool same_stream(const uint8_t *a, const uint8_t *b, bool is_adts)
{
    return b[0] == 0xFF && (b[1] & 0xFE) == (a[1] & 0xFE) &&
           (b[2] & (is_adts ? 0xFC : 0x0C)) == (a[2] & (is_adts ? 0xFC : 0x0C));
}

/* A frame where the sound begins, and the header of a second one behind it if the bytes go so far. */
static bool frames_begin(const uint8_t *p, size_t size, bool is_adts)
{
    TtMpegFrame f = {0};
    if (size < TT_MPEG_HEADER || !(is_adts ? tt_adts_header : tt_mpeg_header)(p, &f)) return false;
    if (f.size + TT_MPEG_HEADER > size) return f.size <= size; /* the only one */
    return same_stream(p, p + f.size, is_adts);
}

const TtAudioFormat *tt_audio_sniff(const uint8_t *bytes, size_t size, const char *name)
{
    for (int i = 0; i < TT_COUNT(signatures); i++) {
        size_t at = (size_t)signatures[i].offset, n = (size_t)signatures[i].size, at2 = (size_t)signatures[i].offset2;
        if (at + n > size || memcmp(bytes + at, signatures[i].magic, n) != 0) continue;
        size_t n2 = signatures[i].magic2 ? strlen(signatures[i].magic2) : 0;
        if (n2 && (at2 + n2 > size || memcmp(bytes + at2, signatures[i].magic2, n2) != 0)) continue;
        return &signatures[i].format;
    }
    size_t zeros = 0; /* some writers put zeros before the first frame */
    while (zeros < size && bytes[zeros] == 0) zeros++;
    if (frames_begin(bytes + zeros, size - zeros, false)) return &mp3;
    if (frames_begin(bytes, size, true)) return &adts;
    const char *dot = strrchr(name, '.');
    return dot && strcasecmp(dot, ".g722") == 0 ? &g722 : NULL;
}

/* "ID3", version, flags, and a size of four times seven bits (ID3 tag version 2.4.0, section 3.1). */
uint64_t tt_id3v2_size(const uint8_t b[10])
{
    if (memcmp(b, "ID3", 3) != 0 || b[3] == 0xFF || b[4] == 0xFF || ((b[6] | b[7] | b[8] | b[9]) & 0x80)) return 0;
    uint64_t n = (uint64_t)b[6] << 21 | (uint64_t)b[7] << 14 | (uint64_t)b[8] << 7 | b[9];
    return n + (b[5] & 0x10 ? 20 : 10); /* a footer repeats the header */
}

const char *tt_audio_format(const uint8_t *bytes, size_t size, const char *name)
{
    while (size >= 10) {
        uint64_t n = tt_id3v2_size(bytes);
        if (n == 0) break;
        if (n >= size) return mp3.name; /* what such a tag most often stands before */
        bytes += n;
        size -= (size_t)n;
    }
    const TtAudioFormat *f = tt_audio_sniff(bytes, size, name);
    return f ? f->name : NULL;
}
