/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/params.h - a model's named parameters and buffers, their gradients, and how they start.
 *
 * Graphs of one model (training, evaluation, other batch sizes) share one set. Names, shapes and layouts are
 * PyTorch's, so that a state dict is this list. Values lie in one slab and gradients in another, in the order of
 * creation; the gradients' order is also the order of all-reduce buckets. */
#ifndef TT_TENSOR_PARAMS_H
#define TT_TENSOR_PARAMS_H

#include "tensor/arena.h"
#include "tensor/types.h"

typedef enum TtInitKind {
    TT_INIT_ZEROS,
    TT_INIT_CONST,
    TT_INIT_NORMAL,
    TT_INIT_UNIFORM,
    TT_INIT_TRUNC_NORMAL
} TtInitKind;

/* CONST: a. NORMAL: mean a, std b. UNIFORM: on [a, b). TRUNC_NORMAL: mean 0, std b, cut at +-2 std (a unused). */
typedef struct TtInit {
    TtInitKind kind;
    double a, b;
} TtInit;

typedef struct TtParam {
    const char *name; /* "layer1.0.conv1.weight" */
    TtDType dtype;
    TtShape shape;
    TtInit init;
    bool buffer;    /* no gradient: running statistics, counters */
    bool frozen;    /* takes no gradient in this run (set before the training graph is built) */
    void *value;    /* in the value slab, after tt_params_allocate */
    float *grad;    /* in the gradient slab; NULL for buffers (double * when the set is TT_F64) */
    int64_t offset; /* of value and grad in floats within the slabs (trainable parameters come first) */
} TtParam;

typedef struct TtParamSet {
    TtArena arena;
    TtDType ftype;
    int count, capacity;
    TtParam **list; /* in order of creation */
    int64_t
        trainable_count; /* floats in the value slab that are parameters, frozen ones included; padded per parameter to 16 */
    void *values, *grads; /* slabs, 64-byte aligned; values holds parameters then buffers */
    size_t values_bytes, grads_bytes;
    void *index; /* name to parameter */
} TtParamSet;

TtParamSet *tt_params_new(TtDType ftype);
void tt_params_free(TtParamSet *p);
TtParam *tt_params_find(const TtParamSet *p, const char *name);
/* Find or create; a different shape or type is TT_EINTERNAL. After allocation nothing can be created. */
TtStatus tt_params_declare(TtParamSet *p, const char *name, TtDType dtype, TtShape shape, TtInit init, bool buffer,
                           TtParam **out) TT_NODISCARD;
TtStatus tt_params_allocate(TtParamSet *p) TT_NODISCARD;
/* Fill every parameter and buffer from its TtInit; each from its own stream (seed, name). */
void tt_params_init(TtParamSet *p, uint64_t seed);
void tt_param_init_one(const TtParamSet *p, TtParam *q, uint64_t seed);
int64_t tt_params_number(const TtParamSet *p); /* scalars in parameters, as torch's sum(p.numel()) */

#endif
