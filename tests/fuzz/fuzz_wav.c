/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_wav.c - sound files from anywhere, as far as our own code reads them: WAV, the pages of Ogg, the frames
 * of MPEG audio, the boxes of MP4 and others. FFmpeg has its own fuzzing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/reader_impl.h"
#include "tests/fuzz/fuzz.h"

static void ignore(void *user, const char *text)
{
}

static void check_message(TtStatus st)
{
    TT_ASSERT(st == TT_OK || (st == TT_EDATA && strncmp(tt_error_message(), "fuzz: ", 6) == 0));
}

static void walk(const TtAudioSource *s, const char *format)
{
    TtAudioSource part = *s;
    TtOggLink *links;
    int64_t frames;
    int n;
    TtStatus st = tt_mpeg_check(&part, strcmp(format, "aac") == 0, &frames);
    check_message(st);
    TT_ASSERT(st != TT_OK || (frames >= 0 && part.size <= s->size && part.base <= s->size - part.size));
    st = tt_ogg_check(s, &links, &n);
    check_message(st);
    for (int i = 0; st == TT_OK && i < n; i++)
        TT_ASSERT(links[i].offset <= s->size && links[i].size <= s->size - links[i].offset);
    if (st == TT_OK) free(links);
    check_message(tt_boxes_check(s, format));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TtAudioReader *r;
    TtAudio a = {0};
    tt_warn_sink(ignore, NULL);
    const char *format = tt_audio_format(data, size, "fuzz");
    if (!format || strcmp(format, "wav") != 0) {
        if (format) walk(&(TtAudioSource){.name = "fuzz", .bytes = data, .fd = -1, .size = size}, format);
        return 0;
    }
    TtStatus st = tt_audio_open_memory(data, size, "fuzz", &r);
    check_message(st);
    if (st != TT_OK) return 0;
    TtAudioInfo info = tt_audio_reader_info(r);
    TT_ASSERT(info.channels > 0 && info.sample_rate > 0);
    st = tt_audio_read(r, 1000, &a);
    check_message(st);
    for (size_t i = 0; st == TT_OK && i < tt_audio_floats(&a); i++) TT_ASSERT(isfinite(a.data[i]));
    if (st == TT_OK && info.frames > 0) {
        check_message(tt_audio_seek(r, info.frames - 1));
        check_message(tt_audio_read(r, 10, &a));
    }
    tt_audio_close(r);
    tt_audio_free(&a);
    return 0;
}
