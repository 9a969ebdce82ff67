/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pickle.c - a stack machine for the opcodes that a state dict needs. It never recurses, so the only depth
 * is that of its own stack, and values of a cycle (a list in itself) do no harm. */
#include "pipeline/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/json.h"

enum {
    MAX_STACK = 1 << 20,
    MAX_MEMO = 1 << 22,
    MAX_MEMORY = 256 << 20 /* of the arena: far beyond any state dict, well within a job's memory */
};

typedef enum GlobalKind { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE } GlobalKind;

static const struct {
    const char *module, *name;
    GlobalKind kind;
    TtStored type;
} globals[] = {
    {"collections", "OrderedDict", ORDERED_DICT},
    {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR},
    {"torch._utils", "_rebuild_tensor", REBUILD_TENSOR},
    {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER},
    {"torch", "FloatStorage", STORAGE, TT_STORED_F32},
    {"torch", "DoubleStorage", STORAGE, TT_STORED_F64},
    {"torch", "HalfStorage", STORAGE, TT_STORED_F16},
    {"torch", "BFloat16Storage", STORAGE, TT_STORED_BF16},
    {"torch", "LongStorage", STORAGE, TT_STORED_I64},
    {"torch", "IntStorage", STORAGE, TT_STORED_I32},
    {"torch", "ShortStorage", STORAGE, TT_STORED_I16},
    {"torch", "CharStorage", STORAGE, TT_STORED_I8},
    {"torch", "ByteStorage", STORAGE, TT_STORED_U8},
    {"torch", "BoolStorage", STORAGE, TT_STORED_BOOL},
    {"torch", "ComplexFloatStorage", STORAGE, TT_STORED_C64},
    {"torch", "ComplexDoubleStorage", STORAGE, TT_STORED_C128},
    {"torch.storage", "UntypedStorage", STORAGE, TT_STORED_U8},
};

typedef struct Machine {
    TtArena *arena;
    const char *path;
    const unsigned char *data;
    size_t size, at, memory;
    TtPickleValue *stack, *memo;
    int64_t depth, stack_size, memo_count, memo_size;
    TtPickleStorage *storages;
} Machine;

#define BAD(...) TT_FAIL(TT_ECHECKPOINT, __VA_ARGS__)

static TtStatus corrupt(const Machine *m, const char *what)
{
    return BAD("%s: the pickle inside is corrupt at its byte %zu: %s", m->path, m->at, what);
}

static TtStatus allocate(Machine *m, size_t size, void **out)
{
    *out = NULL;
    m->memory += size + 64;
    if (m->memory > MAX_MEMORY) return BAD("%s: the pickle inside needs too much memory for a state dict", m->path);
    *out = tt_arena_alloc(m->arena, size);
    return TT_OK;
}

/* ------------------------------------------------------------------ stack and memo */

static TtStatus push(Machine *m, TtPickleValue v)
{
    if (m->depth == MAX_STACK) return corrupt(m, "the stack is too deep");
    if (m->depth == m->stack_size) {
        m->stack_size = m->stack_size ? m->stack_size * 2 : 256;
        m->stack = tt_realloc(m->stack, (size_t)m->stack_size * sizeof *m->stack);
    }
    m->stack[m->depth++] = v;
    return TT_OK;
}

/* The top value, which must not be a mark. */
static TtStatus pop(Machine *m, TtPickleValue *v)
{
    *v = (TtPickleValue){0};
    if (m->depth == 0 || m->stack[m->depth - 1].kind == TT_PICKLE_MARK) return corrupt(m, "the stack is empty");
    *v = m->stack[--m->depth];
    return TT_OK;
}

/* Place of the first value above the last mark. */
static TtStatus find_mark(const Machine *m, int64_t *first)
{
    *first = 0;
    for (int64_t i = m->depth; i > 0; i--) {
        if (m->stack[i - 1].kind != TT_PICKLE_MARK) continue;
        *first = i;
        return TT_OK;
    }
    return corrupt(m, "no mark");
}

