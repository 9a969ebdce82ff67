/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/optimizer.h - optimizers with torch.optim's arguments, defaults and update formulas, and parameter groups.
 *
 * One optimizer is one file pipeline/optim_<name>.c, one OPTIMIZER line in optimizers.def, one test. State lies in
 * slabs of the parameters' layout (tensor/params.h). An update is elementwise and norms are summed over chunks that
 * depend on shapes alone, so the result does not depend on the number of threads. A step allocates nothing.
 *
 * Groups: the first whose pattern matches a parameter's name (fnmatch) decides; any option can be set in a group, what
 * it leaves out is the optimizer's. Parameters that no group matches take the optimizer's options. */
#ifndef TT_PIPELINE_OPTIMIZER_H
#define TT_PIPELINE_OPTIMIZER_H

#include "tensor/options.h"
#include "tensor/params.h"

enum { TT_OPTIM_STATES = 3 };

/* Every optimizer's options begin with these. */
typedef struct TtOptimOptions {
    double lr, weight_decay;
    bool maximize;
} TtOptimOptions;

/* One update of N consecutive elements of a parameter. */
typedef struct TtOptimStep {
    int64_t step; /* counts from 1 */
    double lr;
    double momentum;   /* instead of the options' momentum or first beta (one-cycle schedules); NaN: theirs */
    float grad_scale;  /* factor on the gradient before anything else (clipping by norm) */
    double param_norm; /* of the whole parameter and of its scaled gradient; only with def->norms */
    double grad_norm;
    int64_t n;
    float *restrict param;
    const float *restrict grad;
    float *restrict state[TT_OPTIM_STATES]; /* NULL where not used */
} TtOptimStep;

typedef struct TtOptimizerDef {
    const char *name, *help;
    const TtOption *options; /* lr and weight_decay among them */
    size_t options_size;
    const char *state_names[TT_OPTIM_STATES]; /* torch's: "exp_avg", ... */
    /* Whether state K is needed; MOVED: a schedule will set the momentum, whatever the options say. */
    bool (*uses_state)(const void *options, int k, bool moved);
    float (*start)(const void *options, int k); /* what a state begins with; NULL: 0 */
    TtStatus (*check)(const void *options, const TtNode *map);
    void (*step)(const void *options, const TtOptimStep *s);
    bool norms;                      /* needs param_norm and grad_norm */
    void (*no_decay)(void *options); /* besides weight_decay 0, for biases and norms; may be NULL */
    bool has_momentum;               /* a momentum or first beta that a one-cycle schedule can move */
} TtOptimizerDef;

extern const TtOptimizerDef *const tt_optimizers[]; /* ended by NULL */

/* ---- configuration */

typedef struct TtOptimGroupConfig {
    const TtNode *node, *match_node;
    TtStrings match;
    double lr_scale; /* or NaN */
    bool frozen;
    const void *options;
} TtOptimGroupConfig;

typedef struct TtOptimizerConfig {
    const TtOptimizerDef *def;
    const void *options; /* begins with TtOptimOptions */
    bool no_decay_norm_bias;
    double layer_decay; /* or NaN */
    const TtNode *groups_node;
    int n_groups;
    TtOptimGroupConfig *groups;
    const TtNode *layer_decay_node;
} TtOptimizerConfig;

/* MAP is the section `optimizer`, KEY its key (may be NULL). All lives in ARENA. */
TtStatus tt_optimizer_parse(const TtNode *map, const TtNode *key, TtArena *arena, TtOptimizerConfig *out) TT_NODISCARD;
void tt_optimizer_print(FILE *f, const TtOptimizerConfig *c, int indent, bool help);
/* All options of an optimizer, common ones included, for reference pages. */
const TtOption *tt_optimizer_table(const TtOptimizerDef *def, TtArena *arena);
extern const TtOption tt_optimizer_group_options[]; /* of a group, besides the optimizer's own */

/* ---- at work */

typedef struct TtOptimGroup {
    double base_lr; /* before the schedule */
    double lr;      /* for the next step; the trainer sets it */
    const void *options;
    bool frozen;
    int64_t numel; /* scalars in it */
} TtOptimGroup;

typedef struct TtOptimizer TtOptimizer;
/* How many tensors of state a parameter has; known before they are allocated. */
int tt_optimizer_states(const TtOptimizer *o, bool moved_momentum);

/* Sort the parameters into groups and mark frozen ones: after all are declared and before the gradient graph is
 * built. A pattern that matches no parameter is TT_ECONFIG at the pattern. CONFIG and PARAMS are borrowed. */
TtStatus tt_optimizer_open(const TtOptimizerConfig *config, TtParamSet *params, TtOptimizer **out) TT_NODISCARD;
/* Make the state, after tt_params_allocate. MOVED_MOMENTUM: the schedule sets the momentum (tt_scheduler_momentum). */
TtStatus tt_optimizer_allocate(TtOptimizer *o, bool moved_momentum) TT_NODISCARD;
void tt_optimizer_free(TtOptimizer *o); /* NULL is fine */

int tt_optimizer_groups(const TtOptimizer *o);
TtOptimGroup *tt_optimizer_group(TtOptimizer *o, int i);
/* Group of a parameter; -1 for buffers. */
int tt_optimizer_group_of(const TtOptimizer *o, const TtParam *p);

/* Update every parameter that is not frozen, with the groups' lr. STEP counts from 1. MOMENTUM is NaN but for one-cycle
 * schedules. GRAD_SCALE is 1 or the result of tt_clip_scale. */
void tt_optimizer_step(TtOptimizer *o, int64_t step, double momentum, double grad_scale);

/* For checkpoints: the states in use, k from 0 (NULL name: not in use), and a parameter's part of one. */
const char *tt_optimizer_state_name(const TtOptimizer *o, int k);
float *tt_optimizer_state(const TtOptimizer *o, int k, const TtParam *p);

/* L2 norm of all gradients, in double over fixed chunks in a fixed order. Not finite when a gradient is not. */
double tt_optimizer_grad_norm(TtOptimizer *o);

/* ---- slabs */

enum { TT_NORM_CHUNK = 4096 };
double tt_chunk_squares(const float *x, int64_t n); /* in this thread, in a fixed order */
/* The same over many chunks, by all threads; PARTIAL has room for N / TT_NORM_CHUNK + 1 sums. */
double tt_sum_squares(const float *x, int64_t n, double *partial);
/* torch.nn.utils.clip_grad_norm_'s factor: max_norm / (norm + 1e-6), at most 1. */
double tt_clip_scale(double norm, double max_norm);
/* torch.nn.utils.clip_grad_value_ */
void tt_clip_value(float *grad, int64_t n, double limit);
/* Exponential moving average: ema = decay * ema + (1 - decay) * x. */
void tt_ema_update(float *ema, const float *x, int64_t n, double decay);

#endif
