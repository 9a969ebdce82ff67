/* SPDX-License-Identifier: Apache-2.0 */
/* models/resnet.c - residual networks: ResNet (He et al. 2015, torchvision's v1.5: stride on the 3x3), ResNeXt
 * (Xie et al. 2016), Wide ResNet (Zagoruyko and Komodakis 2016), and `resnet` with everything open, for small
 * pictures. */
#include "models/nn.h"

typedef enum Block { BASIC, BOTTLENECK } Block;
typedef enum Stem { IMAGENET, CIFAR } Stem;
enum { MAX_STAGES = 6 };

typedef struct ResNet {
    int64_t num_classes, groups, width_per_group;
    bool zero_init_residual;
    double dropout;
    const TtNode *dilate_node;
    bool dilated[3];
    int block, stem;
    TtInts layers, widths;
} ResNet;

#define COMMON_OPTIONS                                                                                               \
    {                                                                                                                \
        "num_classes",                                                                                               \
        TT_OPT_INT,                                                                                                  \
        offsetof(ResNet, num_classes),                                                                               \
        .def = "1000",                                                                                               \
        .flags = TT_OPT_RANGED,                                                                                      \
        .min = 1,                                                                                                    \
        .max = 10000000,                                                                                             \
        .help = "classes"},                                                                                          \
        {"zero_init_residual", TT_OPT_BOOL, offsetof(ResNet, zero_init_residual), .def = "false",                    \
         .help = "start the last batch norm of each block at 0, so that blocks start as identities"},                \
        {"groups",                                                                                                   \
         TT_OPT_INT,                                                                                                 \
         offsetof(ResNet, groups),                                                                                   \
         .def = "1",                                                                                                 \
         .flags = TT_OPT_RANGED,                                                                                     \
         .min = 1,                                                                                                   \
         .max = 4096,                                                                                                \
         .help = "groups of the 3x3 convolutions (bottleneck blocks)"},                                              \
        {"width_per_group",                                                                                          \
         TT_OPT_INT,                                                                                                 \
         offsetof(ResNet, width_per_group),                                                                          \
         .def = "64",                                                                                                \
         .flags = TT_OPT_RANGED,                                                                                     \
         .min = 1,                                                                                                   \
         .max = 4096,                                                                                                \
         .help = "width of a group, in units of 1/64 of the stage's width"},                                         \
        {"replace_stride_with_dilation", TT_OPT_NODE, offsetof(ResNet, dilate_node), .def = "null",                  \
         .help = "[a, b, c]: dilate instead of stride in stages 2, 3, 4"},                                           \
    {                                                                                                                \
        "dropout", TT_OPT_FLOAT, offsetof(ResNet, dropout), .def = "0.0", .flags = TT_OPT_RANGED | TT_OPT_BELOW_MAX, \
                                                            .min = 0, .max = 1,                                      \
                                                            .help = "dropout before the classifier"                  \
    }

static const TtOption named_options[] = {COMMON_OPTIONS, {0}};

static const TtOption open_options[] = {
    COMMON_OPTIONS,
    {"block", TT_OPT_ENUM, offsetof(ResNet, block), .def = "basic", .choices = "basic|bottleneck",
     .help = "two 3x3 convolutions, or 1x1, 3x3, 1x1 with four times the width"},
    {"layers", TT_OPT_INTS, offsetof(ResNet, layers), .def = "[2, 2, 2, 2]", .flags = TT_OPT_RANGED, .min = 1,
     .max = 1000, .min_n = 1, .max_n = MAX_STAGES, .help = "blocks in each stage"},
    {"widths", TT_OPT_INTS, offsetof(ResNet, widths), .def = "[64, 128, 256, 512]", .flags = TT_OPT_RANGED, .min = 1,
     .max = 65536, .min_n = 1, .max_n = MAX_STAGES,
     .help = "channels of each stage (times 4 behind bottleneck blocks)"},
    {"stem", TT_OPT_ENUM, offsetof(ResNet, stem), .def = "imagenet", .choices = "imagenet|cifar",
     .help = "imagenet: 7x7 stride 2 and a max pool; cifar: 3x3, no pool, for pictures of 28 to 64 pixels"},
    {0},
};

