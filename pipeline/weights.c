/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/weights.c - fitting a file's tensors to a model's parameters. */
#include "pipeline/weights.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/json.h"

enum { SHOWN = 4 }; /* names in a message, of each kind */

static const TtWeightsOptions strict;

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool excluded(const TtWeightsOptions *o, const char *name)
{
    for (int i = 0; i < o->exclude_count; i++)
        if (fnmatch(o->exclude[i], name, 0) == 0) return true;
    return false;
}

/* Keep the names with the prefix, and cut it. Order by name stays. */
static void take_prefix(TtStateDict *d, const char *prefix)
{
    int kept = 0;
    for (int i = 0; i < d->count; i++) {
        if (!starts_with(d->list[i].name, prefix)) continue;
        d->list[kept] = d->list[i];
        d->list[kept++].name += strlen(prefix);
    }
    d->count = kept;
}

static void cut_wrappers(TtStateDict *d)
{
    static const char *const prefixes[] = {"module.", "_orig_mod."};
    for (bool again = true; again;) {
        again = false;
        for (int k = 0; k < TT_COUNT(prefixes); k++) {
            int with = 0;
            while (with < d->count && starts_with(d->list[with].name, prefixes[k])) with++;
            if (with == 0 || with < d->count) continue;
            take_prefix(d, prefixes[k]);
            again = true;
        }
    }
}

/* A list of names in a message, which shows the first few and counts the rest. */
typedef struct Names {
    int count;
    char text[SHOWN * (TT_JSON_NAME + 2 * TT_SHAPE_TEXT)];
} Names;

static void add_name(Names *n, const char *name, const char *more)
{
    char say[TT_JSON_NAME];
    size_t at = strlen(n->text);
    if (n->count++ < SHOWN)
        snprintf(n->text + at, sizeof n->text - at, "%s%s%s", at ? ", " : "", tt_json_name(name, say), more);
}

static void print_names(const Names *n, const char *what, char *out, size_t size)
{
    size_t at = strlen(out);
    if (n->count == 0) return;
    at += (size_t)snprintf(out + at, size - at, "%s%s %s", at ? "; " : "", what, n->text);
    if (n->count > SHOWN && at < size) snprintf(out + at, size - at, " and %d more", n->count - SHOWN);
}

/* What does not fit. An exclusion that would help is offered when only shapes differ. */
static TtStatus report(const TtStateDict *d, const TtWeightsOptions *o, const Names *shapes, const Names *missing,
                       const Names *extra)
{
    char text[1600] = "";
    print_names(shapes, "shapes differ:", text, sizeof text);
    print_names(missing, "missing:", text, sizeof text);
    print_names(extra, "not in the model:", text, sizeof text);
    if (shapes->count == 0 && o->partial) {
        if (*text) tt_warn("%s: does not fit the model exactly: %s", d->path, text);
        return TT_OK;
    }
    if (!*text) return TT_OK;
    return TT_FAIL(TT_ECHECKPOINT, "%s: does not fit the model: %s%s", d->path, text,
                   shapes->count ? " (to keep the model's own values of a tensor, name it in model.weights_exclude)"
                                 : "");
}

static TtStatus check_fit(const TtParamSet *p, const TtStateDict *d, const TtWeightsOptions *o)
{
    Names shapes = {0}, missing = {0}, extra = {0};
    char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT], more[2 * TT_SHAPE_TEXT + 32];
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        if (excluded(o, q->name)) continue;
        const TtStateTensor *t = tt_state_find(d, q->name);
        if (!t && !ends_with(q->name, "num_batches_tracked")) add_name(&missing, q->name, "");
        if (!t || tt_shape_equal(&t->shape, &q->shape)) continue;
        snprintf(more, sizeof more, " is %s in the file and %s in the model", tt_shape_text(&t->shape, a),
                 tt_shape_text(&q->shape, b));
        add_name(&shapes, q->name, more);
    }
    for (int i = 0; i < d->count; i++)
        if (!tt_params_find(p, d->list[i].name) && !excluded(o, d->list[i].name)) add_name(&extra, d->list[i].name, "");
    return report(d, o, &shapes, &missing, &extra);
}

static TtStatus check_finite(const TtStateDict *d, const TtParam *q)
{
    int64_t n = tt_shape_count(&q->shape), i = 0;
    if (q->dtype == TT_F32)
        while (i < n && isfinite(((const float *)q->value)[i])) i++;
    else if (q->dtype == TT_F64)
        while (i < n && isfinite(((const double *)q->value)[i])) i++;
    else
        return TT_OK;
    if (i == n) return TT_OK;
    return TT_FAIL(TT_ECHECKPOINT, "%s: %s: element %lld is not finite as %s; such weights cannot be used", d->path,
                   q->name, (long long)i, tt_dtype_name(q->dtype));
}

static TtStatus load(TtParamSet *p, TtStateDict *d, const TtWeightsOptions *o)
{
    if (o->prefix) take_prefix(d, o->prefix);
    if (o->prefix && d->count == 0)
        return TT_FAIL(TT_ECHECKPOINT, "%s: no tensor's name begins with %s", d->path, o->prefix);
    cut_wrappers(d);
    TT_TRY(check_fit(p, d, o));
    for (int i = 0; i < p->count; i++) {
        TtParam *q = p->list[i];
        const TtStateTensor *t = excluded(o, q->name) ? NULL : tt_state_find(d, q->name);
        if (!t) continue;
        TT_TRY(tt_state_read(d, t, q->dtype, q->value));
        TT_TRY(check_finite(d, q));
    }
    return TT_OK;
}

TtStatus tt_weights_load(TtParamSet *p, const char *path, const TtWeightsOptions *options)
{
    TtStateDict *d;
    TT_TRY(tt_state_open(path, &d));
    TtStatus status = load(p, d, options ? options : &strict);
    tt_state_close(d);
    return status;
}

TtNamedTensor *tt_weights_list(const TtParamSet *p, TtArena *arena)
{
    TtNamedTensor *list = TT_NEWN(arena, TtNamedTensor, p->count + 1);
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        list[i] = (TtNamedTensor){.name = q->name, .dtype = q->dtype, .shape = q->shape, .data = q->value};
    }
    return list;
}
