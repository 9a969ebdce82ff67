/* SPDX-License-Identifier: Apache-2.0 */
/* models/wavernn_infer.c - what the loop over samples (kernels/ops/wavernn_loop.h) is given: features of every frame by
 * a graph, with the products of weights that do not change; packed matrices; states. */
#include "models/wavernn_infer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/ops.h"
#include "kernels/ops/wavernn_loop.h"
#include "tensor/isa.h"
#include "tensor/program.h"

/* ---- features of an utterance */

enum { SPEC, WX, AUX1, AUX2, AUX3, AUX4, STRETCH, FEATURES = STRETCH + TT_WAVERNN_LEVELS };

typedef struct Features {
    TtGraph *g;
    TtProgram *p;
    TtVal in, out[FEATURES];
} Features;

static void features_free(Features *f)
{
    tt_program_free(f->p);
    tt_graph_free(f->g);
}

static const float *feature(const Features *f, int which)
{
    return tt_program_tensor(f->p, f->out[which]).data;
}

static TtVal parameter(TtGraph *g, const char *name, TtShape s)
{
    return tt_param(g, name, s, (TtInit){0});
}

/* x (F,I) w^T + b; b alone when there are no inputs. */
static TtVal affine(TtGraph *g, TtVal x, TtVal w, TtVal b)
{
    if (tt_channels(g, x) > 0) return tt_linear_op(g, x, w, b);
    return tt_contiguous(g, tt_expand(g, b, TT_SHAPE(tt_dim(g, x, 0), tt_channels(g, b))));
}

/* fc feeds rnn1 and, around it, the layers behind: both take its output u = w_fc [x, mel, aux1] + b, so the rows of
 * w_ih1 w_fc and of w_fc itself stand below each other (4R rows). */
static void first_layers(TtGraph *g, const TtWaveRnn *o, TtVal spec, TtVal aux, Features *f)
{
    int64_t r = o->n_rnn, m = o->n_freq, n = o->n_output / 4;
    TtVal w_fc = parameter(g, "fc.weight", TT_SHAPE(r, 1 + m + n)), b_fc = parameter(g, "fc.bias", TT_SHAPE(r));
    TtVal w_ih = parameter(g, "rnn1.weight_ih_l0", TT_SHAPE(3 * r, r));
    TtVal b_ih = parameter(g, "rnn1.bias_ih_l0", TT_SHAPE(3 * r)), all[2];
    all[0] = tt_matmul(g, w_ih, w_fc), all[1] = w_fc;
    TtVal w = tt_concat(g, all, 2, 0); /* (4R,1+m+n) */
    all[0] = tt_reshape(g, tt_matmul(g, w_ih, tt_reshape(g, b_fc, TT_SHAPE(r, 1))), TT_SHAPE(3 * r));
    all[0] = tt_add(g, all[0], b_ih), all[1] = b_fc;
    TtVal b = tt_concat(g, all, 2, 0);
    f->out[WX] = tt_contiguous(g, tt_slice(g, w, 1, 0, 1, 1));
    f->out[SPEC] = tt_linear_op(g, spec, tt_slice(g, w, 1, 1, m, 1), TT_NONE);
    f->out[AUX1] = affine(g, tt_slice(g, aux, 1, 0, n, 1), tt_slice(g, w, 1, 1 + m, n, 1), b);
}

/* The part of a later layer that its auxiliary features make: those of place I, behind IN other inputs. */
static TtVal aux_part(TtGraph *g, const TtWaveRnn *o, TtVal aux, int i, const char *weight, const char *bias,
                      int64_t rows, int64_t in)
{
    int64_t n = o->n_output / 4;
    TtVal w = parameter(g, weight, TT_SHAPE(rows, in + n)), b = parameter(g, bias, TT_SHAPE(rows));
    return affine(g, tt_slice(g, aux, 1, i * n, n, 1), tt_slice(g, w, 1, in, n, 1), b);
}