static TtStatus memoize(Machine *m, uint64_t where)
{
    if (m->depth == 0 || m->stack[m->depth - 1].kind == TT_PICKLE_MARK) return corrupt(m, "nothing to remember");
    /* a put takes two bytes at least, so a real one never counts further than the bytes read */
    if (where >= MAX_MEMO || where > m->at) return corrupt(m, "a memo number beyond any use");
    if ((int64_t)where >= m->memo_size) {
        m->memo_size = TT_MAX((int64_t)where + 1, m->memo_size * 2);
        m->memo = tt_realloc(m->memo, (size_t)m->memo_size * sizeof *m->memo);
    }
    while (m->memo_count <= (int64_t)where) m->memo[m->memo_count++] = (TtPickleValue){.kind = TT_PICKLE_MARK};
    m->memo[where] = m->stack[m->depth - 1];
    return TT_OK;
}

static TtStatus recall(Machine *m, uint64_t where)
{
    if (where >= (uint64_t)m->memo_count || m->memo[where].kind == TT_PICKLE_MARK)
        return corrupt(m, "an unknown memo number");
    return push(m, m->memo[where]);
}

/* ------------------------------------------------------------------ bytes */

static TtStatus take(Machine *m, size_t n, const unsigned char **p)
{
    *p = NULL;
    if (n > m->size - m->at) return corrupt(m, "it ends too early");
    *p = m->data + m->at;
    m->at += n;
    return TT_OK;
}

static TtStatus take_number(Machine *m, size_t width, uint64_t *v)
{
    const unsigned char *p;
    *v = 0;
    TT_TRY(take(m, width, &p));
    for (size_t i = width; i-- > 0;) *v = *v << 8 | p[i];
    return TT_OK;
}

static TtStatus push_int(Machine *m, int64_t v)
{
    return push(m, (TtPickleValue){.kind = TT_PICKLE_INT, .i = v});
}

/* LONG1: little-endian two's complement of any length. */
static TtStatus push_long(Machine *m)
{
    uint64_t n, v;
    TT_TRY(take_number(m, 1, &n));
    if (n > 8) return corrupt(m, "a number beyond 64 bits");
    TT_TRY(take_number(m, (size_t)n, &v));
    if (n > 0 && n < 8 && v >> (8 * n - 1)) v |= UINT64_MAX << (8 * n);
    return push_int(m, (int64_t)v);
}

static TtStatus push_float(Machine *m)
{
    const unsigned char *p;
    uint64_t bits = 0;
    TtPickleValue v = {.kind = TT_PICKLE_FLOAT};
    TT_TRY(take(m, 8, &p));
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    memcpy(&v.f, &bits, sizeof v.f);
    return push(m, v);
}

static TtStatus push_text(Machine *m, size_t width)
{
    uint64_t n;
    const unsigned char *p;
    void *text;
    TT_TRY(take_number(m, width, &n));
    if (n > m->size) return corrupt(m, "it ends too early");
    TT_TRY(take(m, (size_t)n, &p));
    TT_TRY(allocate(m, sizeof(TtPickleText) + (size_t)n + 1, &text));
    TtPickleValue v = {.kind = TT_PICKLE_TEXT, .text = text};
    v.text->size = (size_t)n;
    memcpy(v.text->bytes, p, (size_t)n);
    return push(m, v);
}

/* ------------------------------------------------------------------ containers */

static TtStatus new_seq(Machine *m, TtPickleKind kind, TtPickleValue *v)
{
    void *p;
    TT_TRY(allocate(m, sizeof(TtPickleSeq), &p));
    *v = (TtPickleValue){.kind = kind, .seq = p};
    return TT_OK;
}

static TtStatus append(Machine *m, TtPickleSeq *s, const TtPickleValue *items, int64_t n)
{
    if (n == 0) return TT_OK;
    if (s->count + n > s->capacity) {
        void *p;
        int64_t capacity = TT_MAX(s->count + n, s->capacity * 2);
        TT_TRY(allocate(m, (size_t)capacity * sizeof *items, &p));
        if (s->count) memcpy(p, s->items, (size_t)s->count * sizeof *items);
        s->items = p;
        s->capacity = capacity;
    }
    memcpy(s->items + s->count, items, (size_t)n * sizeof *items);
    s->count += n;
    return TT_OK;
}

