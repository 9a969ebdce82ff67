/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/group_norm.c - group by group, in double. */
#include "kernels/ops/group_norm.h"

#include <math.h>

#include "kernels/ref/ref.h"

/* The values of one group of one sample. */
typedef struct Group {
    int64_t sample, group, rows, channels, per_group;
} Group;

static Group group_of(const TtShape *x, int64_t groups, int64_t number)
{
    Group g = {number / groups, number % groups, 1, x->dims[x->rank - 1], x->dims[x->rank - 1] / groups};
    for (int k = 1; k < x->rank - 1; k++) g.rows *= x->dims[k];
    return g;
}

static int64_t group_size(const Group *g)
{
    return g->rows * g->per_group;
}

static int64_t channel(const Group *g, int64_t i)
{
    return g->group * g->per_group + i % g->per_group;
}

static int64_t place(const Group *g, int64_t i)
{
    return (g->sample * g->rows + i / g->per_group) * g->channels + channel(g, i);
}

static double optional_at(const TtTensor *t, int64_t c, double otherwise)
{
    return t->data ? tt_ref_at(t, c) : otherwise;
}

TtStatus tt_ref_group_norm(TtKernelArgs *a)
{
    const TtGroupNormAttrs *attrs = a->attrs;
    const TtTensor *x = &a->in[TT_GN_X];
    for (int64_t k = 0; k < x->shape.dims[0] * attrs->groups; k++) {
        Group g = group_of(&x->shape, attrs->groups, k);
        int64_t n = group_size(&g);
        double mean = 0, var = 0;
        for (int64_t i = 0; i < n; i++) mean += tt_ref_at(x, place(&g, i)) / (double)n;
        for (int64_t i = 0; i < n; i++) var += pow(tt_ref_at(x, place(&g, i)) - mean, 2) / (double)n;
        double std = sqrt(var + attrs->eps);
        for (int64_t i = 0; i < n; i++) {
            double y = (tt_ref_at(x, place(&g, i)) - mean) / std;
            y *= optional_at(&a->in[TT_GN_WEIGHT], channel(&g, i), 1);
            tt_ref_put(&a->out[TT_GN_Y], place(&g, i), y + optional_at(&a->in[TT_GN_BIAS], channel(&g, i), 0));
        }
        tt_ref_put(&a->out[TT_GN_SAVE_MEAN], k, mean);
        tt_ref_put(&a->out[TT_GN_SAVE_INVSTD], k, 1 / std);
    }
    return TT_OK;
}

/* dx = J^T (dy weight) with J = (I - 1/n - normal normal^T / n) / std. */
TtStatus tt_ref_group_norm_bwd(TtKernelArgs *a)
{
    const TtGroupNormAttrs *attrs = a->attrs;
    const TtTensor *dy = &a->in[TT_GN_BWD_DY], *x = &a->in[TT_GN_BWD_X], *weight = &a->in[TT_GN_BWD_WEIGHT];
    for (int64_t k = 0; k < x->shape.dims[0] * attrs->groups; k++) {
        Group g = group_of(&x->shape, attrs->groups, k);
        int64_t n = group_size(&g);
        double mean = tt_ref_at(&a->in[TT_GN_BWD_MEAN], k), invstd = tt_ref_at(&a->in[TT_GN_BWD_INVSTD], k);
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < n; i++) {
            double d = tt_ref_at(dy, place(&g, i)) * optional_at(weight, channel(&g, i), 1);
            sum += d;
            dot += d * (tt_ref_at(x, place(&g, i)) - mean) * invstd;
        }
        for (int64_t i = 0; i < n; i++) {
            double d = tt_ref_at(dy, place(&g, i)) * optional_at(weight, channel(&g, i), 1);
            double normal = (tt_ref_at(x, place(&g, i)) - mean) * invstd;
            tt_ref_put(&a->out[0], place(&g, i), (d - sum / (double)n - normal * dot / (double)n) * invstd);
        }
    }
    int64_t groups = attrs->groups, samples = x->shape.dims[0];
    for (int64_t c = 0; c < tt_tensor_count(&a->out[1]); c++) {
        double dweight = 0, dbias = 0;
        for (int64_t s = 0; s < samples; s++) {
            Group g = group_of(&x->shape, groups, s * groups + c / (x->shape.dims[x->shape.rank - 1] / groups));
            double mean = tt_ref_at(&a->in[TT_GN_BWD_MEAN], s * groups + g.group);
            double invstd = tt_ref_at(&a->in[TT_GN_BWD_INVSTD], s * groups + g.group);
            for (int64_t i = 0; i < group_size(&g); i++) {
                if (channel(&g, i) != c) continue;
                double d = tt_ref_at(dy, place(&g, i));
                dweight += d * (tt_ref_at(x, place(&g, i)) - mean) * invstd;
                dbias += d;
            }
        }
        tt_ref_put(&a->out[1], c, dweight);
        tt_ref_put(&a->out[2], c, dbias);
    }
    return TT_OK;
}
