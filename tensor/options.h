/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/options.h - option tables: one table describes what a configurable thing takes.
 *
 * From the table come parsing into the thing's struct, range checks, errors with line and column,
 * nearest-key suggestions, --print-config, `ttrain list` and the reference pages in docs/.
 *
 *     typedef struct Flip { double p; } Flip;
 *     static const TtOption flip_options[] = {
 *         {"p", TT_OPT_FLOAT, offsetof(Flip, p), .def = "0.5", .flags = TT_OPT_RANGED, .min = 0, .max = 1,
 *          .help = "probability"},
 *         {0}};
 *
 * .def is YAML text, parsed like a value from the file; without .def an option is required. */
#ifndef TT_TENSOR_OPTIONS_H
#define TT_TENSOR_OPTIONS_H

#include <stdio.h>

#include "tensor/node.h"

/* Field types behind the offsets. */
typedef struct TtInts {
    int n;
    int64_t v[8];
} TtInts;
typedef struct TtFloats {
    int n;
    double *v; /* in the parse arena */
} TtFloats;
typedef struct TtStrings {
    int n;
    const char **v;
} TtStrings;

typedef enum TtOptType {
    TT_OPT_BOOL,    /* bool */
    TT_OPT_INT,     /* int64_t; null is TT_NULL_INT and `auto` is TT_AUTO_INT where allowed */
    TT_OPT_FLOAT,   /* double; null is NaN where allowed; a given value must be finite */
    TT_OPT_STRING,  /* const char *; null is NULL where allowed */
    TT_OPT_ENUM,    /* int: index into choices, "a|b|c"; null is the choice named null where allowed */
    TT_OPT_INTS,    /* TtInts: a list, or one number for a list of one; null is n = 0 where allowed */
    TT_OPT_FLOATS,  /* TtFloats: likewise */
    TT_OPT_STRINGS, /* TtStrings: likewise */
    TT_OPT_NODE,    /* const TtNode *: whatever stands there; its owner reads it; NULL when absent */
    TT_OPT_MAP      /* a nested struct at offset, described by .sub */
} TtOptType;

#define TT_NULL_INT INT64_MIN
#define TT_AUTO_INT (INT64_MIN + 1)

enum {
    TT_OPT_NULL = 1,      /* null may be given */
    TT_OPT_AUTO = 2,      /* TT_OPT_INT: `auto` may be given */
    TT_OPT_ABOVE_MIN = 4, /* the minimum itself is not allowed */
    TT_OPT_BELOW_MAX = 8, /* the maximum itself is not allowed */
    TT_OPT_RANGED = 16,   /* min and max hold (set it whenever a range is given) */
    TT_OPT_HIDDEN = 32    /* left out of reference pages */
};

typedef struct TtOption TtOption;
struct TtOption {
    const char *key;
    TtOptType type;
    size_t offset;
    const char *def; /* YAML text of the default; NULL: required */
    unsigned flags;
    double min, max;     /* with TT_OPT_RANGED; for lists they hold for each element */
    int min_n, max_n;    /* lists: allowed lengths, 0 for no bound */
    const char *choices; /* TT_OPT_ENUM: names separated by '|' */
    const TtOption *sub; /* TT_OPT_MAP */
    const char *help;    /* one line, with the unit */
};

/* Fill the struct at OUT from MAP (NULL: all defaults). Unknown keys are errors that name the nearest known
 * key; SKIP (may be NULL) is a key to leave alone, such as `name` or `type`. A missing required key is
 * reported at MAP (or at PARENT_KEY when given). Strings and lists live in ARENA. */
TtStatus tt_options_parse(const TtOption *table, const TtNode *map, const char *skip, const TtNode *parent_key,
                          TtArena *arena, void *out) TT_NODISCARD;
int tt_options_count(const TtOption *table);
/* A section that holds two tables' keys (a model's own and those of all models) is parsed in two parts: the map without
 * the table's keys, and with them only. NULL stays NULL. */
TtNode *tt_node_without(const TtNode *map, const TtOption *table, TtArena *arena);
TtNode *tt_node_only(const TtNode *map, const TtOption *table, TtArena *arena);

/* Print the struct's values as YAML, each option on a line at INDENT spaces; with HELP, its help and default
 * follow as a comment. Floats print so that they read back to the same bits. */
void tt_options_print(FILE *f, const TtOption *table, const void *values, int indent, bool help);
/* Print any node as YAML in flow style on one line (used for TT_OPT_NODE values). */
void tt_node_print_flow(FILE *f, const TtNode *n);
void tt_node_print_key(FILE *f, const TtNode *key); /* a map's key and the colon */
/* A table row each for a reference page: | key | type | default | range | help |. PREFIX is put before keys. */
void tt_options_markdown(FILE *f, const TtOption *table, const char *prefix);

/* Shortest decimal text that reads back to the same double ("0.1", "1e-05", "100.0"), as Python's repr. */
enum { TT_FLOAT_TEXT = 40 };
const char *tt_float_text(double v, char buf[TT_FLOAT_TEXT]);

#endif
