/* SPDX-License-Identifier: Apache-2.0 */
/* vision/resize.c - Resize, and the resizing that others use.
 *
 * Two passes, along rows and then across them, each a weighted sum with precomputed weights. For uint8 the weights
 * are int16 in fixed point and the picture between the passes is uint8: exactly what PyTorch's native uint8 path does
 * (aten/src/ATen/native/cpu/UpSampleKernel.cpp); Pillow, with more bits, differs by a level now and then. uint16 goes
 * through float32 and is rounded. With antialias the filter is widened by the reduction, so no pixel of the source
 * is left out. */
#include <math.h>
#include <string.h>

#include "vision/pixels.h"
#include "vision/rows.h"

/* ---- filters */

static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Keys (1981) with the given a. */
static double keys(double x, double a)
{
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x * M_PI) / (x * M_PI);
}

static double lanczos3(double x)
{
    return fabs(x) < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
}

/* -0.5 with antialias, as Pillow has it, and -0.75 without, as OpenCV: PyTorch's choice. */
static double filter(TtInterpolation kind, bool antialias, double x)
{
    if (kind == TT_BILINEAR) return triangle(x);
    return kind == TT_BICUBIC ? keys(x, antialias ? -0.5 : -0.75) : lanczos3(x);
}

static int filter_size(TtInterpolation kind)
{
    return kind == TT_BILINEAR ? 2 : kind == TT_BICUBIC ? 4 : 6;
}

/* ---- weights */

/* One axis from in to out samples. */
typedef struct Axis {
    int in, out;
    TtInterpolation kind;
    bool antialias;
} Axis;

static int axis_stride(const Axis *x)
{
    double scale = (double)x->in / x->out, support = filter_size(x->kind) * 0.5;
    if (x->antialias && scale >= 1.0) support *= scale;
    const double most = ceil(support) * 2 + 1;
    return ((most < x->in ? (int)most : x->in) + 3) / 4 * 4;
}

static size_t axis_bytes(const Axis *x)
{
    const size_t weights = (size_t)x->out * (size_t)axis_stride(x);
    return weights * (sizeof(double) + sizeof(float)) + (size_t)x->out * 2 * sizeof(int32_t) + 64;
}

/* Widened filter, cut at the borders and normalised to a sum of 1. Returns the count. */
static int weights_antialias(const Axis *x, int i, double *w, int *start)
{
    const double scale = (double)x->in / x->out, wide = scale >= 1.0 ? scale : 1.0, inverse = 1.0 / wide;
    const double support = filter_size(x->kind) * 0.5 * wide, center = scale * (i + 0.5);
    const int from = (int)TT_MAX((int64_t)(center - support + 0.5), 0);
    const int count = (int)TT_MIN((int64_t)(center + support + 0.5), x->in) - from;
    double total = 0;
    for (int k = 0; k < count; k++) total += w[k] = filter(x->kind, true, (k + from - center + 0.5) * inverse);
    if (total != 0)
        for (int k = 0; k < count; k++) w[k] /= total;
    *start = from;
    return count;
}

/* Plain interpolation; weights that fall outside go to the border's sample. */
static int weights_plain(const Axis *x, int i, double *w, int *start)
{
    double at = (double)x->in / x->out * (i + 0.5) - 0.5;
    if (x->kind == TT_BILINEAR && at < 0) at = 0;
    const int base = (int)floor(at), size = filter_size(x->kind), first = base - size / 2 + 1;
    const int from = TT_MAX(first, 0), count = TT_MIN(first + size, x->in) - from;
    for (int k = 0; k < count; k++) w[k] = 0;
    for (int k = 0; k < size; k++) {
        const int source = TT_MIN(TT_MAX(first + k, 0), x->in - 1);
        w[source - from] += filter(x->kind, false, k + 1 - size / 2 - (at - base));
    }
    *start = from;
    return count;
}

/* As many fractional bits as the largest weight leaves in 15, but at most 22. */
static int fixed_point(double most)
{
    int shift = 0;
    while (shift < 22 && (int)(0.5 + most * (1 << (shift + 1))) < 1 << 15) shift++;
    return shift;
}

static void *take(char **at, size_t size)
{
    void *p = *at;
    *at += (size + 7) / 8 * 8;
    return p;
}

