/* SPDX-License-Identifier: Apache-2.0 */
/* audio/ctc_beam.c - prefix beam search.
 *
 * Prefixes are nodes of a tree that only grows. After each frame the beam holds the best of them, each with the
 * probability of its alignments that end in a blank and of those that end in its last token. A frame makes
 * candidates: every prefix of the beam as it is, and with one more token. A candidate whose prefix is in the tree
 * already is found there, so that a prefix is one candidate however it is reached; a new one gets its node only when
 * it stays in the beam.
 *
 * A prefix's last step is its symbol: a class or, for a space behind a word of the lexicon, classes + word, because
 * words that are spelt alike go on as different prefixes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audio/ctc_decode.h"
#include "tensor/arena.h"
#include "tensor/utf8.h"

/* Instead of a word's number: a word that only its letters tell; no word. */
#define SPELT (UINT32_MAX - 1)
#define NONE UINT32_MAX
#define OFF_TRIE UINT32_MAX /* no word of the lexicon begins so */

const TtOption tt_ctc_options[] = {
    {"nbest", TT_OPT_INT, offsetof(TtCtcOptions, nbest), .def = "1", .flags = TT_OPT_RANGED, .min = 1, .max = 10000,
     .help = "results wanted"},
    {"beam_size", TT_OPT_INT, offsetof(TtCtcOptions, beam_size), .def = "50", .flags = TT_OPT_RANGED, .min = 1,
     .max = 100000, .help = "prefixes kept after each frame"},
    {"beam_size_token", TT_OPT_INT, offsetof(TtCtcOptions, beam_size_token), .def = "null",
     .flags = TT_OPT_RANGED | TT_OPT_NULL, .min = 1, .max = INT32_MAX,
     .help = "best classes of a frame that may follow; null: all"},
    {"beam_threshold", TT_OPT_FLOAT, offsetof(TtCtcOptions, beam_threshold), .def = "50", .flags = TT_OPT_RANGED,
     .min = 0, .max = 1e9, .help = "prefixes whose score is this much behind the best one's are dropped"},
    {"lm_weight", TT_OPT_FLOAT, offsetof(TtCtcOptions, lm_weight), .def = "2", .flags = TT_OPT_RANGED, .min = 0,
     .max = 1e6, .help = "weight of the language model's log10 probabilities"},
    {"word_score", TT_OPT_FLOAT, offsetof(TtCtcOptions, word_score), .def = "0", .flags = TT_OPT_RANGED, .min = -1e6,
     .max = 1e6, .help = "added for each word"},
    {"unk_score", TT_OPT_FLOAT, offsetof(TtCtcOptions, unk_score), .def = "null", .flags = TT_OPT_RANGED | TT_OPT_NULL,
     .min = -1e6, .max = 1e6, .help = "added for each word that is not in the lexicon; null: there are none"},
    {"sil_score", TT_OPT_FLOAT, offsetof(TtCtcOptions, sil_score), .def = "0", .flags = TT_OPT_RANGED, .min = -1e6,
     .max = 1e6, .help = "added for each space"},
    {"log_add", TT_OPT_BOOL, offsetof(TtCtcOptions, log_add), .def = "false",
     .help = "add the probabilities of a text's alignments instead of taking the largest"},
    {0}};

struct TtCtcDecoder {
    TtCtcOptions o;
    const TtVocabulary *v;
    int64_t space;
    const TtArpa *lm;
    const TtLexicon *lexicon;
    bool unknown;     /* words that are not in the lexicon may be */
    int64_t *lm_word; /* of each word of the lexicon, when there is a language model */
    double *ahead;    /* of each node of the trie, likewise: weighted score of the best 1-gram below */
    double ahead_unknown;
};

/* ---- the decoder */

static double weighted(const TtCtcDecoder *d, double lm)
{
    return d->o.lm_weight == 0 ? 0 : d->o.lm_weight * lm; /* not 0 times infinity */
}

