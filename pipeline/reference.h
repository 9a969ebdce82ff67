/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/reference.h - docs/config.md, from the option tables. */
#ifndef TT_PIPELINE_REFERENCE_H
#define TT_PIPELINE_REFERENCE_H

#include <stdio.h>

/* The reference of all that a configuration can say, as Markdown. */
void tt_reference_markdown(FILE *f);

#endif
