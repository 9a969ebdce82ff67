/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/bench.c - `ttrain bench`. */
#include "pipeline/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/progress.h"
#include "pipeline/trainer_impl.h"
#include "tensor/rng.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Report N times of SAMPLES samples each; the first, which builds and warms up, is left out when there are others. */
static void report(const char *what, double *seconds, int64_t n, int64_t samples, bool json)
{
    double *t = n > 1 ? seconds + 1 : seconds, total = 0;
    if (n > 1) n--;
    for (int64_t i = 0; i < n; i++) total += t[i];
    qsort(t, (size_t)n, sizeof *t, by_value);
    double median = n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2, rate = (double)(samples * n) / total;
    double peak = tt_memory_peak() / 1e6;
    fprintf(stderr, "%s: %.1f samples/s; step %.2f ms at best, %.2f ms in the median of %lld; peak %.0f MB\n", what,
            rate, 1e3 * t[0], 1e3 * median, (long long)n, peak);
    if (json)
        printf("{\"samples_per_sec\":%.6g,\"step_ms_min\":%.6g,\"step_ms_median\":%.6g,\"peak_rss_mb\":%.6g}\n", rate,
               1e3 * t[0], 1e3 * median, peak);
}

/* Random pictures and labels of the config's shapes. */
static TtStatus synthetic_pictures(TtTrainer *t, TtBatch *b)
{
    TtSession *s = &t->session;
    const int64_t *dims = s->train_shape.x.dims;
    int n = (int)s->config->data.global_batch_size;
    *b = (TtBatch){.n = n, .x = tt_tensor(NULL, TT_F32, TT_SHAPE(n, dims[0], dims[1], dims[2]))};
    b->labels = TT_NEWN(&t->arena, int64_t, n);
    TT_TRY(tt_alloc(&b->x.data, tt_tensor_bytes(&b->x)));
    TtRng r = tt_rng((uint64_t)s->config->seed, TT_RNG_SYNTHETIC, 0, 0, 0);
    float *x = b->x.data;
    for (int64_t i = 0; i < tt_tensor_count(&b->x); i++) x[i] = 2 * tt_rng_float(&r) - 1;
    for (int i = 0; i < n; i++) b->labels[i] = (int64_t)tt_rng_below(&r, (uint64_t)tt_model_classes(&s->model));
    return TT_OK;
}

static TtStatus time_steps(TtTrainer *t, const TtBenchOptions *o, double *seconds)
{
    TtSession *s = &t->session;
    bool sound = tt_dataset_media(s->train) == TT_MEDIA_SOUND;
    TtBatch made = {0}, *b = &made;
    /* Sound has the shapes of its first batch, lengths and all: that batch is taken again and again. */
    TtStatus st = sound ? tt_session_open_loaders(s) : synthetic_pictures(t, &made);
    if (st == TT_OK && sound) st = tt_loader_next(s->train_loader, &b);
    for (int64_t i = 0; i < o->steps && st == TT_OK; i++) {
        TtStepResult result;
        st = tt_trainer_step(t, b, &result);
        seconds[i] = result.seconds;
    }
    if (sound && b && b != &made) tt_loader_release(s->train_loader, b);
    tt_free(made.x.data);
    return st;
}

TtStatus tt_bench_step(const TtConfig *c, const TtBenchOptions *o)
{
    TtTrainer t = {.config = c, .best = NAN};
    double *seconds = TT_NEWN(&t.arena, double, o->steps);
    TtStatus s = tt_session_parse(c, &t.session);
    if (s == TT_OK) s = tt_session_open_data(&t.session, TT_SESSION_TRAIN);
    if (s == TT_OK) s = tt_session_open_net(&t.session);
    if (s == TT_OK) s = tt_trainer_allocate(&t);
    if (s == TT_OK) s = time_steps(&t, o, seconds);
    if (s == TT_OK) report("step", seconds, o->steps, c->data.global_batch_size, o->json);
    tt_trainer_release(&t);
    return s;
}

TtStatus tt_bench_data(const TtConfig *c, const TtBenchOptions *o)
{
    TtSession s;
    TtArena arena = {0};
    double *seconds = TT_NEWN(&arena, double, o->steps);
    TtStatus st = tt_session_parse(c, &s);
    if (st == TT_OK) st = tt_session_open_data(&s, TT_SESSION_TRAIN);
    if (st == TT_OK) st = tt_session_open_loaders(&s);
    for (int64_t i = 0; i < o->steps && st == TT_OK;) {
        TtBatch *b;
        double start = tt_now();
        st = tt_loader_next(s.train_loader, &b);
        if (st != TT_OK || !b) continue;
        seconds[i++] = tt_now() - start;
        tt_loader_release(s.train_loader, b);
    }
    if (st == TT_OK) report("data", seconds, o->steps, c->data.global_batch_size, o->json);
    tt_session_close(&s);
    tt_arena_free(&arena);
    return st;
}
