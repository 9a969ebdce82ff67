/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/arena.c - bump allocation in growing blocks. */
#include "tensor/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 4 << 20 };

struct TtArenaBlock {
    struct TtArenaBlock *next;
    size_t used, size; /* bytes behind the header */
};

static TT_NORETURN void no_memory(size_t size)
{
    fprintf(stderr, "ttrain: out of memory (%zu bytes)\n", size);
    exit(TT_EINTERNAL);
}

void *tt_arena_alloc(TtArena *a, size_t size)
{
    if (size > SIZE_MAX / 2) no_memory(size);
    size = tt_aligned(size ? size : 1);
    struct TtArenaBlock *b = a->head;
    if (!b || b->size - b->used < size) {
        size_t want = b ? TT_MIN(b->size * 2, (size_t)LARGEST_BLOCK) : (size_t)FIRST_BLOCK;
        want = tt_aligned(TT_MAX(want, size));
        b = aligned_alloc(TT_ALIGN, tt_aligned(sizeof *b) + want);
        if (!b) no_memory(want);
        *b = (struct TtArenaBlock){.next = a->head, .size = want};
        a->head = b;
    }
    void *p = (char *)b + tt_aligned(sizeof *b) + b->used;
    b->used += size;
    return memset(p, 0, size);
}

void *tt_arena_copy(TtArena *a, const void *src, size_t size)
{
    void *p = tt_arena_alloc(a, size);
    return size ? memcpy(p, src, size) : p;
}

char *tt_arena_strndup(TtArena *a, const char *s, size_t n)
{
    char *p = tt_arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *tt_arena_strdup(TtArena *a, const char *s)
{
    return tt_arena_strndup(a, s, strlen(s));
}

char *tt_arena_printf(TtArena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    TT_ASSERT(n >= 0);
    char *p = tt_arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void tt_arena_free(TtArena *a)
{
    for (struct TtArenaBlock *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
}

TtStatus tt_alloc(void **out, size_t size)
{
    *out = NULL;
    if (size <= SIZE_MAX / 2) *out = aligned_alloc(TT_ALIGN, tt_aligned(size ? size : 1));
    return *out ? TT_OK : TT_FAIL(TT_EINTERNAL, "out of memory: %zu bytes could not be allocated", size);
}

void tt_free(void *p)
{
    free(p);
}

void *tt_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q) no_memory(size);
    return q;
}
