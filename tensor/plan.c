/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/plan.c - greedy placement by size ("greedy by size for offset calculation", Pisarchyk and Lee 2020). */
#include "tensor/plan.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"

static int by_size(const void *a, const void *b)
{
    const TtPiece *x = *(const TtPiece *const *)a, *y = *(const TtPiece *const *)b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : (x > y) - (x < y);
}

/* The lowest offset at which P fits among the PLACED pieces (sorted by offset) that live at the same time. */
static size_t find_place(const TtPiece *p, TtPiece *const *placed, int n)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const TtPiece *q = placed[i];
        if (q->last < p->first || q->first > p->last) continue;
        if (q->offset >= at + tt_aligned(p->size)) break; /* the gap before Q is wide enough; later ones start higher */
        at = TT_MAX(at, q->offset + tt_aligned(q->size));
    }
    return at;
}

size_t tt_plan(TtPiece *pieces, int n, int steps, size_t *lower_bound)
{
    TtPiece **order = tt_realloc(NULL, sizeof *order * (size_t)n),
            **placed = tt_realloc(NULL, sizeof *placed * (size_t)n);
    for (int i = 0; i < n; i++) order[i] = &pieces[i];
    qsort(order, (size_t)n, sizeof *order, by_size);
    size_t total = 0;
    for (int i = 0; i < n; i++) {
        TtPiece *p = order[i];
        p->offset = find_place(p, placed, i);
        total = TT_MAX(total, p->offset + tt_aligned(p->size));
        int k = i;
        for (; k > 0 && placed[k - 1]->offset > p->offset; k--) placed[k] = placed[k - 1];
        placed[k] = p;
    }
    free(order);
    free(placed);

    size_t *live = tt_realloc(NULL, sizeof *live * (size_t)(steps + 2));
    memset(live, 0, sizeof *live * (size_t)(steps + 2));
    for (int i = 0; i < n; i++) { /* differences; unsigned wrap-around cancels in the sum */
        live[pieces[i].first] += tt_aligned(pieces[i].size);
        live[pieces[i].last + 1] -= tt_aligned(pieces[i].size);
    }
    size_t now = 0, most = 0;
    for (int s = 0; s <= steps; s++) {
        now += live[s];
        most = TT_MAX(most, now);
    }
    free(live);
    if (lower_bound) *lower_bound = most;
    return total;
}

size_t tt_plan_apart(TtPiece *pieces, int n)
{
    size_t total = 0;
    for (int i = 0; i < n; i++) {
        pieces[i].offset = total;
        total += tt_aligned(pieces[i].size);
    }
    return total;
}
