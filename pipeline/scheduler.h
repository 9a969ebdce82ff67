/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/scheduler.h - learning rates over time, with torch.optim.lr_scheduler's arguments, defaults and formulas.
 *
 * Time is counted in optimizer steps or in epochs (`interval`), from 0. The rate is a function of the time alone,
 * except for `plateau`, whose state goes into checkpoints. A warm-up of W units may stand before any schedule:
 * lr * (t + 1) / W for t < W; the schedule behind it then sees t - W of T - W, as in torch's SequentialLR.
 * With `interval: epoch`, `warmup_steps` raises the rate step by step as a factor on the schedule, which is not
 * moved. `min_lr` is a lower bound on the schedule. */
#ifndef TT_PIPELINE_SCHEDULER_H
#define TT_PIPELINE_SCHEDULER_H

#include <jansson.h>

#include "tensor/options.h"

typedef struct TtScheduleTime {
    int64_t step;        /* optimizer steps done: 0 at the first update */
    int64_t total_steps; /* of the whole run */
    int64_t steps_per_epoch;
} TtScheduleTime;

/* What a schedule is asked: time T of TOTAL in its unit, behind the warm-up. */
typedef struct TtSchedulePoint {
    double t, total;
    double base_lr, min_lr;
    int64_t reductions; /* plateau: how often the rate was reduced */
} TtSchedulePoint;

/* What a schedule that watches a metric remembers. */
typedef struct TtPlateauState {
    double best; /* infinite before the first value */
    int64_t bad, cooldown, reductions;
} TtPlateauState;

typedef struct TtSchedulerDef {
    const char *name, *help;
    const TtOption *options;
    size_t options_size;
    const char *interval; /* default unit of time */
    TtStatus (*check)(void *options, const TtNode *map);
    double (*lr)(const void *options, const TtSchedulePoint *p);
    bool own_warmup;
    /* Momentum (or first beta) at this point; NULL: not moved. */
    bool (*momentum)(const void *options, const TtSchedulePoint *p, double *out);
    /* Schedules that watch a metric: its name, and what a new value does; true when the rate is reduced. */
    const char *(*monitor)(const void *options);
    bool (*metric)(const void *options, TtPlateauState *state, double value);
} TtSchedulerDef;

extern const TtSchedulerDef *const tt_schedulers[]; /* ended by NULL */

typedef struct TtScheduler TtScheduler;

/* MAP is the section `scheduler`, KEY its key (may be NULL); NULL or null is a constant rate. Lives in ARENA. */
TtStatus tt_scheduler_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtScheduler **out) TT_NODISCARD;
void tt_scheduler_print(FILE *f, const TtScheduler *s, int indent, bool help);
const TtOption *tt_scheduler_table(const TtSchedulerDef *def, TtArena *arena);

/* The rate for the update at TIME of a group with this base rate. */
double tt_scheduler_lr(const TtScheduler *s, const TtScheduleTime *time, double base_lr);
/* The momentum for that update: true when the schedule moves it (one_cycle). */
bool tt_scheduler_momentum(const TtScheduler *s, const TtScheduleTime *time, double *out);

/* plateau: the metric to hand over after each validation; NULL for all others. */
const char *tt_scheduler_monitor(const TtScheduler *s);
/* True when the rate was reduced. */
bool tt_scheduler_metric(TtScheduler *s, double value);

/* State for checkpoints, a JSON object (empty for all but plateau); the caller owns it. */
json_t *tt_scheduler_state(const TtScheduler *s);
/* TT_ECHECKPOINT when STATE is not such an object. */
TtStatus tt_scheduler_restore(TtScheduler *s, const json_t *state) TT_NODISCARD;

#endif
