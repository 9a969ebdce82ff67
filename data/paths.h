/* SPDX-License-Identifier: Apache-2.0 */
/* data/paths.h - lists of files written short: braces and wildcards, as a shell expands them. */
#ifndef TT_DATA_PATHS_H
#define TT_DATA_PATHS_H

#include "tensor/options.h"

/* "a-{000..012}.tar" (zeros in front are kept), "{train,extra}/x.tar", several and nested in one pattern. A brace pair
 * without a comma or range stays as it is. More than a million results is TT_ECONFIG. The texts live in ARENA. */
TtStatus tt_paths_braces(const char *pattern, TtArena *arena, TtStrings *out) TT_NODISCARD;
/* Braces, then wildcards (* ? [...]), each pattern's matches sorted. A pattern that matches nothing is TT_EDATA; a
 * path without wildcards is taken as it is. */
TtStatus tt_paths_expand(const TtStrings *patterns, TtArena *arena, TtStrings *out) TT_NODISCARD;

#endif