static TtStatus features_make(const TtWaveRnn *o, TtParamSet *params, const TtWaveRnnUtterance *u, Features *f)
{
    int64_t pad = (o->kernel_size - 1) / 2, frames = u->frames + 2 * pad;
    TtGraph *g = f->g = tt_graph_new(&(TtGraphOptions){.params = params});
    f->in = tt_input(g, "spec", TT_F32, TT_SHAPE(1, u->frames, o->n_freq));
    TtVal spec = tt_pad_axis(g, f->in, TT_PAD_CONSTANT, 0, 1, pad, pad), aux = tt_wavernn_features(g, o, spec);
    if (!tt_graph_ok(g)) return tt_graph_status(g);
    aux = tt_reshape(g, aux, TT_SHAPE(u->frames, o->n_output));
    first_layers(g, o, tt_reshape(g, spec, TT_SHAPE(frames, o->n_freq)), aux, f);
    f->out[AUX2] = aux_part(g, o, aux, 1, "rnn2.weight_ih_l0", "rnn2.bias_ih_l0", 3 * o->n_rnn, o->n_rnn);
    f->out[AUX3] = aux_part(g, o, aux, 2, "fc1.weight", "fc1.bias", o->n_fc, o->n_rnn);
    f->out[AUX4] = aux_part(g, o, aux, 3, "fc2.weight", "fc2.bias", o->n_fc, o->n_fc);
    for (int i = 0; i < o->upsample_scales.n; i++)
        f->out[STRETCH + i] = tt_contiguous(g, tt_wavernn_stretch_weights(g, i, o->upsample_scales.v[i]));
    for (int i = 0; i < STRETCH + o->upsample_scales.n; i++) tt_output(g, f->out[i], "feature");
    TT_TRY(tt_program_build(g, NULL, &f->p));
    tt_program_bind(f->p, f->in, (void *)(uintptr_t)u->spec); /* only read */
    return tt_program_run(f->p, &(TtStepInfo){0});
}

/* ---- the loop's memory: everything is registered to be freed together */

enum { MOST_BUFFERS = 64 };

typedef struct Generator {
    const TtWaveRnn *o;
    TtParamSet *params;
    TtWaveRnnLoop loop;
    void *buffer[MOST_BUFFERS];
    int nbuffers, nfeatures;
    Features *features;
} Generator;

/* Zeroed. */
static TtStatus allocate(Generator *s, size_t bytes, void *out)
{
    void *p;
    TT_ASSERT(s->nbuffers < MOST_BUFFERS);
    TT_TRY(tt_alloc(&p, bytes));
    memset(p, 0, bytes);
    s->buffer[s->nbuffers++] = p;
    memcpy(out, &p, sizeof p);
    return TT_OK;
}

static TtStatus floats(Generator *s, int64_t n, float **out)
{
    return allocate(s, (size_t)n * sizeof **out, out);
}

/* A matrix as it lies in its parameter: ROWS of K, LD apart. */
typedef struct Source {
    const char *weight, *bias; /* BIAS NULL: none here */
    int64_t rows, k, gates;
} Source;

static TtStatus values_of(const Generator *s, const char *name, int64_t rows, const float **out, int64_t *ld)
{
    const TtParam *p = tt_params_find(s->params, name);
    if (!p || p->dtype != TT_F32 || p->shape.rank < 1 || p->shape.dims[0] != rows)
        return TT_FAIL(TT_EINTERNAL, "wavernn: no float32 parameter %s with %lld rows", name, (long long)rows);
    *out = p->value;
    if (ld) *ld = p->shape.dims[1];
    return TT_OK;
}

/* The row of the parameter that column C of panel P is made of: unit 16 p + c % 16 of gate c / 16; with one gate, unit
 * 64 p + c. -1 for a column that only fills up. */
static int64_t source_row(const Source *from, int64_t p, int64_t c)
{
    int64_t units = from->rows / from->gates, width = from->gates == 3 ? 16 : 64, unit = p * width + c % width;
    return unit < units ? c / width * units + unit : -1;
}

