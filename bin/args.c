/* SPDX-License-Identifier: Apache-2.0 */
/* bin/args.c - command lines. */
#include "bin/args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* a.b.0.c=value: dotted words of letters, digits, _ and -, then '='. */
static bool is_override(const char *word)
{
    const char *eq = strchr(word, '=');
    if (!eq || eq == word) return false;
    for (const char *p = word; p < eq; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-", *p)) return false;
    return isalpha((unsigned char)*word) || *word == '_';
}

static TtStatus take_number(const char *flag, const char *text, int64_t *out)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || v < 0) return TT_FAIL(TT_ECONFIG, "%s: '%s' is no number of 0 or more", flag, text);
    *out = v;
    return TT_OK;
}

/* Handle argv[*i] when it is a flag; *i moves over a separate value. */
static TtStatus take_flag(int argc, char **argv, int *i, const TtFlag *flags, const char *usage)
{
    const char *word = argv[*i], *eq = strchr(word, '=');
    size_t n = eq ? (size_t)(eq - word) : strlen(word);
    for (const TtFlag *f = flags; f->name; f++) {
        if (strlen(f->name) != n || strncmp(f->name, word, n) != 0) continue;
        if (f->set) {
            if (eq) return TT_FAIL(TT_ECONFIG, "%s takes no value", f->name);
            *f->set = true;
            return TT_OK;
        }
        const char *value = eq ? eq + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        if (!value || !*value) return TT_FAIL(TT_ECONFIG, "%s needs a value", f->name);
        if (f->number) return take_number(f->name, value, f->number);
        *f->text = value;
        return TT_OK;
    }
    const char *names[32];
    int count = 0;
    for (; count < 32 && flags[count].name; count++) names[count] = flags[count].name;
    const char *near = tt_nearest(word, names, count);
    return TT_FAIL(TT_ECONFIG, "unknown option '%s'%s%s%s", word, near ? "; did you mean '" : "; --help lists them",
                   near ? near : "", near ? "'?" : "");
}

TtStatus tt_args_parse(int argc, char **argv, const TtFlag *flags, const char *usage, TtArgs *out)
{
    *out = (TtArgs){0};
    out->overrides = tt_realloc(NULL, sizeof(char *) * (size_t)(argc + 1));
    out->inputs = tt_realloc(NULL, sizeof(char *) * (size_t)(argc + 1));
    bool plain = false;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (!plain && strcmp(word, "--") == 0) {
            plain = true;
        } else if (!plain && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            fputs(usage, stdout);
            out->help = true;
            return TT_OK;
        } else if (!plain && word[0] == '-' && word[1]) {
            TT_TRY(take_flag(argc, argv, &i, flags, usage));
        } else if (!plain && is_override(word) && !(out->config && access(word, F_OK) == 0)) {
            out->overrides[out->n_overrides++] = word;
        } else if (!out->config) {
            out->config = word;
        } else {
            out->inputs[out->n_inputs++] = word;
        }
    }
    return TT_OK;
}

TtStatus tt_args_config(const TtArgs *a, bool takes_inputs, TtConfig **out)
{
    if (!a->config)
        return TT_FAIL(TT_ECONFIG, "no config given: ttrain CONFIG.yaml [key=value ...]; --help tells more");
    if (a->n_inputs && !takes_inputs)
        return TT_FAIL(TT_ECONFIG,
                       "argument '%s': not understood; an override is key=value in one word, such as "
                       "optimizer.lr=0.1",
                       a->inputs[0]);
    return tt_config_load(a->config, a->n_overrides, a->overrides, out);
}

void tt_args_free(TtArgs *a)
{
    free(a->overrides);
    free(a->inputs);
}

TtStatus tt_args_flush(TtStatus s)
{
    if (s != TT_OK || (fflush(stdout) == 0 && !ferror(stdout))) return s;
    return TT_FAIL(TT_EINTERNAL, "standard output: cannot be written: %m");
}

int tt_args_exit(TtStatus s)
{
    if (s == TT_OK) return 0;
    if (*tt_error_message()) fprintf(stderr, "%s\n", tt_error_message());
    const char *debug = getenv("TT_DEBUG");
    if (debug && *debug == '1') fprintf(stderr, "  at %s\n", tt_error_origin());
    return (int)s;
}
