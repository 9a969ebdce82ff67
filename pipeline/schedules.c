/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/schedules.c - the schedules themselves: torch.optim.lr_scheduler's closed forms.
 *
 * A schedule sees its own time: `t` units of `total`, after any warm-up. torch steps most of them recursively; the
 * closed form is the same to rounding and lets a resumed run start anywhere. */
#include <math.h>
#include <string.h>

#include "pipeline/scheduler.h"

#define POSITIVE .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = INFINITY
#define NOT_NEGATIVE .flags = TT_OPT_RANGED, .min = 0, .max = INFINITY
#define COUNT(least) .flags = TT_OPT_RANGED, .min = (least), .max = 1e15
#define COUNT_OR_NULL(least) .flags = TT_OPT_RANGED | TT_OPT_NULL, .min = (least), .max = 1e15

/* ---- ConstantLR */

typedef struct Constant {
    double factor;
    int64_t total_iters;
} Constant;
static const TtOption constant_options[] = {{"factor", TT_OPT_FLOAT, offsetof(Constant, factor), "0.3333333333333333",
                                             .flags = TT_OPT_RANGED, .min = 0, .max = 1,
                                             .help = "factor on the rate until total_iters"},
                                            {"total_iters", TT_OPT_INT, offsetof(Constant, total_iters), "5", COUNT(0),
                                             .help = "units with the factor; 0: all, as in torch"},
                                            {0}};
static double constant_lr(const void *options, const TtSchedulePoint *p)
{
    const Constant *o = options;
    /* torch takes the factor back at t == total_iters and never looks again, so with 0 it stays. */
    return p->base_lr * (p->t < (double)o->total_iters || o->total_iters == 0 ? o->factor : 1);
}
static const TtSchedulerDef schedule_constant = {.name = "constant",
                                                 .help =
                                                     "a factor for the first units, then the full rate (ConstantLR)",
                                                 .options = constant_options,
                                                 .options_size = sizeof(Constant),
                                                 .interval = "epoch",
                                                 .lr = constant_lr};

/* ---- LinearLR */

typedef struct Linear {
    double start_factor, end_factor;
    int64_t total_iters;
} Linear;
static const TtOption linear_options[] = {
    {"start_factor", TT_OPT_FLOAT, offsetof(Linear, start_factor), "0.3333333333333333",
     .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1, .help = "factor at the start"},
    {"end_factor", TT_OPT_FLOAT, offsetof(Linear, end_factor), "1.0", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "factor from total_iters on"},
    {"total_iters", TT_OPT_INT, offsetof(Linear, total_iters), "5", COUNT_OR_NULL(1),
     .help = "units from one to the other; null: the whole run"},
    {0}};
static double linear_lr(const void *options, const TtSchedulePoint *p)
{
    const Linear *o = options;
    double n = o->total_iters == TT_NULL_INT ? p->total : (double)o->total_iters;
    return p->base_lr * (o->start_factor + (o->end_factor - o->start_factor) * fmin(p->t, n) / n);
}
static const TtSchedulerDef schedule_linear = {.name = "linear",
                                               .help = "from one factor to another along a line (LinearLR)",
                                               .options = linear_options,
                                               .options_size = sizeof(Linear),
                                               .interval = "epoch",
                                               .lr = linear_lr};

/* ---- StepLR, MultiStepLR, ExponentialLR */

typedef struct Step {
    int64_t step_size;
    double gamma;
} Step;
static const TtOption step_options[] = {
    {"step_size", TT_OPT_INT, offsetof(Step, step_size), COUNT(1), .help = "units between reductions"},
    {"gamma", TT_OPT_FLOAT, offsetof(Step, gamma), "0.1", NOT_NEGATIVE, .help = "factor of each reduction"},
    {0}};
static double step_lr(const void *options, const TtSchedulePoint *p)
{
    const Step *o = options;
    return p->base_lr * pow(o->gamma, floor(p->t / (double)o->step_size));
}
static const TtSchedulerDef schedule_step = {.name = "step",
                                             .help = "reduced every step_size units (StepLR)",
                                             .options = step_options,
                                             .options_size = sizeof(Step),
                                             .interval = "epoch",
                                             .lr = step_lr};

typedef struct MultiStep {
    TtFloats milestones;
    double gamma;
} MultiStep;
static const TtOption multistep_options[] = {
    {"milestones", TT_OPT_FLOATS, offsetof(MultiStep, milestones), NOT_NEGATIVE, .min_n = 1,
     .help = "when to reduce, in ascending order"},
    {"gamma", TT_OPT_FLOAT, offsetof(MultiStep, gamma), "0.1", NOT_NEGATIVE, .help = "factor of each reduction"},
    {0}};
