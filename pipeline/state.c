/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/state.c - what a checkpoint of a run holds, and going on from one.
 *
 * model.safetensors      parameters and buffers, as torch's state dict
 * model_ema.safetensors  with trainer.ema_decay: the moving average of them, likewise; what was validated
 * optimizer.safetensors  optimizer state by parameter ("exp_avg.layer1.0.conv1.weight")
 * state.json             counters, schedule, best metric, sums behind the next logged line, class map, the config's
 *                        sections that decide the numbers, and what they were computed on
 * Random numbers and the loader's position need no state: they follow from the seed and the step. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/json.h"
#include "pipeline/state.h"
#include "pipeline/trainer_impl.h"
#include "pipeline/weights.h"
#include "tensor/fs.h"

/* ---- tensors */

typedef struct Lists {
    TtCheckpointPart parts[3];
    int n;
} Lists;

/* The optimizer's slabs, under one name each. */
static void list_optimizer(TtTrainer *t, TtArena *a, TtCheckpointPart *part)
{
    const TtParamSet *p = tt_net_params(t->session.net);
    TtNamedTensor *list = TT_NEWN(a, TtNamedTensor, p->count * TT_OPTIM_STATES);
    int n = 0;
    for (int k = 0; k < TT_OPTIM_STATES; k++) {
        const char *state = tt_optimizer_state_name(t->optimizer, k);
        for (int i = 0; state && i < p->count; i++) {
            const TtParam *q = p->list[i];
            if (q->buffer) continue;
            list[n++] = (TtNamedTensor){tt_arena_printf(a, "%s.%s", state, q->name), TT_F32, q->shape,
                                        tt_optimizer_state(t->optimizer, k, q)};
        }
    }
    *part = (TtCheckpointPart){TT_CHECKPOINT_OPTIMIZER, list, n};
}

static Lists list_tensors(TtTrainer *t, TtArena *a)
{
    Lists l;
    const TtParamSet *p = tt_net_params(t->session.net);
    l.parts[0] = (TtCheckpointPart){TT_CHECKPOINT_MODEL, tt_weights_list(p, a), p->count};
    list_optimizer(t, a, &l.parts[1]);
    l.n = 2;
    if (!t->ema) return l;
    TtNamedTensor *ema = TT_NEWN(a, TtNamedTensor, p->count);
    for (int i = 0; i < p->count; i++) {
        const TtParam *q = p->list[i];
        ema[i] = (TtNamedTensor){q->name, q->dtype, q->shape, t->ema + q->offset};
    }
    l.parts[l.n++] = (TtCheckpointPart){TT_CHECKPOINT_EMA, ema, p->count};
    return l;
}

/* ---- config */

/* Keys that may change between two starts of one run: they move no bit, or only say when to stop and what to log. */
static bool may_change(const char *key)
{
    static const char *const prefixes[] = {"name",
                                           "output_dir",
                                           "resume",
                                           "device",
                                           "logging",
                                           "checkpoint",
                                           "data.num_workers",
                                           "data.prefetch_factor",
                                           "data.stall_timeout",
                                           "data.max_errors",
                                           "data.val",
                                           "transforms.val",
                                           "trainer.max_time",
                                           "trainer.max_steps",
                                           "trainer.epochs",
                                           "trainer.val_interval",
                                           "trainer.nonfinite_patience",
                                           "trainer.early_stopping",
                                           "trainer.planning",
                                           "trainer.poison",
                                           "trainer.threads",
                                           "model.weights"};
    for (int i = 0; i < TT_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(key, prefixes[i], n) == 0 && (key[n] == '\0' || key[n] == '.')) return true;
    }
    return false;
}

/* Every scalar of the config as "a.b.0.c": "text". */
static void flatten(const TtNode *n, const char *path, TtArena *a, json_t *out)
{
    if (n->kind == TT_NODE_SCALAR) {
        if (!may_change(path)) json_object_set_new(out, path, json_string(tt_node_is_null(n) ? "null" : n->text));
        return;
    }
    for (int i = 0; i < n->count; i++) {
        const char *dot = *path ? "." : "";
        const char *deeper = n->kind == TT_NODE_MAP ? tt_arena_printf(a, "%s%s%s", path, dot, n->keys[i]->text)
                                                    : tt_arena_printf(a, "%s%s%d", path, dot, i);
        flatten(n->items[i], deeper, a, out);
    }
}

static json_t *config_values(const TtTrainer *t)
{
    TtArena a = {0};
    json_t *o = json_object();
    flatten(t->config->root, "", &a, o);
    tt_arena_free(&a);
    return o;
}

static void diff_line(FILE *f, const char *key, const json_t *was, const json_t *is)
{
    const char *a = json_string_value(was), *b = json_string_value(is);
    fprintf(f, "\n  %s: was %s, is %s", key, a ? a : "(not set)", b ? b : "(not set)");
}