/* The values from FIRST on become one container. MARKED: the mark below them goes too. */
static TtStatus collect(Machine *m, TtPickleKind kind, int64_t first, bool marked)
{
    TtPickleValue v;
    TT_TRY(new_seq(m, kind, &v));
    if (kind == TT_PICKLE_DICT && (m->depth - first) % 2) return corrupt(m, "a key without a value");
    if (m->depth > first) TT_TRY(append(m, v.seq, m->stack + first, m->depth - first));
    m->depth = first - marked;
    return push(m, v);
}

static TtStatus collect_marked(Machine *m, TtPickleKind kind)
{
    int64_t first;
    TT_TRY(find_mark(m, &first));
    return collect(m, kind, first, true);
}

static TtStatus collect_tuple(Machine *m, int64_t n)
{
    for (int64_t i = 1; i <= n; i++)
        if (m->depth < i || m->stack[m->depth - i].kind == TT_PICKLE_MARK) return corrupt(m, "the stack is empty");
    return collect(m, TT_PICKLE_TUPLE, m->depth - n, false);
}

/* Add the values from FIRST on to the container below them. */
static TtStatus extend(Machine *m, TtPickleKind kind, int64_t first, bool marked)
{
    int64_t below = first - marked - 1, n = m->depth - first;
    if (below < 0 || m->stack[below].kind != kind || (kind == TT_PICKLE_DICT && n % 2))
        return corrupt(m, "items without a container");
    TT_TRY(append(m, m->stack[below].seq, m->stack + first, n));
    m->depth = below + 1;
    return TT_OK;
}

static TtStatus extend_marked(Machine *m, TtPickleKind kind)
{
    int64_t first;
    TT_TRY(find_mark(m, &first));
    return extend(m, kind, first, true);
}

static TtStatus extend_by(Machine *m, TtPickleKind kind, int64_t n)
{
    for (int64_t i = 1; i <= n; i++)
        if (m->depth < i || m->stack[m->depth - i].kind == TT_PICKLE_MARK) return corrupt(m, "the stack is empty");
    return extend(m, kind, m->depth - n, false);
}

/* ------------------------------------------------------------------ names, storages, tensors */

static TtStatus push_global(Machine *m, const char *module, const char *name)
{
    char a[TT_JSON_NAME], b[TT_JSON_NAME];
    for (int i = 0; i < TT_COUNT(globals); i++) {
        bool same =
            strcmp(module, globals[i].module) == 0 || (globals[i].kind == STORAGE && strcmp(module, "torch.cuda") == 0);
        if (same && strcmp(name, globals[i].name) == 0)
            return push(m, (TtPickleValue){.kind = TT_PICKLE_GLOBAL, .i = i});
    }
    return BAD("%s: asks for %s.%s, which no state dict needs: refused, and nothing was called; save "
               "model.state_dict() instead",
               m->path, tt_json_name(module, a), tt_json_name(name, b));
}

/* GLOBAL: two lines of text. */
static TtStatus take_global(Machine *m)
{
    char *line[2];
    for (int i = 0; i < 2; i++) {
        const unsigned char *p = m->data + m->at, *end = memchr(p, '\n', m->size - m->at);
        void *copy;
        if (!end) return corrupt(m, "it ends too early");
        TT_TRY(allocate(m, (size_t)(end - p) + 1, &copy));
        line[i] = memcpy(copy, p, (size_t)(end - p));
        m->at += (size_t)(end - p) + 1;
    }
    return push_global(m, line[0], line[1]);
}

static TtStatus stack_global(Machine *m)
{
    TtPickleValue name, module;
    TT_TRY(pop(m, &name));
    TT_TRY(pop(m, &module));
    if (name.kind != TT_PICKLE_TEXT || module.kind != TT_PICKLE_TEXT) return corrupt(m, "a name that is no text");
    return push_global(m, module.text->bytes, name.text->bytes);
}