static TtStatus check(void *options, const TtNode *node)
{
    ResNet *r = options;
    const TtNode *d = r->dilate_node;
    if (!tt_node_is_null(d)) {
        if (d->kind != TT_NODE_LIST || d->count != 3)
            return tt_node_fail(d, "replace_stride_with_dilation must be a list of three booleans");
        for (int i = 0; i < 3; i++) TT_TRY(tt_node_bool(d->items[i], "replace_stride_with_dilation", &r->dilated[i]));
    }
    if (r->layers.n != r->widths.n)
        return tt_node_fail(node, "resnet: layers has %d stages and widths has %d", r->layers.n, r->widths.n);
    if (r->block == BASIC &&
        (r->groups != 1 || r->width_per_group != 64 || r->dilated[0] || r->dilated[1] || r->dilated[2]))
        return tt_node_fail(node, "basic blocks take no groups, width_per_group or dilation; use bottleneck blocks");
    for (int i = 0; i < r->widths.n && r->block == BOTTLENECK; i++) {
        int64_t width = r->widths.v[i] * r->width_per_group / 64 * r->groups;
        if (width < 1) return tt_node_fail(node, "width_per_group leaves stage %d without channels", i + 1);
    }
    return TT_OK;
}

/* One residual block; DILATION is used where the stage's stride was replaced. */
typedef struct Shape {
    int width, stride, dilation;
} Shape;

static TtVal conv_bn(TtGraph *g, TtVal x, const char *conv, const char *bn, TtConv2dOptions o, bool zero)
{
    o.no_bias = true, o.init = TT_WEIGHT_KAIMING_FAN_OUT;
    x = tt_nn_conv2d(g, x, conv, o);
    return tt_batch_norm(g, x, bn, .zero_weight = zero);
}

static TtVal shortcut(TtGraph *g, TtVal x, int out, int stride)
{
    if (stride == 1 && tt_channels(g, x) == out) return x;
    return conv_bn(g, x, "downsample.0", "downsample.1", (TtConv2dOptions){.out = out, .kernel = 1, .stride = stride},
                   false);
}

static TtVal basic_block(TtGraph *g, const ResNet *r, TtVal x, Shape s)
{
    TtConv2dOptions first = {.out = s.width, .kernel = 3, .stride = s.stride, .pad = 1};
    TtConv2dOptions second = {.out = s.width, .kernel = 3, .stride = 1, .pad = 1};
    TtVal y = tt_relu(g, conv_bn(g, x, "conv1", "bn1", first, false));
    y = conv_bn(g, y, "conv2", "bn2", second, r->zero_init_residual);
    return tt_relu(g, tt_add(g, y, shortcut(g, x, s.width, s.stride))); /* becomes one bn+add+relu */
}

static TtVal bottleneck_block(TtGraph *g, const ResNet *r, TtVal x, Shape s)
{
    int inner = (int)(s.width * r->width_per_group / 64 * r->groups), out = 4 * s.width;
    TtVal y = tt_relu(g, conv_bn(g, x, "conv1", "bn1", (TtConv2dOptions){.out = inner, .kernel = 1}, false));
    TtConv2dOptions middle = {.out = inner,
                              .kernel = 3,
                              .stride = s.stride,
                              .pad = s.dilation,
                              .dilation = s.dilation,
                              .groups = (int)r->groups};
    y = tt_relu(g, conv_bn(g, y, "conv2", "bn2", middle, false));
    y = conv_bn(g, y, "conv3", "bn3", (TtConv2dOptions){.out = out, .kernel = 1}, r->zero_init_residual);
    return tt_relu(g, tt_add(g, y, shortcut(g, x, out, s.stride)));
}

static TtVal stage(TtGraph *g, const ResNet *r, TtVal x, int number, int *dilation)
{
    int stride = number == 0 ? 1 : 2, previous = *dilation;
    if (number >= 1 && number <= 3 && r->dilated[number - 1]) *dilation *= stride, stride = 1;
    tt_graph_push(g, "layer%d", number + 1);
    for (int i = 0; i < r->layers.v[number]; i++) {
        Shape s = {.width = (int)r->widths.v[number], .stride = i ? 1 : stride, .dilation = i ? *dilation : previous};
        tt_graph_push(g, "%d", i);
        x = r->block == BASIC ? basic_block(g, r, x, s) : bottleneck_block(g, r, x, s);
        tt_graph_pop(g);
    }
    tt_graph_pop(g);
    return x;
}