static void look_ahead(TtCtcDecoder *d)
{
    const TtLexicon *l = d->lexicon;
    TtArpaState begin = tt_arpa_begin(d->lm);
    d->lm_word = tt_realloc(NULL, l->words * sizeof *d->lm_word);
    d->ahead = tt_realloc(NULL, l->nodes * sizeof *d->ahead);
    for (uint32_t i = 0; i < l->words; i++) d->lm_word[i] = tt_arpa_word(d->lm, l->word[i].text);
    for (uint32_t i = 0; i < l->nodes; i++) d->ahead[i] = -INFINITY;
    for (uint32_t i = l->nodes; i-- > 0;) {
        for (uint32_t w = l->node_word[i]; w != NONE; w = l->word[w].next)
            d->ahead[i] = fmax(d->ahead[i], weighted(d, tt_arpa_score(d->lm, &begin, d->lm_word[w], NULL)));
        if (i) d->ahead[l->parent[i]] = fmax(d->ahead[l->parent[i]], d->ahead[i]);
    }
    d->ahead[0] = 0; /* no word is begun */
    d->ahead_unknown += weighted(d, tt_arpa_score(d->lm, &begin, tt_arpa_word(d->lm, "<unk>"), NULL));
}

TtCtcDecoder *tt_ctc_decoder_new(const TtCtcOptions *o, const TtVocabulary *v, int64_t space, const TtArpa *lm,
                                 const TtLexicon *lexicon)
{
    TT_ASSERT(o->nbest >= 1 && o->beam_size >= 1 && space >= -1 && space < v->classes && space != v->blank);
    TtCtcDecoder *d = tt_realloc(NULL, sizeof *d);
    *d = (TtCtcDecoder){.o = *o, .v = v, .space = space, .lm = lm, .lexicon = lexicon};
    d->unknown = o->unk_score > -INFINITY; /* NaN: no */
    d->ahead_unknown = d->unknown ? o->unk_score : 0;
    if (lm && lexicon) look_ahead(d);
    return d;
}

void tt_ctc_decoder_free(TtCtcDecoder *d)
{
    if (!d) return;
    free(d->lm_word);
    free(d->ahead);
    free(d);
}

/* ---- the search */

typedef struct Prefix {
    uint32_t parent, symbol; /* NONE for the empty prefix, number 0 */
    uint32_t trie;           /* node of the lexicon that the word at the end has reached */
    uint32_t candidate;      /* of this frame, NONE when it is none */
    double blank, label;     /* log-probability of the alignments that end in a blank, in the last token */
    double extra, lm;        /* weighted scores of whole words and spaces; sum of log10 p_lm */
    TtArpaState state;       /* after the last whole word */
} Prefix;

typedef struct Candidate {
    uint32_t prefix; /* NONE: new */
    uint32_t parent, symbol, trie;
    double blank, label, extra, lm; /* as a prefix's */
} Candidate;

typedef struct Rank {
    double score;
    uint32_t at; /* among the candidates; of equals the first is better */
} Rank;

typedef struct Search {
    const TtCtcDecoder *d;
    Prefix *prefix;
    Candidate *candidate;
    Rank *rank;
    size_t prefixes, prefix_room, candidates, candidate_room, rank_room;
    TtPairMap children; /* (prefix, symbol) */
    uint32_t *beam;
    uint32_t beam_count;
    Rank *token; /* classes of the frame */
    int64_t tokens;
    char *text, *text_end; /* room for the letters of one word */
} Search;

static TtStatus grow(void *list, size_t *room, size_t n, size_t size)
{
    void **p = list;
    if (n <= *room) return TT_OK;
    size_t more = TT_MAX(n, *room * 2 + 256);
    void *q = more >= SPELT ? NULL : realloc(*p, more * size);
    if (!q) return TT_FAIL(TT_EINTERNAL, "out of memory: beam search with %zu prefixes; make beam_size smaller", n);
    *p = q;
    *room = more;
    return TT_OK;
}

static double add(const Search *s, double a, double b)
{
    double most = fmax(a, b);
    if (!s->d->o.log_add || most == -INFINITY) return most;
    return most + log1p(exp(fmin(a, b) - most));
}

