/* SPDX-License-Identifier: Apache-2.0 */
/* models/wavernn.c - WaveRNN: a residual network over frames and a learned stretching of the spectrogram condition two
 * GRUs and three linear layers over samples.
 *
 * A stretch by s with the convolution of 2s + 1 samples behind it is computed as a convolution of 3 frames with s
 * outputs: each of the s samples of a frame depends on that frame and its two neighbours, and their weights are sums of
 * the given ones. That takes 3 products a sample instead of 2s + 1. */
#include "models/wavernn.h"

#include "models/nn.h"
#include "models/rnn.h"

int64_t tt_wavernn_samples(const TtWaveRnn *o, int64_t frames)
{
    return frames < o->kernel_size ? 0 : (frames - o->kernel_size + 1) * o->hop_length;
}

static TtVal conv1d(TtGraph *g, TtVal x, const char *name, int64_t out, int64_t kernel, bool bias)
{
    return tt_conv1d(g, x, name, .out = (int)out, .kernel = (int)kernel, .no_bias = !bias);
}

static TtVal res_block(TtGraph *g, TtVal x)
{
    int64_t width = tt_channels(g, x);
    tt_graph_push(g, "resblock_model");
    TtVal y = tt_relu(g, tt_batch_norm(g, conv1d(g, x, "0", width, 1, false), "1"));
    y = tt_batch_norm(g, conv1d(g, y, "3", width, 1, false), "4");
    tt_graph_pop(g);
    return tt_add(g, y, x);
}

/* (N,F,n_freq) to (N,F - kernel_size + 1,n_output). */
static TtVal mel_resnet(TtGraph *g, const TtWaveRnn *o, TtVal x)
{
    char last[24];
    tt_graph_push(g, "resnet.melresnet_model");
    x = tt_relu(g, tt_batch_norm(g, conv1d(g, x, "0", o->n_hidden, o->kernel_size, false), "1"));
    for (int64_t i = 0; i < o->n_res_block; i++) {
        tt_graph_push(g, "%lld", (long long)i + 3);
        x = res_block(g, x);
        tt_graph_pop(g);
    }
    snprintf(last, sizeof last, "%lld", (long long)o->n_res_block + 3);
    x = conv1d(g, x, last, o->n_output, 1, true);
    tt_graph_pop(g);
    return x;
}

/* Every step S times: (N,T,C) to (N,T*S,C). */
static TtVal repeat(TtGraph *g, TtVal x, int64_t s)
{
    TtShape d = tt_shape(g, x);
    if (!tt_graph_ok(g)) return TT_NONE;
    x = tt_reshape(g, x, TT_SHAPE(d.dims[0], d.dims[1], 1, d.dims[2]));
    x = tt_expand(g, x, TT_SHAPE(d.dims[0], d.dims[1], s, d.dims[2]));
    return tt_reshape(g, x, TT_SHAPE(d.dims[0], d.dims[1] * s, d.dims[2]));
}

/* Sample p of a frame meets w[j] at place p + j - S of the stretched signal, counted from the frame's first. */
TtVal tt_wavernn_stretch_weights(TtGraph *g, int which, int64_t s)
{
    int64_t taps = 2 * s + 1;
    tt_graph_push(g, "upsample.upsample_layers.%d", 2 * which + 1);
    TtVal w = tt_param(g, "weight", TT_SHAPE(1, 1, 1, taps), (TtInit){TT_INIT_CONST, 1.0 / (double)taps, 0});
    tt_graph_pop(g);
    float *sum = TT_NEWN(tt_graph_arena(g), float, 3 * s * taps);
    for (int64_t p = 0; p < s; p++)
        for (int64_t j = 0; j < taps; j++) sum[(p * 3 + (p + j) / s) * taps + j] = 1;
    TtVal a = tt_cast(g, tt_const_data(g, TT_F32, TT_SHAPE(3 * s, taps), sum), tt_graph_ftype(g));
    return tt_reshape(g, tt_matmul(g, a, tt_reshape(g, w, TT_SHAPE(taps, 1))), TT_SHAPE(s, 1, 3, 1));
}