/* BINPERSID: ('storage', class, key, place, elements), and before 1.6 a view, which must be None. */
static TtStatus persistent_id(Machine *m)
{
    TtPickleValue id;
    TT_TRY(pop(m, &id));
    const TtPickleValue *v = id.kind == TT_PICKLE_TUPLE && id.seq->count >= 5 ? id.seq->items : NULL;
    if (!v || v[0].kind != TT_PICKLE_TEXT || strcmp(v[0].text->bytes, "storage") != 0 ||
        v[1].kind != TT_PICKLE_GLOBAL || globals[v[1].i].kind != STORAGE || v[2].kind != TT_PICKLE_TEXT ||
        strlen(v[2].text->bytes) != v[2].text->size || v[4].kind != TT_PICKLE_INT || v[4].i < 0)
        return corrupt(m, "not a reference to a storage");
    if (id.seq->count > 5 && v[5].kind != TT_PICKLE_NONE)
        return BAD("%s: storages that are views of others (an old format of torch.save); save it again with PyTorch "
                   "1.6 or later",
                   m->path);
    void *p;
    TT_TRY(allocate(m, sizeof(TtPickleStorage), &p));
    TtPickleStorage *s = p;
    *s = (TtPickleStorage){.key = v[2].text->bytes, .type = globals[v[1].i].type, .numel = v[4].i};
    s->next = m->storages;
    m->storages = s;
    int64_t bits;
    if (__builtin_mul_overflow(s->numel, tt_stored_bits(s->type), &bits)) return corrupt(m, "a storage without end");
    return push(m, (TtPickleValue){.kind = TT_PICKLE_STORAGE, .storage = s});
}

static bool take_dims(const TtPickleValue *v, int64_t *out, int *rank)
{
    if ((v->kind != TT_PICKLE_TUPLE && v->kind != TT_PICKLE_LIST) || v->seq->count > TT_MAX_RANK) return false;
    *rank = (int)v->seq->count;
    for (int i = 0; i < *rank; i++) {
        if (v->seq->items[i].kind != TT_PICKLE_INT || v->seq->items[i].i < 0) return false;
        out[i] = v->seq->items[i].i;
    }
    return true;
}

/* (storage, offset, size, stride[, requires_grad, hooks[, metadata]]) */
static TtStatus rebuild_tensor(Machine *m, const TtPickleSeq *args)
{
    const TtPickleValue *v = args->items;
    if (args->count < 4 || v[0].kind != TT_PICKLE_STORAGE || v[1].kind != TT_PICKLE_INT)
        return corrupt(m, "a tensor with wrong arguments");
    void *p;
    TT_TRY(allocate(m, sizeof(TtPickleTensor), &p));
    TtPickleTensor *t = p;
    int ranks;
    *t = (TtPickleTensor){.storage = v[0].storage, .offset = v[1].i};
    if (!take_dims(&v[2], t->shape.dims, &t->shape.rank) || !take_dims(&v[3], t->strides, &ranks) ||
        ranks != t->shape.rank)
        return corrupt(m, "a tensor whose sizes or strides cannot be read (at most 6 dimensions, none negative)");
    if (args->count > 6 && v[6].kind != TT_PICKLE_NONE && (v[6].kind != TT_PICKLE_DICT || v[6].seq->count > 0))
        return BAD("%s: holds a tensor whose negation or conjugation is still to be done; save it again with "
                   "resolve_neg() or resolve_conj()",
                   m->path);
    uint64_t bits = (uint64_t)(t->storage->numel * tt_stored_bits(t->storage->type));
    TtStateTensor check = {.type = t->storage->type, .shape = t->shape, .offset = t->offset, .storage.bytes = bits / 8};
    memcpy(check.strides, t->strides, sizeof check.strides);
    if (!tt_state_fits(&check)) return corrupt(m, "a tensor reaches beyond its storage");
    return push(m, (TtPickleValue){.kind = TT_PICKLE_TENSOR, .tensor = t});
}

