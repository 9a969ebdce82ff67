/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare_fillets.c - ttrain prepare fillets: the dialogues of the game Fish Fillets, for separating two speakers.
 *
 * script/LEVEL/dialogs_LANG.lua has `dialogId("ID", "FONT", "english") dialogStr("translated")` for each line that is
 * spoken, sound/LEVEL/LANG/ID.ogg is its recording. The font tells who speaks: the big fish, the small one, or others,
 * which are left out. Every recording becomes 8 kHz WAV, listed in cs.tsv and nl.tsv. The Dutch voices also make the
 * mixtures of test.tsv: four seconds of the big and four of the small fish, each from a recording that is long enough, at
 * a signal-to-noise ratio between -5 and 5 dB. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/reader.h"
#include "bin/prepare_sound.h"
#include "data/manifest.h"
#include "tensor/rng.h"

#define TEXT_PACKAGE "fillets-ng-data"
#define GAME "usr/share/games/fillets-ng/"
enum { VERSION = 1, RATE = 8000, MIXTURES = 200, SECONDS = 4, LENGTH = SECONDS * RATE };
enum { CZECH, DUTCH, LANGUAGES };
enum { BIG, SMALL, SPEAKERS };
#define LARGEST_SNR 5.0
#define PEAK 0.9 /* of the mixture and its sources, whichever is the largest */

static const char *const languages[] = {"cs", "nl"}, *const speakers[] = {"big", "small"};

typedef struct Mixture {
    const TtClip *clips[SPEAKERS];
    int64_t from[SPEAKERS]; /* first sample */
    double snr;             /* dB, of the big fish over the small one */
    const char *paths[1 + SPEAKERS];
} Mixture;

typedef struct Fillets {
    TtClips clips; /* Czech first, and in each language by level and as the list has them */
    int64_t ends[LANGUAGES];
    int64_t missing; /* lines of the two fishes that nobody has recorded */
    const char *scripts;
    Mixture mixtures[MIXTURES];
} Fillets;

/* ---- the lists: as much of Lua as they are written in */

typedef struct Lexer {
    const char *path;
    char *at;
    int64_t line;
} Lexer;

static TtStatus lexer_fail(const Lexer *x, const char *wanted)
{
    return TT_FAIL(TT_EDATA,
                   "%s:%lld: %s was expected; dialogId(\"...\", \"...\", \"...\") and dialogStr(\"...\") are read",
                   x->path, (long long)x->line, wanted);
}

/* White space and comments. */
static void skip_space(Lexer *x)
{
    for (;; x->at++) {
        if (strncmp(x->at, "--", 2) == 0) x->at += strcspn(x->at, "\n");
        if (*x->at == '\n') x->line++;
        if (!*x->at || !strchr(" \t\r\n", *x->at)) return;
    }
}

static bool take(Lexer *x, const char *token)
{
    const size_t n = strlen(token);
    skip_space(x);
    if (strncmp(x->at, token, n) != 0) return false;
    x->at += n;
    return true;
}

/* A string in double quotes. Escapes stay as they are: they occur in texts only, which nobody reads. */
static TtStatus take_string(Lexer *x, char **out)
{
    if (!take(x, "\"")) return lexer_fail(x, "a text in double quotes");
    const int64_t line = x->line;
    for (*out = x->at; *x->at != '"'; x->at++) {
        if (*x->at == '\\' && x->at[1]) x->at++;
        if (*x->at == '\n') x->line++;
        if (!*x->at)
            return TT_FAIL(TT_EDATA, "%s:%lld: the quote that opens here is never closed", x->path, (long long)line);
    }
    *x->at++ = '\0';
    return TT_OK;
}

static TtStatus take_call(Lexer *x, int n, char **arguments)
{
    if (!take(x, "(")) return lexer_fail(x, "'('");
    for (int i = 0; i < n; i++) {
        if (i && !take(x, ",")) return lexer_fail(x, "','");
        TT_TRY(take_string(x, &arguments[i]));
    }
    return take(x, ")") ? TT_OK : lexer_fail(x, "')'");
}

/* ---- what there is */

