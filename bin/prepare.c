/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare.c - ttrain prepare KIND: the command line, and folders that are whole or absent. */
#include "bin/prepare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/args.h"
#include "bin/commands.h"
#include "data/loader.h"

#define RECORD ".prepared.json"

static const TtPrepareDef *const kinds[] = {
#define PREPARE(name) &tt_prepare_##name,
#include "bin/prepare.def"
#undef PREPARE
};

enum { MOST_FLAGS = TT_PREPARE_FLAGS * TT_COUNT(kinds) + 3 };

/* Whether the output is there and was made from the same. Anything else in its place is left alone. */
static TtStatus find_complete(const TtPrepare *p, const char *record, bool *complete)
{
    char *path, *text = NULL;
    size_t size;
    *complete = false;
    if (!tt_fs_exists(p->output)) return TT_OK;
    path = tt_fs_join(p->output, RECORD);
    TtStatus st = tt_fs_exists(path) ? tt_fs_read(path, 1 << 20, TT_EDATA, &text, &size) : TT_OK;
    free(path);
    if (st == TT_OK && (!text || strcmp(text, record) != 0))
        st = TT_FAIL(TT_ECONFIG,
                     "%s: exists and was not made from these files and names; remove it, or choose another --output",
                     p->output);
    free(text);
    *complete = st == TT_OK;
    return st;
}

/* PARENT and NAME of the folder being written. */
static const char *split_part(TtPrepare *p, const char **name)
{
    const char *slash = strrchr(p->part, '/');
    *name = slash ? slash + 1 : p->part;
    if (!slash) return ".";
    return slash == p->part ? "/" : tt_arena_strndup(&p->arena, p->part, (size_t)(slash - p->part));
}

/* What a killed run left in DIR.part goes first. Nothing is flushed before the end, and then all of it. */
static TtStatus build(TtPrepare *p, const char *parent, const char *name, const char *record)
{
    TT_TRY(tt_fs_remove_tree(parent, name));
    TT_TRY(tt_fs_mkdirs(p->part));
    TT_TRY(p->def->write(p));
    TT_TRY(tt_fs_write(tt_prepare_path(p, RECORD), record, strlen(record)));
    TT_TRY(tt_fs_sync_all(p->part));
    TT_TRY(tt_fs_rename(p->part, p->output));
    fprintf(stderr, "prepare: %s: %s\n", p->output, p->summary);
    return TT_OK;
}

/* Two at a time would take each other's files away, or put a half-written folder into place. */
static TtStatus build_locked(TtPrepare *p, const char *record)
{
    const char *name, *parent = split_part(p, &name), *path = tt_arena_printf(&p->arena, "%s.lock", p->part);
    TtFsLock lock;
    bool complete;
    TT_TRY(tt_fs_mkdirs(parent));
    TT_TRY(tt_fs_lock(&lock, path));
    TtStatus st = find_complete(p, record, &complete);
    if (st == TT_OK && !complete) st = build(p, parent, name, record);
    if (st == TT_OK && complete) fprintf(stderr, "prepare: %s is complete already\n", p->output);
    unlink(path); /* while it is held: who waits for this file finds that it is gone, and makes another */
    tt_fs_unlock(&lock);
    return st;
}

