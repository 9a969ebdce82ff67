/* SPDX-License-Identifier: Apache-2.0 */
/* vision/list.h - a list of transforms as it stands in a config, for the chain and for containers. */
#ifndef TT_VISION_LIST_H
#define TT_VISION_LIST_H

#include "vision/transform.h"

enum { TT_TRANSFORMS_MAX = 64 }; /* in one list */

typedef struct TtTransformList {
    int n;
    TtTransform *list;
} TtTransformList;

/* Each element is a map of one key, {Name: {arg: value}}, or a bare Name. Everything lives in ARENA. */
TtStatus tt_transform_list_parse(const TtNode *list, TtArena *arena, TtTransformList *out) TT_NODISCARD;
bool tt_transform_is_batch(const TtTransform *t);
/* The size behind T for a size before it, 0 for unknown. */
void tt_transform_size(const TtTransform *t, int *h, int *w);

#endif
