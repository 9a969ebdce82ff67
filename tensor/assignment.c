/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/assignment.c - the best assignment of a few, by dynamic programming over sets (Held and Karp 1962): for
 * every set of references already given away, the best that the remaining estimates can do. */
#include "tensor/assignment.h"

#include "tensor/status.h"

void tt_best_assignment(int n, const double *value, int *order)
{
    double best[1 << TT_ASSIGNMENT_MOST];
    int choice[1 << TT_ASSIGNMENT_MOST] = {0}, all = (1 << n) - 1;
    TT_ASSERT(n >= 1 && n <= TT_ASSIGNMENT_MOST);
    best[all] = 0;
    for (int taken = all - 1; taken >= 0; taken--) {
        int i = __builtin_popcount((unsigned)taken);
        choice[taken] = -1;
        for (int j = 0; j < n; j++) {
            if (taken >> j & 1) continue;
            double v = value[i * n + j] + best[taken | 1 << j];
            if (choice[taken] < 0 || v > best[taken]) best[taken] = v, choice[taken] = j;
        }
    }
    for (int i = 0, taken = 0; i < n; taken |= 1 << order[i++]) order[i] = choice[taken];
}
