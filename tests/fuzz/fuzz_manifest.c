/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_manifest.c - delimited text from anywhere. Fields lie within the text, in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size, char delimiter)
{
    TtCsv c;
    char *text = malloc(size + 1);
    TT_ASSERT(text);
    memcpy(text, data, size);
    text[size] = '\0';
    TtStatus st = tt_csv_open_text(&c, text, size, "fuzz", delimiter);
    int64_t row = 0;
    for (bool more = true; st == TT_OK && more;) {
        st = tt_csv_next(&c, &more);
        if (st != TT_OK || !more) break;
        TT_ASSERT(c.n > 0 && c.row > row);
        row = c.row;
        const char *end = text;
        for (int i = 0; i < c.n; i++) {
            TT_ASSERT(c.fields[i] >= end && c.fields[i] <= text + size);
            end = c.fields[i] + strlen(c.fields[i]);
            TT_ASSERT(end <= text + size);
        }
    }
    TT_ASSERT(st == TT_OK || st == TT_EDATA);
    tt_csv_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size, ',');
    read_all(data, size, '\t');
    return 0;
}
