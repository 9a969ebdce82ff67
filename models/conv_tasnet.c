/* SPDX-License-Identifier: Apache-2.0 */
/* models/conv_tasnet.c - Conv-TasNet (Luo and Mesgarani 2019), non-causal, as torchaudio.models.ConvTasNet: a learned
 * spectrum of the mixture, a mask for each source from stacks of dilated depthwise convolutions, and back. */
#include <stdio.h>

#include "models/nn.h"

typedef struct ConvTasNet {
    int64_t num_sources, enc_kernel_size, enc_num_feats;
    int64_t msk_kernel_size, msk_num_feats, msk_num_hidden_feats, msk_num_layers, msk_num_stacks;
    int msk_activate, norm;
} ConvTasNet;

enum { SIGMOID, RELU };
enum { GLOBAL, CUMULATIVE };

#define SIZE(key, value, least, most, text)                                                                           \
    {                                                                                                                 \
#key, TT_OPT_INT, offsetof(ConvTasNet, key), .def = value, .flags = TT_OPT_RANGED, .min = least, .max = most, \
                                                     .help = text                                                     \
    }

#define OPTIONS(activate)                                                                                             \
    {                                                                                                                 \
        SIZE(num_sources, "2", 1, 8, "sources to split into"),                                                        \
            SIZE(enc_kernel_size, "16", 2, 1 << 14, "L: samples of the encoder's filters; half of it is the stride"), \
            SIZE(enc_num_feats, "512", 1, 1 << 16, "N: filters of the encoder"),                                      \
            SIZE(msk_kernel_size, "3", 3, 3, "P: frames of the depthwise convolutions; their padding fits 3 only"),   \
            SIZE(msk_num_feats, "128", 1, 1 << 16, "B, Sc: channels between blocks"),                                 \
            SIZE(msk_num_hidden_feats, "512", 1, 1 << 16, "H: channels within a block"),                              \
            SIZE(msk_num_layers, "8", 1, 30, "X: blocks of a stack, with dilations 1, 2, 4, ..."),                    \
            SIZE(msk_num_stacks, "3", 1, 1000, "R: stacks"),                                                          \
            {"msk_activate",                                                                                          \
             TT_OPT_ENUM,                                                                                             \
             offsetof(ConvTasNet, msk_activate),                                                                      \
             .def = activate,                                                                                         \
             .choices = "sigmoid|relu",                                                                               \
             .help = "what limits the masks"},                                                                        \
            {"norm",                                                                                                  \
             TT_OPT_ENUM,                                                                                             \
             offsetof(ConvTasNet, norm),                                                                              \
             .def = "global",                                                                                         \
             .choices = "global|cumulative",                                                                          \
             .help = "normalisation over the whole clip, or of each frame over what came before it"},                 \
        {                                                                                                             \
            0                                                                                                         \
        }                                                                                                             \
    }

static const TtOption options[] = OPTIONS("sigmoid");
static const TtOption base_options[] = OPTIONS("relu");

static TtVal cumulative_norm(TtGraph *g, TtVal x, const char *name)
{
    int64_t c = tt_channels(g, x);
    tt_graph_push(g, "%s", name);
    TtVal weight = tt_param(g, "weight", TT_SHAPE(c), (TtInit){TT_INIT_CONST, 1, 0});
    TtVal bias = tt_param(g, "bias", TT_SHAPE(c), (TtInit){TT_INIT_CONST, 0, 0});
    tt_graph_pop(g);
    return tt_cumulative_norm_op(g, x, weight, bias, 1e-8);
}

static TtVal norm(TtGraph *g, const ConvTasNet *m, TtVal x, const char *name)
{
    x = tt_cast(g, x, tt_graph_ftype(g));
    if (m->norm == CUMULATIVE) return cumulative_norm(g, x, name);
    return tt_group_norm(g, x, name, .groups = 1, .eps = 1e-8);
}

/* (N,M,B) to the block's features (N,M,H). */
static TtVal block_features(TtGraph *g, const ConvTasNet *m, TtVal x, int dilation)
{
    int hidden = (int)m->msk_num_hidden_feats;
    tt_graph_push(g, "conv_layers");
    x = tt_conv1d(g, x, "0", .out = hidden, .kernel = 1);
    x = norm(g, m, tt_prelu(g, x, "1"), "2");
    x = tt_conv1d(g, x, "3", .out = hidden, .kernel = (int)m->msk_kernel_size, .pad = dilation, .dilation = dilation,
                  .groups = hidden);
    x = norm(g, m, tt_prelu(g, x, "4"), "5");
    tt_graph_pop(g);
    return x;
}

