/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/predict.c - `ttrain predict`: the validation transforms, the network, the k most likely classes. */
#include "pipeline/predict.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/file_list.h"
#include "pipeline/evaluate.h"
#include "pipeline/json.h"
#include "tensor/fs.h"

typedef struct Predict {
    TtSession s;
    const TtPredictOptions *o;
    TtDataset *files;
    TtSampler *sampler;
    TtLoader *loader;
    const char *const *names; /* of the classes; NULL: numbers only */
    FILE *out;                /* stdout, or TEXT when it goes to a file, which is written at once */
    char *text;
    size_t size;
} Predict;

/* The class map in a checkpoint's state.json. */
static bool names_from_state(Predict *p, const char *path)
{
    int64_t classes = tt_model_classes(&p->s.model);
    json_t *state = json_load_file(path, 0, NULL), *map = json_object_get(state, "classes");
    bool ok = json_is_array(map) && (int64_t)json_array_size(map) == classes;
    if (ok) {
        const char **names = TT_NEWN(&p->s.arena, const char *, classes);
        for (int64_t c = 0; c < classes; c++) {
            const char *name = json_string_value(json_array_get(map, (size_t)c));
            names[c] = tt_arena_strdup(&p->s.arena, name ? name : "");
        }
        p->names = names;
    }
    json_decref(state);
    return ok;
}

/* Class names: from beside the weights, else from the run's checkpoints, else from the config's data where it is at hand. */
static void find_names(Predict *p)
{
    TtArena *a = &p->s.arena;
    const char *w = p->o->weights, *slash = w ? strrchr(w, '/') : NULL, *dir = p->s.config->output_dir;
    if (w && names_from_state(p, tt_arena_printf(a, "%.*sstate.json", slash ? (int)(slash - w + 1) : 0, w))) return;
    if (names_from_state(p, tt_arena_printf(a, "%s/checkpoints/best/state.json", dir))) return;
    if (names_from_state(p, tt_arena_printf(a, "%s/checkpoints/last/state.json", dir))) return;
    if (tt_session_open_data(&p->s, TT_SESSION_VAL) == TT_OK) {
        int n;
        const char *const *names = tt_session_classes(&p->s, &n);
        if (n == tt_model_classes(&p->s.model)) p->names = names;
    }
    tt_error_clear();
}

/* The k largest, largest first; of equal ones the lower index first. */
static int top_k(const float *logits, int64_t classes, int64_t k, int64_t *which)
{
    int n = 0;
    for (int64_t c = 0; c < classes; c++) {
        int at = n;
        while (at > 0 && logits[which[at - 1]] < logits[c]) at--;
        if (at >= k) continue;
        if (n < k) n++;
        memmove(&which[at + 1], &which[at], sizeof *which * (size_t)(n - 1 - at));
        which[at] = c;
    }
    return n;
}

/* RFC 4180 */
static void csv_text(FILE *f, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, f);
        return;
    }
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"') fputc('"', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

static json_t *prediction(const char *name, int64_t index, double probability)
{
    json_t *one = json_object(), *text = json_string(name);
    json_object_set_new(one, "class", text ? text : json_string("(not UTF-8)"));
    json_object_set_new(one, "index", json_integer(index));
    json_object_set_new(one, "probability", json_real(probability));
    return one;
}

static void write_result(Predict *p, const char *file, const float *logits, int64_t *which)
{
    int64_t classes = tt_model_classes(&p->s.model);
    int n = top_k(logits, classes, p->o->top_k, which);
    double sum = 0;
    for (int64_t c = 0; c < classes; c++) sum += exp((double)logits[c] - logits[which[0]]);
    json_t *list = json_array();
    if (p->o->csv) csv_text(p->out, file);
    for (int i = 0; i < n; i++) {
        double probability = exp((double)logits[which[i]] - logits[which[0]]) / sum;
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)which[i]);
        const char *name = p->names ? p->names[which[i]] : number;
        if (p->o->csv) {
            fputc(',', p->out);
            csv_text(p->out, name);
            fprintf(p->out, ",%.6g", probability);
        } else {
            json_array_append_new(list, prediction(name, which[i], probability));
        }
    }
    if (!p->o->csv) {
        json_t *line = json_object(), *name = json_string(file);
        json_object_set_new(line, "file", name ? name : json_string("(not UTF-8)"));
        json_object_set(line, "predictions", list);
        char *text = tt_json_line(line);
        fputs(text, p->out);
        free(text);
        json_decref(line);
    }
    json_decref(list);
    fputc('\n', p->out);
}