static TtStatus multistep_check(void *options, const TtNode *map)
{
    const MultiStep *o = options;
    const TtNode *n = tt_node_get(map, "milestones");
    for (int i = 0; i < o->milestones.n; i++) {
        if (n && n->kind == TT_NODE_LIST) n = n->items[i];
        if (o->milestones.v[i] != floor(o->milestones.v[i])) return tt_node_fail(n, "milestones must be integers");
        if (i && o->milestones.v[i] < o->milestones.v[i - 1])
            return tt_node_fail(n, "milestones must be in ascending order");
        n = tt_node_get(map, "milestones");
    }
    return TT_OK;
}
static double multistep_lr(const void *options, const TtSchedulePoint *p)
{
    const MultiStep *o = options;
    int passed = 0;
    while (passed < o->milestones.n && o->milestones.v[passed] <= p->t) passed++;
    return p->base_lr * pow(o->gamma, passed);
}
static const TtSchedulerDef schedule_multistep = {.name = "multistep",
                                                  .help = "reduced at milestones (MultiStepLR)",
                                                  .options = multistep_options,
                                                  .options_size = sizeof(MultiStep),
                                                  .interval = "epoch",
                                                  .check = multistep_check,
                                                  .lr = multistep_lr};

typedef struct Exponential {
    double gamma;
} Exponential;
static const TtOption exponential_options[] = {
    {"gamma", TT_OPT_FLOAT, offsetof(Exponential, gamma), NOT_NEGATIVE, .help = "factor of each unit"}, {0}};
static double exponential_lr(const void *options, const TtSchedulePoint *p)
{
    const Exponential *o = options;
    return p->base_lr * pow(o->gamma, p->t);
}
static const TtSchedulerDef schedule_exponential = {.name = "exponential",
                                                    .help = "reduced every unit (ExponentialLR)",
                                                    .options = exponential_options,
                                                    .options_size = sizeof(Exponential),
                                                    .interval = "epoch",
                                                    .lr = exponential_lr};

/* ---- PolynomialLR */

typedef struct Polynomial {
    int64_t total_iters;
    double power;
} Polynomial;
static const TtOption polynomial_options[] = {
    {"total_iters", TT_OPT_INT, offsetof(Polynomial, total_iters), "5", COUNT_OR_NULL(1),
     .help = "units until the rate is 0; null: the whole run"},
    {"power", TT_OPT_FLOAT, offsetof(Polynomial, power), "1.0", NOT_NEGATIVE, .help = "exponent"},
    {0}};
static double polynomial_lr(const void *options, const TtSchedulePoint *p)
{
    const Polynomial *o = options;
    double n = o->total_iters == TT_NULL_INT ? p->total : (double)o->total_iters;
    return p->base_lr * pow(1 - fmin(p->t, n) / n, o->power);
}
static const TtSchedulerDef schedule_polynomial = {.name = "polynomial",
                                                   .help = "(1 - t / total_iters) ** power (PolynomialLR)",
                                                   .options = polynomial_options,
                                                   .options_size = sizeof(Polynomial),
                                                   .interval = "epoch",
                                                   .lr = polynomial_lr};

/* ---- CosineAnnealingLR, CosineAnnealingWarmRestarts (Loshchilov and Hutter 2017, eq. 5) */

static double cosine(double lo, double hi, double part)
{
    return lo + (hi - lo) * (1 + cos(M_PI * part)) / 2;
}

/* eta_min is torch's name of min_lr, which all schedules have. */
static TtStatus check_eta_min(double eta_min, const TtNode *map)
{
    if (!isnan(eta_min) && tt_node_get(map, "min_lr"))
        return tt_node_fail(tt_node_get(map, "eta_min"), "eta_min and min_lr are the same; give one of them");
    return TT_OK;
}

#define ETA_MIN(type)                                                                                               \
    {                                                                                                               \
        "eta_min", TT_OPT_FLOAT, offsetof(type, eta_min), "null", .flags = TT_OPT_RANGED | TT_OPT_NULL, .min = 0,   \
                                                                  .max = INFINITY, .help = "torch's name of min_lr" \
    }

typedef struct Cosine {
    int64_t t_max;
    double eta_min;
} Cosine;
static const TtOption cosine_options[] = {
    {"T_max", TT_OPT_INT, offsetof(Cosine, t_max), "null", COUNT_OR_NULL(1),
     .help = "units until min_lr; null: what remains of the run behind the warm-up"},
    ETA_MIN(Cosine),
    {0}};