/* Fill T with the weights of an axis, for uint8 (FIXED) or float32; memory from *AT, axis_bytes() of it. */
static void axis_taps(const Axis *x, bool fixed, char **at, TtTaps *t)
{
    const size_t total = (size_t)x->out * (size_t)axis_stride(x);
    *t = (TtTaps){.n = x->out, .stride = axis_stride(x), .first = x->in};
    double *w = take(at, total * sizeof(double)), most = 0;
    t->start = take(at, (size_t)x->out * sizeof(int32_t));
    t->count = take(at, (size_t)x->out * sizeof(int32_t));
    if (fixed)
        t->w16 = take(at, total * sizeof(int16_t));
    else
        t->w32 = take(at, total * sizeof(float));
    memset(w, 0, total * sizeof(double));
    for (int i = 0; i < x->out; i++) {
        double *row = w + (size_t)i * (size_t)t->stride;
        t->count[i] = (x->antialias ? weights_antialias : weights_plain)(x, i, row, &t->start[i]);
        t->first = TT_MIN(t->first, t->start[i]);
        t->end = TT_MAX(t->end, t->start[i] + t->count[i]);
        for (int k = 0; k < t->count[i]; k++) most = TT_MAX(most, row[k]);
    }
    if (!fixed) {
        for (size_t k = 0; k < total; k++) t->w32[k] = (float)w[k];
        return;
    }
    t->shift = fixed_point(most);
    for (size_t k = 0; k < total; k++) {
        const double v = w[k] * (1 << t->shift);
        t->w16[k] = (int16_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
}

/* ---- passes */

typedef struct Window {
    const void *data; /* its upper left corner */
    size_t stride;    /* of a row, in elements */
    int h, w, c;
} Window;

/* The passes on uint8; MIDDLE has room for the rows between them. READABLE counts from the window's start. */
static void resize_u8(const Window *s, size_t readable, const TtTaps *tx, const TtTaps *ty, uint8_t *middle,
                      uint8_t *out)
{
    const TtRows *r = tt_rows();
    const uint8_t *src = s->data;
    size_t stride = s->stride;
    int first = 0; /* the row at src */
    if (tx) {
        first = ty ? ty->first : 0;
        const int rows = (ty ? ty->end : s->h) - first;
        const size_t skip = (size_t)first * s->stride, row = (size_t)tx->n * (size_t)s->c;
        r->taps_h_u8(src + skip, stride, readable - skip, rows, s->c, tx, ty ? middle : out, row);
        src = middle, stride = row;
    }
    if (!ty) return;
    const size_t n = (size_t)(tx ? tx->n : s->w) * (size_t)s->c;
    for (int y = 0; y < ty->n; y++)
        r->taps_v_u8(src + (size_t)(ty->start[y] - first) * stride, stride, ty->count[y],
                     ty->w16 + (size_t)y * (size_t)ty->stride, ty->shift, n, out + (size_t)y * n);
}

static void resize_f32(const Window *s, const TtTaps *tx, const TtTaps *ty, float *middle, float *out)
{
    const TtRows *r = tt_rows();
    const float *src = s->data;
    size_t stride = s->stride;
    if (tx) {
        const size_t row = (size_t)tx->n * (size_t)s->c;
        r->taps_h_f32(src, stride, s->h, s->c, tx, ty ? middle : out, row);
        src = middle, stride = row;
    }
    if (!ty) return;
    const size_t n = (size_t)(tx ? tx->n : s->w) * (size_t)s->c;
    for (int y = 0; y < ty->n; y++)
        r->taps_v_f32(src + (size_t)ty->start[y] * stride, stride, ty->count[y],
                      ty->w32 + (size_t)y * (size_t)ty->stride, n, out + (size_t)y * n);
}

static TtStatus resize_smooth(TtTransformArgs *a, int top, int left, int h, int w, TtInterpolation kind, bool antialias)
{
    TtImage *im = a->image, *to = &a->scratch->image;
    const Axis x = {w, to->w, kind, antialias}, y = {h, to->h, kind, antialias};
    const bool fixed = im->dtype == TT_U8, wide = im->dtype == TT_U16;
    const bool across = w != to->w, down = h != to->h;
    const size_t element = fixed ? 1 : sizeof(float), c = (size_t)im->c;
    const size_t middle = across && down ? (size_t)h * (size_t)to->w * c * element : 0;
    /* uint16: the window and the result as float32 */
    const size_t in = wide ? (size_t)h * (size_t)w * c : 0, out = wide ? (size_t)to->h * (size_t)to->w * c : 0;
    size_t size = middle + (in + out) * sizeof(float) + 64;
    if (across) size += axis_bytes(&x);
    if (down) size += axis_bytes(&y);
    char *at;
    TT_TRY(tt_transform_table(a->scratch, size, (void **)&at));
    TtTaps tx, ty;
    if (across) axis_taps(&x, fixed, &at, &tx);
    if (down) axis_taps(&y, fixed, &at, &ty);
    void *between = take(&at, middle);
    const size_t offset = ((size_t)top * (size_t)im->w + (size_t)left) * c;
    Window s = {(char *)im->data + offset * tt_dtype_size(im->dtype), (size_t)im->w * c, h, w, im->c};
    if (fixed) {
        resize_u8(&s, tt_image_bytes(im) - offset, across ? &tx : NULL, down ? &ty : NULL, between, to->data);
        return TT_OK;
    }
    if (!wide) {
        resize_f32(&s, across ? &tx : NULL, down ? &ty : NULL, between, to->data);
        return TT_OK;
    }
    float *source = take(&at, in * sizeof(float)), *result = take(&at, out * sizeof(float));
    const size_t row = (size_t)w * c;
    for (int i = 0; i < h; i++)
        tt_pixels_load(TT_U16, (const uint16_t *)s.data + (size_t)i * s.stride, row, source + (size_t)i * row);
    s.data = source, s.stride = row;
    resize_f32(&s, across ? &tx : NULL, down ? &ty : NULL, between, result);
    tt_pixels_store(TT_U16, result, out, true, to->data);
    return TT_OK;
}

/* Which source sample stands for output i, in float32 as in ATen's nearest_neighbor_compute_source_index and, for
 * nearest-exact, with its fused multiply-add. */
static int nearest(int i, int in, int out, bool exact)
{
    const float scale = (float)in / (float)out;
    const float at = exact ? (float)((i + 0.5) * (double)scale - 0.5) + 0.5f : (float)i * scale;
    return TT_MIN((int)floorf(at), in - 1);
}

static TtStatus resize_nearest(TtTransformArgs *a, int top, int left, int h, int w, bool exact)
{
    TtImage *im = a->image, *to = &a->scratch->image;
    const size_t pixel = (size_t)im->c * tt_dtype_size(im->dtype);
    size_t *offset;
    TT_TRY(tt_transform_table(a->scratch, (size_t)to->w * sizeof *offset, (void **)&offset));
    for (int x = 0; x < to->w; x++) offset[x] = (size_t)(left + nearest(x, w, to->w, exact)) * pixel;
    uint8_t *d = to->data;
    for (int y = 0; y < to->h; y++) {
        const size_t line = (size_t)(top + nearest(y, h, to->h, exact)) * (size_t)im->w * pixel;
        const uint8_t *s = (const uint8_t *)im->data + line;
        for (int x = 0; x < to->w; x++, d += pixel)
            for (size_t k = 0; k < pixel; k++) d[k] = s[offset[x] + k];
    }
    return TT_OK;
}

TtStatus tt_pixels_resize(TtTransformArgs *a, int top, int left, int h, int w, int64_t out_h, int64_t out_w,
                          TtInterpolation interpolation, bool antialias)
{
    if (out_h == h && out_w == w) return tt_pixels_crop(a, top, left, h, w);
    TT_TRY(tt_pixels_target(a, out_h, out_w, a->image->c, a->image->dtype));
    if (interpolation == TT_NEAREST || interpolation == TT_NEAREST_EXACT)
        TT_TRY(resize_nearest(a, top, left, h, w, interpolation == TT_NEAREST_EXACT));
    else
        TT_TRY(resize_smooth(a, top, left, h, w, interpolation, antialias));
    tt_image_swap(a->image, &a->scratch->image);
    return TT_OK;
}

/* ---- Resize */

typedef struct Resize {
    TtInts size;
    int interpolation;
    int64_t max_size;
    bool antialias;
} Resize;

static const TtOption options[] = {
    {"size", TT_OPT_INTS, offsetof(Resize, size), .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 1, .max = 65536,
     .min_n = 1, .max_n = 2, .help = "pixels: the shorter side, or [height, width]; null: max_size decides"},
    {"interpolation", TT_OPT_ENUM, offsetof(Resize, interpolation), .def = "bilinear", .choices = TT_INTERPOLATIONS,
     .help = "filter"},
    {"max_size", TT_OPT_INT, offsetof(Resize, max_size), .def = "null", .flags = TT_OPT_NULL | TT_OPT_RANGED, .min = 1,
     .max = 65536, .help = "pixels the longer side may have at most"},
    {"antialias", TT_OPT_BOOL, offsetof(Resize, antialias), .def = "true", .help = "widen the filter when reducing"},
    {0}};

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    const Resize *r = o;
    const TtNode *max = tt_node_get(node, "max_size");
    if (r->size.n == 0 && r->max_size == TT_NULL_INT)
        return tt_node_fail(tt_node_get(node, "size"), "Resize needs max_size when size is null");
    if (r->size.n == 2 && r->max_size != TT_NULL_INT)
        return tt_node_fail(max, "max_size goes with one size, that of the shorter side, not with [height, width]");
    if (r->size.n == 1 && r->max_size != TT_NULL_INT && r->max_size <= r->size.v[0])
        return tt_node_fail(max, "max_size must be greater than size (%lld)", (long long)r->size.v[0]);
    if (r->interpolation == TT_LANCZOS && !r->antialias)
        return tt_node_fail(tt_node_get(node, "interpolation"), "lanczos needs antialias: true");
    return TT_OK;
}

/* torchvision's _compute_resized_output_size; quotients are cut, as there. */
static void resized(const Resize *r, int h, int w, int64_t *out_h, int64_t *out_w)
{
    if (r->size.n == 2) {
        *out_h = r->size.v[0], *out_w = r->size.v[1];
        return;
    }
    const double shorter = TT_MIN(h, w), longer = TT_MAX(h, w);
    int64_t s, l;
    if (r->size.n == 0) {
        l = r->max_size, s = (int64_t)((double)r->max_size * shorter / longer);
    } else {
        s = r->size.v[0], l = (int64_t)((double)s * longer / shorter);
        if (r->max_size != TT_NULL_INT && l > r->max_size) {
            s = (int64_t)((double)(r->max_size * s) / (double)l);
            l = r->max_size;
        }
    }
    *out_h = w <= h ? l : s, *out_w = w <= h ? s : l;
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const Resize *r = o;
    int64_t h, w;
    resized(r, a->image->h, a->image->w, &h, &w);
    return tt_pixels_resize(a, 0, 0, a->image->h, a->image->w, h, w, (TtInterpolation)r->interpolation, r->antialias);
}

static void out_size(const void *o, int *h, int *w)
{
    const Resize *r = o;
    int64_t oh = 0, ow = 0;
    if (r->size.n == 2 || (*h > 0 && *w > 0)) resized(r, *h, *w, &oh, &ow);
    *h = (int)TT_MIN(oh, INT32_MAX), *w = (int)TT_MIN(ow, INT32_MAX);
}

const TtTransformDef tt_transform_Resize = {
    .name = "Resize",
    .help = "resize to a given size",
    .options = options,
    .size = sizeof(Resize),
    .check = check,
    .apply = apply,
    .out_size = out_size,
};

/* ---- RandomResize */

typedef struct RandomResize {
    int64_t min_size, max_size;
    int interpolation;
    bool antialias;
} RandomResize;

static const TtOption random_options[] = {
    {"min_size", TT_OPT_INT, offsetof(RandomResize, min_size), .flags = TT_OPT_RANGED, .min = 1, .max = 65536,
     .help = "pixels: least length of the shorter side"},
    {"max_size", TT_OPT_INT, offsetof(RandomResize, max_size), .flags = TT_OPT_RANGED, .min = 2, .max = 65536,
     .help = "pixels: the shorter side stays below"},
    {"interpolation", TT_OPT_ENUM, offsetof(RandomResize, interpolation), .def = "bilinear",
     .choices = TT_INTERPOLATIONS, .help = "filter"},
    {"antialias", TT_OPT_BOOL, offsetof(RandomResize, antialias), .def = "true",
     .help = "widen the filter when reducing"},
    {0}};

static TtStatus random_check(void *o, const TtNode *node, TtArena *arena)
{
    const RandomResize *r = o;
    if (r->min_size >= r->max_size)
        return tt_node_fail(tt_node_get(node, "max_size"), "max_size must be greater than min_size (%lld)",
                            (long long)r->min_size);
    if (r->interpolation == TT_LANCZOS && !r->antialias)
        return tt_node_fail(tt_node_get(node, "interpolation"), "lanczos needs antialias: true");
    return TT_OK;
}

static TtStatus random_apply(const void *o, TtTransformArgs *a)
{
    const RandomResize *r = o;
    const Resize size = {
        .size = {1, {r->min_size + (int64_t)tt_rng_below(&a->rng, (uint64_t)(r->max_size - r->min_size))}},
        .interpolation = r->interpolation,
        .max_size = TT_NULL_INT,
        .antialias = r->antialias};
    return apply(&size, a);
}

static void random_size(const void *o, int *h, int *w)
{
    *h = *w = 0;
}

const TtTransformDef tt_transform_RandomResize = {
    .name = "RandomResize",
    .help = "resize the shorter side to a random size",
    .options = random_options,
    .size = sizeof(RandomResize),
    .check = random_check,
    .apply = random_apply,
    .out_size = random_size,
    .random = true,
};
