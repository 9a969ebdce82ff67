/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/nodes.c - text as the configuration reader sees it. */
#include "tests/support/nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/yaml.h"

TtNode *node_parse(TtArena *arena, const char *text)
{
    TtNode *n;
    if (tt_yaml_parse(text, strlen(text), (TtMark){.file = "test.yaml"}, arena, &n) != TT_OK)
        fail_msg("%s", tt_error_message());
    return n;
}
