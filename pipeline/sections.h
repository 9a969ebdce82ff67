/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/sections.h - the sections of a configuration whose keys their owners know: one line each in sections.c.
 * The list lets every section be checked before anything is opened, and printed with its defaults. */
#ifndef TT_PIPELINE_SECTIONS_H
#define TT_PIPELINE_SECTIONS_H

#include "pipeline/config.h"

typedef struct TtSection {
    const char *path; /* "transforms.train" */
    /* Check the section's node. NODE may be NULL or null when the section is absent; KEY may be NULL. */
    TtStatus (*check)(const TtNode *node, const TtNode *key, TtArena *arena);
    /* Print the node, which is not null and has passed the check, as lines at INDENT spaces. NULL: as given. */
    TtStatus (*print)(FILE *f, const TtNode *node, int indent, bool help);
} TtSection;

const TtSection *tt_section_find(const char *path); /* NULL when there is none */
/* Check all sections that are given. */
TtStatus tt_sections_check(const TtConfig *c) TT_NODISCARD;

#endif
