/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_yaml.c - configurations from anywhere: the bytes up to the first NUL are the file, what follows are
 * overrides, each ended by a NUL. Whatever loads must print to something that loads and prints the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/config.h"
#include "pipeline/sections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const TtConfig *c, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    TT_ASSERT(f && tt_config_write_resolved(c, f) == TT_OK);
    fclose(f);
    return text;
}

static void check_printed(const TtConfig *c)
{
    size_t size, size2;
    char *text = print(c, &size);
    TtConfig *again;
    if (tt_config_parse("again", text, size, 0, NULL, &again) != TT_OK) {
        fprintf(stderr, "%s\n%s\n", tt_error_message(), text);
        abort();
    }
    char *text2 = print(again, &size2);
    TT_ASSERT(size == size2 && memcmp(text, text2, size) == 0);
    free(text2);
    free(text);
    tt_config_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX = 8 };
    char *copy = malloc(size + 1), *overrides[MAX], *null;
    TT_ASSERT(copy);
    memcpy(copy, data, size);
    copy[size] = '\0';
    size_t used = strlen(copy);
    int n = 0;
    null = copy + used;
    while (n < MAX && null < copy + size && strlen(null + 1)) {
        overrides[n++] = null + 1;
        null += 1 + strlen(null + 1);
    }
    TtConfig *c;
    if (tt_config_parse("fuzz", copy, used, n, overrides, &c) == TT_OK) {
        if (tt_sections_check(c) == TT_OK) {
            FILE *f = fopen("/dev/null", "w");
            TT_ASSERT(f && tt_config_print(f, c, true) == TT_OK);
            fclose(f);
        }
        check_printed(c);
        tt_config_free(c);
    }
    free(copy);
    return 0;
}
