/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/json.h - JSON through jansson, with this program's errors and files. */
#ifndef TT_PIPELINE_JSON_H
#define TT_PIPELINE_JSON_H

#include <jansson.h>

#include "tensor/status.h"

/* JSON has no NaN and no infinity: those become null. */
json_t *tt_json_real(double v);

/* One line without a newline, every real with nine digits: all that a float32 needs. Free with free(). */
char *tt_json_line(const json_t *v);
/* The same with seventeen digits, all that a double needs; INDENT is in blanks. */
char *tt_json_text(const json_t *v, int indent);

/* Strict: UTF-8, one value, no repeated names. Bad text is CODE and starts "NAME:LINE:COL: ". */
TtStatus tt_json_parse(const char *text, size_t size, const char *name, TtStatus code, json_t **out) TT_NODISCARD;
TtStatus tt_json_read(const char *path, size_t limit, TtStatus code, json_t **out) TT_NODISCARD;
/* Indented, with seventeen digits and a newline at the end, replaced atomically (tensor/fs.h). */
TtStatus tt_json_write(const char *path, const json_t *v) TT_NODISCARD;

/* A name from a file as it may stand in a message: control bytes as '?', cut to TT_JSON_NAME. Returns BUF. */
enum { TT_JSON_NAME = 160 };
const char *tt_json_name(const char *name, char buf[TT_JSON_NAME]);

#endif
