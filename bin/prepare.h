/* SPDX-License-Identifier: Apache-2.0 */
/* bin/prepare.h - what the kinds of `ttrain prepare` are made of: one file and one line in prepare.def each.
 *
 * The folder is built aside in DIR.part and renamed when it is whole, so DIR is complete or absent. A file in it records
 * what it was made from: asking for the same again does nothing. What is written depends on the input alone. */
#ifndef TT_BIN_PREPARE_H
#define TT_BIN_PREPARE_H

#include <jansson.h>
#include <stdio.h>

#include "tensor/arena.h"
#include "tensor/fs.h"

enum { TT_PREPARE_FLAGS = 3, TT_PREPARE_MOST_THREADS = 64 };

typedef struct TtPrepare TtPrepare;

typedef struct TtPrepareDef {
    const char *name;
    const char *usage; /* the rest of the usage line, a line end, and what it does, indented by two */
    struct {
        const char *name; /* "--images"; takes a value */
        bool needed;
    } flags[TT_PREPARE_FLAGS];
    /* Takes the folders into which packages were unpacked, at least one, instead of naming each file. */
    bool takes_folders;
    /* Look at what there is; add to RECORD all that decides about the result, the checksums of the input included. */
    TtStatus (*read)(TtPrepare *p, json_t *record);
    /* Write everything into p->part, which exists and is empty. */
    TtStatus (*write)(TtPrepare *p);
    void (*close)(TtPrepare *p); /* of what the arena does not hold; may be NULL */
} TtPrepareDef;

struct TtPrepare {
    const TtPrepareDef *def;
    TtArena arena;
    const char *values[TT_PREPARE_FLAGS]; /* of the kind's flags, NULL when not given */
    int n_folders;
    char **folders;
    const char *output; /* without slashes at its end */
    const char *part;   /* the folder being written */
    int threads;
    void *impl;
    char summary[160];        /* "60000 pictures in 10 classes": said at the end */
    char input[TT_FS_DIGEST]; /* stands for all input so far */
};

/* PATH inside the first of the folders that has it, in the arena. None: TT_EDATA names PACKAGE, which has it. */
TtStatus tt_prepare_find(TtPrepare *p, const char *package, const char *path, const char **out) TT_NODISCARD;
bool tt_prepare_look(TtPrepare *p, const char *path, const char **out); /* the same; false: none has it */
/* Count a file, under NAME, as input: its content becomes part of the record's "input", as do all before. */
TtStatus tt_prepare_input(TtPrepare *p, const char *name, const char *path) TT_NODISCARD;
/* A text file, plain or .gz, that is input too: UTF-8 without zero bytes and byte-order mark, a NUL behind it. Lives in
 * the arena. */
TtStatus tt_prepare_text(TtPrepare *p, const char *path, char **out) TT_NODISCARD;
/* RECORD gets "input", which stands for all input so far, and "version", of what is made of it. */
void tt_prepare_record(const TtPrepare *p, json_t *record, int version);

/* Whether NAME can be a file's name and nothing else: one component that is not hidden, no control characters. */
bool tt_prepare_is_name(const char *name);
/* "FOLDER/NAME" in the folder being written, in the arena. */
char *tt_prepare_path(TtPrepare *p, const char *name);
TtStatus tt_prepare_mkdir(TtPrepare *p, const char *name) TT_NODISCARD;

/* Call FN for 0 <= i < n from several threads (the arena is not theirs), with progress on stderr. The error of the lowest i is the one returned. */
typedef TtStatus (*TtPrepareFn)(TtPrepare *p, int64_t i);
TtStatus tt_prepare_each(TtPrepare *p, const char *what, int64_t n, TtPrepareFn fn) TT_NODISCARD;

/* A list being written, such as a manifest: text goes to `out`. */
typedef struct TtPrepareList {
    FILE *out;
    char *text;
    size_t size;
    int64_t rows; /* counted by the user */
} TtPrepareList;
TtStatus tt_prepare_list_open(TtPrepareList *l, const char *header) TT_NODISCARD;
/* Write it as FOLDER/NAME unless STATUS is an error, and free it. Returns the first error. */
TtStatus tt_prepare_list_close(TtPrepare *p, TtPrepareList *l, const char *name, TtStatus status) TT_NODISCARD;

#define PREPARE(name) extern const TtPrepareDef tt_prepare_##name;
#include "bin/prepare.def"
#undef PREPARE

#endif