/* The last token, -1 of the empty prefix. */
static int64_t token_of(const Search *s, const Prefix *p)
{
    if (p->symbol == NONE) return -1;
    return p->symbol >= s->d->v->classes ? s->d->space : (int64_t)p->symbol;
}

static bool in_word(const Search *s, const Prefix *p)
{
    int64_t token = token_of(s, p);
    return token >= 0 && token != s->d->space;
}

/* ---- words */

/* The words that P's last letters can be: for (w = first_word; w != NONE; w = next_word). */
static uint32_t first_word(const Search *s, const Prefix *p)
{
    const TtLexicon *l = s->d->lexicon;
    if (!l) return SPELT;
    uint32_t w = p->trie == OFF_TRIE ? NONE : l->node_word[p->trie];
    return w == NONE && s->d->unknown ? SPELT : w;
}

static uint32_t next_word(const Search *s, uint32_t word)
{
    return word == SPELT ? NONE : s->d->lexicon->word[word].next;
}

/* The letters behind the last space. */
static const char *spell(const Search *s, const Prefix *p)
{
    char *at = s->text_end;
    *--at = '\0';
    for (; in_word(s, p); p = &s->prefix[p->parent]) {
        char letter[4];
        int n = tt_utf8_encode(s->d->v->codes[p->symbol], letter);
        at -= n;
        memcpy(at, letter, (size_t)n);
    }
    return at;
}

typedef struct Ending {
    double extra, lm;
    TtArpaState state;
} Ending;

/* P with its last letters taken for WORD. */
static Ending end_word(const Search *s, const Prefix *p, uint32_t word)
{
    const TtCtcDecoder *d = s->d;
    Ending e = {p->extra + d->o.word_score, p->lm, p->state};
    if (d->lexicon && word == SPELT) e.extra += d->o.unk_score;
    if (!d->lm) return e;
    int64_t id = !d->lexicon     ? tt_arpa_word(d->lm, spell(s, p))
                 : word == SPELT ? tt_arpa_word(d->lm, "<unk>")
                                 : d->lm_word[word];
    double lm = tt_arpa_score(d->lm, &p->state, id, &e.state);
    e.extra += weighted(d, lm);
    e.lm += lm;
    return e;
}

/* ---- a frame */

static TtStatus new_candidate(Search *s, const Candidate *c)
{
    TT_TRY(grow(&s->candidate, &s->candidate_room, s->candidates + 1, sizeof *s->candidate));
    s->candidate[s->candidates++] = *c;
    return TT_OK;
}

/* The candidate of a prefix that is in the tree. */
static TtStatus candidate_of(Search *s, uint32_t prefix, Candidate **out)
{
    Prefix *p = &s->prefix[prefix];
    if (p->candidate == NONE) {
        Candidate c = {prefix, p->parent, p->symbol, p->trie, -INFINITY, -INFINITY, p->extra, p->lm};
        p->candidate = (uint32_t)s->candidates;
        TT_TRY(new_candidate(s, &c));
    }
    *out = &s->candidate[p->candidate];
    return TT_OK;
}

/* The prefix C->parent with one more symbol, reached with log-probability C->label. */
static TtStatus extend(Search *s, const Candidate *c)
{
    uint32_t prefix = tt_pair_map_get(&s->children, c->parent, c->symbol);
    Candidate *known;
    if (prefix == TT_PAIR_NONE) return new_candidate(s, c);
    TT_TRY(candidate_of(s, prefix, &known));
    known->label = add(s, known->label, c->label);
    return TT_OK;
}

static TtStatus extend_by_space(Search *s, uint32_t prefix, double label)
{
    const Prefix *p = &s->prefix[prefix];
    Candidate c = {NONE, prefix, (uint32_t)s->d->space, 0, -INFINITY, label, p->extra + s->d->o.sil_score, p->lm};
    if (!in_word(s, p)) return extend(s, &c);
    for (uint32_t w = first_word(s, p); w != NONE; w = next_word(s, w)) {
        Ending e = end_word(s, p, w);
        c.symbol = w == SPELT ? (uint32_t)s->d->space : (uint32_t)s->d->v->classes + w;
        c.extra = e.extra + s->d->o.sil_score, c.lm = e.lm;
        TT_TRY(extend(s, &c));
    }
    return TT_OK;
}

