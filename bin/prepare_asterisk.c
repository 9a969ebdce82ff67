/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_asterisk.c - ttrain prepare asterisk: the English prompts of a telephone system, for speech recognition.
 *
 * One package has the recordings, G.722 at 16 kHz; another one the texts, a line `NAME: text` for each, comments behind a
 * semicolon. Texts that begin with a bracket describe a sound; brackets within a text do too and are dropped. A digit
 * on its own is spelled out, and a text with longer numbers is left out: nobody knows how they are read. */
#include <ctype.h>
#include <string.h>

#include "bin/prepare_sound.h"

#define TEXT_PACKAGE "asterisk-core-sounds-en"
#define TEXTS "usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"
#define SOUND_PACKAGE "asterisk-core-sounds-en-g722"
#define SOUNDS "usr/share/asterisk/sounds/en_US_f_Allison"
enum { VERSION = 1, RATE = 16000 };

typedef struct Asterisk {
    TtClips clips;
    const char *list;
    int64_t missing, first_missing; /* texts without a recording, the line of the first */
} Asterisk;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Brackets and what is in them go; one that is not closed stays. */
static void drop_brackets(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        const char *end = *in == '[' || *in == '<' ? strpbrk(in + 1, "]>") : NULL;
        if (end)
            in = end;
        else
            *out++ = *in;
    }
    *out = '\0';
}

/* What is spoken, in lower-case letters and apostrophes, words with one space between; "" when it cannot be told. */
static const char *spoken(TtPrepare *p, char *text)
{
    static const char *const digits[] = {"zero", "one", "two",   "three", "four",
                                         "five", "six", "seven", "eight", "nine"};
    drop_brackets(text);
    char *words = tt_arena_alloc(&p->arena, 6 * strlen(text) + 1), *out = words;
    bool apart = false;
    for (const char *in = text; *in; in++) {
        const char c = (char)tolower((unsigned char)*in);
        const bool digit = isdigit((unsigned char)c), letter = (c >= 'a' && c <= 'z') || c == '\'';
        if (digit && ((in > text && is_word(in[-1])) || is_word(in[1]))) return "";
        if (digit || letter) {
            if (apart && out > words) *out++ = ' ';
            if (digit)
                out = stpcpy(out, digits[c - '0']);
            else
                *out++ = c;
        }
        apart = !digit && !letter;
    }
    *out = '\0';
    return words;
}

/* NAME may have folders, as digits/1 does. */
static bool is_path(TtPrepare *p, const char *name)
{
    char *rest = tt_arena_strdup(&p->arena, name);
    for (char *part; (part = strsep(&rest, "/"));)
        if (!tt_prepare_is_name(part)) return false;
    return true;
}

static TtStatus read_line(TtPrepare *p, int64_t number, char *line)
{
    Asterisk *a = p->impl;
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1])) *--end = '\0';
    while (isspace((unsigned char)*line)) line++;
    if (!*line || *line == ';') return TT_OK;
    char *text = strchr(line, ':');
    if (!text) return TT_FAIL(TT_EDATA, "%s:%lld: no line of the form NAME: TEXT", a->list, (long long)number);
    *text++ = '\0';
    if (!is_path(p, line))
        return TT_FAIL(TT_EDATA, "%s:%lld: '%s' cannot be a file's name", a->list, (long long)number, line);
    text += strspn(text, " \t");
    if (!*text || strchr("[(<", *text) || strncmp(line, "silence/", 8) == 0) return TT_OK;
    const char *from;
    if (!tt_prepare_look(p, tt_arena_printf(&p->arena, SOUNDS "/%s.g722", line), &from)) {
        if (a->missing++ == 0) a->first_missing = number;
        return TT_OK;
    }
    const char *words = spoken(p, text);
    if (!*words) return TT_OK;
    char *name = tt_arena_printf(&p->arena, "wav/%s.wav", line);
    for (char *c = name + 4; (c = strchr(c, '/'));) *c = '_';
    return tt_clips_add(p, &a->clips,
                        &(TtClip){.from = from, .to = name, .label = words, .at = a->list, .line = number});
}

static TtStatus asterisk_read(TtPrepare *p, json_t *record)
{
    Asterisk *a = TT_NEW(&p->arena, Asterisk);
    const char *sounds;
    char *text;
    p->impl = a;
    TT_TRY(tt_prepare_find(p, TEXT_PACKAGE, TEXTS, &a->list));
    TT_TRY(tt_prepare_find(p, SOUND_PACKAGE, SOUNDS, &sounds));
    TT_TRY(tt_prepare_text(p, a->list, &text));
    int64_t number = 1;
    for (char *line; (line = strsep(&text, "\n")); number++) TT_TRY(read_line(p, number, line));
    TT_TRY(tt_clips_check(&a->clips, a->list));
    tt_prepare_record(p, record, VERSION);
    return TT_OK;
}

static TtStatus convert(TtPrepare *p, int64_t i)
{
    return tt_clip_convert(&((Asterisk *)p->impl)->clips.items[i], RATE);
}

static TtStatus asterisk_write(TtPrepare *p)
{
    Asterisk *a = p->impl;
    TtClips *c = &a->clips;
    TT_TRY(tt_prepare_mkdir(p, "wav"));
    TT_TRY(tt_prepare_each(p, "recordings", c->n, convert));
    TT_TRY(tt_clips_list(p, c, "", true));
    tt_clips_summary(p, c, RATE);
    if (a->missing)
        tt_warn("%s: texts without a recording: %lld, the first in line %lld; left out", a->list, (long long)a->missing,
                (long long)a->first_missing);
    return TT_OK;
}

static void asterisk_close(TtPrepare *p)
{
    tt_clips_free(&((Asterisk *)p->impl)->clips);
}

const TtPrepareDef tt_prepare_asterisk = {
    .name = "asterisk",
    .usage =
        "FOLDER...\n"
        "  English speech of Debian's packages asterisk-core-sounds-en (the texts) and asterisk-core-sounds-en-g722,\n"
        "  unpacked in one or two folders: wav/, train.tsv and test.tsv (path, text, frames). Every tenth utterance "
        "is\n"
        "  for testing.\n",
    .takes_folders = true,
    .read = asterisk_read,
    .write = asterisk_write,
    .close = asterisk_close,
};
