/* SPDX-License-Identifier: Apache-2.0 */
/* vision/blur.c - GaussianBlur, in two passes over float32 with the borders reflected. */
#include <math.h>
#include <string.h>

#include "vision/options.h"
#include "vision/pixels.h"
#include "vision/rows.h"

enum { MAX_KERNEL = 255 };

/* torchvision's _get_gaussian_kernel1d: the samples lie at (i - (size-1)/2) / sqrt(2). */
static void gaussian(int size, double sigma, float *w)
{
    const double limit = (size - 1) / (2.0 * M_SQRT2), step = size > 1 ? 2 * limit / (size - 1) : 0;
    double v[MAX_KERNEL], sum = 0;
    for (int i = 0; i < size; i++) {
        const double x = (i * step - limit) / sigma;
        sum += v[i] = exp(-x * x);
    }
    for (int i = 0; i < size; i++) w[i] = (float)(v[i] / sum);
}

/* Load one row with R reflected pixels on both sides. */
static void load_reflected(const TtImage *im, int y, int r, float *row)
{
    const size_t c = (size_t)im->c, n = (size_t)im->w * c;
    float *x = row + (size_t)r * c;
    tt_pixels_load(im->dtype, (const uint8_t *)im->data + (size_t)y * n * tt_dtype_size(im->dtype), n, x);
    for (int k = 1; k <= r; k++) {
        memcpy(x - (size_t)k * c, x + (size_t)k * c, c * sizeof *x);
        memcpy(x + n + (size_t)(k - 1) * c, x + n - (size_t)(k + 1) * c, c * sizeof *x);
    }
}

TtStatus tt_pixels_gaussian_blur(TtTransformArgs *a, const int kernel[2], const double sigma[2])
{
    TtImage *im = a->image;
    const TtRows *r = tt_rows();
    const int rx = kernel[0] / 2, ry = kernel[1] / 2;
    float wx[MAX_KERNEL], wy[MAX_KERNEL], *row;
    if (rx >= im->w || ry >= im->h)
        return TT_FAIL(TT_EDATA, "%s: GaussianBlur with a kernel of %dx%d needs at least %dx%d pixels, not %dx%d",
                       a->name, kernel[0], kernel[1], rx + 1, ry + 1, im->w, im->h);
    gaussian(kernel[0], sigma[0], wx);
    gaussian(kernel[1], sigma[1], wy);
    const size_t c = (size_t)im->c, n = (size_t)im->w * c, padded = n + 2 * (size_t)rx * c;
    const size_t lines = (size_t)im->h + 2 * (size_t)ry;
    TT_TRY(tt_transform_table(a->scratch, (padded + lines * n) * sizeof(float), (void **)&row));
    float *all = row + padded, *first = all + (size_t)ry * n;
    for (int y = 0; y < im->h; y++) {
        load_reflected(im, y, rx, row);
        r->convolve(row, c, kernel[0], wx, n, first + (size_t)y * n);
    }
    for (int k = 1; k <= ry; k++) {
        memcpy(first - (size_t)k * n, first + (size_t)k * n, n * sizeof *first);
        memcpy(first + (size_t)(im->h - 1 + k) * n, first + (size_t)(im->h - 1 - k) * n, n * sizeof *first);
    }
    for (int y = 0; y < im->h; y++) {
        r->taps_v_f32(all + (size_t)y * n, n, kernel[1], wy, n, row);
        tt_pixels_store(im->dtype, row, n, true, (uint8_t *)im->data + (size_t)y * n * tt_dtype_size(im->dtype));
    }
    return TT_OK;
}

typedef struct GaussianBlur {
    TtInts kernel_size;
    TtFloats sigma;
} GaussianBlur;

static const TtOption options[] = {
    {"kernel_size", TT_OPT_INTS, offsetof(GaussianBlur, kernel_size), .flags = TT_OPT_RANGED, .min = 1,
     .max = MAX_KERNEL, .min_n = 1, .max_n = 2, .help = "pixels, odd: one number, or [width, height]"},
    {"sigma", TT_OPT_FLOATS, offsetof(GaussianBlur, sigma), .def = "[0.1, 2.0]",
     .flags = TT_OPT_RANGED | TT_OPT_ABOVE_MIN, .min = 0, .max = 1e6, .min_n = 1, .max_n = 2,
     .help = "standard deviation in pixels: a number, or [min, max] to draw from"},
    {0}};

static TtStatus check(void *o, const TtNode *node, TtArena *arena)
{
    const GaussianBlur *g = o;
    for (int i = 0; i < g->kernel_size.n; i++)
        if (g->kernel_size.v[i] % 2 == 0)
            return tt_node_fail(tt_node_get(node, "kernel_size"), "kernel_size must be odd");
    return g->sigma.n == 2 ? tt_check_range(&g->sigma, "sigma", node) : TT_OK;
}

static TtStatus apply(const void *o, TtTransformArgs *a)
{
    const GaussianBlur *g = o;
    const double sigma = tt_rng_uniform(&a->rng, g->sigma.v[0], g->sigma.v[g->sigma.n - 1]);
    const int kernel[2] = {(int)g->kernel_size.v[0], (int)g->kernel_size.v[g->kernel_size.n - 1]};
    return tt_pixels_gaussian_blur(a, kernel, (const double[2]){sigma, sigma});
}

const TtTransformDef tt_transform_GaussianBlur = {
    .name = "GaussianBlur",
    .help = "blur with a Gaussian of random width",
    .options = options,
    .size = sizeof(GaussianBlur),
    .check = check,
    .apply = apply,
    .random = true,
};
