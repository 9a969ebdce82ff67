/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/params.c - named parameters in slabs. */
#include "tensor/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/rng.h"

enum { PAD = 16 }; /* elements; keeps every parameter on a 64-byte boundary */

/* Open addressing from name to place in list, -1 empty; at most half full. */
typedef struct Index {
    int size, *slots;
} Index;

TtParamSet *tt_params_new(TtDType ftype)
{
    TtParamSet *p = tt_realloc(NULL, sizeof *p);
    *p = (TtParamSet){.ftype = ftype};
    p->index = tt_realloc(NULL, sizeof(Index));
    *(Index *)p->index = (Index){0};
    return p;
}

void tt_params_free(TtParamSet *p)
{
    if (!p) return;
    free(((Index *)p->index)->slots);
    free(p->index);
    free(p->list);
    tt_free(p->values);
    tt_free(p->grads);
    tt_arena_free(&p->arena);
    free(p);
}

static int *find_slot(const TtParamSet *p, const char *name)
{
    Index *x = p->index;
    if (!x->size) return NULL;
    for (uint64_t i = tt_hash_name(name);; i++) {
        int *slot = &x->slots[i & (uint64_t)(x->size - 1)];
        if (*slot < 0 || strcmp(p->list[*slot]->name, name) == 0) return slot;
    }
}

TtParam *tt_params_find(const TtParamSet *p, const char *name)
{
    int *slot = find_slot(p, name);
    return slot && *slot >= 0 ? p->list[*slot] : NULL;
}

static void grow(TtParamSet *p)
{
    Index *x = p->index;
    p->capacity = p->capacity ? p->capacity * 2 : 64;
    p->list = tt_realloc(p->list, sizeof *p->list * (size_t)p->capacity);
    x->size = p->capacity * 2;
    x->slots = tt_realloc(x->slots, sizeof *x->slots * (size_t)x->size);
    for (int i = 0; i < x->size; i++) x->slots[i] = -1;
    for (int i = 0; i < p->count; i++) *find_slot(p, p->list[i]->name) = i;
}

TtStatus tt_params_declare(TtParamSet *p, const char *name, TtDType dtype, TtShape shape, TtInit init, bool buffer,
                           TtParam **out)
{
    TtParam *q = tt_params_find(p, name);
    if (q) {
        char a[TT_SHAPE_TEXT], b[TT_SHAPE_TEXT];
        if (q->dtype != dtype || q->buffer != buffer || !tt_shape_equal(&q->shape, &shape))
            return TT_FAIL(TT_EINTERNAL, "parameter %s is used as %s and as %s", name, tt_shape_text(&q->shape, a),
                           tt_shape_text(&shape, b));
        *out = q;
        return TT_OK;
    }
    if (p->values) return TT_FAIL(TT_EINTERNAL, "parameter %s appears after the parameters were allocated", name);
    if (p->count == p->capacity) grow(p);
    q = TT_NEW(&p->arena, TtParam);
    *q = (TtParam){
        .name = tt_arena_strdup(&p->arena, name), .dtype = dtype, .shape = shape, .init = init, .buffer = buffer};
    *find_slot(p, name) = p->count;
    p->list[p->count++] = q;
    *out = q;
    return TT_OK;
}

TtStatus tt_params_allocate(TtParamSet *p)
{
    TT_ASSERT(!p->values);
    size_t width = tt_dtype_size(p->ftype);
    int64_t at = 0;
    for (int buffers = 0; buffers < 2; buffers++) {
        for (int i = 0; i < p->count; i++) {
            TtParam *q = p->list[i];
            if (q->buffer != buffers) continue;
            q->offset = at;
            int64_t bytes = tt_shape_count(&q->shape) * (int64_t)tt_dtype_size(q->dtype);
            at += (bytes + PAD * (int64_t)width - 1) / (PAD * (int64_t)width) * PAD;
        }
        if (!buffers) p->trainable_count = at;
    }
    p->values_bytes = (size_t)at * width, p->grads_bytes = (size_t)p->trainable_count * width;
    TT_TRY(tt_alloc(&p->values, p->values_bytes));
    TT_TRY(tt_alloc(&p->grads, p->grads_bytes));
    memset(p->values, 0, p->values_bytes);
    memset(p->grads, 0, p->grads_bytes);
    for (int i = 0; i < p->count; i++) {
        TtParam *q = p->list[i];
        q->value = (char *)p->values + (size_t)q->offset * width;
        q->grad = q->buffer ? NULL : (float *)(void *)((char *)p->grads + (size_t)q->offset * width);
    }
    return TT_OK;
}

static double draw(const TtInit *init, TtRng *r)
{
    double v;
    switch (init->kind) {
    case TT_INIT_ZEROS: return 0;
    case TT_INIT_CONST: return init->a;
    case TT_INIT_NORMAL: return init->a + init->b * tt_rng_normal(r);
    case TT_INIT_UNIFORM: return tt_rng_uniform(r, init->a, init->b);
    case TT_INIT_TRUNC_NORMAL:
        do v = tt_rng_normal(r);
        while (fabs(v) > 2);
        return init->b * v;
    }
    TT_ASSERT(!"unknown initialisation");
    return 0;
}

void tt_param_init_one(const TtParamSet *p, TtParam *q, uint64_t seed)
{
    (void)p;
    TtRng r = tt_rng(seed, TT_RNG_INIT, tt_hash_name(q->name), 0, 0);
    int64_t n = tt_shape_count(&q->shape);
    for (int64_t i = 0; i < n; i++) {
        double v = draw(&q->init, &r);
        switch (q->dtype) {
        case TT_F32: ((float *)q->value)[i] = (float)v; break;
        case TT_F64: ((double *)q->value)[i] = v; break;
        case TT_I64: ((int64_t *)q->value)[i] = (int64_t)v; break;
        default: TT_ASSERT(!"no initialisation for this type");
        }
    }
}

void tt_params_init(TtParamSet *p, uint64_t seed)
{
    for (int i = 0; i < p->count; i++) tt_param_init_one(p, p->list[i], seed);
}

int64_t tt_params_number(const TtParamSet *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->count; i++)
        if (!p->list[i]->buffer) n += tt_shape_count(&p->list[i]->shape);
    return n;
}
