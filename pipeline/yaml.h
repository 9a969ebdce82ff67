/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/yaml.h - YAML text to a tree of nodes that know their places.
 *
 * One document, YAML 1.2's core schema (node.h reads the scalars), merge keys (`<<`), anchors and aliases. An alias
 * becomes a copy, so that a tree is a tree: an override of one place never changes another. The text is from
 * outside: its size, its depth and the number of nodes are bounded, aliases included. */
#ifndef TT_PIPELINE_YAML_H
#define TT_PIPELINE_YAML_H

#include "tensor/node.h"

enum {
    TT_YAML_BYTES = 16 << 20,  /* of a file */
    TT_YAML_SCALAR = 64 << 10, /* bytes of one scalar */
    TT_YAML_DEPTH = 100,
    TT_YAML_NODES = 1000000, /* of a tree, copies included */
    TT_YAML_ANCHORS = 1000
};

/* Parse TEXT (UTF-8, a byte-order mark is fine). ORIGIN has the file, or the command-line argument that TEXT is the
 * value of; it lives as long as the tree. Nothing but comments is an error in a file and null in an argument.
 * Errors are TT_ECONFIG with the place: line and column count from 1 and in characters. */
TtStatus tt_yaml_parse(const char *text, size_t size, TtMark origin, TtArena *arena, TtNode **out) TT_NODISCARD;

/* Whether S is UTF-8 of characters that a YAML text may hold. */
bool tt_yaml_is_text(const char *s);

/* Read a whole config file into ARENA; *BYTES is followed by a NUL that *SIZE does not count. */
TtStatus tt_yaml_read_file(const char *path, TtArena *arena, const char **bytes, size_t *size) TT_NODISCARD;

/* A deep copy. DEPTH is where it will stand; *NODES is how many nodes there are already and grows by the copy.
 * Too deep or too many is an error at AT. Texts are shared, marks are kept. */
TtStatus tt_node_copy(const TtNode *n, TtArena *arena, const TtNode *at, int depth, int64_t *nodes,
                      TtNode **out) TT_NODISCARD;
/* Append KEY and ITEM to a map, or ITEM to a list (KEY NULL). */
void tt_node_append(TtNode *n, TtArena *arena, TtNode *key, TtNode *item);

#endif