static TtStatus extend_by_token(Search *s, uint32_t prefix, uint32_t token, double label)
{
    const Prefix *p = &s->prefix[prefix];
    uint32_t trie = p->trie;
    if (s->d->lexicon && trie != OFF_TRIE) {
        trie = tt_pair_map_get(&s->d->lexicon->children, trie, token);
        if (trie == TT_PAIR_NONE) trie = OFF_TRIE;
    }
    if (trie == OFF_TRIE && !s->d->unknown) return TT_OK;
    return extend(s, &(Candidate){NONE, prefix, token, trie, -INFINITY, label, p->extra, p->lm});
}

static TtStatus make_candidates(Search *s, const float *frame)
{
    for (size_t i = 0; i < s->candidates; i++)
        if (s->candidate[i].prefix != NONE) s->prefix[s->candidate[i].prefix].candidate = NONE;
    s->candidates = 0;
    for (uint32_t i = 0; i < s->beam_count; i++) {
        uint32_t at = s->beam[i];
        const Prefix *p = &s->prefix[at];
        int64_t last = token_of(s, p);
        double all = add(s, p->blank, p->label);
        Candidate *same;
        TT_TRY(candidate_of(s, at, &same));
        same->blank = add(s, same->blank, all + (double)frame[s->d->v->blank]);
        if (last >= 0) same->label = add(s, same->label, p->label + (double)frame[last]);
        for (int64_t k = 0; k < s->tokens; k++) {
            int64_t token = s->token[k].at;
            double label = (token == last ? p->blank : all) + s->token[k].score;
            if (token == s->d->v->blank || label == -INFINITY) continue;
            TT_TRY(token == s->d->space ? extend_by_space(s, at, label)
                                        : extend_by_token(s, at, (uint32_t)token, label));
        }
    }
    return TT_OK;
}

static bool better(const Rank *a, const Rank *b)
{
    return a->score != b->score ? a->score > b->score : a->at < b->at;
}

static int compare(const void *a, const void *b)
{
    return better(a, b) ? -1 : better(b, a);
}

static void swap(Rank *a, Rank *b)
{
    Rank t = *a;
    *a = *b, *b = t;
}

/* Put the best K of N in order to the front (Hoare 1961). What is before lo belongs there, what is from hi on does
 * not. */
