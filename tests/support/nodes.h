/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/nodes.h - a config node from YAML text, for tests of what reads nodes. */
#ifndef TT_TESTS_SUPPORT_NODES_H
#define TT_TESTS_SUPPORT_NODES_H

#include "tensor/node.h"

/* The text's one document; its marks say "test.yaml". Fails the test when the text is not YAML. */
TtNode *node_parse(TtArena *arena, const char *text);

#endif
