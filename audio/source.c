/* SPDX-License-Identifier: Apache-2.0 */
/* audio/source.c - bytes of a file or of memory. */
#include "audio/source.h"

#include <stdio.h>
#include <string.h>

#include "tensor/file.h"

TtStatus tt_source_read(const TtAudioSource *s, void *buf, size_t size, uint64_t offset)
{
    TT_ASSERT(offset <= s->size && size <= s->size - offset);
    if (!s->bytes) return tt_file_read_at(s->fd, s->name, buf, size, s->base + offset);
    memcpy(buf, s->bytes + s->base + offset, size);
    return TT_OK;
}

TtAudioSource tt_source_part(const TtAudioSource *s, uint64_t offset, uint64_t size)
{
    TT_ASSERT(offset <= s->size && size <= s->size - offset);
    TtAudioSource part = *s;
    part.base += offset;
    part.size = size;
    return part;
}

TtStatus tt_source_fail(const TtAudioSource *s, uint64_t offset, const char *file, int line, const char *fmt, ...)
{
    char what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return tt_fail_at(TT_EDATA, file, line, "%s: at byte %llu: %s", s->name, (unsigned long long)(s->base + offset),
                      what);
}

TtStatus tt_window_get(TtAudioWindow *w, uint64_t offset, size_t size, const uint8_t **out)
{
    TT_ASSERT(size <= sizeof w->bytes);
    *out = NULL;
    if (offset > w->source->size || size > w->source->size - offset) return TT_OK;
    if (offset < w->at || offset - w->at > w->n || size > w->n - (size_t)(offset - w->at)) {
        size_t n = (size_t)TT_MIN(w->source->size - offset, (uint64_t)sizeof w->bytes);
        w->n = 0;
        TT_TRY(tt_source_read(w->source, w->bytes, n, offset));
        w->at = offset;
        w->n = n;
    }
    *out = w->bytes + (offset - w->at);
    return TT_OK;
}
