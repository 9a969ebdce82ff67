/* SPDX-License-Identifier: Apache-2.0 */
/* data/file_list.h - pictures named on a command line, as a data set without labels (predict). */
#ifndef TT_DATA_FILE_LIST_H
#define TT_DATA_FILE_LIST_H

#include "data/dataset.h"

/* FILES are pictures, or folders that are searched for them (names ending in .jpg, .jpeg or .png, any case; sorted by
 * code point, recursively). Labels are -1. No such file, or a folder without pictures, is TT_EDATA. */
TtStatus tt_file_list_open(int n, char *const *files, const TtImageOptions *image, TtDataset **out) TT_NODISCARD;

#endif
