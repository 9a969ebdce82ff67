/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/state_dict.h - a file of named tensors, whichever its format.
 *
 * Opening a file reads and checks its directory (names, types, shapes, where the bytes lie); tensors are read one by
 * one straight into the caller's memory and converted on the way, so a model is never held twice. Nothing a file
 * claims is believed before it has been checked against the file's size, and nothing is allocated by its claims.
 * Every failure is TT_ECHECKPOINT and its message begins with the path. */
#ifndef TT_PIPELINE_STATE_DICT_H
#define TT_PIPELINE_STATE_DICT_H

#include "tensor/arena.h"
#include "tensor/types.h"

/* Element types as files know them; more than TtDType has. Those without a conversion can be listed, not read. */
typedef enum TtStored {
    TT_STORED_BOOL,
    TT_STORED_U8,
    TT_STORED_I8,
    TT_STORED_I16,
    TT_STORED_U16,
    TT_STORED_I32,
    TT_STORED_U32,
    TT_STORED_I64,
    TT_STORED_U64,
    TT_STORED_F16,
    TT_STORED_BF16,
    TT_STORED_F32,
    TT_STORED_F64,
    TT_STORED_CONVERTIBLE, /* those above */
    TT_STORED_F4 = TT_STORED_CONVERTIBLE,
    TT_STORED_F6_E2M3,
    TT_STORED_F6_E3M2,
    TT_STORED_F8_E5M2,
    TT_STORED_F8_E4M3,
    TT_STORED_F8_E8M0,
    TT_STORED_C64,
    TT_STORED_C128,
    TT_STORED_TYPES
} TtStored;

int tt_stored_bits(TtStored t);
const char *tt_stored_name(TtStored t); /* safetensors' name: "F32" */
bool tt_stored_from_name(const char *name, TtStored *out);
TtStored tt_stored_of(TtDType t);

/* A run of bytes in the file that tensors look into. */
typedef struct TtStorage {
    uint64_t at; /* byte offset in the file, or index of the zip entry */
    uint64_t bytes;
    bool compressed; /* a zip entry that is deflated */
} TtStorage;

typedef struct TtStateTensor {
    const char *name; /* UTF-8 */
    TtStored type;
    TtShape shape;
    int64_t strides[TT_MAX_RANK]; /* of elements, not negative */
    int64_t offset;               /* of the first element in the storage; every element lies within it */
    TtStorage storage;
} TtStateTensor;

typedef struct TtStateDict {
    TtArena arena;
    const char *path;
    int count;
    TtStateTensor *list; /* by name, each once */
    bool swapped;        /* big-endian elements */
    /* the format's own */
    TtStatus (*fetch)(struct TtStateDict *d, const TtStorage *s, uint64_t from, void *to, size_t n);
    void (*close)(struct TtStateDict *d);
    void *file;
} TtStateDict;

/* The content decides: .safetensors, or torch.save's zip (.pth, .pt, .bin, .ckpt) or its format before PyTorch 1.6. */
TtStatus tt_state_open(const char *path, TtStateDict **out) TT_NODISCARD;
void tt_state_close(TtStateDict *d);
const TtStateTensor *tt_state_find(const TtStateDict *d, const char *name);
/* The tensor, contiguous, as DTYPE into TO. Rounds to nearest even; a float that is no integer, or a value out of
 * range, cannot become an integer. Not-finite values pass. */
TtStatus tt_state_read(TtStateDict *d, const TtStateTensor *t, TtDType dtype, void *to) TT_NODISCARD;

/* A tensor of the caller's to be saved or filled. */
typedef struct TtNamedTensor {
    const char *name;
    TtDType dtype;
    TtShape shape;
    void *data; /* contiguous; NULL only when it has no elements */
} TtNamedTensor;

/* Fill LIST from the file, which must have exactly these tensors with these types and shapes (our own checkpoints). */
TtStatus tt_state_read_all(TtStateDict *d, const TtNamedTensor *list, int count) TT_NODISCARD;

/* For the formats: a new dict; sort the list and refuse names that come twice. */
TtStateDict *tt_state_new(const char *path);
TtStatus tt_state_sort(TtStateDict *d) TT_NODISCARD;
/* Elements of a shape, or -1 when they overflow or a length is negative. */
int64_t tt_state_count(const int64_t *dims, int rank);
/* Every element lies within the storage. */
bool tt_state_fits(const TtStateTensor *t);
/* All N bytes at AT, or TT_ECHECKPOINT. */
TtStatus tt_state_pread(const char *path, int fd, uint64_t at, void *to, size_t n) TT_NODISCARD;

#endif