/* Masks (N,M,S,F) for FEATS (N,M,F), with the batch axes of the two exchanged: (N,S,M,F). */
static TtVal masks(TtGraph *g, const ConvTasNet *m, TtVal feats)
{
    TtShape s = tt_shape(g, feats);
    int width = (int)m->msk_num_feats;
    int64_t blocks = m->msk_num_layers * m->msk_num_stacks;
    TtVal sum = TT_NONE;
    tt_graph_push(g, "mask_generator");
    TtVal x = norm(g, m, feats, "input_norm");
    x = tt_conv1d(g, x, "input_conv", .out = width, .kernel = 1);
    for (int64_t i = 0; i < blocks; i++) {
        tt_graph_push(g, "conv_layers.%lld", (long long)i);
        TtVal y = block_features(g, m, x, 1 << (i % m->msk_num_layers));
        if (i + 1 < blocks) x = tt_add(g, x, tt_conv1d(g, y, "res_out", .out = width, .kernel = 1));
        TtVal skip = tt_conv1d(g, y, "skip_out", .out = width, .kernel = 1);
        sum = i ? tt_add(g, sum, skip) : skip;
        tt_graph_pop(g);
    }
    x = tt_prelu(g, sum, "output_prelu");
    x = tt_conv1d(g, x, "output_conv", .out = (int)(m->enc_num_feats * m->num_sources), .kernel = 1);
    tt_graph_pop(g);
    x = m->msk_activate == RELU ? tt_relu(g, x) : tt_sigmoid(g, x);
    if (!tt_graph_ok(g)) return TT_NONE;
    x = tt_reshape(g, x, TT_SHAPE(s.dims[0], s.dims[1], m->num_sources, m->enc_num_feats));
    return tt_permute(g, x, (int[]){0, 2, 1, 3});
}

static void build(TtGraph *g, const void *o, const TtModelInput *in, TtModelOutput *out)
{
    const ConvTasNet *m = o;
    TtShape s = tt_shape(g, in->x); /* (N,T,1) */
    const int kernel = (int)m->enc_kernel_size, stride = kernel / 2, feats = (int)m->enc_num_feats;
    const int64_t odd = kernel % 2, rest = (s.dims[1] - odd) % stride, pad = rest ? stride - rest : 0;
    if (s.dims[1] < odd + 1) {
        tt_graph_fail(g, TT_EDATA, "conv_tasnet: a clip of %lld samples is too short", (long long)s.dims[1]);
        return;
    }
    TtVal x = pad ? tt_pad_axis(g, in->x, TT_PAD_CONSTANT, 0, 1, 0, pad) : in->x;
    TtVal code = tt_conv1d(g, x, "encoder", .out = feats, .kernel = kernel, .stride = stride, .pad = stride,
                           .no_bias = true); /* (N,M,F) */
    TtVal mask = masks(g, m, code);
    if (!tt_graph_ok(g)) return;
    int64_t frames = tt_dim(g, code, 1);
    code = tt_reshape(g, code, TT_SHAPE(s.dims[0], 1, frames, feats));
    TtVal parts = tt_mul(g, mask, code); /* (N,S,M,F) */
    parts = tt_reshape(g, tt_contiguous(g, parts), TT_SHAPE(s.dims[0] * m->num_sources, frames, feats));
    TtVal y = tt_conv_transpose1d(g, parts, "decoder", .out = 1, .kernel = kernel, .stride = stride, .pad = stride,
                                  .no_bias = true); /* (N*S,T',1) */
    if (!tt_graph_ok(g)) return;
    y = tt_reshape(g, y, TT_SHAPE(s.dims[0], m->num_sources, tt_dim(g, y, 1)));
    y = tt_slice(g, y, 2, 0, s.dims[1], 1);
    out->logits = tt_permute(g, y, (int[]){0, 2, 1}); /* (N,T,S) */
}

extern const TtModelDef tt_model_conv_tasnet, tt_model_conv_tasnet_base;
const TtModelDef tt_model_conv_tasnet = {
    .name = "conv_tasnet",
    .help = "Conv-TasNet: a mixture to its sources, 5.0 M parameters",
    .options = options,
    .options_size = sizeof(ConvTasNet),
    .classes_offset = offsetof(ConvTasNet, num_sources),
    .task = TT_TASK_SEPARATION,
    .build = build,
};

const TtModelDef tt_model_conv_tasnet_base = {
    .name = "conv_tasnet_base",
    .help = "Conv-TasNet with ReLU masks",
    .options = base_options,
    .options_size = sizeof(ConvTasNet),
    .classes_offset = offsetof(ConvTasNet, num_sources),
    .task = TT_TASK_SEPARATION,
    .build = build,
};
