/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pickle.h - the part of Python's pickle that a state dict needs, and nothing that runs code.
 *
 * A pickle is a program that may name any Python function and call it. This reader knows numbers, strings, tuples,
 * lists, dicts and the few names torch.save puts into a state dict (OrderedDict, the rebuild functions, the storage
 * classes); it calls nothing, and any other name or opcode is refused with that name. Memory, stack and memo are
 * bounded. Opcodes: CPython, Lib/pickletools.py; protocols 2 to 5. */
#ifndef TT_PIPELINE_PICKLE_H
#define TT_PIPELINE_PICKLE_H

#include "pipeline/state_dict.h"

typedef enum TtPickleKind {
    TT_PICKLE_NONE,
    TT_PICKLE_BOOL,
    TT_PICKLE_INT,
    TT_PICKLE_FLOAT,
    TT_PICKLE_TEXT,  /* str or bytes */
    TT_PICKLE_TUPLE, /* list and dict share the layout: a dict's items are key, value, key, value */
    TT_PICKLE_LIST,
    TT_PICKLE_DICT,
    TT_PICKLE_GLOBAL, /* one of the names that are known */
    TT_PICKLE_STORAGE,
    TT_PICKLE_TENSOR,
    TT_PICKLE_MARK /* only on the stack */
} TtPickleKind;

typedef struct TtPickleSeq TtPickleSeq;
typedef struct TtPickleText TtPickleText;
typedef struct TtPickleStorage TtPickleStorage;
typedef struct TtPickleTensor TtPickleTensor;

typedef struct TtPickleValue {
    TtPickleKind kind;
    union {
        int64_t i; /* bool, int, and the number of a global */
        double f;
        TtPickleText *text;
        TtPickleSeq *seq;
        TtPickleStorage *storage;
        TtPickleTensor *tensor;
    };
} TtPickleValue;

struct TtPickleText {
    size_t size;
    char bytes[]; /* and a NUL */
};

struct TtPickleSeq {
    int64_t count, capacity;
    TtPickleValue *items;
};

struct TtPickleStorage {
    const char *key; /* of the record that holds the bytes */
    TtStored type;
    int64_t numel;
    TtPickleStorage *next; /* of all in the pickle, also those that no tensor of the state dict uses */
};

/* As torch._utils._rebuild_tensor_v2 gets it; lengths, strides and offset are not negative and fit the storage. */
struct TtPickleTensor {
    const TtPickleStorage *storage;
    TtShape shape;
    int64_t strides[TT_MAX_RANK], offset;
};

typedef struct TtPickle {
    TtPickleValue value;
    size_t used; /* bytes of DATA */
    TtPickleStorage *storages;
} TtPickle;

/* Read one pickle from the start of DATA into ARENA. PATH is for messages. */
TtStatus tt_pickle_read(TtArena *arena, const char *path, const void *data, size_t size, TtPickle *out) TT_NODISCARD;
/* The value of a text key of a dict, or NULL. The last one counts, as in Python. */
const TtPickleValue *tt_pickle_get(const TtPickleSeq *dict, const char *key);

#endif