static void build(TtGraph *g, const void *options, const TtModelInput *in, TtModelOutput *out)
{
    TtVal x = in->x;
    const ResNet *r = options;
    int stem = (int)r->widths.v[0], dilation = 1;
    if (r->stem == IMAGENET) {
        TtConv2dOptions o = {.out = stem, .kernel = 7, .stride = 2, .pad = 3};
        x = tt_relu(g, conv_bn(g, x, "conv1", "bn1", o, false));
        x = tt_max_pool2d(g, x, .kernel = 3, .stride = 2, .pad = 1);
    } else {
        x = tt_relu(g, conv_bn(g, x, "conv1", "bn1", (TtConv2dOptions){.out = stem, .kernel = 3, .pad = 1}, false));
    }
    for (int i = 0; i < r->layers.n; i++) x = stage(g, r, x, i, &dilation);
    x = tt_dropout(g, tt_global_avg_pool(g, x), r->dropout); /* (N,C) */
    out->logits = tt_linear(g, x, "fc", .out = (int)r->num_classes);
}

/* A torchvision name fixes the block, the layers and, for some, groups and width. */
#define RESNET(id, text, block_, groups_, width_, ...)                                 \
    static void id##_defaults(void *options)                                           \
    {                                                                                  \
        ResNet *r = options;                                                           \
        r->block = (block_);                                                           \
        r->layers = (TtInts){4, {__VA_ARGS__}};                                        \
        r->widths = (TtInts){4, {64, 128, 256, 512}};                                  \
        if ((groups_) && r->groups == 1) r->groups = (groups_);                        \
        if ((width_) && r->width_per_group == 64) r->width_per_group = (width_);       \
    }                                                                                  \
    extern const TtModelDef tt_model_##id;                                             \
    const TtModelDef tt_model_##id = {.name = #id,                                     \
                                      .help = text,                                    \
                                      .options = named_options,                        \
                                      .options_size = sizeof(ResNet),                  \
                                      .classes_offset = offsetof(ResNet, num_classes), \
                                      .check = check,                                  \
                                      .defaults = id##_defaults,                       \
                                      .build = build,                                  \
                                      .min_size = 1};

RESNET(resnet18, "ResNet-18: 11.7 M parameters", BASIC, 0, 0, 2, 2, 2, 2)
RESNET(resnet34, "ResNet-34: 21.8 M parameters", BASIC, 0, 0, 3, 4, 6, 3)
RESNET(resnet50, "ResNet-50: 25.6 M parameters", BOTTLENECK, 0, 0, 3, 4, 6, 3)
RESNET(resnet101, "ResNet-101: 44.5 M parameters", BOTTLENECK, 0, 0, 3, 4, 23, 3)
RESNET(resnet152, "ResNet-152: 60.2 M parameters", BOTTLENECK, 0, 0, 3, 8, 36, 3)
RESNET(resnext50_32x4d, "ResNeXt-50 32x4d: 25.0 M parameters", BOTTLENECK, 32, 4, 3, 4, 6, 3)
RESNET(resnext101_32x8d, "ResNeXt-101 32x8d: 88.8 M parameters", BOTTLENECK, 32, 8, 3, 4, 23, 3)
RESNET(wide_resnet50_2, "Wide ResNet-50-2: 68.9 M parameters", BOTTLENECK, 0, 128, 3, 4, 6, 3)
RESNET(wide_resnet101_2, "Wide ResNet-101-2: 126.9 M parameters", BOTTLENECK, 0, 128, 3, 4, 23, 3)

extern const TtModelDef tt_model_resnet;
const TtModelDef tt_model_resnet = {
    .name = "resnet",
    .help = "ResNet with every choice open: block, layers, widths, stem",
    .options = open_options,
    .options_size = sizeof(ResNet),
    .classes_offset = offsetof(ResNet, num_classes),
    .check = check,
    .build = build,
    .min_size = 1,
};
