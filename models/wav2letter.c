/* SPDX-License-Identifier: Apache-2.0 */
/* models/wav2letter.c - Wav2Letter (Collobert et al. 2016) as torchaudio.models.Wav2Letter: eleven convolutions over time,
 * a twelfth in front that takes raw samples; log-probabilities of the classes for every second frame. */
#include <stdio.h>

#include "models/nn.h"

enum { WAVEFORM, POWER_SPECTRUM, MFCC };

typedef struct Wav2Letter {
    int64_t num_classes, num_features;
    int input_type, init;
} Wav2Letter;

static const TtOption options[] = {
    {"num_classes", TT_OPT_INT, offsetof(Wav2Letter, num_classes), .def = "40", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 20, .help = "classes, the blank among them"},
    {"input_type", TT_OPT_ENUM, offsetof(Wav2Letter, input_type), .def = "waveform",
     .choices = "waveform|power_spectrum|mfcc", .help = "raw samples, or features (the two are alike)"},
    {"init", TT_OPT_ENUM, offsetof(Wav2Letter, init), .def = "default", .choices = "default|kaiming",
     .help = "how weights start: as torchaudio's, with which the signal all but vanishes over eleven layers, or normal "
             "with "
             "std sqrt(2 / fan_in)"},
    {"num_features", TT_OPT_INT, offsetof(Wav2Letter, num_features), .def = "1", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1 << 16, .help = "channels of the input: 1 for samples, bins of a spectrum"},
    {0},
};

typedef struct Layer {
    int out, kernel, stride, pad;
} Layer;

static const Layer front = {250, 250, 160, 45};
static const Layer layers[] = {{250, 48, 2, 23},  {250, 7, 1, 3},  {250, 7, 1, 3}, {250, 7, 1, 3},
                               {250, 7, 1, 3},    {250, 7, 1, 3},  {250, 7, 1, 3}, {250, 7, 1, 3},
                               {2000, 32, 1, 16}, {2000, 1, 1, 0}, {0, 1, 1, 0}}; /* 0: num_classes */

static TtVal conv(TtGraph *g, const Wav2Letter *m, TtVal x, const Layer *l, int index, int out)
{
    char name[16];
    snprintf(name, sizeof name, "%d", 2 * index); /* the odd ones are the activations */
    TtWeightInit init = m->init ? TT_WEIGHT_KAIMING_FAN_IN : TT_WEIGHT_DEFAULT;
    return tt_relu(
        g, tt_conv1d(g, x, name, .out = out, .kernel = l->kernel, .stride = l->stride, .pad = l->pad, .init = init));
}

static void build(TtGraph *g, const void *o, const TtModelInput *in, TtModelOutput *out)
{
    const Wav2Letter *m = o;
    const bool waveform = m->input_type == WAVEFORM;
    TtVal x = in->x; /* (N,T,num_features) */
    if (tt_channels(g, x) != m->num_features) {
        tt_graph_fail(g, TT_ECONFIG, "model.num_features is %lld, but the transforms give %lld",
                      (long long)m->num_features, (long long)tt_channels(g, x));
        return;
    }
    tt_graph_push(g, "acoustic_model");
    if (waveform) {
        tt_graph_push(g, "0");
        x = conv(g, m, x, &front, 0, front.out);
        tt_graph_pop(g);
        tt_graph_push(g, "1");
    }
    for (int i = 0; i < TT_COUNT(layers); i++)
        x = conv(g, m, x, &layers[i], i, layers[i].out ? layers[i].out : (int)m->num_classes);
    if (waveform) tt_graph_pop(g);
    tt_graph_pop(g);
    out->logits = tt_log_softmax(g, tt_cast(g, x, tt_graph_ftype(g)), 2);
}

static int64_t out_frames(const void *o, int64_t frames)
{
    const Wav2Letter *m = o;
    if (m->input_type == WAVEFORM) frames = (frames + 2 * front.pad - front.kernel) / front.stride + 1;
    return frames / 2 + 1;
}

extern const TtModelDef tt_model_wav2letter;
const TtModelDef tt_model_wav2letter = {
    .name = "wav2letter",
    .help = "Wav2Letter: speech to letters by convolutions, 26.2 M parameters",
    .options = options,
    .options_size = sizeof(Wav2Letter),
    .classes_offset = offsetof(Wav2Letter, num_classes),
    .task = TT_TASK_SPEECH,
    .build = build,
    .out_frames = out_frames,
};
