/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/interpolate.c - nearest copies pixels, bilinear mixes four; all channels of a pixel lie together.
 * The gradient adds pixels of dy to those of dx in order, within one picture and one tile of channels. */
#include "kernels/ops/interpolate.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

enum { TILE = 64 };

/* The two positions of an axis that an output position mixes, and the share of the second. */
typedef struct Mix {
    int64_t a, b;
    float share;
} Mix;

static Mix mix_at(const TtInterpolateAttrs *a, int64_t i, int64_t in, float scale)
{
    float x = a->align_corners ? scale * (float)i : scale * ((float)i + 0.5f) - 0.5f;
    x = x < 0 ? 0 : x;
    Mix m = {.a = TT_MIN((int64_t)x, in - 1)};
    m.b = TT_MIN(m.a + 1, in - 1);
    m.share = TT_MIN(x - (float)m.a, 1.0f);
    return m;
}

static int64_t nearest(int64_t i, int64_t in, int64_t out, float scale)
{
    if (out == in) return i;
    if (out == 2 * in) return i / 2;
    return TT_MIN((int64_t)floorf((float)i * scale), in - 1);
}

static void forward_row(const TtInterpolateAttrs *a, const TtTensor *t, int64_t n, int64_t y, float *out)
{
    int64_t channels = t->shape.dims[3], row = a->in_w * channels;
    const float *x = (const float *)t->data + n * a->in_h * row;
    Mix v = mix_at(a, y, a->in_h, a->scale_h);
    for (int64_t i = 0; i < a->w; i++, out += channels) {
        Mix u = mix_at(a, i, a->in_w, a->scale_w);
        const float *p = x + v.a * row + u.a * channels, *q = x + v.a * row + u.b * channels;
        const float *r = x + v.b * row + u.a * channels, *s = x + v.b * row + u.b * channels;
        float ru = 1 - u.share, rv = 1 - v.share;
        for (int64_t c = 0; c < channels; c++)
            out[c] = rv * (ru * p[c] + u.share * q[c]) + v.share * (ru * r[c] + u.share * s[c]);
    }
}

TtStatus TT_CPU(interpolate)(TtKernelArgs *k)
{
    const TtInterpolateAttrs *a = k->attrs;
    const TtTensor *x = &k->in[0];
    size_t size = tt_dtype_size(x->dtype), pixel = (size_t)x->shape.dims[3] * size;
    if (a->linear && x->dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "interpolate has no CPU kernel for %s", tt_dtype_name(x->dtype));
#pragma omp parallel for schedule(static) if (tt_tensor_count(&k->out[0]) > TT_GRAIN)
    for (int64_t r = 0; r < x->shape.dims[0] * a->h; r++) {
        if (a->linear) {
            forward_row(a, x, r / a->h, r % a->h, (float *)k->out[0].data + r * a->w * x->shape.dims[3]);
            continue;
        }
        char *to = (char *)k->out[0].data + (size_t)(r * a->w) * pixel;
        int64_t v = r / a->h * a->in_h + nearest(r % a->h, a->in_h, a->h, a->scale_h);
        for (int64_t i = 0; i < a->w; i++)
            memcpy(to + (size_t)i * pixel,
                   (const char *)x->data + (size_t)(v * a->in_w + nearest(i, a->in_w, a->w, a->scale_w)) * pixel,
                   pixel);
    }
    return TT_OK;
}

static void add_scaled(float *restrict to, const float *restrict from, float w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += w * from[i];
}

/* One pixel of dy into the pixels of dx that made it. */
static void backward_pixel(const TtInterpolateAttrs *a, int64_t y, int64_t x, int64_t channels, const float *dy,
                           float *dx, int64_t width)
{
    int64_t row = a->in_w * channels;
    if (!a->linear) {
        int64_t v = nearest(y, a->in_h, a->h, a->scale_h), u = nearest(x, a->in_w, a->w, a->scale_w);
        add_scaled(dx + v * row + u * channels, dy, 1, width);
        return;
    }
    Mix v = mix_at(a, y, a->in_h, a->scale_h), u = mix_at(a, x, a->in_w, a->scale_w);
    add_scaled(dx + v.a * row + u.a * channels, dy, (1 - v.share) * (1 - u.share), width);
    add_scaled(dx + v.a * row + u.b * channels, dy, (1 - v.share) * u.share, width);
    add_scaled(dx + v.b * row + u.a * channels, dy, v.share * (1 - u.share), width);
    add_scaled(dx + v.b * row + u.b * channels, dy, v.share * u.share, width);
}

TtStatus TT_CPU(interpolate_bwd)(TtKernelArgs *k)
{
    const TtInterpolateAttrs *a = k->attrs;
    const TtTensor *dy = &k->in[0];
    if (dy->dtype != TT_F32)
        return TT_FAIL(TT_EINTERNAL, "interpolate_bwd has no CPU kernel for %s", tt_dtype_name(dy->dtype));
    int64_t channels = dy->shape.dims[3], tiles = (channels + TILE - 1) / TILE;
    memset(k->out[0].data, 0, tt_tensor_bytes(&k->out[0]));
#pragma omp parallel for schedule(static) if (tt_tensor_count(dy) > TT_GRAIN)
    for (int64_t t = 0; t < dy->shape.dims[0] * tiles; t++) {
        int64_t n = t / tiles, col = t % tiles * TILE, width = TT_MIN(channels - col, (int64_t)TILE);
        const float *from = (const float *)dy->data + n * a->h * a->w * channels + col;
        float *to = (float *)k->out[0].data + n * a->in_h * a->in_w * channels + col;
        for (int64_t y = 0; y < a->h; y++)
            for (int64_t x = 0; x < a->w; x++)
                backward_pixel(a, y, x, channels, from + (y * a->w + x) * channels, to, width);
    }
    return TT_OK;
}
