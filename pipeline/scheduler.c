/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/scheduler.c - units of time, warm-up, lower bound and state around a schedule. */
#include "pipeline/scheduler.h"

#include <math.h>

#include "tensor/variant.h"

enum { INTERVAL_STEP, INTERVAL_EPOCH };
typedef struct Common {
    int interval;
    double warmup_epochs;
    int64_t warmup_steps;
    double min_lr;
} Common;
#define AT(field) offsetof(Common, field)
static const TtOption common_options[] = {
    {"interval", TT_OPT_ENUM, AT(interval), "step", .choices = "step|epoch", .help = "the unit of time"},
    {"warmup_epochs", TT_OPT_FLOAT, AT(warmup_epochs), "0.0", .flags = TT_OPT_RANGED, .min = 0, .max = 1e9,
     .help = "epochs in which the rate first rises from 0 along a line"},
    {"warmup_steps", TT_OPT_INT, AT(warmup_steps), "0", .flags = TT_OPT_RANGED, .min = 0, .max = 1e15,
     .help = "the same in optimizer steps"},
    {"min_lr", TT_OPT_FLOAT, AT(min_lr), "0.0", .flags = TT_OPT_RANGED, .min = 0, .max = INFINITY,
     .help = "the rate does not fall below"},
    {0}};
#undef AT

struct TtScheduler {
    const TtSchedulerDef *def; /* NULL: constant */
    const void *options;
    Common common;
    TtPlateauState state;
};

const TtOption *tt_scheduler_table(const TtSchedulerDef *def, TtArena *arena)
{
    TtOption *all = tt_options_join(arena, def->options, common_options, tt_options_shift(def->options_size));
    tt_options_find(all, "interval")->def = def->interval;
    return all;
}

static TtStatus check_common(const TtSchedulerDef *def, const Common *c, const TtNode *map)
{
    const TtNode *epochs = tt_node_get(map, "warmup_epochs"), *steps = tt_node_get(map, "warmup_steps");
    if (c->warmup_epochs > 0 && c->warmup_steps > 0)
        return tt_node_fail(steps, "give one of warmup_epochs and warmup_steps");
    if (def->own_warmup && (c->warmup_epochs > 0 || c->warmup_steps > 0))
        return tt_node_fail(epochs ? epochs : steps, "%s has a warm-up of its own; remove this one", def->name);
    if (c->interval == INTERVAL_EPOCH && c->warmup_epochs != floor(c->warmup_epochs))
        return tt_node_fail(epochs, "with interval: epoch, warmup_epochs must be an integer");
    return TT_OK;
}

TtStatus tt_scheduler_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtScheduler **out)
{
    enum { MAX = 64 };
    const char *names[MAX];
    int n = 0, index;
    TtScheduler *s = TT_NEW(arena, TtScheduler);
    *out = s;
    if (tt_node_is_null(map)) return TT_OK;
    for (; n < MAX && tt_schedulers[n]; n++) names[n] = tt_schedulers[n]->name;
    TT_TRY(tt_variant_select(map, key, "scheduler", "name", names, n, &index));
    const TtSchedulerDef *def = tt_schedulers[index];
    size_t shift = tt_options_shift(def->options_size);
    char *options = tt_arena_alloc(arena, shift + sizeof(Common));
    TT_TRY(tt_options_parse(tt_scheduler_table(def, arena), map, "name", key, arena, options));
    if (def->check) TT_TRY(def->check(options, map));
    *s = (TtScheduler){.def = def,
                       .options = options,
                       .common = *(const Common *)(const void *)(options + shift),
                       .state.best = INFINITY};
    return check_common(def, &s->common, map);
}

void tt_scheduler_print(FILE *f, const TtScheduler *s, int indent, bool help)
{
    if (!s->def) return;
    TtArena arena = {0};
    fprintf(f, "%*sname: %s\n", indent, "", s->def->name);
    tt_options_print(f, tt_scheduler_table(s->def, &arena), s->options, indent, help);
    tt_arena_free(&arena);
}

/* Time in the schedule's unit; *WARMUP becomes the units of warm-up that are cut off its front. */
static TtSchedulePoint point_at(const TtScheduler *s, const TtScheduleTime *time, double base_lr, double *warmup)
{
    const Common *c = &s->common;
    int64_t per_epoch = TT_MAX(time->steps_per_epoch, 1);
    TtSchedulePoint p = {.base_lr = base_lr, .min_lr = c->min_lr, .reductions = s->state.reductions};
    if (c->interval == INTERVAL_EPOCH) {
        p.t = (double)(time->step / per_epoch);
        p.total = (double)((time->total_steps + per_epoch - 1) / per_epoch);
        *warmup = c->warmup_epochs;
    } else {
        p.t = (double)time->step;
        p.total = (double)time->total_steps;
        *warmup = c->warmup_steps > 0 ? (double)c->warmup_steps : round(c->warmup_epochs * (double)per_epoch);
    }
    return p;
}

double tt_scheduler_lr(const TtScheduler *s, const TtScheduleTime *time, double base_lr)
{
    if (!s->def) return base_lr;
    double warmup;
    TtSchedulePoint p = point_at(s, time, base_lr, &warmup);
    if (p.t < warmup) return base_lr * (p.t + 1) / warmup;
    p.t -= warmup;
    p.total = fmax(p.total - warmup, 1);
    double lr = fmax(s->def->lr(s->options, &p), fmin(p.min_lr, base_lr));
    const Common *c = &s->common;
    if (c->interval == INTERVAL_EPOCH && c->warmup_steps > time->step)
        lr *= (double)(time->step + 1) / (double)c->warmup_steps;
    return lr;
}

bool tt_scheduler_momentum(const TtScheduler *s, const TtScheduleTime *time, double *out)
{
    double warmup;
    if (!s->def || !s->def->momentum) return false;
    TtSchedulePoint p = point_at(s, time, 0, &warmup);
    return s->def->momentum(s->options, &p, out);
}

/* ---- metric and state */

const char *tt_scheduler_monitor(const TtScheduler *s)
{
    return s->def && s->def->monitor ? s->def->monitor(s->options) : NULL;
}

bool tt_scheduler_metric(TtScheduler *s, double value)
{
    return s->def && s->def->metric && s->def->metric(s->options, &s->state, value);
}

json_t *tt_scheduler_state(const TtScheduler *s)
{
    json_t *j = json_object();
    if (!j || !tt_scheduler_monitor(s)) return j;
    json_object_set_new(j, "best", isfinite(s->state.best) ? json_real(s->state.best) : json_null());
    json_object_set_new(j, "bad", json_integer(s->state.bad));
    json_object_set_new(j, "cooldown", json_integer(s->state.cooldown));
    json_object_set_new(j, "reductions", json_integer(s->state.reductions));
    return j;
}

TtStatus tt_scheduler_restore(TtScheduler *s, const json_t *state)
{
    if (!tt_scheduler_monitor(s)) return TT_OK;
    const json_t *best = json_object_get(state, "best");
    TtPlateauState p = {.best = json_is_number(best) ? json_number_value(best) : INFINITY};
    const struct {
        const char *name;
        int64_t *field;
    } fields[] = {{"bad", &p.bad}, {"cooldown", &p.cooldown}, {"reductions", &p.reductions}};
    for (int i = 0; i < TT_COUNT(fields); i++) {
        const json_t *v = json_object_get(state, fields[i].name);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return TT_FAIL(TT_ECHECKPOINT, "the checkpoint's scheduler state has no '%s'", fields[i].name);
        *fields[i].field = json_integer_value(v);
    }
    s->state = p;
    return TT_OK;
}
