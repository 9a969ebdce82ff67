/* SPDX-License-Identifier: Apache-2.0 */
/* data/csv.h - records of a delimited text file (RFC 4180), parsed in place.
 *
 * Quoted fields may hold delimiters, doubled quotes and line ends. Records end with LF, CR LF or CR; the last one
 * needs no end. A UTF-8 byte-order mark is skipped; empty lines between records are skipped. A quote inside an
 * unquoted field is an ordinary character. */
#ifndef TT_DATA_CSV_H
#define TT_DATA_CSV_H

#include "tensor/status.h"

typedef struct TtCsv {
    const char *name; /* borrowed, for messages */
    char delimiter;
    char *text; /* owned; the fields point into it */
    char *at, *end;
    int64_t line;  /* of the next character, from 1 */
    int64_t row;   /* line on which the current record starts */
    char **fields; /* of the current record; the texts live as long as the file */
    int n, capacity;
} TtCsv;

TtStatus tt_csv_open(TtCsv *c, const char *path, char delimiter) TT_NODISCARD;
/* The same from memory: TEXT is SIZE bytes from malloc and a NUL; the reader owns it from here on. */
TtStatus tt_csv_open_text(TtCsv *c, char *text, size_t size, const char *name, char delimiter) TT_NODISCARD;
/* The next record; *more is false at the end. TT_EDATA names file and line. */
TtStatus tt_csv_next(TtCsv *c, bool *more) TT_NODISCARD;
void tt_csv_close(TtCsv *c);

#endif
