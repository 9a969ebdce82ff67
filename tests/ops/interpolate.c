/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/interpolate.c - sizes and factors, both modes, against PyTorch's values and by the common check. */
#include "tests/support/op_check.h"

#include "kernels/ops/interpolate.h"
#include "tests/ops/interpolate_torch.inc"

static TtVal build(TtGraph *g, const TtVal *in, const void *user)
{
    return tt_interpolate_with(g, in[0], user);
}

void tt_test_op_interpolate(void **state)
{
    for (int i = 0; i < TT_COUNT(torch_values); i++) {
        TtOpCheck c = {.what = torch_values[i].what, .build = build, .user = &torch_values[i].options, .n = 1};
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(1, 3, 4, 1), .values = picture};
        tt_op_expect(&c, torch_values[i].y, torch_values[i].n, 1e-6);
    }
}

void tt_test_op_interpolate_bwd(void **state)
{
    static const TtInterpolateOptions options[] = {
        {.h = 7, .w = 9, .linear = true},
        {.h = 7, .w = 9, .linear = true, .align_corners = true},
        {.h = 7, .w = 9},
        {.factor = 2},
        {.factor = 0.5, .linear = true},
        {.factor = 1.3, .factor_w = 2.2, .linear = true},
        {.h = 4, .w = 5},
    };
    for (int i = 0; i < TT_COUNT(options); i++) {
        TtOpCheck c = {.what = "interpolate", .build = build, .user = &options[i], .n = 1};
        c.in[0].shape = TT_SHAPE(2, 4, 5, 3);
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(0, 4, 5, 3);
        tt_op_check(&c);
        c.in[0].shape = TT_SHAPE(2, 5, 3), c.what = "interpolate a sequence";
        tt_op_check(&c);
        c.numeric = -1;
        c.in[0].shape = TT_SHAPE(2, 9, 11, 130), c.what = "interpolate, large";
        tt_op_check(&c);
        c.in[0] = (TtCheckInput){.shape = TT_SHAPE(2, 4, 5, 3), .dtype = TT_BF16}, c.tolerance = 0.02;
        tt_op_check(&c);
    }
}