static TtStatus pack(Generator *s, const Source *from, TtWaveRnnMatrix *m)
{
    enum { LINE = 16 }; /* floats of a row at a time */
    const float *w, *b = NULL;
    int64_t ld, units = from->rows / from->gates, width = from->gates == 3 ? 16 : 64;
    TT_TRY(values_of(s, from->weight, from->rows, &w, &ld));
    TT_ASSERT(ld >= from->k);
    if (from->bias) TT_TRY(values_of(s, from->bias, from->rows, &b, NULL));
    *m =
        (TtWaveRnnMatrix){.k = from->k, .n_panels = (units + width - 1) / width, .columns = from->gates == 3 ? 48 : 64};
    TT_TRY(allocate(s, (size_t)(m->n_panels * m->columns * m->k) * (s->loop.bf16 ? 2 : 4), &m->panels));
    TT_TRY(floats(s, m->n_panels * m->columns, &m->bias));
    for (int64_t i = 0; b && i < m->n_panels * m->columns; i++) {
        int64_t row = source_row(from, i / m->columns, i % m->columns);
        if (row >= 0) m->bias[i] = b[row];
    }
    for (int64_t p = 0; p < m->n_panels; p++)
        for (int64_t k0 = 0; k0 < m->k; k0 += LINE)
            for (int64_t c = 0; c < m->columns; c++) {
                int64_t row = source_row(from, p, c), at = (p * m->k + k0) * m->columns + c;
                if (row < 0) continue;
                const float *line = w + row * ld + k0;
                for (int64_t k = 0; k < TT_MIN((int64_t)LINE, m->k - k0); k++, at += m->columns) {
                    if (s->loop.bf16)
                        ((uint16_t *)m->panels)[at] = tt_f32_to_bf16(line[k]);
                    else
                        ((float *)m->panels)[at] = line[k];
                }
            }
    return TT_OK;
}

static int64_t row_of(int64_t n) /* whole panels, and not all rows in the same sets of the cache */
{
    return (n + 63) / 64 * 64 + 16;
}

static TtStatus make_weights(Generator *s)
{
    TtWaveRnnLoop *l = &s->loop;
    const Source sources[TT_WR_MATRICES] = {
        [TT_WR_HH1] = {"rnn1.weight_hh_l0", "rnn1.bias_hh_l0", 3 * l->rnn, l->rnn, 3},
        [TT_WR_IH2] = {"rnn2.weight_ih_l0", NULL, 3 * l->rnn, l->rnn, 3},
        [TT_WR_HH2] = {"rnn2.weight_hh_l0", "rnn2.bias_hh_l0", 3 * l->rnn, l->rnn, 3},
        [TT_WR_FC1] = {"fc1.weight", NULL, l->fc, l->rnn, 1},
        [TT_WR_FC2] = {"fc2.weight", NULL, l->fc, l->fc, 1},
        [TT_WR_FC3] = {"fc3.weight", "fc3.bias", l->classes, l->fc, 1},
    };
    for (int i = 0; i < TT_WR_MATRICES; i++) TT_TRY(pack(s, &sources[i], &l->m[i]));
    const Features *f = &s->features[0]; /* these are the same for all */
    l->wx = feature(f, WX);
    l->levels = s->o->upsample_scales.n;
    for (int i = 0; i < l->levels; i++)
        l->level[i] = (TtWaveRnnLevel){s->o->upsample_scales.v[i], feature(f, STRETCH + i)};
    return TT_OK;
}

static TtStatus make_states(Generator *s)
{
    TtWaveRnnLoop *l = &s->loop;
    l->rnn_row = row_of(l->rnn), l->fc_row = row_of(l->fc), l->class_row = row_of(l->classes);
    float **rnn[] = {&l->h1[0], &l->h1[1], &l->h2[0], &l->h2[1], &l->x1, &l->x2};
    for (int i = 0; i < TT_COUNT(rnn); i++) TT_TRY(floats(s, l->voices * l->rnn_row, rnn[i]));
    TT_TRY(floats(s, l->voices * l->fc_row, &l->f1));
    TT_TRY(floats(s, l->voices * l->fc_row, &l->f2));
    TT_TRY(floats(s, l->voices * l->class_row, &l->logits));
    float *zeros;
    TT_TRY(floats(s, 4 * l->rnn, &zeros));
    l->zeros = zeros;
    return TT_OK;
}

/* Longest first; the results do not depend on the order. */
static int by_length(const void *a, const void *b)
{
    const TtWaveRnnVoice *x = a, *y = b;
    return (x->samples < y->samples) - (x->samples > y->samples);
}

