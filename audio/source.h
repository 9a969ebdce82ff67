/* SPDX-License-Identifier: Apache-2.0 */
/* audio/source.h - where a sound reader's bytes come from: a file read piece by piece, or memory; and a part of either,
 * so that what is around the sound (tags in front and behind, other links of an Ogg chain) is seen by no decoder. */
#ifndef TT_AUDIO_SOURCE_H
#define TT_AUDIO_SOURCE_H

#include "tensor/status.h"

typedef struct TtAudioSource {
    const char *name;     /* for messages; lives as long as the source */
    const uint8_t *bytes; /* NULL: read from FD */
    int fd;
    uint64_t base; /* where byte 0 lies in the file */
    uint64_t size;
} TtAudioSource;

/* SIZE bytes at OFFSET, which must lie within the source; a file that has become shorter is TT_EDATA. */
TtStatus tt_source_read(const TtAudioSource *s, void *buf, size_t size, uint64_t offset) TT_NODISCARD;
/* The SIZE bytes at OFFSET as a source. */
TtAudioSource tt_source_part(const TtAudioSource *s, uint64_t offset, uint64_t size);

/* "NAME: at byte N: WHAT", N counted in the file; TT_EDATA. */
TtStatus tt_source_fail(const TtAudioSource *s, uint64_t offset, const char *file, int line, const char *fmt, ...)
    TT_PRINTF(5, 6);
#define TT_SOURCE_FAIL(s, offset, ...) tt_source_fail((s), (offset), __FILE__, __LINE__, __VA_ARGS__)

/* A window that moves forward over a source: looks at bytes one after the other without a read for each. */
typedef struct TtAudioWindow {
    const TtAudioSource *source;
    uint64_t at; /* where the bytes lie in the source */
    size_t n;
    uint8_t bytes[1 << 16];
} TtAudioWindow;
/* SIZE bytes (at most 64 KiB) at OFFSET; *OUT is NULL when the source ends before. */
TtStatus tt_window_get(TtAudioWindow *w, uint64_t offset, size_t size, const uint8_t **out) TT_NODISCARD;

static inline uint32_t tt_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint32_t tt_le32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}
static inline uint32_t tt_le16(const uint8_t *p)
{
    return (uint32_t)p[1] << 8 | p[0];
}
static inline uint64_t tt_be64(const uint8_t *p)
{
    return (uint64_t)tt_be32(p) << 32 | tt_be32(p + 4);
}
static inline uint64_t tt_le64(const uint8_t *p)
{
    return (uint64_t)tt_le32(p + 4) << 32 | tt_le32(p);
}

#endif
