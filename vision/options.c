/* SPDX-License-Identifier: Apache-2.0 */
/* vision/options.c - checks that several transforms share. */
#include "vision/options.h"

TtStatus tt_check_range(const TtFloats *range, const char *key, const TtNode *node)
{
    if (range->v[0] <= range->v[1]) return TT_OK;
    return TT_FAIL_AT_KEY(node, key, "%s must be [min, max], but %g is greater than %g", key, range->v[0], range->v[1]);
}

TtStatus tt_check_angle(TtFloats *angle, const char *key, int most, const TtNode *node, TtArena *arena)
{
    if (angle->n == 1) {
        const double v = angle->v[0];
        if (v < 0) return TT_FAIL_AT_KEY(node, key, "%s must not be negative when it is one number", key);
        *angle = (TtFloats){2, TT_NEWN(arena, double, 2)};
        angle->v[0] = -v, angle->v[1] = v;
        return TT_OK;
    }
    if (angle->n % 2 || angle->n > most)
        return TT_FAIL_AT_KEY(node, key, "%s takes 1%s%s values, not %d", key, most == 4 ? ", 2" : "",
                              most == 4 ? " or 4" : " or 2", angle->n);
    for (int i = 0; i < angle->n; i += 2) TT_TRY(tt_check_range(&(TtFloats){2, angle->v + i}, key, node));
    return TT_OK;
}