static void sort_best(Rank *r, size_t n, size_t k)
{
    for (size_t lo = 0, hi = n; lo < k && k < hi;) {
        size_t middle = lo;
        swap(&r[lo + (hi - lo) / 2], &r[hi - 1]);
        for (size_t i = lo; i < hi - 1; i++)
            if (better(&r[i], &r[hi - 1])) swap(&r[i], &r[middle++]);
        swap(&r[middle], &r[hi - 1]);
        if (middle < k)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (n) qsort(r, TT_MIN(n, k), sizeof *r, compare);
}

static double ahead(const TtCtcDecoder *d, uint32_t trie)
{
    if (!d->lexicon) return 0;
    return trie == OFF_TRIE ? d->ahead_unknown : d->ahead ? d->ahead[trie] : 0;
}

/* A node for a candidate that stays. */
static TtStatus new_prefix(Search *s, Candidate *c)
{
    const TtCtcDecoder *d = s->d;
    TT_TRY(grow(&s->prefix, &s->prefix_room, s->prefixes + 1, sizeof *s->prefix));
    const Prefix *parent = &s->prefix[c->parent];
    Prefix p = {c->parent, c->symbol, c->trie, NONE, 0, 0, c->extra, c->lm, parent->state};
    if (token_of(s, &p) == d->space && in_word(s, parent))
        p.state = end_word(s, parent, p.symbol >= d->v->classes ? p.symbol - (uint32_t)d->v->classes : SPELT).state;
    c->prefix = (uint32_t)s->prefixes;
    s->prefix[s->prefixes++] = p;
    tt_pair_map_put(&s->children, c->parent, c->symbol, c->prefix);
    return TT_OK;
}

/* The best candidates become the beam. */
static TtStatus keep_best(Search *s)
{
    const TtCtcOptions *o = &s->d->o;
    double best = -INFINITY;
    size_t n = 0;
    TT_TRY(grow(&s->rank, &s->rank_room, s->candidates, sizeof *s->rank));
    for (size_t i = 0; i < s->candidates; i++) {
        const Candidate *c = &s->candidate[i];
        double score = add(s, c->blank, c->label) + c->extra + ahead(s->d, c->trie);
        if (score > -INFINITY) s->rank[n++] = (Rank){score, (uint32_t)i};
        best = fmax(best, score);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (s->rank[i].score >= best - o->beam_threshold) s->rank[kept++] = s->rank[i];
    sort_best(s->rank, kept, (size_t)o->beam_size);
    s->beam_count = (uint32_t)TT_MIN(kept, (size_t)o->beam_size);
    for (uint32_t i = 0; i < s->beam_count; i++) {
        Candidate *c = &s->candidate[s->rank[i].at];
        if (c->prefix == NONE) TT_TRY(new_prefix(s, c));
        s->prefix[c->prefix].blank = c->blank;
        s->prefix[c->prefix].label = c->label;
        s->beam[i] = c->prefix;
    }
    return TT_OK;
}

static TtStatus run(Search *s, const TtLogProbs *x)
{
    for (int64_t t = 0; t < x->frames; t++) {
        const float *frame = x->data + t * x->stride;
        for (int64_t c = 0; c < x->classes; c++) {
            if (!(frame[c] < INFINITY))
                return TT_FAIL(TT_EDIVERGED, "beam search: the log-probability of class %lld in frame %lld is %g",
                               (long long)c, (long long)t, (double)frame[c]);
            s->token[c] = (Rank){(double)frame[c], (uint32_t)c};
        }
        if (s->tokens < x->classes) sort_best(s->token, (size_t)x->classes, (size_t)s->tokens);
        TT_TRY(make_candidates(s, frame));
        TT_TRY(keep_best(s));
    }
    return TT_OK;
}

/* ---- results */

typedef struct Final {
    uint32_t prefix, word; /* the word at its end, NONE when there is none */
    bool whole;
    double score, lm;
} Final;

static int compare_finals(const void *a, const void *b)
{
    const Final *x = a, *y = b;
    if (x->whole != y->whole) return x->whole ? -1 : 1;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->prefix != y->prefix) return x->prefix < y->prefix ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

/* Behind the last frame: words end, and the sentence. */
static TtStatus finish(Search *s, Final **list, size_t *n)
{
    const TtCtcDecoder *d = s->d;
    size_t room = 0;
    for (uint32_t i = 0; i < s->beam_count; i++) {
        uint32_t at = s->beam[i];
        const Prefix *p = &s->prefix[at];
        bool open = in_word(s, p);
        uint32_t w = open ? first_word(s, p) : NONE;
        bool whole = !open || w != NONE;
        do {
            Ending e = w != NONE ? end_word(s, p, w) : (Ending){p->extra, p->lm, p->state};
            double end = d->lm ? tt_arpa_end(d->lm, &e.state) : 0;
            double score = add(s, p->blank, p->label) + e.extra + weighted(d, end);
            TT_TRY(grow(list, &room, *n + 1, sizeof **list));
            if (score > -INFINITY) (*list)[(*n)++] = (Final){at, w, whole, score, e.lm + end};
            if (w != NONE) w = next_word(s, w);
        } while (w != NONE);
    }
    if (*n) qsort(*list, *n, sizeof **list, compare_finals);
    return TT_OK;
}

/* The lexicon's own words instead of their letters. */
static void name_words(const Search *s, const Final *f, const uint32_t *symbol, TtCtcResult *r, TtCtcWord *word,
                       TtArena *arena)
{
    uint32_t classes = (uint32_t)s->d->v->classes;
    int64_t k = 0;
    for (int64_t i = 0; i <= r->n; i++) {
        bool ends = i > 0 && r->token[i - 1] != s->d->space && (i == r->n || r->token[i] == s->d->space);
        if (!ends) continue;
        uint32_t w = i == r->n ? f->word : symbol[i] >= classes ? symbol[i] - classes : SPELT;
        if (w < SPELT) word[k].text = tt_arena_strdup(arena, s->d->lexicon->word[w].text);
        k++;
    }
    if (!f->whole) r->words--;
}

static TtStatus make_result(const Search *s, const TtLogProbs *x, const Final *f, TtArena *arena, TtCtcResult *r)
{
    const TtCtcDecoder *d = s->d;
    const Prefix *last = &s->prefix[f->prefix];
    TtCtcWord *word;
    *r = (TtCtcResult){.score = f->score, .log_prob = add(s, last->blank, last->label), .lm_score = f->lm};
    for (const Prefix *p = last; p->symbol != NONE; p = &s->prefix[p->parent]) r->n++;
    int64_t *token = TT_NEWN(arena, int64_t, r->n), *begin = TT_NEWN(arena, int64_t, r->n),
            *end = TT_NEWN(arena, int64_t, r->n), at = r->n;
    uint32_t *symbol = TT_NEWN(arena, uint32_t, r->n);
    for (const Prefix *p = last; p->symbol != NONE; p = &s->prefix[p->parent])
        token[--at] = token_of(s, p), symbol[at] = p->symbol;
    TT_TRY(tt_ctc_align(x, d->v->blank, token, r->n, begin, end, NULL));
    r->token = token, r->begin = begin, r->end = end;
    r->words = tt_ctc_words(d->v, d->space, token, r->n, begin, end, arena, &word);
    r->word = word;
    if (d->lexicon) name_words(s, f, symbol, r, word, arena);
    return TT_OK;
}

static TtStatus open_search(Search *s, const TtCtcDecoder *d, const TtLogProbs *x)
{
    size_t room = (size_t)x->frames * 4 + 1; /* a letter has at most four bytes, and a frame one letter */
    *s = (Search){.d = d};
    if (x->classes != d->v->classes)
        return TT_FAIL(TT_EINTERNAL, "beam search: %lld classes, but the vocabulary has %lld", (long long)x->classes,
                       (long long)d->v->classes);
    TT_TRY(tt_alloc((void **)&s->text, room));
    TT_TRY(tt_alloc((void **)&s->beam, (size_t)d->o.beam_size * sizeof *s->beam));
    TT_TRY(tt_alloc((void **)&s->token, (size_t)x->classes * sizeof *s->token));
    TT_TRY(grow(&s->prefix, &s->prefix_room, 1, sizeof *s->prefix));
    s->text_end = s->text + room;
    int64_t most = d->o.beam_size_token;
    s->tokens = most == TT_NULL_INT ? x->classes : TT_MIN(most, x->classes);
    s->prefix[s->prefixes++] = (Prefix){.parent = NONE, .symbol = NONE, .candidate = NONE, .label = -INFINITY};
    if (d->lm) s->prefix[0].state = tt_arpa_begin(d->lm);
    s->beam[s->beam_count++] = 0;
    return TT_OK;
}

TtStatus tt_ctc_beam_search(const TtCtcDecoder *d, const TtLogProbs *x, TtArena *arena, TtCtcResult **out, int64_t *n)
{
    Search s;
    Final *list = NULL;
    size_t finals = 0;
    *out = NULL, *n = 0;
    TtStatus st = open_search(&s, d, x);
    if (st == TT_OK) st = run(&s, x);
    if (st == TT_OK) st = finish(&s, &list, &finals);
    if (st != TT_OK) goto out;
    int64_t wanted = 0;
    while (wanted < d->o.nbest && wanted < (int64_t)finals && list[wanted].whole == list[0].whole) wanted++;
    *out = TT_NEWN(arena, TtCtcResult, wanted);
    for (; *n < wanted; ++*n) {
        st = make_result(&s, x, &list[*n], arena, &(*out)[*n]);
        if (st != TT_OK) goto out;
    }
out:
    tt_free(s.text);
    tt_free(s.beam);
    tt_free(s.token);
    free(s.prefix);
    free(s.candidate);
    free(s.rank);
    free(list);
    tt_pair_map_free(&s.children);
    return st;
}
