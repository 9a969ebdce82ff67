/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/variant.c - sections whose `name` decides which options they take. */
#include "tensor/variant.h"

#include <string.h>

TtStatus tt_variant_select(const TtNode *map, const TtNode *key, const char *what, const char *name_key,
                           const char *const *names, int n, int *index)
{
    const char *name;
    if (map->kind != TT_NODE_MAP)
        return tt_node_fail(map, "%s must be a map of keys to values, {%s: ..., ...}, not a %s", what, name_key,
                            map->kind == TT_NODE_LIST ? "list" : "single value");
    const TtNode *node = tt_node_get(map, name_key);
    const TtNode *at = key ? key : map->count ? map->keys[0] : map;
    if (!node) return tt_node_fail(at, "%s: the key '%s' is missing", what, name_key);
    TT_TRY(tt_node_string(node, name_key, &name));
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *index = i;
        return TT_OK;
    }
    const char *near = tt_nearest(name, names, n);
    if (near) return tt_node_fail(node, "unknown %s '%.60s'; did you mean '%s'?", what, name, near);
    char list[600] = "";
    for (int i = 0; i < n && strlen(list) < sizeof list - 40; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    return tt_node_fail(node, "unknown %s '%.60s'; there are %s", what, name, list);
}

size_t tt_options_shift(size_t size)
{
    return (size + 15) / 16 * 16;
}

TtOption *tt_options_join(TtArena *arena, const TtOption *a, const TtOption *b, size_t shift)
{
    int n = tt_options_count(a), m = tt_options_count(b);
    TtOption *all = TT_NEWN(arena, TtOption, n + m + 1);
    memcpy(all, a, sizeof *all * (size_t)n);
    memcpy(all + n, b, sizeof *all * (size_t)m);
    for (int i = n; i < n + m; i++) all[i].offset += shift;
    return all;
}

TtOption *tt_options_find(TtOption *table, const char *key)
{
    for (; table->key; table++)
        if (strcmp(table->key, key) == 0) return table;
    return NULL;
}
