/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/ops/fuse.h - rewrite a forward graph so that neighbours become one op. */
#ifndef TT_KERNELS_OPS_FUSE_H
#define TT_KERNELS_OPS_FUSE_H

#include "tensor/graph.h"

/* Apply the table of patterns in fuse.c, before tt_grad. A value that disappears must have one use, be no output,
 * and have the shape and type of what replaces it. Returns the number of nodes removed. */
int tt_graph_fuse(TtGraph *g);

#endif
