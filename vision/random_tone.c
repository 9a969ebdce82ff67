/* SPDX-License-Identifier: Apache-2.0 */
/* vision/random_tone.c - one adjustment with probability p: RandomInvert, RandomPosterize, RandomSolarize,
 * RandomAutocontrast, RandomEqualize, RandomAdjustSharpness. */
#include "vision/options.h"
#include "vision/pixels.h"

typedef struct Tone {
    double p;
    int64_t bits;
    double threshold, sharpness_factor;
} Tone;

static bool hit(const void *o, TtTransformArgs *a)
{
    return tt_rng_double(&a->rng) < ((const Tone *)o)->p;
}

static TtStatus invert(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_invert(a) : TT_OK;
}

static TtStatus posterize(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_posterize(a, (int)((const Tone *)o)->bits) : TT_OK;
}

static TtStatus solarize(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_solarize(a, ((const Tone *)o)->threshold) : TT_OK;
}

static TtStatus autocontrast(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_autocontrast(a) : TT_OK;
}

static TtStatus equalize(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_equalize(a) : TT_OK;
}

static TtStatus sharpness(const void *o, TtTransformArgs *a)
{
    return hit(o, a) ? tt_pixels_sharpness(a, ((const Tone *)o)->sharpness_factor) : TT_OK;
}

static const TtOption only_p[] = {TT_OPTION_P(Tone, "0.5"), {0}};

static const TtOption posterize_options[] = {{"bits", TT_OPT_INT, offsetof(Tone, bits), .flags = TT_OPT_RANGED,
                                              .min = 0, .max = 8, .help = "bits to keep of each channel"},
                                             TT_OPTION_P(Tone, "0.5"),
                                             {0}};

static const TtOption solarize_options[] = {{"threshold", TT_OPT_FLOAT, offsetof(Tone, threshold),
                                             .help = "values from here on are inverted (uint8: 0 to 255)"},
                                            TT_OPTION_P(Tone, "0.5"),
                                            {0}};

static const TtOption sharpness_options[] = {{"sharpness_factor", TT_OPT_FLOAT, offsetof(Tone, sharpness_factor),
                                              .flags = TT_OPT_RANGED, .min = 0, .max = 1e6,
                                              .help = "0 blurs, 1 leaves as it is, 2 doubles the sharpness"},
                                             TT_OPTION_P(Tone, "0.5"),
                                             {0}};

#define TONE(NAME, TEXT, OPTIONS, FN)            \
    const TtTransformDef tt_transform_##NAME = { \
        .name = #NAME, .help = TEXT, .options = OPTIONS, .size = sizeof(Tone), .apply = FN, .random = true}
TONE(RandomInvert, "invert all values with probability p", only_p, invert);
TONE(RandomPosterize, "keep only the upper bits with probability p", posterize_options, posterize);
TONE(RandomSolarize, "invert values from a threshold on with probability p", solarize_options, solarize);
TONE(RandomAutocontrast, "stretch each channel to the full range with probability p", only_p, autocontrast);
TONE(RandomEqualize, "equalize the histogram of each channel with probability p", only_p, equalize);
TONE(RandomAdjustSharpness, "change the sharpness with probability p", sharpness_options, sharpness);
