/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/config_print.c - a configuration as YAML: the tree as it was given, or every key there is. */
#include <errno.h>
#include <string.h>

#include "pipeline/config.h"
#include "pipeline/sections.h"

/* ---- the tree, in block style */

/* A scalar, or a collection of scalars only, goes on one line. */
static bool on_one_line(const TtNode *n)
{
    if (n->kind == TT_NODE_SCALAR) return true;
    for (int i = 0; i < n->count; i++)
        if (n->items[i]->kind != TT_NODE_SCALAR && n->items[i]->count > 0) return false;
    return true;
}

/* CONTINUED: the cursor stands behind "- ", where the first line of the block goes. */
static void print_block(FILE *f, const TtNode *n, int indent, bool continued)
{
    for (int i = 0; i < n->count; i++) {
        const TtNode *item = n->items[i];
        if (i || !continued) fprintf(f, "%*s", indent, "");
        if (n->keys)
            tt_node_print_key(f, n->keys[i]);
        else
            fputc('-', f);
        if (on_one_line(item)) {
            fputc(' ', f);
            tt_node_print_flow(f, item);
            fputc('\n', f);
        } else if (n->keys) {
            fputc('\n', f);
            print_block(f, item, indent + 2, false);
        } else {
            fputc(' ', f);
            print_block(f, item, indent + 2, true);
        }
    }
}

TtStatus tt_config_write_resolved(const TtConfig *c, FILE *f)
{
    print_block(f, c->root, 0, false);
    if (ferror(f)) return TT_FAIL(TT_EINTERNAL, "cannot write the resolved configuration: %s", strerror(errno));
    return TT_OK;
}

/* ---- every key */

static TtStatus print_section(FILE *f, const TtOption *o, const char *path, const TtNode *n, int indent, bool help)
{
    const TtSection *s = tt_section_find(path);
    bool whole = !tt_node_is_null(n) && (n->kind == TT_NODE_SCALAR || n->count > 0) && s && s->print;
    fprintf(f, "%*s%s:", indent, "", o->key);
    if (!whole) {
        fputc(' ', f);
        tt_node_print_flow(f, tt_node_is_null(n) ? NULL : n);
    }
    if (help) fprintf(f, "  # %s", o->help);
    fputc('\n', f);
    return whole ? s->print(f, n, indent + 2, help) : TT_OK;
}

static TtStatus print_table(FILE *f, const TtOption *table, const char *values, const char *prefix, int indent,
                            bool help)
{
    for (const TtOption *o = table; o->key; o++) {
        char path[128];
        const char *field = values + o->offset;
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", o->key);
        if (o->type == TT_OPT_NODE) {
            TT_TRY(print_section(f, o, path, *(const TtNode *const *)(const void *)field, indent, help));
        } else if (o->type == TT_OPT_MAP) {
            fprintf(f, "%*s%s:", indent, "", o->key);
            if (help) fprintf(f, "  # %s", o->help);
            fputc('\n', f);
            TT_TRY(print_table(f, o->sub, field, path, indent + 2, help));
        } else {
            const TtOption one[] = {*o, {0}};
            tt_options_print(f, one, values, indent, help);
        }
    }
    return TT_OK;
}

TtStatus tt_config_print(FILE *f, const TtConfig *c, bool help)
{
    TT_TRY(tt_sections_check(c)); /* what is printed with its defaults must be valid */
    TT_TRY(print_table(f, tt_config_options, (const char *)c, "", 0, help));
    if (ferror(f)) return TT_FAIL(TT_EINTERNAL, "cannot write the configuration: %s", strerror(errno));
    return TT_OK;
}
