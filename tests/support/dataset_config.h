/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/dataset_config.h - what the tests of data sets share: config maps without a file, small files, errors. */
#ifndef TT_TESTS_SUPPORT_DATASET_CONFIG_H
#define TT_TESTS_SUPPORT_DATASET_CONFIG_H

#include "data/dataset.h"

/* A map from pairs of key and value, ended by NULL: "type", "mnist", "classes", "[cat, dog]", NULL. A value in
 * brackets is a list of plain scalars. */
TtNode *config_map(TtArena *a, ...);
/* tt_dataset_open with the default image options. */
TtStatus open_dataset(const TtNode *map, TtDataset **out);

/* "DIR/NAME" with printf; one of a few buffers, used in turn. */
const char *in_dir(const char *dir, const char *fmt, ...) TT_PRINTF(2, 3);
/* Write a file, making the folders above it. */
void put_file(const char *path, const void *data, size_t size);
void put_text(const char *path, const char *text);
/* A PNG of one colour, so that pictures can be told apart. */
void put_png(const char *path, int h, int w, uint8_t r, uint8_t g, uint8_t b);

/* The call must have failed with CODE, and its message must hold each of the texts (ended by NULL). */
void expect_error(TtStatus got, TtStatus code, ...);

/* Warnings since capture_warnings, one a line. Thread-safe; "" when none. */
void capture_warnings(void);
const char *captured_warnings(void);
void release_warnings(void);

#endif
