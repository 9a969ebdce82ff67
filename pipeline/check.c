/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/check.c - `--check` and `--dry-run`. */
#include "pipeline/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/session.h"
#include "pipeline/trainer.h"
#include "tensor/fs.h"

typedef struct Memory {
    double parameters, optimizer, activations, batches, total; /* bytes */
} Memory;

static TtStatus predict_memory(TtSession *s, Memory *m)
{
    const TtConfig *c = s->config;
    const TtParamSet *p = tt_net_params(s->net);
    TtOptimizer *o;
    size_t train = 0, val = 0;
    int batch = (int)c->data.global_batch_size, micro = batch / (int)c->trainer.grad_accum_steps;
    TT_TRY(tt_net_predict_memory(s->net, micro, &s->train_shape, true, &train));
    if (s->val) TT_TRY(tt_net_predict_memory(s->net, batch, &s->val_shape, false, &val));
    TT_TRY(tt_optimizer_open(&s->optimizer, tt_net_params(s->net), &o));
    TtScheduleTime start = {.total_steps = s->total_steps, .steps_per_epoch = s->steps_per_epoch};
    double momentum;
    int states = tt_optimizer_states(o, tt_scheduler_momentum(s->scheduler, &start, &momentum));
    tt_optimizer_free(o);
    m->parameters = (double)(p->values_bytes + p->grads_bytes);
    m->optimizer = (double)p->grads_bytes * (states + (c->trainer.grad_accum_steps > 1)) +
                   (isnan(c->trainer.ema_decay) ? 0 : (double)p->values_bytes);
    m->activations = (double)TT_MAX(train, val); /* the programs share their memory */
    m->batches = (double)batch * (double)tt_shape_count(&s->train_shape.x) * sizeof(float) *
                 (double)(c->data.prefetch_factor * s->num_workers + 1);
    m->total = m->parameters + m->optimizer + m->activations + m->batches + 60e6; /* the program itself, and decoders */
    if (c->checkpoint.async) m->total += (double)p->values_bytes + m->optimizer;
    return TT_OK;
}

/* A checkpoint is the weights and the optimizer's state; one more is written before the oldest goes. */
static TtStatus check_disk(const TtSession *s, const Memory *m, FILE *out)
{
    const TtConfig *c = s->config;
    double one = m->parameters / 2 + m->optimizer;
    int64_t keep = c->checkpoint.keep_last == TT_NULL_INT ? 10 : c->checkpoint.keep_last;
    double need = one * (double)(keep + c->checkpoint.save_top_k + 1);
    char *dir = strdup(c->output_dir);
    while (!tt_fs_exists(dir)) { /* the nearest folder that is there */
        char *slash = strrchr(dir, '/');
        if (slash && slash != dir)
            *slash = '\0';
        else
            strcpy(dir, slash ? "/" : ".");
    }
    double have = (double)tt_fs_free_bytes(dir);
    bool writable = access(dir, W_OK) == 0;
    TtStatus st = TT_OK;
    if (!writable) st = TT_FAIL(TT_ECONFIG, "%s: %s cannot be written to", c->output_dir, dir);
    free(dir);
    TT_TRY(st);
    fprintf(out, "disk: checkpoints of %.1f MB, up to %.1f MB in all, %.1f GB free\n", one / 1e6, need / 1e6,
            have / 1e9);
    if (have < need)
        return TT_FAIL(TT_EINTERNAL, "%s: the checkpoints need %.1f MB and %.1f MB are free", c->output_dir, need / 1e6,
                       have / 1e6);
    return TT_OK;
}

static void print_data(const TtSession *s, FILE *out)
{
    const TtConfig *c = s->config;
    int64_t n = tt_sampler_count(s->train_sampler), batch = c->data.global_batch_size;
    char text[TT_SAMPLE_TEXT];
    fprintf(out, "train: %lld samples, %d classes, %s\n", (long long)n, s->train->classes,
            tt_session_sample_text(s->train, &s->train_shape, text));
    if (s->val)
        fprintf(out, "val: %lld samples, %s\n", (long long)tt_sampler_count(s->val_sampler),
                tt_session_sample_text(s->val, &s->val_shape, text));
    else
        fprintf(out, "val: none\n");
    fprintf(out, "batch: %lld samples a step (%lld micro-batches of %lld), %lld steps an epoch%s, %lld steps in all\n",
            (long long)batch, (long long)c->trainer.grad_accum_steps, (long long)(batch / c->trainer.grad_accum_steps),
            (long long)s->steps_per_epoch,
            c->data.drop_last && n % batch ? " (the last incomplete batch is dropped)" : "", (long long)s->total_steps);
}

static TtStatus check(TtSession *s, FILE *out)
{
    TT_TRY(tt_session_open_data(s, TT_SESSION_TRAIN | TT_SESSION_VAL));
    TT_TRY(tt_session_open_net(s));
    Memory m;
    TT_TRY(predict_memory(s, &m));
    fprintf(out, "model: %s, %lld parameters\n", s->model.def->name,
            (long long)tt_params_number(tt_net_params(s->net)));
    print_data(s, out);
    fprintf(
        out,
        "memory: about %.0f MB at most (weights and gradients %.0f, optimizer %.0f, activations %.0f, batches %.0f)\n",
        m.total / 1e6, m.parameters / 1e6, m.optimizer / 1e6, m.activations / 1e6, m.batches / 1e6);
    TT_TRY(check_disk(s, &m, out));
    fprintf(out, "compute: %d threads, %s, %d loader workers\nok\n", s->threads, tt_cpu_isa(), s->num_workers);
    return TT_OK;
}

TtStatus tt_check_config(const TtConfig *c, FILE *out)
{
    TtSession s;
    TtStatus st = tt_session_parse(c, &s);
    if (st == TT_OK) st = check(&s, out);
    tt_session_close(&s);
    return st;
}

TtStatus tt_check_dry_run(const TtConfig *c)
{
    const char *base = getenv("TMPDIR");
    char dir[1024];
    snprintf(dir, sizeof dir, "%s/ttrain-dry-run-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(dir)) return TT_FAIL(TT_EINTERNAL, "%s: cannot be made: %m", dir);
    TtTrainerOptions o = {.run_dir = dir, .resume = "never", .dry_run = true};
    TtStatus s = tt_train(c, &o);
    o.resume = "must"; /* loads and verifies what was just written; there is nothing left to do */
    if (s == TT_OK) s = tt_train(c, &o);
    char *slash = strrchr(dir, '/'), message[1024];
    snprintf(message, sizeof message, "%s", tt_error_message());
    *slash = '\0';
    TtStatus removed = tt_fs_remove_tree(dir, slash + 1);
    if (s != TT_OK) return tt_error_set(s, message, NULL);
    if (removed == TT_OK) fprintf(stderr, "dry run: ok\n");
    return removed;
}
