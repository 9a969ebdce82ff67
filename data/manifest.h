/* SPDX-License-Identifier: Apache-2.0 */
/* data/manifest.h - a tab-separated list of sound files and what belongs to them.
 *
 * UTF-8, lines end with LF (CR LF is taken too), the first line names the columns in any order, unknown ones are ignored.
 * Nothing is quoted: a quotation mark is part of a text. Paths are relative to the manifest. The text stays in memory as
 * it was read and the cells point into it, so that a million lines take well under a second. */
#ifndef TT_DATA_MANIFEST_H
#define TT_DATA_MANIFEST_H

#include "data/dataset.h"

typedef struct TtManifest {
    const char *path;   /* of the file, borrowed */
    const char *folder; /* that it lies in, ends in '/', or "" */
    char *text;
    int columns;
    int64_t n;
    const char **cells; /* n rows of columns; NULL in a column that the file does not have */
    int64_t *lines;     /* of each row, from 1 */
} TtManifest;

/* COLUMNS names (ended by NULL) that are wanted: the first NEEDED of them must be there, the others may. */
TtStatus tt_manifest_open(TtManifest *m, TtArena *arena, const char *path, const char *const *columns,
                          int needed) TT_NODISCARD;
void tt_manifest_close(TtManifest *m);
const char *tt_manifest_cell(const TtManifest *m, int64_t row, int column); /* NULL: no such column */
/* The cell as a path from the working directory. */
const char *tt_manifest_path(const TtManifest *m, int64_t row, int column, char *buf, size_t size);
/* Fail with CODE at a row: "FILE:LINE: ...". */
TtStatus tt_manifest_fail(const TtManifest *m, int64_t row, TtStatus code, const char *fmt, ...) TT_PRINTF(4, 5);

/* A clip as all sets of sound want it: decoded, its channels averaged to one, brought to RATE. The file is read through
 * S's buffer; the clip becomes OUT (1, frames, 1). Errors name the file. */
TtStatus tt_sound_read(const char *path, int rate, TtSample *s, TtAudio *out) TT_NODISCARD;
/* The same of a row's column; errors name the file and the row. */
TtStatus tt_manifest_clip(const TtManifest *m, int64_t row, int column, int rate, TtSample *s,
                          TtAudio *out) TT_NODISCARD;

#endif
