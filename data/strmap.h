/* SPDX-License-Identifier: Apache-2.0 */
/* data/strmap.h - strings to small numbers: class names to indices, names already seen.
 *
 * Open addressing; the keys are borrowed and must outlive the map. Zero-initialise. */
#ifndef TT_DATA_STRMAP_H
#define TT_DATA_STRMAP_H

#include "tensor/status.h"

typedef struct TtStrMap {
    const char **keys;
    int64_t *values;
    size_t count, capacity; /* capacity is a power of two, or 0 */
} TtStrMap;

/* The place of KEY's value; when KEY is new it is added with VALUE. The pointer holds until the next call. */
int64_t *tt_strmap_put(TtStrMap *m, const char *key, int64_t value);
/* The value of KEY, or -1. */
int64_t tt_strmap_get(const TtStrMap *m, const char *key);
void tt_strmap_free(TtStrMap *m);

#endif