/* OrderedDict() or OrderedDict([(key, value), ...]). */
static TtStatus ordered_dict(Machine *m, const TtPickleSeq *args)
{
    TtPickleValue dict;
    TT_TRY(new_seq(m, TT_PICKLE_DICT, &dict));
    if (args->count > 0) {
        const TtPickleValue *list = &args->items[0];
        if (args->count > 1 || list->kind != TT_PICKLE_LIST) return corrupt(m, "OrderedDict with wrong arguments");
        for (int64_t i = 0; i < list->seq->count; i++) {
            const TtPickleValue *pair = &list->seq->items[i];
            if ((pair->kind != TT_PICKLE_TUPLE && pair->kind != TT_PICKLE_LIST) || pair->seq->count != 2)
                return corrupt(m, "OrderedDict with wrong arguments");
            TT_TRY(append(m, dict.seq, pair->seq->items, 2));
        }
    }
    return push(m, dict);
}

static TtStatus reduce(Machine *m)
{
    TtPickleValue args, f;
    TT_TRY(pop(m, &args));
    TT_TRY(pop(m, &f));
    if (args.kind != TT_PICKLE_TUPLE || f.kind != TT_PICKLE_GLOBAL)
        return corrupt(m, "a call of what is no function: refused");
    switch (globals[f.i].kind) {
    case ORDERED_DICT: return ordered_dict(m, args.seq);
    case REBUILD_TENSOR: return rebuild_tensor(m, args.seq);
    case REBUILD_PARAMETER:
        if (args.seq->count < 1 || args.seq->items[0].kind != TT_PICKLE_TENSOR)
            return corrupt(m, "a parameter that is no tensor");
        return push(m, args.seq->items[0]);
    case STORAGE: break;
    }
    return BAD("%s: makes a %s.%s by itself, which no state dict needs: refused", m->path, globals[f.i].module,
               globals[f.i].name);
}

/* Attributes of a dict (a state dict's _metadata) are of no use here; other objects have none. */
static TtStatus build(Machine *m)
{
    TtPickleValue state;
    TT_TRY(pop(m, &state));
    if (m->depth == 0 || m->stack[m->depth - 1].kind != TT_PICKLE_DICT)
        return corrupt(m, "state of no object: refused");
    return TT_OK;
}

/* ------------------------------------------------------------------ opcodes */

static TtStatus pop_mark(Machine *m)
{
    int64_t first;
    TT_TRY(find_mark(m, &first));
    m->depth = first - 1;
    return TT_OK;
}

static TtStatus pop_any(Machine *m)
{
    if (m->depth == 0) return corrupt(m, "the stack is empty");
    m->depth--;
    return TT_OK;
}

static TtStatus duplicate(Machine *m)
{
    if (m->depth == 0) return corrupt(m, "the stack is empty");
    return push(m, m->stack[m->depth - 1]);
}

static TtStatus push_bool(Machine *m, bool v)
{
    return push(m, (TtPickleValue){.kind = TT_PICKLE_BOOL, .i = v});
}

static TtStatus unknown_opcode(Machine *m, int op)
{
    switch (op) {
    case 'i':  /* INST */
    case 'o':  /* OBJ */
    case 0x81: /* NEWOBJ */
    case 0x92: /* NEWOBJ_EX */
    case 0x82: /* EXT1 */
    case 0x83:
    case 0x84:
        return BAD("%s: the pickle inside makes an object of a class, which no state dict needs: refused, and nothing "
                   "was called; save model.state_dict() instead",
                   m->path);
    default:
        m->at--;
        return BAD("%s: the pickle inside uses opcode 0x%02x at its byte %zu, which no state dict needs: "
                   "refused",
                   m->path, (unsigned)op, m->at);
    }
}

