/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/yaml.c - libyaml's document as a tree of nodes. */
#include "tests/support/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include <yaml.h>

static TtNode *convert(TtArena *arena, yaml_document_t *d, int id)
{
    const yaml_node_t *y = yaml_document_get_node(d, id);
    TtNode *n = TT_NEW(arena, TtNode);
    n->mark = (TtMark){"test.yaml", (int)y->start_mark.line + 1, (int)y->start_mark.column + 1, NULL};
    if (y->type == YAML_SCALAR_NODE) {
        n->quoted = y->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        n->text = tt_arena_strndup(arena, (const char *)y->data.scalar.value, y->data.scalar.length);
        return n;
    }
    const bool map = y->type == YAML_MAPPING_NODE;
    n->kind = map ? TT_NODE_MAP : TT_NODE_LIST;
    n->count = (int)(map ? y->data.mapping.pairs.top - y->data.mapping.pairs.start
                         : y->data.sequence.items.top - y->data.sequence.items.start);
    n->items = TT_NEWN(arena, TtNode *, n->count);
    if (map) n->keys = TT_NEWN(arena, TtNode *, n->count);
    for (int i = 0; i < n->count; i++) {
        if (map) n->keys[i] = convert(arena, d, y->data.mapping.pairs.start[i].key);
        n->items[i] = convert(arena, d, map ? y->data.mapping.pairs.start[i].value : y->data.sequence.items.start[i]);
    }
    return n;
}

TtNode *yaml_node(TtArena *arena, const char *text)
{
    yaml_parser_t parser;
    yaml_document_t document;
    assert_true(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    assert_true(yaml_parser_load(&parser, &document));
    assert_non_null(yaml_document_get_root_node(&document));
    TtNode *n = convert(arena, &document, 1);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return n;
}
