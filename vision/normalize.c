/* SPDX-License-Identifier: Apache-2.0 */
/* vision/normalize.c - Normalize, ToDtype, ToImage: from integers to the floats a model takes.
 *
 * Normalize takes sound too. On integers it scales to [0,1] first, which is ToDtype(float32, scale=True) followed by torchvision's
 * Normalize, rounded after each step as there. */
#include "vision/normalize.h"

#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"
#include "vision/rows.h"

static size_t elements(const TtImage *im)
{
    return (size_t)im->h * (size_t)im->w * (size_t)im->c;
}

/* uint8 to uint16 and back shift by 8 bits, or without scale keep the value (limited to 255). */
static void integers(const TtImage *im, TtImage *to, bool scale)
{
    const size_t n = elements(im);
    if (im->dtype == TT_U8) {
        const uint8_t *s = im->data;
        uint16_t *d = to->data;
        for (size_t i = 0; i < n; i++) d[i] = (uint16_t)(scale ? s[i] << 8 : s[i]);
    } else {
        const uint16_t *s = im->data;
        uint8_t *d = to->data;
        for (size_t i = 0; i < n; i++) d[i] = (uint8_t)(scale ? s[i] >> 8 : TT_MIN(s[i], 255));
    }
}

TtStatus tt_pixels_to_dtype(TtTransformArgs *a, TtDType dtype, bool scale)
{
    TtImage *im = a->image, *to = &a->scratch->image;
    const TtRows *r = tt_rows();
    const size_t n = elements(im);
    if (im->dtype == dtype) return TT_OK;
    TT_TRY(tt_pixels_target(a, im->h, im->w, im->c, dtype));
    if (dtype == TT_F32) {
        tt_pixels_load(im->dtype, im->data, n, to->data);
        if (scale) r->scale(to->data, n, (float)(1.0 / (double)tt_pixels_bound(im->dtype)));
    } else if (im->dtype == TT_F32) {
        if (scale) r->scale(im->data, n, (float)((double)tt_pixels_bound(dtype) + 1.0 - 1e-3));
        tt_pixels_store(dtype, im->data, n, false, to->data);
    } else {
        integers(im, to, scale);
    }
    tt_image_swap(im, to);
    return TT_OK;
}

TtStatus tt_pixels_normalize(TtTransformArgs *a, const TtFloats *mean, const TtFloats *std)
{
    TtImage *im = a->image, *to = &a->scratch->image;
    const TtRows *r = tt_rows();
    const size_t n = elements(im);
    float m[TT_ROW_PATTERN], s[TT_ROW_PATTERN];
    const int most = TT_MAX(mean->n, std->n);
    if (most > 1 && most != im->c)
        return TT_FAIL(TT_ECONFIG, "Normalize has %d values of %s, but the picture has %d channel%s (%s)", most,
                       mean->n > 1 ? "mean" : "std", im->c, im->c > 1 ? "s" : "", a->name);
    if (TT_ROW_PATTERN % im->c && most > 1)
        return TT_FAIL(TT_ECONFIG, "Normalize cannot take pictures of %d channels (%s)", im->c, a->name);
    for (int i = 0; i < TT_ROW_PATTERN; i++) {
        m[i] = (float)mean->v[mean->n == 1 ? 0 : i % mean->n];
        s[i] = (float)std->v[std->n == 1 ? 0 : i % std->n];
    }
    if (im->dtype == TT_F32) {
        r->normalize_f32(im->data, n, m, s, im->data);
        return TT_OK;
    }
    TT_TRY(tt_pixels_target(a, im->h, im->w, im->c, TT_F32));
    const float scale = (float)(1.0 / (double)tt_pixels_bound(im->dtype));
    if (im->dtype == TT_U8)
        r->normalize_u8(im->data, n, scale, m, s, to->data);
    else
        r->normalize_u16(im->data, n, scale, m, s, to->data);
    tt_image_swap(im, to);
    return TT_OK;
}

/* ---- Normalize */

static const TtOption normalize_options[] = {
    {"mean", TT_OPT_FLOATS, offsetof(TtNormalize, mean), .min_n = 1, .max_n = 4096,
     .help = "subtracted, one for each channel or one for all, on the scale of [0,1]"},
    {"std", TT_OPT_FLOATS, offsetof(TtNormalize, std), .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1e30,
     .min_n = 1, .max_n = 4096, .help = "divided by, likewise"},
    {"inplace", TT_OPT_BOOL, offsetof(TtNormalize, inplace), .def = "false", .help = "accepted; changes nothing"},
    {0}};

