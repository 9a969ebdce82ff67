/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/pool.h - pooling over windows of channels-last pictures (torch.nn.functional.max_pool2d, avg_pool2d and
 * their adaptive forms). Input (N,H,W,C), output (N,OH,OW,C), float32 or bfloat16. */
#ifndef TT_KERNELS_OPS_POOL_H
#define TT_KERNELS_OPS_POOL_H

#include "tensor/op.h"

/* Index 0 is height, 1 is width. */
typedef struct TtPoolAttrs {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool ceil_mode;
    bool adaptive;    /* windows from the sizes: [floor(o*H/OH), ceil((o+1)*H/OH)) */
    int64_t out[2];   /* adaptive: OH, OW */
    bool exclude_pad; /* avg: divide by the pixels inside only (count_include_pad=False) */
    int64_t divisor;  /* avg: divide by this instead, if not 0 */
} TtPoolAttrs;

typedef struct TtPoolGradAttrs {
    TtPoolAttrs pool;
    TtShape shape; /* of x */
} TtPoolGradAttrs;

typedef struct TtPoolOptions {
    int kernel;   /* side; required */
    int stride;   /* kernel */
    int pad;      /* 0 */
    int dilation; /* 1; max only */
    bool ceil_mode;
    bool exclude_pad;
    int divisor;
} TtPoolOptions;
TtVal tt_max_pool2d_(TtGraph *g, TtVal x, TtPoolOptions o);
TtVal tt_avg_pool2d_(TtGraph *g, TtVal x, TtPoolOptions o);
#define tt_max_pool2d(g, x, ...) tt_max_pool2d_((g), (x), (TtPoolOptions){__VA_ARGS__})
#define tt_avg_pool2d(g, x, ...) tt_avg_pool2d_((g), (x), (TtPoolOptions){__VA_ARGS__})
TtVal tt_max_pool2d_op(TtGraph *g, TtVal x, const TtPoolAttrs *a);
TtVal tt_avg_pool2d_op(TtGraph *g, TtVal x, const TtPoolAttrs *a);
TtVal tt_adaptive_avg_pool2d(TtGraph *g, TtVal x, int h, int w);
TtVal tt_adaptive_max_pool2d(TtGraph *g, TtVal x, int h, int w);

/* The window of output O along axis K of SIZE pixels: pixels first, first+step, ... below end, all inside the picture;
 * COVERED is the window's length including padding (avg's divisor with count_include_pad). */
typedef struct TtWindow {
    int64_t first, end, step, covered;
} TtWindow;
TtWindow tt_pool_window(const TtPoolAttrs *a, int k, int64_t o, int64_t size);
/* What a sum over the window is divided by. */
double tt_pool_divisor(const TtPoolAttrs *a, const TtWindow *h, const TtWindow *w);

#endif
