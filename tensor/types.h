/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/types.h - element types, shapes and tensor views. */
#ifndef TT_TENSOR_TYPES_H
#define TT_TENSOR_TYPES_H

#include "tensor/status.h"

enum { TT_MAX_RANK = 6 };

typedef enum TtDType { TT_F32, TT_F64, TT_BF16, TT_F16, TT_I64, TT_I32, TT_U8, TT_U16, TT_BOOL, TT_DTYPES } TtDType;
typedef enum TtDevice { TT_CPU, TT_CUDA } TtDevice;

size_t tt_dtype_size(TtDType t);
const char *tt_dtype_name(TtDType t); /* "float32", "uint8", ... as NumPy and PyTorch spell them */
bool tt_dtype_is_float(TtDType t);

typedef struct TtShape {
    int rank;
    int64_t dims[TT_MAX_RANK];
} TtShape;

#define TT_SHAPE(...) \
    ((TtShape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dims = {__VA_ARGS__}})
int64_t tt_shape_count(const TtShape *s); /* number of elements; 1 for rank 0 */
bool tt_shape_equal(const TtShape *a, const TtShape *b);
/* "(32,3,224,224)" into a caller's buffer; returns it. */
enum { TT_SHAPE_TEXT = 160 };
const char *tt_shape_text(const TtShape *s, char buf[TT_SHAPE_TEXT]);

/* A view: it owns nothing. Strides are in elements and may be 0 (broadcast) or negative. */
typedef struct TtTensor {
    TtDType dtype;
    TtDevice device;
    TtShape shape;
    int64_t strides[TT_MAX_RANK];
    void *data;
} TtTensor;

/* A contiguous (row-major) view of data. */
TtTensor tt_tensor(void *data, TtDType dtype, TtShape shape);
void tt_strides_contiguous(const TtShape *s, int64_t strides[TT_MAX_RANK]);
bool tt_tensor_contiguous(const TtTensor *t); /* axes of length 1 may have any stride */
int64_t tt_tensor_count(const TtTensor *t);
size_t tt_tensor_bytes(const TtTensor *t); /* of a contiguous tensor of this shape */

/* bfloat16 and float16 as stored; conversion to bfloat16 rounds to nearest even, NaN stays NaN. */
float tt_bf16_to_f32(uint16_t v);
uint16_t tt_f32_to_bf16(float v);
float tt_f16_to_f32(uint16_t v);
uint16_t tt_f32_to_f16(float v);

#endif
