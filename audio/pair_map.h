/* SPDX-License-Identifier: Apache-2.0 */
/* audio/pair_map.h - pairs of numbers to numbers: what a node of a tree is continued by. Open addressing;
 * zero-initialise. No value may be TT_PAIR_NONE. */
#ifndef TT_AUDIO_PAIR_MAP_H
#define TT_AUDIO_PAIR_MAP_H

#include "tensor/status.h"

#define TT_PAIR_NONE UINT32_MAX

typedef struct TtPairMap {
    struct TtPairSlot {
        uint32_t a, b, value; /* value TT_PAIR_NONE: free */
    } * slot;
    size_t count, slots; /* slots is a power of two, or 0 */
} TtPairMap;

uint32_t tt_pair_map_get(const TtPairMap *m, uint32_t a, uint32_t b); /* TT_PAIR_NONE when there is none */
/* (A, B) must be new. Ends the process when there is no memory. */
void tt_pair_map_put(TtPairMap *m, uint32_t a, uint32_t b, uint32_t value);
void tt_pair_map_free(TtPairMap *m);

#endif
