/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ref/interpolate.c - oracle of interpolate: each output pixel is a weighted sum of input pixels, and the
 * gradient the transpose of that. */
#include "kernels/ops/interpolate.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

/* Weight of input position J in output position I of an axis of N. */
static double weight(const TtInterpolateAttrs *a, int64_t i, int64_t j, int64_t in, int64_t out, float scale)
{
    if (!a->linear) {
        if (out == in) return i == j;
        if (out == 2 * in) return i / 2 == j;
        return fmin(floor((double)((float)i * scale)), (double)in - 1) == (double)j;
    }
    double x = a->align_corners ? (double)scale * (double)i : (double)scale * ((double)i + 0.5) - 0.5;
    x = fmin(fmax(x, 0), (double)in - 1);
    return fmax(0, 1 - fabs(x - (double)j));
}

static void walk(TtKernelArgs *k, bool backward)
{
    const TtInterpolateAttrs *a = k->attrs;
    const TtTensor *from = &k->in[0], *to = &k->out[0];
    int64_t channels = from->shape.dims[3];
    memset(to->data, 0, tt_tensor_bytes(to));
    for (int64_t y = 0; y < a->h; y++)
        for (int64_t x = 0; x < a->w; x++)
            for (int64_t v = 0; v < a->in_h; v++)
                for (int64_t u = 0; u < a->in_w; u++) {
                    double w = weight(a, y, v, a->in_h, a->h, a->scale_h);
                    if (w != 0) w *= weight(a, x, u, a->in_w, a->w, a->scale_w);
                    if (w == 0) continue;
                    for (int64_t n = 0; n < from->shape.dims[0]; n++)
                        for (int64_t c = 0; c < channels; c++) {
                            int64_t big[4] = {n, y, x, c}, small[4] = {n, v, u, c};
                            int64_t at = tt_ref_offset(to, backward ? small : big);
                            double in = tt_ref_at(from, tt_ref_offset(from, backward ? big : small));
                            tt_ref_put(to, at, tt_ref_at(to, at) + w * in);
                        }
                }
}

TtStatus tt_ref_interpolate(TtKernelArgs *k)
{
    walk(k, false);
    return TT_OK;
}

TtStatus tt_ref_interpolate_bwd(TtKernelArgs *k)
{
    walk(k, true);
    return TT_OK;
}