TtStatus tt_trainer_compare_config(const TtTrainer *t, const json_t *state)
{
    json_t *was = json_object_get(state, "config"), *is = config_values(t), *v;
    const char *key;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    json_object_foreach(was, key, v)
    {
        const char *a = json_string_value(v), *b = json_string_value(json_object_get(is, key));
        if (!may_change(key) && (!a || !b || strcmp(a, b) != 0)) diff_line(f, key, v, json_object_get(is, key));
    }
    json_object_foreach(is, key, v) if (!json_object_get(was, key)) diff_line(f, key, NULL, v);
    fclose(f);
    json_decref(is);
    TtStatus s = TT_OK;
    if (size)
        s = TT_FAIL(TT_ECONFIG,
                    "%s: the config differs from the one this run was started with; change it back, give another "
                    "output_dir, or --overwrite to begin anew:%s",
                    t->run_dir, text);
    free(text);
    return s;
}

/* ---- state.json */

static json_t *class_list(const TtTrainer *t)
{
    int n;
    const char *const *names = tt_session_classes(&t->session, &n);
    json_t *list = json_array();
    for (int i = 0; names && i < n; i++) json_array_append_new(list, json_string(names[i]));
    return list;
}

/* What the bits depend on besides the config. */
static json_t *platform(const TtTrainer *t)
{
    return json_pack("{s:s, s:s, s:i}", "ttrain", TT_VERSION, "isa", tt_cpu_isa(), "threads", t->session.threads);
}

static json_t *make_state(const TtTrainer *t)
{
    const TtInterval *i = &t->interval;
    json_t *o = json_object();
    json_object_set_new(o, "step", json_integer(t->step));
    json_object_set_new(o, "epoch", json_integer(t->step / t->session.steps_per_epoch));
    json_object_set_new(o, "steps_per_epoch", json_integer(t->session.steps_per_epoch));
    json_object_set_new(o, "total_steps", json_integer(t->session.total_steps));
    json_object_set_new(o, "samples", json_integer(t->samples));
    json_object_set_new(o, "best", tt_json_real(t->best));
    json_object_set_new(o, "best_step", json_integer(t->best_step));
    json_object_set_new(o, "stale", json_integer(t->stale));
    json_object_set_new(o, "nonfinite", json_integer(t->nonfinite));
    json_object_set_new(o, "skipped", json_integer(t->skipped));
    json_object_set_new(o, "last_val_step", json_integer(t->last_val_step));
    if (t->last_val) json_object_set(o, "last_val", t->last_val);
    json_object_set_new(o, "stopped_early", json_boolean(t->stopped_early));
    json_object_set_new(o, "seconds", tt_json_real(t->seconds + tt_now() - t->started));
    json_object_set_new(o, "interval",
                        json_pack("{s:o, s:f, s:I, s:I, s:o, s:I}", "loss", tt_json_real(i->loss), "weight", i->weight,
                                  "correct", (json_int_t)i->correct, "samples", (json_int_t)i->samples, "grad_norm",
                                  tt_json_real(i->grad_norm), "steps", (json_int_t)i->steps));
    json_object_set_new(o, "scheduler", tt_scheduler_state(t->session.scheduler));
    json_object_set_new(o, "seed", json_integer(t->config->seed));
    json_object_set_new(o, "classes", class_list(t));
    json_object_set_new(o, "config", config_values(t));
    json_object_set_new(o, "platform", platform(t));
    return o;
}

/* A null is a number that was not finite. */
static double number(const json_t *o, const char *key, double missing)
{
    const json_t *v = json_object_get(o, key);
    if (json_is_null(v)) return NAN;
    return json_is_number(v) ? json_number_value(v) : missing;
}

static int64_t integer(const json_t *o, const char *key, int64_t missing)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? json_integer_value(v) : missing;
}

static TtStatus take_state(TtTrainer *t, const char *path, const json_t *o)
{
    t->step = integer(o, "step", -1);
    if (t->step < 0) return TT_FAIL(TT_ECHECKPOINT, "%s/state.json: has no step", path);
    t->samples = integer(o, "samples", 0);
    t->best = number(o, "best", NAN);
    t->best_step = integer(o, "best_step", 0);
    t->stale = integer(o, "stale", 0);
    t->nonfinite = integer(o, "nonfinite", 0);
    t->skipped = integer(o, "skipped", 0);
    t->last_val_step = integer(o, "last_val_step", -1);
    t->last_val = json_incref(json_object_get(o, "last_val"));
    t->stopped_early = json_is_true(json_object_get(o, "stopped_early"));
    t->seconds = number(o, "seconds", 0);
    const json_t *i = json_object_get(o, "interval");
    t->interval = (TtInterval){.loss = number(i, "loss", 0),
                               .weight = number(i, "weight", 0),
                               .correct = integer(i, "correct", 0),
                               .samples = integer(i, "samples", 0),
                               .grad_norm = number(i, "grad_norm", 0),
                               .steps = integer(i, "steps", 0)};
    int64_t per_epoch = integer(o, "steps_per_epoch", t->session.steps_per_epoch);
    if (per_epoch != t->session.steps_per_epoch)
        return TT_FAIL(TT_EDATA,
                       "%s: the data gives %lld steps an epoch, the run was started with %lld: the training set has "
                       "changed; restore it, or --overwrite to begin anew",
                       t->run_dir, (long long)t->session.steps_per_epoch, (long long)per_epoch);
    int64_t total = integer(o, "total_steps", t->session.total_steps);
    if (total != t->session.total_steps)
        tt_warn("the run was planned for %lld steps and is now for %lld: schedules that depend on its length go on "
                "along the "
                "new one",
                (long long)total, (long long)t->session.total_steps);
    return tt_scheduler_restore(t->session.scheduler, json_object_get(o, "scheduler"));
}

