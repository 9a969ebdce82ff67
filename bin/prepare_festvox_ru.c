/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_festvox_ru.c - ttrain prepare festvox-ru: a Russian voice of Festival, for speech recognition and vocoders.
 *
 * etc/txt.done.data has a line `( ru_0001 "text" )` for each utterance, wav/ru_0001.wav is its recording. A plus sign
 * in a text marks stress and is dropped; what is left is taken apart into words of Russian letters. */
#include <ctype.h>
#include <string.h>

#include "audio/reader.h"
#include "audio/vocabulary.h"
#include "bin/prepare_sound.h"
#include "data/dataset.h"
#include "tensor/utf8.h"

#define PACKAGE "festvox-ru"
#define VOICE "usr/share/festival/voices/russian/msu_ru_nsh_clunits"
enum { VERSION = 1, RATE = 16000 };

static bool is_russian(uint32_t c)
{
    return (c >= 0x430 && c <= 0x44F) || c == 0x451; /* а to я, ё */
}

/* re.findall("[а-яё]+", text.lower().replace("+", "")), joined by spaces. TEXT, which is UTF-8, becomes that. */
static void keep_words(char *text)
{
    char *out = text;
    bool apart = false;
    size_t left = strlen(text);
    for (const char *in = text; left > 0;) {
        uint32_t code;
        int n = tt_utf8_decode(in, left, &code);
        in += n, left -= (size_t)n;
        if (code == '+') continue;
        code = tt_lower(code);
        if (is_russian(code)) {
            if (apart && out > text) *out++ = ' ';
            out += tt_utf8_encode(code, out); /* two bytes, as the capital has */
        }
        apart = !is_russian(code);
    }
    *out = '\0';
}

/* `( ID "TEXT" )`, cut out of LINE in place. */
static bool cut_line(char *line, char **id, char **text)
{
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1])) end--;
    while (isspace((unsigned char)*line)) line++;
    if (*line++ != '(' || end <= line || end[-1] != ')') return false;
    for (end--; end > line && isspace((unsigned char)end[-1]);) end--;
    if (end == line || *--end != '"') return false;
    while (isspace((unsigned char)*line)) line++;
    *id = line;
    while (line < end && *line != '"' && !isspace((unsigned char)*line)) line++;
    char *id_end = line;
    while (isspace((unsigned char)*line)) line++;
    if (line >= end || *line != '"' || line == id_end) return false;
    *id_end = *end = '\0';
    *text = line + 1;
    return true;
}

static TtStatus read_line(TtPrepare *p, const char *list, int64_t number, char *line)
{
    char *id, *text;
    if (!cut_line(line, &id, &text))
        return TT_FAIL(TT_EDATA, "%s:%lld: no line of the form ( NAME \"TEXT\" )", list, (long long)number);
    if (!tt_prepare_is_name(id))
        return TT_FAIL(TT_EDATA, "%s:%lld: '%s' cannot be a file's name", list, (long long)number, id);
    keep_words(text);
    if (!*text) return TT_FAIL(TT_EDATA, "%s:%lld: there is no Russian word in the text", list, (long long)number);
    const char *from;
    if (!tt_prepare_look(p, tt_arena_printf(&p->arena, VOICE "/wav/%s.wav", id), &from))
        return TT_FAIL(TT_EDATA, "%s:%lld: the recording wav/%s.wav is missing", list, (long long)number, id);
    return tt_clips_add(p, p->impl,
                        &(TtClip){.from = from,
                                  .to = tt_arena_printf(&p->arena, "wav/%s.wav", id),
                                  .label = text,
                                  .at = list,
                                  .line = number});
}

static TtStatus festvox_read(TtPrepare *p, json_t *record)
{
    TtClips *c = TT_NEW(&p->arena, TtClips);
    const char *list;
    char *text;
    p->impl = c;
    TT_TRY(tt_prepare_find(p, PACKAGE, VOICE "/etc/txt.done.data", &list));
    TT_TRY(tt_prepare_text(p, list, &text));
    int64_t number = 1;
    for (char *line; (line = strsep(&text, "\n")); number++)
        if (line[strspn(line, " \t\r")]) TT_TRY(read_line(p, list, number, line));
    TT_TRY(tt_clips_check(c, list));
    tt_prepare_record(p, record, VERSION);
    return TT_OK;
}

/* Byte for byte, once it is known that all of it can be read. */
static TtStatus copy_recording(TtPrepare *p, int64_t i)
{
    TtClip *clip = &((TtClips *)p->impl)->items[i];
    TtSample file = {0};
    TtAudio a = {0};
    TtFsWriter w;
    TtStatus st = tt_sample_read_file(&file, clip->from);
    if (st == TT_OK) st = tt_audio_decode(file.bytes, file.bytes_size, clip->from, &a);
    if (st == TT_OK && a.frames == 0) st = TT_FAIL(TT_EDATA, "%s: " TT_AUDIO_EMPTY, clip->from);
    if (st == TT_OK && a.sample_rate != RATE)
        st = TT_FAIL(TT_EDATA, "%s: at %d Hz; the voice is recorded at %d Hz", clip->from, a.sample_rate, RATE);
    if (st == TT_EDATA) st = tt_clip_fail(clip, st);
    if (st == TT_OK && (st = tt_fs_open(&w, clip->path, TT_FS_UNFLUSHED)) == TT_OK) {
        st = tt_fs_put(&w, file.bytes, file.bytes_size);
        if (st == TT_OK)
            st = tt_fs_commit(&w);
        else
            tt_fs_discard(&w);
    }
    clip->frames = a.frames;
    tt_audio_free(&a);
    tt_sample_free(&file);
    return st;
}

static TtStatus festvox_write(TtPrepare *p)
{
    TtClips *c = p->impl;
    TT_TRY(tt_prepare_mkdir(p, "wav"));
    TT_TRY(tt_prepare_each(p, "recordings", c->n, copy_recording));
    TT_TRY(tt_clips_list(p, c, "", true));
    TT_TRY(tt_clips_list(p, c, "vocoder_", false));
    tt_clips_summary(p, c, RATE);
    return TT_OK;
}

static void festvox_close(TtPrepare *p)
{
    tt_clips_free(p->impl);
}

const TtPrepareDef tt_prepare_festvox_ru = {
    .name = "festvox-ru",
    .usage =
        "FOLDER...\n"
        "  Russian speech of Debian's package festvox-ru, unpacked in FOLDER: wav/, train.tsv and test.tsv (path, "
        "text,\n"
        "  frames), vocoder_train.tsv and vocoder_test.tsv (path, frames). Every tenth utterance is for testing.\n",
    .takes_folders = true,
    .read = festvox_read,
    .write = festvox_write,
    .close = festvox_close,
};