static TtStatus prepare(TtPrepare *p)
{
    char *output = tt_arena_strdup(&p->arena, p->output), *text = NULL;
    for (size_t n = strlen(output); n > 1 && output[n - 1] == '/'; n--) output[n - 1] = '\0';
    p->output = output;
    p->part = tt_arena_printf(&p->arena, "%s.part", output);
    json_t *record = json_pack("{s:s}", "format", p->def->name);
    TtStatus st = p->def->read(p, record);
    if (st == TT_OK) {
        text = json_dumps(record, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        TT_ASSERT(text);
        bool complete;
        st = find_complete(p, text, &complete);
        if (st == TT_OK && complete)
            fprintf(stderr, "prepare: %s is complete already\n", p->output);
        else if (st == TT_OK)
            st = build_locked(p, text);
    }
    json_decref(record);
    free(text);
    return st;
}

/* ---- what is asked for */

static const char *make_usage(TtArena *arena)
{
    const char *text =
        "usage: ttrain prepare KIND ... --output DIR [--threads N]\n"
        "Turns a data set as it is published into what the configs read.\n"
        "  --output DIR         the folder to make; when it is complete already, nothing is done\n"
        "  --threads N          0, the default: as many as there are processors; the result is the same\n";
    for (int i = 0; i < TT_COUNT(kinds); i++)
        text = tt_arena_printf(arena, "%s\nttrain prepare %s %s", text, kinds[i]->name, kinds[i]->usage);
    return text;
}

static TtStatus find_kind(TtPrepare *p, const char *word)
{
    const char *names[TT_COUNT(kinds)];
    for (int i = 0; i < TT_COUNT(kinds); i++) {
        names[i] = kinds[i]->name;
        if (word && strcmp(word, names[i]) == 0) p->def = kinds[i];
    }
    if (p->def) return TT_OK;
    const char *list = "", *near = word ? tt_nearest(word, names, TT_COUNT(kinds)) : NULL;
    for (int i = 0; i < TT_COUNT(kinds); i++)
        list = tt_arena_printf(&p->arena, "%s%s%s", list, i ? ", " : "", names[i]);
    if (!word) return TT_FAIL(TT_ECONFIG, "prepare: say what: %s; --help tells more", list);
    return TT_FAIL(TT_ECONFIG, "prepare: '%s' is not known%s%s%s; there are %s", word, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "", list);
}

/* VALUES are those of the flags of all kinds, TT_PREPARE_FLAGS each. */
static TtStatus take_arguments(TtPrepare *p, const TtArgs *a, const char *const *values)
{
    TT_TRY(find_kind(p, a->config));
    const TtPrepareDef *d = p->def;
    if (a->n_overrides)
        return TT_FAIL(TT_ECONFIG, "prepare %s: '%s': there is no such folder", d->name, a->overrides[0]);
    if (a->n_inputs && !d->takes_folders)
        return TT_FAIL(TT_ECONFIG, "prepare %s: '%s' is one word too many; --help tells what it takes", d->name,
                       a->inputs[0]);
    if (!a->n_inputs && d->takes_folders)
        return TT_FAIL(TT_ECONFIG, "prepare %s: name the folder (or folders) that the packages were unpacked into",
                       d->name);
    for (int k = 0; k < TT_COUNT(kinds); k++)
        for (int i = 0; i < TT_PREPARE_FLAGS; i++) {
            const char *value = values[k * TT_PREPARE_FLAGS + i];
            if (kinds[k] == d)
                p->values[i] = value;
            else if (value)
                return TT_FAIL(TT_ECONFIG, "prepare %s: %s is only for %s", d->name, kinds[k]->flags[i].name,
                               kinds[k]->name);
            if (kinds[k] == d && d->flags[i].needed && !value)
                return TT_FAIL(TT_ECONFIG, "prepare %s: %s is needed", d->name, d->flags[i].name);
        }
    if (!p->output) return TT_FAIL(TT_ECONFIG, "prepare %s: --output is needed", d->name);
    p->folders = a->inputs;
    p->n_folders = a->n_inputs;
    return TT_OK;
}

int tt_cmd_prepare(int argc, char **argv)
{
    TtPrepare p = {0};
    const char *values[TT_PREPARE_FLAGS * TT_COUNT(kinds)] = {0};
    int64_t threads = 0;
    TtFlag flags[MOST_FLAGS] = {{"--output", .text = &p.output}, {"--threads", .number = &threads}};
    int n = 2;
    for (int k = 0; k < TT_COUNT(kinds); k++)
        for (int i = 0; i < TT_PREPARE_FLAGS; i++)
            if (kinds[k]->flags[i].name)
                flags[n++] = (TtFlag){kinds[k]->flags[i].name, .text = &values[k * TT_PREPARE_FLAGS + i]};
    TtArgs a;
    TtStatus st = tt_args_parse(argc, argv, flags, make_usage(&p.arena), &a);
    if (st == TT_OK && !a.help) {
        st = take_arguments(&p, &a, values);
        p.threads =
            threads ? (int)TT_MIN(threads, TT_PREPARE_MOST_THREADS) : TT_MIN(tt_cpu_count(), TT_PREPARE_MOST_THREADS);
        if (st == TT_OK) st = prepare(&p);
    }
    if (p.impl && p.def->close) p.def->close(&p);
    tt_args_free(&a);
    tt_arena_free(&p.arena);
    return tt_args_exit(st);
}