static TtStatus run(Predict *p)
{
    int64_t classes = tt_model_classes(&p->s.model), steps = tt_loader_steps(p->loader),
            k = TT_MIN(p->o->top_k, classes);
    int64_t *which = TT_NEWN(&p->s.arena, int64_t, k + 1);
    if (p->o->csv) {
        fputs("file", p->out);
        for (int64_t i = 1; i <= k; i++) fprintf(p->out, ",class%lld,probability%lld", (long long)i, (long long)i);
        fputc('\n', p->out);
    }
    for (int64_t step = 0; step < steps; step++) {
        TtBatch *b;
        TT_TRY(tt_loader_next(p->loader, &b));
        TtNetInput in = tt_net_input(b, 0, b->n);
        TtNetOutput o;
        TtStatus st = b->n ? tt_net_run(p->s.net, false, &in, &(TtStepInfo){0}, &o) : TT_OK;
        for (int i = 0; st == TT_OK && i < b->n; i++) {
            char name[1024];
            p->files->def->describe(p->files, b->indices[i], name, sizeof name);
            write_result(p, name, o.logits + i * classes, which);
        }
        tt_loader_release(p->loader, b);
        TT_TRY(st);
    }
    return TT_OK;
}

static TtStatus open_loader(Predict *p, int n_inputs, char **inputs)
{
    const TtConfig *c = p->s.config;
    TtImageOptions image = {.max_pixels = c->data.max_pixels, .ignore_orientation = !c->data.orientation};
    TT_TRY(tt_file_list_open(n_inputs, inputs, &image, &p->files));
    TT_TRY(tt_sampler_open(p->files, &(TtSamplerOptions){.kind = TT_SAMPLER_SEQUENTIAL}, &p->sampler));
    TtLoaderOptions o = {.dataset = p->files,
                         .sampler = p->sampler,
                         .transforms = &p->s.val_transforms,
                         .batch_size = (int)TT_MIN(c->data.global_batch_size, p->files->count),
                         .num_workers = p->s.num_workers,
                         .prefetch_factor = 2,
                         .channels = 3,
                         .drop_bad = true,
                         .skip_errors = c->data.on_error == TT_ON_ERROR_SKIP,
                         .max_errors = -1};
    return tt_loader_open(&o, &p->loader);
}

static TtStatus finish(Predict *p)
{
    if (!p->o->output_dir) return fflush(p->out) == 0 ? TT_OK : TT_FAIL(TT_EINTERNAL, "cannot write to stdout");
    fclose(p->out);
    p->out = NULL;
    TT_TRY(tt_fs_mkdirs(p->o->output_dir));
    return tt_fs_write(tt_arena_printf(&p->s.arena, "%s/predictions.%s", p->o->output_dir, p->o->csv ? "csv" : "jsonl"),
                       p->text, p->size);
}

TtStatus tt_predict(const TtConfig *c, const TtPredictOptions *o, int n_inputs, char **inputs)
{
    Predict p = {.o = o};
    TtStatus st = tt_session_parse(c, &p.s);
    p.s.model.weights = NULL, p.s.no_loss = true;
    if (st == TT_OK) st = open_loader(&p, n_inputs, inputs);
    if (st == TT_OK) find_names(&p);
    if (st == TT_OK) st = tt_session_open_net(&p.s);
    if (st == TT_OK) st = tt_load_run_weights(&p.s, o->weights);
    p.out = o->output_dir ? open_memstream(&p.text, &p.size) : stdout;
    if (st == TT_OK) st = run(&p);
    if (st == TT_OK) st = finish(&p);
    if (o->output_dir && p.out) fclose(p.out);
    free(p.text);
    tt_loader_close(p.loader);
    tt_sampler_close(p.sampler);
    tt_dataset_close(p.files);
    tt_session_close(&p.s);
    return st;
}