static TtStatus cosine_check(void *options, const TtNode *map)
{
    return check_eta_min(((const Cosine *)options)->eta_min, map);
}
static double cosine_lr(const void *options, const TtSchedulePoint *p)
{
    const Cosine *o = options;
    double n = o->t_max == TT_NULL_INT ? p->total : (double)o->t_max;
    return cosine(isnan(o->eta_min) ? p->min_lr : o->eta_min, p->base_lr, p->t / n);
}
static const TtSchedulerDef schedule_cosine = {.name = "cosine",
                                               .help = "half a cosine down to min_lr (CosineAnnealingLR)",
                                               .options = cosine_options,
                                               .options_size = sizeof(Cosine),
                                               .interval = "step",
                                               .check = cosine_check,
                                               .lr = cosine_lr};

typedef struct Restarts {
    int64_t t_0, t_mult;
    double eta_min;
} Restarts;
static const TtOption cosine_restarts_options[] = {
    {"T_0", TT_OPT_INT, offsetof(Restarts, t_0), COUNT(1), .help = "units until the first restart"},
    {"T_mult", TT_OPT_INT, offsetof(Restarts, t_mult), "1", COUNT(1),
     .help = "factor on the length of each next round"},
    ETA_MIN(Restarts),
    {0}};
static TtStatus restarts_check(void *options, const TtNode *map)
{
    return check_eta_min(((const Restarts *)options)->eta_min, map);
}
static double restarts_lr(const void *options, const TtSchedulePoint *p)
{
    const Restarts *o = options;
    double length = (double)o->t_0, t = p->t;
    if (o->t_mult == 1) t = fmod(t, length);
    for (; t >= length; length *= (double)o->t_mult) t -= length;
    return cosine(isnan(o->eta_min) ? p->min_lr : o->eta_min, p->base_lr, t / length);
}
static const TtSchedulerDef schedule_cosine_restarts = {.name = "cosine_restarts",
                                                        .help = "cosines that start anew (CosineAnnealingWarmRestarts)",
                                                        .options = cosine_restarts_options,
                                                        .options_size = sizeof(Restarts),
                                                        .interval = "epoch",
                                                        .check = restarts_check,
                                                        .lr = restarts_lr};

/* ---- OneCycleLR (Smith and Topin 2019) */

enum { ANNEAL_COS, ANNEAL_LINEAR };
typedef struct OneCycle {
    double max_lr, pct_start;
    int anneal;
    bool cycle_momentum;
    double base_momentum, max_momentum, div_factor, final_div_factor;
    bool three_phase;
} OneCycle;
#define AT(field) offsetof(OneCycle, field)
static const TtOption one_cycle_options[] = {
    {"max_lr", TT_OPT_FLOAT, AT(max_lr), "null", .flags = TT_OPT_RANGED | TT_OPT_NULL | TT_OPT_ABOVE_MIN, .min = 0,
     .max = INFINITY, .help = "highest rate, of all groups; null: each group's lr"},
    {"pct_start", TT_OPT_FLOAT, AT(pct_start), "0.3", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "part of the run in which the rate rises"},
    {"anneal_strategy", TT_OPT_ENUM, AT(anneal), "cos", .choices = "cos|linear", .help = "form of the curve"},
    {"cycle_momentum", TT_OPT_BOOL, AT(cycle_momentum), "true",
     .help = "move the momentum (or the first beta) against the rate"},
    {"base_momentum", TT_OPT_FLOAT, AT(base_momentum), "0.85", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "momentum at the highest rate"},
    {"max_momentum", TT_OPT_FLOAT, AT(max_momentum), "0.95", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
     .help = "momentum at the lowest rate"},
    {"div_factor", TT_OPT_FLOAT, AT(div_factor), "25.0", POSITIVE, .help = "first rate: max_lr / div_factor"},
    {"final_div_factor", TT_OPT_FLOAT, AT(final_div_factor), "10000.0", POSITIVE,
     .help = "last rate: first rate / final_div_factor"},
    {"three_phase", TT_OPT_BOOL, AT(three_phase), "false", .help = "fall as long as it rose, then to the last rate"},
    {0}};
#undef AT

