/* SPDX-License-Identifier: Apache-2.0 */
/* audio/pair_map.c - a hash table with pairs of numbers as keys. */
#include "audio/pair_map.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/rng.h"

typedef struct TtPairSlot Slot;

static Slot *find(const TtPairMap *m, uint32_t a, uint32_t b)
{
    size_t i = (size_t)tt_mix64((uint64_t)a << 32 | b);
    for (;; i++) {
        Slot *s = &m->slot[i & (m->slots - 1)];
        if (s->value == TT_PAIR_NONE || (s->a == a && s->b == b)) return s;
    }
}

uint32_t tt_pair_map_get(const TtPairMap *m, uint32_t a, uint32_t b)
{
    return m->slots ? find(m, a, b)->value : TT_PAIR_NONE;
}

void tt_pair_map_put(TtPairMap *m, uint32_t a, uint32_t b, uint32_t value)
{
    if (2 * (m->count + 1) > m->slots) {
        TtPairMap old = *m;
        m->slots = old.slots ? old.slots * 2 : 256;
        m->slot = tt_realloc(NULL, m->slots * sizeof *m->slot);
        memset(m->slot, 0xFF, m->slots * sizeof *m->slot);
        for (size_t i = 0; i < old.slots; i++)
            if (old.slot[i].value != TT_PAIR_NONE) *find(m, old.slot[i].a, old.slot[i].b) = old.slot[i];
        free(old.slot);
    }
    *find(m, a, b) = (Slot){a, b, value};
    m->count++;
}

void tt_pair_map_free(TtPairMap *m)
{
    free(m->slot);
    *m = (TtPairMap){0};
}
