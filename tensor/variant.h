/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/variant.h - sections of the form {name: which, ...its options}: data sets, optimizer, scheduler. */
#ifndef TT_TENSOR_VARIANT_H
#define TT_TENSOR_VARIANT_H

#include "tensor/options.h"

/* Which of NAMES (N) the map's NAME_KEY ("name" or "type") says. WHAT ("optimizer") is for messages, KEY (may be NULL)
 * the section's key, for what is missing. */
TtStatus tt_variant_select(const TtNode *map, const TtNode *key, const char *what, const char *name_key,
                           const char *const *names, int n, int *index) TT_NODISCARD;

/* One table out of two: the options of A and, SHIFT bytes behind, those of B. */
TtOption *tt_options_join(TtArena *arena, const TtOption *a, const TtOption *b, size_t shift);
/* Where B's struct starts behind one of SIZE bytes. */
size_t tt_options_shift(size_t size);
/* The option with this key, or NULL. */
TtOption *tt_options_find(TtOption *table, const char *key);

#endif