static TtStatus make_voices(Generator *s, const TtWaveRnnUtterance *u)
{
    TtWaveRnnLoop *l = &s->loop;
    int64_t pad = (s->o->kernel_size - 1) / 2, ring = (int64_t)l->levels * TT_WAVERNN_RING * 4 * l->rnn;
    float *rows;
    TT_TRY(allocate(s, sizeof *l->voice * (size_t)l->voices, &l->voice));
    TT_TRY(floats(s, l->voices * ring, &rows));
    for (int i = 0; i < l->voices; i++) {
        const Features *f = &s->features[i];
        TtWaveRnnVoice *v = &l->voice[i];
        *v = (TtWaveRnnVoice){.samples = u[i].frames * l->hop,
                              .frames = u[i].frames + 2 * pad,
                              .first = pad * l->hop,
                              .spec = feature(f, SPEC),
                              .aux1 = feature(f, AUX1),
                              .aux2 = feature(f, AUX2),
                              .aux3 = feature(f, AUX3),
                              .aux4 = feature(f, AUX4),
                              .rows = rows + i * ring,
                              .rng = u[i].rng,
                              .classes = u[i].classes};
        memset(v->have, 0xff, sizeof v->have); /* -1: nothing */
    }
    qsort(l->voice, (size_t)l->voices, sizeof *l->voice, by_length);
    return TT_OK;
}

/* Threads pay when each has a good part of a sample's products to do; voices are divided rather than units when all
 * weights fit a core's own cache. */
static void choose_threads(TtWaveRnnLoop *l)
{
    enum { OWN_CACHE = 768 << 10, WORTH = 100000 };
    int64_t weights = 0;
    for (int i = 0; i < TT_WR_MATRICES; i++) weights += l->m[i].n_panels * l->m[i].columns * l->m[i].k;
    int most = omp_get_max_threads();
    l->by_voices = weights * (l->bf16 ? 2 : 4) <= OWN_CACHE && l->voices >= most;
    l->threads = most;
    while (!l->by_voices && l->threads > 1 && weights * l->voices / l->threads < WORTH) l->threads--;
}

/* One for each instruction set: kernels/cpu/wavernn_loop.c. */
typedef void (*Loop)(TtWaveRnnLoop *l, int thread);
void tt_cpu_wavernn_loop_c(TtWaveRnnLoop *l, int thread);
void tt_cpu_wavernn_loop_avx2(TtWaveRnnLoop *l, int thread);
void tt_cpu_wavernn_loop_avx512(TtWaveRnnLoop *l, int thread);
static const Loop loops[TT_ISAS] = {TT_ISA_TABLES(tt_cpu_wavernn_loop)};

static TtStatus generate(Generator *s, const TtWaveRnnUtterance *u)
{
    TtWaveRnnLoop *l = &s->loop;
    for (int i = 0; i < l->voices; i++) {
        s->nfeatures = i + 1;
        TT_TRY(features_make(s->o, s->params, &u[i], &s->features[i]));
    }
    TT_TRY(make_weights(s));
    TT_TRY(make_states(s));
    TT_TRY(make_voices(s, u));
    choose_threads(l);
#pragma omp parallel num_threads(l->threads)
    {
#pragma omp single
        l->threads = omp_get_num_threads(); /* there may be fewer */
        loops[tt_isa()](l, omp_get_thread_num());
    }
    return TT_OK;
}

TtStatus tt_wavernn_generate(const TtWaveRnn *o, const TtWaveRnnInfer *with, const TtWaveRnnUtterance *u, int n)
{
    if (o->upsample_scales.n < 1 || o->n_classes < 2)
        return TT_FAIL(TT_ECONFIG, "wavernn: %d upsample_scales and %lld classes; at least 1 and 2 are needed",
                       o->upsample_scales.n, (long long)o->n_classes);
    for (int i = 0; i < n; i++)
        if (u[i].frames < 1) return TT_FAIL(TT_EDATA, "wavernn: utterance %d has no frames", i);
    if (n == 0) return TT_OK;
    Generator s = {.o = o, .params = with->params};
    s.loop = (TtWaveRnnLoop){
        .rnn = o->n_rnn, .fc = o->n_fc, .classes = o->n_classes, .hop = o->hop_length, .bf16 = with->bf16, .voices = n};
    s.features = tt_realloc(NULL, sizeof *s.features * (size_t)n);
    memset(s.features, 0, sizeof *s.features * (size_t)n);
    TtStatus st = generate(&s, u);
    for (int i = 0; i < s.nfeatures; i++) features_free(&s.features[i]);
    for (int i = 0; i < s.nbuffers; i++) tt_free(s.buffer[i]);
    free(s.features);
    return st;
}