/* Stretch2d(S, 1) and Conv2d(1, 1, (1, 2S + 1), padding=(0, S), bias=False): (N,T,C) to (N,T*S,C). */
static TtVal stretch(TtGraph *g, TtVal x, int which, int64_t s)
{
    TtShape d = tt_shape(g, x);
    TtVal w = tt_wavernn_stretch_weights(g, which, s);
    if (!tt_graph_ok(g)) return TT_NONE;
    TtConv2dAttrs a = {.stride = {1, 1}, .padding = {1, 0}, .dilation = {1, 1}, .groups = 1};
    x = tt_conv2d_op(g, tt_reshape(g, x, TT_SHAPE(d.dims[0], d.dims[1], d.dims[2], 1)), w, TT_NONE, &a); /* (N,T,C,S) */
    if (!tt_graph_ok(g)) return TT_NONE;
    return tt_reshape(g, tt_permute(g, x, (int[]){0, 1, 3, 2}), TT_SHAPE(d.dims[0], d.dims[1] * s, d.dims[2]));
}

static int64_t product(const TtInts *scales)
{
    int64_t p = 1;
    for (int i = 0; i < scales->n; i++) p *= scales->v[i];
    return p;
}

/* What the options and a length must fulfil. */
static bool acceptable(TtGraph *g, const TtWaveRnn *o, int64_t frames)
{
    int64_t scale = product(&o->upsample_scales);
    if (scale != o->hop_length || o->kernel_size % 2 == 0)
        tt_graph_fail(
            g, TT_ECONFIG,
            "wavernn: the product of upsample_scales is %lld and hop_length %lld; kernel_size is %lld and has "
            "to be odd",
            (long long)scale, (long long)o->hop_length, (long long)o->kernel_size);
    else if (frames < o->kernel_size)
        tt_graph_fail(g, TT_ECONFIG, "wavernn: %lld frames; the convolution over %lld needs as many", (long long)frames,
                      (long long)o->kernel_size);
    return tt_graph_ok(g);
}

TtVal tt_wavernn_features(TtGraph *g, const TtWaveRnn *o, TtVal spec)
{
    if (!tt_graph_ok(g) || !acceptable(g, o, tt_dim(g, spec, 1))) return TT_NONE;
    tt_graph_push(g, "upsample");
    TtVal x = tt_cast(g, mel_resnet(g, o, spec), tt_graph_ftype(g));
    tt_graph_pop(g);
    return x;
}

void tt_wavernn_upsample(TtGraph *g, const TtWaveRnn *o, TtVal spec, TtVal *mel, TtVal *aux)
{
    int64_t frames = tt_dim(g, spec, 1), indent = (o->kernel_size - 1) / 2 * o->hop_length;
    *mel = TT_NONE;
    *aux = repeat(g, tt_wavernn_features(g, o, spec), o->hop_length);
    for (int i = 0; i < o->upsample_scales.n; i++) spec = stretch(g, spec, i, o->upsample_scales.v[i]);
    if (tt_graph_ok(g)) *mel = tt_slice(g, spec, 1, indent, tt_wavernn_samples(o, frames), 1);
}

/* X with the auxiliary features of place I of four behind it. */
static TtVal with_aux(TtGraph *g, const TtWaveRnn *o, TtVal x, TtVal aux, int i)
{
    int64_t n = o->n_output / 4;
    return tt_concat(g, (TtVal[]){x, tt_slice(g, aux, 2, i * n, n, 1)}, 2, 2);
}

static TtVal linear(TtGraph *g, TtVal x, const char *name, int64_t out)
{
    return tt_cast(g, tt_linear(g, x, name, .out = (int)out), tt_graph_ftype(g));
}

TtVal tt_wavernn_forward(TtGraph *g, const TtWaveRnn *o, TtVal waveform, TtVal spec)
{
    TtVal mel, aux;
    int64_t have = tt_dim(g, waveform, 1), need = tt_wavernn_samples(o, tt_dim(g, spec, 1));
    tt_wavernn_upsample(g, o, spec, &mel, &aux);
    if (tt_graph_ok(g) && have != need)
        tt_graph_fail(g, TT_ECONFIG, "wavernn: %lld samples with %lld frames, which stand for %lld", (long long)have,
                      (long long)tt_dim(g, spec, 1), (long long)need);
    if (!tt_graph_ok(g)) return TT_NONE;
    TtVal x = tt_concat(g, (TtVal[]){waveform, mel}, 2, 2); /* (N,T,...) from here */
    x = linear(g, with_aux(g, o, x, aux, 0), "fc", o->n_rnn);
    x = tt_add(g, tt_gru(g, x, "rnn1", .hidden = (int)o->n_rnn).y, x);
    x = tt_add(g, tt_gru(g, with_aux(g, o, x, aux, 1), "rnn2", .hidden = (int)o->n_rnn).y, x);
    x = tt_relu(g, linear(g, with_aux(g, o, x, aux, 2), "fc1", o->n_fc));
    x = tt_relu(g, linear(g, with_aux(g, o, x, aux, 3), "fc2", o->n_fc));
    return linear(g, x, "fc3", o->n_classes);
}

