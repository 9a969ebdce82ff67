/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/tree.h - what is done to a config tree before it is read: overrides and references.
 *
 * References are ${key.path} (another key of the same configuration, by its full path; an index counts list
 * elements), ${env:NAME} and ${env:NAME,default}; $$ is a dollar sign. A value that is one reference and nothing else
 * takes over what is there, whatever its type; within a text the reference is replaced by the value's text. */
#ifndef TT_PIPELINE_TREE_H
#define TT_PIPELINE_TREE_H

#include "tensor/node.h"

/* Apply "key.path=YAML" to a map. The value replaces what stands there; maps on the way are made, list elements must
 * exist. All that it brings carries the argument as its place, so every later error cites it. */
TtStatus tt_tree_override(TtNode *root, const char *argument, TtArena *arena) TT_NODISCARD;

/* A key that may be absent from the tree and yet be referred to. */
typedef struct TtTreeDefault {
    const char *path;
    const char *text; /* YAML text of the default; NULL when it has none */
} TtTreeDefault;

enum { TT_TREE_REFERENCES = 1000 }; /* in one configuration */

/* Replace every reference. DEFAULTS ends with a NULL path. Unknown names, circles and results that are too large are
 * errors at the value. */
TtStatus tt_tree_interpolate(TtNode *root, const TtTreeDefault *defaults, TtArena *arena) TT_NODISCARD;

/* The node at a path, or NULL; KEY (may be NULL) becomes its key's node when the last step is a map's. */
TtNode *tt_tree_find(const TtNode *root, const char *path, TtNode **key);

#endif