/* The value at T: the corners are VALUES, reached at the ends of two or three phases. */
static double one_cycle_at(const OneCycle *o, const TtSchedulePoint *p, const double values[4])
{
    double ends[4] = {0, o->pct_start * p->total - 1, p->total - 1, p->total - 1};
    int phases = 2;
    if (o->three_phase) {
        ends[2] = 2 * o->pct_start * p->total - 2;
        phases = 3;
    }
    int i = 1;
    while (i < phases && p->t > ends[i]) i++;
    double length = ends[i] - ends[i - 1];
    double part = length > 0 ? fmin((p->t - ends[i - 1]) / length, 1) : 1;
    if (o->anneal == ANNEAL_LINEAR) return values[i - 1] + (values[i] - values[i - 1]) * part;
    return cosine(values[i], values[i - 1], part);
}
static double one_cycle_lr(const void *options, const TtSchedulePoint *p)
{
    const OneCycle *o = options;
    double top = isnan(o->max_lr) ? p->base_lr : o->max_lr, first = top / o->div_factor;
    double last = first / o->final_div_factor;
    return one_cycle_at(o, p, (double[4]){first, top, o->three_phase ? first : last, last});
}
static bool one_cycle_momentum(const void *options, const TtSchedulePoint *p, double *out)
{
    const OneCycle *o = options;
    double low = o->base_momentum, high = o->max_momentum;
    if (o->cycle_momentum) *out = one_cycle_at(o, p, (double[4]){high, low, high, high});
    return o->cycle_momentum;
}
static const TtSchedulerDef schedule_one_cycle = {.name = "one_cycle",
                                                  .help =
                                                      "up to the highest rate and down again over the run (OneCycleLR)",
                                                  .options = one_cycle_options,
                                                  .options_size = sizeof(OneCycle),
                                                  .interval = "step",
                                                  .lr = one_cycle_lr,
                                                  .own_warmup = true,
                                                  .momentum = one_cycle_momentum};

/* ---- ReduceLROnPlateau */

enum { MODE_MIN, MODE_MAX };
enum { THRESHOLD_REL, THRESHOLD_ABS };
typedef struct Plateau {
    const char *monitor;
    int mode;
    double factor;
    int64_t patience;
    double threshold;
    int threshold_mode;
    int64_t cooldown;
    double eps;
} Plateau;
#define AT(field) offsetof(Plateau, field)
static const TtOption plateau_options[] = {
    {"monitor", TT_OPT_STRING, AT(monitor), "val/loss", .help = "the metric that is watched"},
    {"mode", TT_OPT_ENUM, AT(mode), "min", .choices = "min|max", .help = "whether less or more of it is better"},
    {"factor", TT_OPT_FLOAT, AT(factor), "0.1", .flags = TT_OPT_RANGED | TT_OPT_BELOW_MAX, .min = 0, .max = 1,
     .help = "factor of each reduction"},
    {"patience", TT_OPT_INT, AT(patience), "10", COUNT(0), .help = "validations without improvement that are borne"},
    {"threshold", TT_OPT_FLOAT, AT(threshold), "1e-4", NOT_NEGATIVE, .help = "what counts as an improvement"},
    {"threshold_mode", TT_OPT_ENUM, AT(threshold_mode), "rel", .choices = "rel|abs",
     .help = "whether threshold is a part of the best value or a difference"},
    {"cooldown", TT_OPT_INT, AT(cooldown), "0", COUNT(0), .help = "validations to wait after a reduction"},
    {"eps", TT_OPT_FLOAT, AT(eps), "1e-8", NOT_NEGATIVE, .help = "least difference that is worth a reduction"},
    {0}};
#undef AT
static const char *plateau_monitor(const void *options)
{
    return ((const Plateau *)options)->monitor;
}
static bool plateau_better(const Plateau *o, double value, double best)
{
    double sign = o->mode == MODE_MIN ? -1 : 1;
    if (isinf(best)) return !isnan(value); /* the first value: torch's infinite best */
    if (o->threshold_mode == THRESHOLD_REL) return sign * value > sign * best * (1 + sign * o->threshold);
    return sign * value > sign * best + o->threshold;
}
static bool plateau_metric(const void *options, TtPlateauState *s, double value)
{
    const Plateau *o = options;
    if (plateau_better(o, value, s->best)) {
        s->best = value;
        s->bad = 0;
    } else {
        s->bad++;
    }
    if (s->cooldown > 0) {
        s->cooldown--;
        s->bad = 0;
    }
    if (s->bad <= o->patience) return false;
    s->reductions++;
    s->cooldown = o->cooldown;
    s->bad = 0;
    return true;
}
static double plateau_lr(const void *options, const TtSchedulePoint *p)
{
    const Plateau *o = options;
    double lr = p->base_lr;
    for (int64_t i = 0; i < p->reductions; i++) {
        double next = fmax(lr * o->factor, p->min_lr);
        if (!(lr - next > o->eps)) break; /* nor will any later one be worth it */
        lr = next;
    }
    return lr;
}
static const TtSchedulerDef schedule_plateau = {.name = "plateau",
                                                .help = "reduced when a metric no longer improves (ReduceLROnPlateau)",
                                                .options = plateau_options,
                                                .options_size = sizeof(Plateau),
                                                .interval = "epoch",
                                                .lr = plateau_lr,
                                                .monitor = plateau_monitor,
                                                .metric = plateau_metric};

const TtSchedulerDef *const tt_schedulers[] = {
#define SCHEDULER(name) &schedule_##name,
#include "pipeline/schedulers.def"
#undef SCHEDULER
    NULL};
