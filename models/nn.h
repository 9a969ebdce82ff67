/* SPDX-License-Identifier: Apache-2.0 */
/* models/nn.h - layers: an op together with its parameters, named and initialised as torch.nn does.
 *
 * Activations are (N,H,W,C), sequences (N,T,C). Options are designated initialisers; zero means the default in the comment.
 *     x = tt_conv2d(g, x, "conv1", .out = 64, .kernel = 7, .stride = 2, .pad = 3, .no_bias = true);
 * This header is all that a model file includes besides models/model.h. */
#ifndef TT_MODELS_NN_H
#define TT_MODELS_NN_H

#include "kernels/ops/ops.h"
#include "models/model.h"

/* How weights start. */
typedef enum TtWeightInit {
    TT_WEIGHT_DEFAULT,        /* torch.nn's: uniform, kaiming with a = sqrt(5) */
    TT_WEIGHT_KAIMING_FAN_IN, /* normal, std sqrt(2 / fan_in), biases 0: the signal keeps its size through ReLU layers */
    TT_WEIGHT_KAIMING_FAN_OUT /* normal, std sqrt(2 / (out * kernel area)) (He et al. 2015), as torchvision's CNNs */
} TtWeightInit;

typedef struct TtConv2dOptions {
    int out;    /* output channels; required */
    int kernel; /* side; required unless kernel_h and kernel_w are given */
    int kernel_h, kernel_w;
    int stride;       /* 1 */
    int pad;          /* 0, on every side */
    int pad_h, pad_w; /* with kernel_h and kernel_w */
    int dilation;     /* 1 */
    int groups;       /* 1 */
    bool no_bias;
    TtWeightInit init;
} TtConv2dOptions;
/* torch.nn.Conv2d: weight (out, in/groups, kh, kw), bias (out). */
TtVal tt_nn_conv2d(TtGraph *g, TtVal x, const char *name, TtConv2dOptions o);
#define tt_conv2d(g, x, name, ...) tt_nn_conv2d((g), (x), (name), (TtConv2dOptions){__VA_ARGS__})

typedef struct TtConv1dOptions {
    int out;      /* output channels; required */
    int kernel;   /* required */
    int stride;   /* 1 */
    int pad;      /* 0, at both ends */
    int dilation; /* 1 */
    int groups;   /* 1 */
    bool no_bias;
    TtWeightInit init; /* the default, or KAIMING_FAN_IN */
} TtConv1dOptions;
/* torch.nn.Conv1d on (N,T,C): weight (out, in/groups, kernel), bias (out). */
TtVal tt_nn_conv1d(TtGraph *g, TtVal x, const char *name, TtConv1dOptions o);
#define tt_conv1d(g, x, name, ...) tt_nn_conv1d((g), (x), (name), (TtConv1dOptions){__VA_ARGS__})

typedef struct TtConvTranspose1dOptions {
    int out;        /* output channels; required */
    int kernel;     /* required */
    int stride;     /* 1 */
    int pad;        /* 0, taken off at both ends */
    int output_pad; /* 0; frames added at the end */
    int dilation;   /* 1 */
    int groups;     /* 1 */
    bool no_bias;
} TtConvTranspose1dOptions;
/* torch.nn.ConvTranspose1d on (N,T,C): weight (in, out/groups, kernel), bias (out). */
TtVal tt_nn_conv_transpose1d(TtGraph *g, TtVal x, const char *name, TtConvTranspose1dOptions o);
#define tt_conv_transpose1d(g, x, name, ...) \
    tt_nn_conv_transpose1d((g), (x), (name), (TtConvTranspose1dOptions){__VA_ARGS__})

typedef struct TtBatchNormOptions {
    double eps;       /* 1e-5 */
    double momentum;  /* 0.1 */
    bool zero_weight; /* start with weight 0 (Goyal et al. 2017) */
} TtBatchNormOptions;
/* torch.nn.BatchNorm2d: weight, bias, running_mean, running_var, num_batches_tracked. */
TtVal tt_nn_batch_norm(TtGraph *g, TtVal x, const char *name, TtBatchNormOptions o);
#define tt_batch_norm(g, x, ...) TT_NN_BATCH_NORM_((g), (x), __VA_ARGS__, )
#define TT_NN_BATCH_NORM_(g, x, name, ...) tt_nn_batch_norm(g, x, name, (TtBatchNormOptions){__VA_ARGS__})

typedef struct TtGroupNormOptions {
    int groups;     /* 1, which is the global layer norm of sequences */
    double eps;     /* 1e-5 */
    bool no_affine; /* no weight and bias */
} TtGroupNormOptions;
/* torch.nn.GroupNorm of (N,...,C): weight (C), bias (C). */
TtVal tt_nn_group_norm(TtGraph *g, TtVal x, const char *name, TtGroupNormOptions o);
#define tt_group_norm(g, x, ...) TT_NN_GROUP_NORM_((g), (x), __VA_ARGS__, )
#define TT_NN_GROUP_NORM_(g, x, name, ...) tt_nn_group_norm(g, x, name, (TtGroupNormOptions){__VA_ARGS__})

typedef struct TtLayerNormOptions {
    double eps;     /* 1e-5 */
    bool no_affine; /* no weight and bias */
} TtLayerNormOptions;
/* torch.nn.LayerNorm over the last axis: weight (C), bias (C). */
TtVal tt_nn_layer_norm(TtGraph *g, TtVal x, const char *name, TtLayerNormOptions o);
#define tt_layer_norm(g, x, ...) TT_NN_LAYER_NORM_((g), (x), __VA_ARGS__, )
#define TT_NN_LAYER_NORM_(g, x, name, ...) tt_nn_layer_norm(g, x, name, (TtLayerNormOptions){__VA_ARGS__})

typedef struct TtPreluOptions {
    bool per_channel; /* a weight for each channel instead of one for all */
    double init;      /* 0.25 */
} TtPreluOptions;
/* torch.nn.PReLU: weight (1) or (C). */
TtVal tt_nn_prelu(TtGraph *g, TtVal x, const char *name, TtPreluOptions o);
#define tt_prelu(g, x, ...) TT_NN_PRELU_((g), (x), __VA_ARGS__, )
#define TT_NN_PRELU_(g, x, name, ...) tt_nn_prelu(g, x, name, (TtPreluOptions){__VA_ARGS__})

typedef struct TtLinearOptions {
    int out; /* required */
    bool no_bias;
} TtLinearOptions;
/* torch.nn.Linear on the last axis: weight (out, in), bias (out). */
TtVal tt_nn_linear(TtGraph *g, TtVal x, const char *name, TtLinearOptions o);
#define tt_linear(g, x, name, ...) tt_nn_linear((g), (x), (name), (TtLinearOptions){__VA_ARGS__})

/* (N,H,W,C) to (N,C): adaptive_avg_pool2d to 1x1, then flatten. */
TtVal tt_global_avg_pool(TtGraph *g, TtVal x);

#endif