/* ---- the architecture as configs name it */

static const TtOption options[] = {
    {"upsample_scales", TT_OPT_INTS, offsetof(TtWaveRnn, upsample_scales), .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 16, .min_n = 1, .max_n = 8, .help = "factors whose product is hop_length"},
    {"n_classes", TT_OPT_INT, offsetof(TtWaveRnn, n_classes), .flags = TT_OPT_RANGED, .min = 2, .max = 1 << 16,
     .help = "values that a sample can take"},
    {"hop_length", TT_OPT_INT, offsetof(TtWaveRnn, hop_length), .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 20,
     .help = "samples between frames of the spectrogram"},
    {"n_res_block", TT_OPT_INT, offsetof(TtWaveRnn, n_res_block), .def = "10", .flags = TT_OPT_RANGED, .min = 0,
     .max = 1000, .help = "residual blocks over frames"},
    {"n_rnn", TT_OPT_INT, offsetof(TtWaveRnn, n_rnn), .def = "512", .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 16,
     .help = "width of the GRUs"},
    {"n_fc", TT_OPT_INT, offsetof(TtWaveRnn, n_fc), .def = "512", .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 16,
     .help = "width of the linear layers"},
    {"kernel_size", TT_OPT_INT, offsetof(TtWaveRnn, kernel_size), .def = "5", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1023, .help = "frames that the first convolution sees; odd"},
    {"n_freq", TT_OPT_INT, offsetof(TtWaveRnn, n_freq), .def = "128", .flags = TT_OPT_RANGED, .min = 1, .max = 1 << 16,
     .help = "bins of the spectrogram"},
    {"n_hidden", TT_OPT_INT, offsetof(TtWaveRnn, n_hidden), .def = "128", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 16, .help = "width of the residual blocks"},
    {"n_output", TT_OPT_INT, offsetof(TtWaveRnn, n_output), .def = "128", .flags = TT_OPT_RANGED, .min = 4,
     .max = 1 << 16, .help = "features that the residual blocks give, a quarter to each layer"},
    {0},
};

static TtStatus check(void *o, const TtNode *node)
{
    const TtWaveRnn *m = o;
    int64_t product = 1;
    for (int i = 0; i < m->upsample_scales.n && product <= m->hop_length; i++) product *= m->upsample_scales.v[i];
    if (product != m->hop_length)
        return tt_node_fail(tt_node_get(node, "upsample_scales"),
                            "the product of upsample_scales is %lld, hop_length %lld", (long long)product,
                            (long long)m->hop_length);
    if (m->kernel_size % 2 == 0) return tt_node_fail(tt_node_get(node, "kernel_size"), "kernel_size must be odd");
    return TT_OK;
}

static void build(TtGraph *g, const void *o, const TtModelInput *in, TtModelOutput *out)
{
    const TtWaveRnn *m = o;
    if (tt_channels(g, in->extra) != m->n_freq)
        tt_graph_fail(g, TT_ECONFIG, "model.n_freq is %lld, but the transforms give %lld bins", (long long)m->n_freq,
                      (long long)tt_channels(g, in->extra));
    else
        out->logits = tt_wavernn_forward(g, m, in->x, in->extra);
}

static void vocoder(const void *o, int *hop, int *kernel_size)
{
    const TtWaveRnn *m = o;
    *hop = (int)m->hop_length, *kernel_size = (int)m->kernel_size;
}

extern const TtModelDef tt_model_wavernn;
const TtModelDef tt_model_wavernn = {
    .name = "wavernn",
    .help = "WaveRNN: a spectrogram to a waveform, sample by sample, 4.4 M parameters",
    .options = options,
    .options_size = sizeof(TtWaveRnn),
    .classes_offset = offsetof(TtWaveRnn, n_classes),
    .task = TT_TASK_VOCODER,
    .check = check,
    .build = build,
    .vocoder = vocoder,
};