static TtStatus normalize_check(void *o, const TtNode *node, TtArena *arena)
{
    const TtNormalize *n = o;
    if (n->mean.n == n->std.n || n->mean.n == 1 || n->std.n == 1) return TT_OK;
    return tt_node_fail(tt_node_get(node, "std"), "std has %d values, but mean has %d", n->std.n, n->mean.n);
}

/* Sound is float already: one mean and deviation for all, or one for each bin. */
static TtStatus normalize_sound(TtTransformArgs *a, const TtFloats *mean, const TtFloats *std)
{
    TtAudio *clip = a->audio;
    const int most = TT_MAX(mean->n, std->n), bins = clip->bins * (clip->is_complex ? 2 : 1);
    if (clip->is_complex) return TT_FAIL(TT_ECONFIG, "Normalize cannot take complex spectrograms (%s)", a->name);
    if (most > 1 && most != bins)
        return TT_FAIL(TT_ECONFIG, "Normalize has %d values of %s, but the clip has %d bins (%s)", most,
                       mean->n > 1 ? "mean" : "std", bins, a->name);
    const size_t rows = tt_audio_floats(clip) / (size_t)TT_MAX(bins, 1);
    for (size_t r = 0; r < rows; r++)
        for (int i = 0; i < bins; i++) {
            float *x = clip->data + r * (size_t)bins + i;
            *x = (*x - (float)mean->v[mean->n == 1 ? 0 : i]) / (float)std->v[std->n == 1 ? 0 : i];
        }
    return TT_OK;
}

static TtStatus normalize_apply(const void *o, TtTransformArgs *a)
{
    const TtNormalize *n = o;
    if (a->audio) return normalize_sound(a, &n->mean, &n->std);
    return tt_pixels_normalize(a, &n->mean, &n->std);
}

const TtTransformDef tt_transform_Normalize = {
    .media = TT_MEDIA_ANY,
    .name = "Normalize",
    .help = "subtract mean, divide by std; integers are scaled to [0,1] first",
    .options = normalize_options,
    .size = sizeof(TtNormalize),
    .check = normalize_check,
    .apply = normalize_apply,
};

/* ---- ToDtype */

typedef struct ToDtype {
    int dtype;
    bool scale;
} ToDtype;

static const TtDType dtypes[] = {TT_F32, TT_U8, TT_U16};

static const TtOption dtype_options[] = {
    {"dtype", TT_OPT_ENUM, offsetof(ToDtype, dtype), .choices = "float32|uint8|uint16", .help = "type to convert to"},
    {"scale", TT_OPT_BOOL, offsetof(ToDtype, scale), .def = "false",
     .help = "map the full range of one type to that of the other (float32: [0,1])"},
    {0}};

static TtStatus dtype_apply(const void *o, TtTransformArgs *a)
{
    const ToDtype *d = o;
    return tt_pixels_to_dtype(a, dtypes[d->dtype], d->scale);
}

const TtTransformDef tt_transform_ToDtype = {
    .name = "ToDtype",
    .help = "convert to another type",
    .options = dtype_options,
    .size = sizeof(ToDtype),
    .apply = dtype_apply,
};

/* The older form, which always scales. */
static const TtOption convert_options[] = {{"dtype", TT_OPT_ENUM, offsetof(ToDtype, dtype), .def = "float32",
                                            .choices = "float32|uint8|uint16", .help = "type to convert to"},
                                           {0}};

static TtStatus convert_apply(const void *o, TtTransformArgs *a)
{
    return tt_pixels_to_dtype(a, dtypes[((const ToDtype *)o)->dtype], true);
}

const TtTransformDef tt_transform_ConvertImageDtype = {
    .name = "ConvertImageDtype",
    .help = "ToDtype with scale: true",
    .options = convert_options,
    .size = sizeof(ToDtype),
    .apply = convert_apply,
};

/* ---- ToImage, PILToTensor, ToPureTensor: pictures are arrays here already */

static const TtOption no_options[] = {{0}};

static TtStatus nothing(const void *o, TtTransformArgs *a)
{
    return TT_OK;
}

#define NOTHING(NAME)                            \
    const TtTransformDef tt_transform_##NAME = { \
        .name = #NAME, .help = "accepted; changes nothing", .options = no_options, .size = 1, .apply = nothing}
NOTHING(ToImage);
NOTHING(PILToTensor);
NOTHING(ToPureTensor);
NOTHING(Identity);

/* ---- ToTensor, as many scripts still have it */

static TtStatus to_tensor(const void *o, TtTransformArgs *a)
{
    return tt_pixels_to_dtype(a, TT_F32, true);
}

const TtTransformDef tt_transform_ToTensor = {.name = "ToTensor",
                                              .help = "float32, integers scaled to [0,1]: ToDtype with scale: true",
                                              .options = no_options,
                                              .size = 1,
                                              .apply = to_tensor};