static TtStatus add_line(TtPrepare *p, const Lexer *x, int64_t line, int language, const char *level, const char *id,
                         const char *font)
{
    Fillets *f = p->impl;
    const int who = strcmp(font, "font_big") == 0 ? BIG : strcmp(font, "font_small") == 0 ? SMALL : -1;
    if (who < 0) return TT_OK;
    if (!tt_prepare_is_name(id))
        return TT_FAIL(TT_EDATA, "%s:%lld: '%s' cannot be a file's name", x->path, (long long)line, id);
    const char *lang = languages[language], *from;
    if (!tt_prepare_look(p, tt_arena_printf(&p->arena, GAME "sound/%s/%s/%s.ogg", level, lang, id), &from)) {
        f->missing++;
        return TT_OK;
    }
    return tt_clips_add(p, &f->clips,
                        &(TtClip){.from = from,
                                  .to = tt_arena_printf(&p->arena, "%s/%s/%s_%s.wav", lang, speakers[who], level, id),
                                  .label = speakers[who],
                                  .at = x->path,
                                  .line = line});
}

static TtStatus read_level(TtPrepare *p, int language, const char *level)
{
    const Fillets *f = p->impl;
    const char *path = tt_arena_printf(&p->arena, "%s/%s/dialogs_%s.lua", f->scripts, level, languages[language]);
    if (!tt_fs_exists(path)) return TT_OK;
    Lexer x = {.path = path, .line = 1};
    TT_TRY(tt_prepare_text(p, path, &x.at));
    for (;;) {
        char *a[3];
        skip_space(&x);
        if (!*x.at) return TT_OK;
        const int64_t line = x.line;
        if (take(&x, "dialogStr")) {
            TT_TRY(take_call(&x, 1, a));
        } else if (take(&x, "dialogId")) {
            TT_TRY(take_call(&x, 3, a));
            TT_TRY(add_line(p, &x, line, language, level, a[0], a[1]));
        } else {
            return lexer_fail(&x, "a call");
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folders of the levels, in the order of their bytes. */
static TtStatus list_levels(TtPrepare *p, const char *folder, const char ***out, int *n)
{
    int room = 0;
    DIR *d = opendir(folder);
    if (!d) return TT_FAIL(TT_EDATA, "%s: cannot be read: %s", folder, strerror(errno));
    const char **names = NULL;
    for (struct dirent *e; (e = readdir(d));) {
        if (!tt_prepare_is_name(e->d_name)) continue;
        if (*n == room) names = tt_realloc(names, sizeof *names * (size_t)(room = TT_MAX(128, 2 * room)));
        names[(*n)++] = tt_arena_strdup(&p->arena, e->d_name);
    }
    closedir(d);
    if (*n) qsort(names, (size_t)*n, sizeof *names, compare_names);
    *out = names;
    return TT_OK;
}

static TtStatus read_language(TtPrepare *p, int language, const char *const *levels, int n)
{
    Fillets *f = p->impl;
    const int64_t before = f->clips.n;
    for (int i = 0; i < n; i++) TT_TRY(read_level(p, language, levels[i]));
    f->ends[language] = f->clips.n;
    if (f->clips.n == before)
        return TT_FAIL(TT_EDATA,
                       "%s: no line of the big or the small fish has a recording " GAME
                       "sound/LEVEL/%s/*.ogg; unpack the Debian package fillets-ng-data-%s too",
                       f->scripts, languages[language], languages[language]);
    return TT_OK;
}

static TtStatus fillets_read(TtPrepare *p, json_t *record)
{
    Fillets *f = TT_NEW(&p->arena, Fillets);
    p->impl = f;
    const char **levels = NULL;
    int n = 0;
    TT_TRY(tt_prepare_find(p, TEXT_PACKAGE, GAME "script", &f->scripts));
    TT_TRY(list_levels(p, f->scripts, &levels, &n));
    TtStatus st = TT_OK;
    for (int l = 0; l < LANGUAGES && st == TT_OK; l++) st = read_language(p, l, levels, n);
    free(levels);
    if (st == TT_OK) tt_prepare_record(p, record, VERSION);
    return st;
}

/* ---- recordings */

/* The package has recordings without a single sample. Whatever else is wrong with one is an error. */
static TtStatus convert(TtPrepare *p, int64_t i)
{
    TtClip *clip = &((Fillets *)p->impl)->clips.items[i];
    TtStatus st = tt_clip_convert(clip, RATE);
    if (st != TT_EDATA || !strstr(tt_error_message(), TT_AUDIO_EMPTY)) return st;
    tt_warn("%s; left out", tt_error_message());
    tt_error_clear();
    return TT_OK;
}

static TtStatus list_language(TtPrepare *p, int language)
{
    const Fillets *f = p->impl;
    TtPrepareList l;
    TT_TRY(tt_prepare_list_open(&l, "path\tspeaker\tseconds"));
    for (int64_t i = language ? f->ends[language - 1] : 0; i < f->ends[language]; i++) {
        const TtClip *c = &f->clips.items[i];
        if (c->frames) fprintf(l.out, "%s\t%s\t%.6f\n", c->to, c->label, (double)c->frames / RATE);
    }
    return tt_prepare_list_close(p, &l, tt_arena_printf(&p->arena, "%s.tsv", languages[language]), TT_OK);
}

/* ---- mixtures */

/* WHO's Dutch recordings that are long enough, shuffled, and again shuffled when they are used up, until every mixture has
 * one. */
static TtStatus deal_recordings(TtPrepare *p, int who)
{
    Fillets *f = p->impl;
    int64_t *items = TT_NEWN(&p->arena, int64_t, f->clips.n), n = 0;
    TtRng rng = tt_rng(0, TT_RNG_PREPARE, tt_hash_name("fillets"), (uint64_t)who, 0);
    for (int64_t i = f->ends[DUTCH - 1]; i < f->ends[DUTCH]; i++)
        if (f->clips.items[i].frames >= LENGTH && strcmp(f->clips.items[i].label, speakers[who]) == 0) items[n++] = i;
    if (n == 0)
        return TT_FAIL(TT_EDATA, "%s: the mixtures need Dutch recordings of %d seconds, and the %s fish has none",
                       f->scripts, SECONDS, speakers[who]);
    for (int k = 0; k < MIXTURES; k++) {
        if (k % n == 0) tt_rng_shuffle(&rng, items, n);
        const TtClip *c = &f->clips.items[items[k % n]];
        f->mixtures[k].clips[who] = c;
        f->mixtures[k].from[who] = (int64_t)tt_rng_below(&rng, (uint64_t)(c->frames - LENGTH) + 1);
    }
    return TT_OK;
}

static TtStatus plan_mixtures(TtPrepare *p)
{
    Fillets *f = p->impl;
    static const char *const folders[] = {"mixture", "source1", "source2"};
    TtPrepareList l;
    for (int who = 0; who < SPEAKERS; who++) TT_TRY(deal_recordings(p, who));
    for (int j = 0; j < TT_COUNT(folders); j++)
        TT_TRY(tt_prepare_mkdir(p, tt_arena_printf(&p->arena, "test/%s", folders[j])));
    TtRng rng = tt_rng(0, TT_RNG_PREPARE, tt_hash_name("fillets"), SPEAKERS, 0);
    TT_TRY(tt_prepare_list_open(&l, "mixture\tsource1\tsource2\tsnr"));
    for (int k = 0; k < MIXTURES; k++) {
        Mixture *m = &f->mixtures[k];
        m->snr = tt_rng_uniform(&rng, -LARGEST_SNR, LARGEST_SNR);
        for (int j = 0; j < TT_COUNT(folders); j++) {
            const char *name = tt_arena_printf(&p->arena, "test/%s/%03d.wav", folders[j], k);
            m->paths[j] = tt_prepare_path(p, name);
            fprintf(l.out, "%s\t", name);
        }
        fprintf(l.out, "%.2f\n", m->snr);
    }
    return tt_prepare_list_close(p, &l, "test.tsv", TT_OK);
}

/* The part of a recording that goes into a mixture, as X, and its energy. */
static TtStatus read_part(const TtClip *clip, int64_t from, TtSample *file, TtAudio *x, double *energy)
{
    TT_TRY(tt_sound_read(clip->path, RATE, file, x));
    *energy = 0;
    for (int64_t i = 0; i < LENGTH; i++) *energy += (double)x->data[from + i] * x->data[from + i];
    if (*energy > 0) return TT_OK;
    return TT_FAIL(TT_EDATA,
                   "%s: silent for %d seconds from sample %lld on, so that no ratio can be had (listed at %s:%lld)",
                   clip->from, SECONDS, (long long)from, clip->at, (long long)clip->line);
}

/* Both sources at their level, rounded to 16 bits before they are added: the mixture is exactly their sum. */
static void mix(const Mixture *m, TtAudio x[SPEAKERS], const double energy[SPEAKERS], TtAudio out[1 + SPEAKERS])
{
    const double gain[] = {1, sqrt(energy[BIG] / energy[SMALL]) * pow(10, -m->snr / 20)};
    double peak = 0;
    for (int64_t i = 0; i < LENGTH; i++) {
        const double a = gain[BIG] * x[BIG].data[m->from[BIG] + i], b = gain[SMALL] * x[SMALL].data[m->from[SMALL] + i];
        peak = fmax(peak, fmax(fabs(a + b), fmax(fabs(a), fabs(b))));
    }
    for (int64_t i = 0; i < LENGTH; i++) {
        out[0].data[i] = 0;
        for (int who = 0; who < SPEAKERS; who++) {
            const double v = PEAK / peak * gain[who] * x[who].data[m->from[who] + i];
            out[1 + who].data[i] = (float)(rint(v * 32768) / 32768);
            out[0].data[i] += out[1 + who].data[i];
        }
    }
}

static TtStatus write_mixture(TtPrepare *p, int64_t k)
{
    const Mixture *m = &((Fillets *)p->impl)->mixtures[k];
    TtSample file = {0};
    TtAudio x[SPEAKERS] = {0}, out[1 + SPEAKERS] = {0};
    double energy[SPEAKERS];
    TtStatus st = TT_OK;
    for (int who = 0; who < SPEAKERS && st == TT_OK; who++)
        st = read_part(m->clips[who], m->from[who], &file, &x[who], &energy[who]);
    for (int j = 0; j < 1 + SPEAKERS && st == TT_OK; j++) {
        st = tt_audio_resize(&out[j], 1, LENGTH, 1, false);
        out[j].sample_rate = RATE;
    }
    if (st == TT_OK) mix(m, x, energy, out);
    for (int j = 0; j < 1 + SPEAKERS && st == TT_OK; j++)
        st = tt_wav_write_as(m->paths[j], &out[j], false, TT_FS_UNFLUSHED);
    for (int who = 0; who < SPEAKERS; who++) tt_audio_free(&x[who]);
    for (int j = 0; j < 1 + SPEAKERS; j++) tt_audio_free(&out[j]);
    tt_sample_free(&file);
    return st;
}

/* ---- all of it */

static TtStatus fillets_write(TtPrepare *p)
{
    Fillets *f = p->impl;
    for (int l = 0; l < LANGUAGES; l++)
        for (int who = 0; who < SPEAKERS; who++)
            TT_TRY(tt_prepare_mkdir(p, tt_arena_printf(&p->arena, "%s/%s", languages[l], speakers[who])));
    TT_TRY(tt_prepare_each(p, "recordings", f->clips.n, convert));
    for (int l = 0; l < LANGUAGES; l++) TT_TRY(list_language(p, l));
    TT_TRY(plan_mixtures(p));
    TT_TRY(tt_prepare_each(p, "mixtures", MIXTURES, write_mixture));
    int64_t kept = 0, frames = 0;
    for (int64_t i = 0; i < f->clips.n; i++) kept += f->clips.items[i].frames > 0, frames += f->clips.items[i].frames;
    snprintf(p->summary, sizeof p->summary, "%lld recordings (%lld more lines have none), %.1f minutes, %d mixtures",
             (long long)kept, (long long)f->missing, (double)frames / RATE / 60, MIXTURES);
    return TT_OK;
}

static void fillets_close(TtPrepare *p)
{
    tt_clips_free(&((Fillets *)p->impl)->clips);
}

const TtPrepareDef tt_prepare_fillets = {
    .name = "fillets",
    .usage =
        "FOLDER...\n"
        "  Two speakers, in Czech and in Dutch, of Debian's packages fillets-ng-data (the texts), fillets-ng-data-cs "
        "and\n"
        "  fillets-ng-data-nl, unpacked in one or more folders: 8 kHz WAV files listed in cs.tsv and nl.tsv (path,\n"
        "  speaker, seconds), and 200 Dutch mixtures of 4 seconds in test.tsv (mixture, source1, source2, snr).\n",
    .takes_folders = true,
    .read = fillets_read,
    .write = fillets_write,
    .close = fillets_close,
};
