/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/arena.h - memory that is given back all at once.
 *
 * Graphs, parsed configs and per-worker samples allocate many small things with one life. An arena
 * hands out zeroed, 64-byte aligned pieces and frees them together. Allocation cannot fail: a process
 * that has no memory for its own bookkeeping says so and ends with exit code 1. Sizes that come from
 * a file must be checked before they get here; large data goes through tt_alloc, which can fail. */
#ifndef TT_TENSOR_ARENA_H
#define TT_TENSOR_ARENA_H

#include "tensor/status.h"

typedef struct TtArena {
    struct TtArenaBlock *head; /* the block in use; the rest are behind it */
} TtArena;

/* Everything large is handed out on, and laid out by, this boundary: a cache line and the widest vector. */
enum { TT_ALIGN = 64 };
static inline size_t tt_aligned(size_t n)
{
    return (n + TT_ALIGN - 1) / TT_ALIGN * TT_ALIGN;
}

void *tt_arena_alloc(TtArena *a, size_t size); /* zeroed, 64-byte aligned */
void *tt_arena_copy(TtArena *a, const void *src, size_t size);
char *tt_arena_strdup(TtArena *a, const char *s);
char *tt_arena_strndup(TtArena *a, const char *s, size_t n);
char *tt_arena_printf(TtArena *a, const char *fmt, ...) TT_PRINTF(2, 3);
void tt_arena_free(TtArena *a); /* all of it; the arena can be used again */
#define TT_NEW(arena, type) ((type *)tt_arena_alloc((arena), sizeof(type)))
#define TT_NEWN(arena, type, n) ((type *)tt_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Large or growing buffers: 64-byte aligned, not zeroed. TT_EINTERNAL names the size when there is none. */
TtStatus tt_alloc(void **out, size_t size) TT_NODISCARD;
void tt_free(void *p);

/* realloc that ends the process on failure, for small growing lists outside arenas. */
void *tt_realloc(void *p, size_t size);

#endif
