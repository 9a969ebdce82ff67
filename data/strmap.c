/* SPDX-License-Identifier: Apache-2.0 */
/* data/strmap.c - a hash table from strings to numbers. */
#include "data/strmap.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"
#include "tensor/rng.h"

/* The slot that holds KEY or would take it. */
static size_t find_slot(const TtStrMap *m, const char *key)
{
    size_t i = (size_t)tt_hash_name(key) & (m->capacity - 1);
    while (m->keys[i] && strcmp(m->keys[i], key) != 0) i = (i + 1) & (m->capacity - 1);
    return i;
}

static void grow(TtStrMap *m)
{
    TtStrMap old = *m;
    m->capacity = old.capacity ? old.capacity * 2 : 64;
    m->keys = tt_realloc(NULL, m->capacity * sizeof *m->keys);
    m->values = tt_realloc(NULL, m->capacity * sizeof *m->values);
    memset(m->keys, 0, m->capacity * sizeof *m->keys);
    for (size_t i = 0; i < old.capacity; i++) {
        if (!old.keys[i]) continue;
        size_t slot = find_slot(m, old.keys[i]);
        m->keys[slot] = old.keys[i];
        m->values[slot] = old.values[i];
    }
    free(old.keys);
    free(old.values);
}

int64_t *tt_strmap_put(TtStrMap *m, const char *key, int64_t value)
{
    if (2 * (m->count + 1) > m->capacity) grow(m);
    size_t slot = find_slot(m, key);
    if (!m->keys[slot]) {
        m->keys[slot] = key;
        m->values[slot] = value;
        m->count++;
    }
    return &m->values[slot];
}

int64_t tt_strmap_get(const TtStrMap *m, const char *key)
{
    if (m->capacity == 0) return -1;
    size_t slot = find_slot(m, key);
    return m->keys[slot] ? m->values[slot] : -1;
}

void tt_strmap_free(TtStrMap *m)
{
    free(m->keys);
    free(m->values);
    *m = (TtStrMap){0};
}