TtStatus tt_state_same_classes(const json_t *state, const char *const *names, int n, const char *what)
{
    const json_t *list = json_object_get(state, "classes");
    int saved = (int)json_array_size(list);
    if (!names || saved == 0) return TT_OK;
    TtArena a = {0};
    const char **was = TT_NEWN(&a, const char *, saved);
    for (int i = 0; i < saved; i++) {
        const char *name = json_string_value(json_array_get(list, (size_t)i));
        was[i] = name ? name : "";
    }
    TtStatus s = tt_class_names_same(was, saved, "the checkpoint", names, n, what);
    tt_arena_free(&a);
    return s;
}

static TtStatus compare_classes(const TtTrainer *t, const json_t *state)
{
    int n;
    const char *const *names = tt_session_classes(&t->session, &n);
    return tt_state_same_classes(state, names, n, "data.train");
}

static void report_drift(const TtTrainer *t, const json_t *state)
{
    json_t *was = json_object_get(state, "platform"), *is = platform(t), *v;
    const char *key;
    json_object_foreach(is, key, v)
    {
        json_t *old = json_object_get(was, key);
        if (!old || json_equal(old, v)) continue;
        char *a = json_dumps(old, JSON_ENCODE_ANY), *b = json_dumps(v, JSON_ENCODE_ANY);
        tt_warn("drift: %s was %s and is %s: results may differ from an uninterrupted run by rounding", key, a, b);
        free(a);
        free(b);
    }
    json_decref(is);
}

/* ---- save and restore */

TtStatus tt_trainer_save(TtTrainer *t, bool has_metric, double metric)
{
    TtArena a = {0};
    Lists l = list_tensors(t, &a);
    json_t *state = make_state(t);
    TtCheckpointSave save = {.step = t->step,
                             .has_metric = has_metric,
                             .metric = metric,
                             .parts = l.parts,
                             .part_count = l.n,
                             .state = state};
    TtStatus s = tt_checkpoints_save(t->checkpoints, &save);
    json_decref(state);
    tt_arena_free(&a);
    return s;
}

static TtStatus open_checkpoints(TtTrainer *t, const char *folder)
{
    const TtCheckpointConfig *c = &t->config->checkpoint;
    TtCheckpointPolicy policy = {.async = c->async,
                                 .keep_last = c->keep_last == TT_NULL_INT ? INT32_MAX : (int)c->keep_last,
                                 .save_top_k = (int)c->save_top_k,
                                 .monitor = t->session.monitor,
                                 .maximize = !t->session.less_is_better};
    return tt_checkpoints_open(folder, &policy, &t->checkpoints);
}

static TtStatus load(TtTrainer *t, const char *path)
{
    json_t *state;
    TT_TRY(tt_checkpoint_read_state(path, &state));
    TtArena a = {0};
    TtStatus s = tt_trainer_compare_config(t, state);
    if (s == TT_OK) s = compare_classes(t, state);
    if (s == TT_OK) s = take_state(t, path, state);
    Lists l = list_tensors(t, &a);
    for (int i = 0; i < l.n && s == TT_OK; i++) s = tt_checkpoint_read(path, &l.parts[i]);
    if (s == TT_OK) report_drift(t, state);
    tt_arena_free(&a);
    json_decref(state);
    return s;
}

TtStatus tt_trainer_restore(TtTrainer *t, const char *resume, bool *resumed)
{
    const char *folder = tt_arena_printf(&t->arena, "%s/checkpoints", t->run_dir);
    if (!resume) resume = t->config->resume;
    char *path = NULL;
    *resumed = false;
    if (strcmp(resume, "never") == 0) {
        char *found = NULL;
        TT_TRY(tt_checkpoint_resume(folder, "auto", &found));
        if (found) {
            TtStatus s = TT_FAIL(TT_ECONFIG,
                                 "%s holds a run already (%s) and resume is `never`: give another output_dir, "
                                 "--resume auto to go on, or --overwrite to begin anew",
                                 t->run_dir, found);
            free(found);
            return s;
        }
    } else {
        TT_TRY(tt_checkpoint_resume(folder, resume, &path));
    }
    TtStatus s = path ? load(t, path) : TT_OK;
    *resumed = path != NULL;
    free(path);
    TT_TRY(s);
    return open_checkpoints(t, folder);
}