/* Opcodes with a number behind them. */
static TtStatus step_sized(Machine *m, int op)
{
    uint64_t n;
    size_t width = strchr("KqhM", op) ? (op == 'M' ? 2 : 1) : op == 0x95 ? 8 : op == 0x80 ? 1 : 4;
    TT_TRY(take_number(m, width, &n));
    switch (op) {
    case 'J': return push_int(m, (int32_t)(uint32_t)n);
    case 'K':
    case 'M': return push_int(m, (int64_t)n);
    case 'q':
    case 'r': return memoize(m, n);
    case 'h':
    case 'j': return recall(m, n);
    case 0x80: return n <= 5 ? TT_OK : corrupt(m, "an unknown protocol");
    default: return TT_OK; /* FRAME: only a hint for reading ahead */
    }
}

static TtStatus step(Machine *m, int op)
{
    TtPickleValue v;
    switch (op) {
    case '(': return push(m, (TtPickleValue){.kind = TT_PICKLE_MARK});
    case '0': return pop_any(m);
    case '1': return pop_mark(m);
    case '2': return duplicate(m);
    case 'N': return push(m, (TtPickleValue){.kind = TT_PICKLE_NONE});
    case 0x88: return push_bool(m, true);
    case 0x89: return push_bool(m, false);
    case 'J':
    case 'K':
    case 'M':
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case 0x80:
    case 0x95: return step_sized(m, op);
    case 0x94: return memoize(m, (uint64_t)m->memo_count);
    case 0x8a: return push_long(m);
    case 'G': return push_float(m);
    case 'C': /* SHORT_BINBYTES, SHORT_BINSTRING, SHORT_BINUNICODE */
    case 'U':
    case 0x8c: return push_text(m, 1);
    case 'B': /* BINBYTES, BINSTRING, BINUNICODE */
    case 'T':
    case 'X': return push_text(m, 4);
    case 0x8d: /* BINUNICODE8, BINBYTES8 */
    case 0x8e: return push_text(m, 8);
    case ')': return collect_tuple(m, 0);
    case 0x85: return collect_tuple(m, 1);
    case 0x86: return collect_tuple(m, 2);
    case 0x87: return collect_tuple(m, 3);
    case 't': return collect_marked(m, TT_PICKLE_TUPLE);
    case 'l': return collect_marked(m, TT_PICKLE_LIST);
    case 'd': return collect_marked(m, TT_PICKLE_DICT);
    case ']': TT_TRY(new_seq(m, TT_PICKLE_LIST, &v)); return push(m, v);
    case '}': TT_TRY(new_seq(m, TT_PICKLE_DICT, &v)); return push(m, v);
    case 'a': return extend_by(m, TT_PICKLE_LIST, 1);
    case 's': return extend_by(m, TT_PICKLE_DICT, 2);
    case 'e': return extend_marked(m, TT_PICKLE_LIST);
    case 'u': return extend_marked(m, TT_PICKLE_DICT);
    case 'c': return take_global(m);
    case 0x93: return stack_global(m);
    case 'Q': return persistent_id(m);
    case 'R': return reduce(m);
    case 'b': return build(m);
    default: return unknown_opcode(m, op);
    }
}

TtStatus tt_pickle_read(TtArena *arena, const char *path, const void *data, size_t size, TtPickle *out)
{
    Machine m = {.arena = arena, .path = path, .data = data, .size = size};
    TtStatus status = TT_OK;
    const unsigned char *op;
    *out = (TtPickle){0};
    while (status == TT_OK) {
        status = take(&m, 1, &op);
        if (status != TT_OK) break;
        if (*op == '.') {
            status = pop(&m, &out->value);
            break;
        }
        status = step(&m, *op);
    }
    out->used = m.at;
    out->storages = m.storages;
    free(m.stack);
    free(m.memo);
    return status;
}

const TtPickleValue *tt_pickle_get(const TtPickleSeq *dict, const char *key)
{
    for (int64_t i = dict->count - 2; i >= 0; i -= 2)
        if (dict->items[i].kind == TT_PICKLE_TEXT && strcmp(dict->items[i].text->bytes, key) == 0)
            return &dict->items[i + 1];
    return NULL;
}
