/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/node.h - a parsed configuration: a tree of scalars, lists and maps that remembers where each
 * piece came from. pipeline/config.c makes it from YAML; everything configurable reads it through an
 * option table (options.h). Nothing here knows YAML's syntax. */
#ifndef TT_TENSOR_NODE_H
#define TT_TENSOR_NODE_H

#include "tensor/arena.h"

/* The place of a node: in a file (line and column count from 1, columns count characters), or in a
 * command-line argument "key=value", which is then cited instead. */
typedef struct TtMark {
    const char *file; /* NULL for a default or an argument */
    int line, col;
    const char *argument; /* the whole argument as given, or NULL */
} TtMark;

typedef enum TtNodeKind { TT_NODE_SCALAR, TT_NODE_LIST, TT_NODE_MAP } TtNodeKind;

typedef struct TtNode TtNode;
struct TtNode {
    TtNodeKind kind;
    bool quoted;      /* a quoted or block scalar is a string, whatever it looks like */
    bool pending;     /* while a config is loaded: its text may hold ${...} that is not yet replaced */
    TtMark mark;      /* where the value starts */
    const char *text; /* scalar: its text, UTF-8 */
    int count;        /* list, map: number of entries */
    TtNode **items;   /* list: the elements; map: the values */
    TtNode **keys;    /* map: the keys, scalars */
};

/* The value of a key of a map, or NULL. */
TtNode *tt_node_get(const TtNode *map, const char *key);
/* The key's own node (for its mark), or NULL. */
TtNode *tt_node_key(const TtNode *map, const char *key);
bool tt_node_is_null(const TtNode *n); /* absent, or the plain scalar null, ~ or nothing */

/* Fail with TT_ECONFIG at a node: "FILE:LINE:COL: text" or "argument 'a.b=c': text". NODE may be NULL. */
TtStatus tt_node_fail(const TtNode *n, const char *fmt, ...) TT_PRINTF(2, 3);

/* Scalars by YAML 1.2's core schema. They fail at the node, saying what was expected and what KEY is. */
TtStatus tt_node_bool(const TtNode *n, const char *key, bool *out);
TtStatus tt_node_int(const TtNode *n, const char *key, int64_t *out);  /* 3.5 and 2^63 are errors; 0x and 0o work */
TtStatus tt_node_float(const TtNode *n, const char *key, double *out); /* integers too; .inf and .nan parse */
TtStatus tt_node_string(const TtNode *n, const char *key, const char **out);

/* The candidate nearest to WORD by edit distance, or NULL when none is near enough to be meant. */
const char *tt_nearest(const char *word, const char *const *candidates, int n);

#endif
