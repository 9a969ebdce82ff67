#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what tests/test_text.c, test_arpa.c, test_ctc_decode.c and test_bss.c expect: make_text_values.py > tests/text_values.inc

Needs torchaudio, flashlight-text, mir_eval and fast_bss_eval. What is not theirs is computed here from the definitions:
edit distances by recursion, lower case by str.lower, ARPA probabilities from a dict of n-grams.
"""
import random
from functools import lru_cache

import fast_bss_eval
import mir_eval
import numpy as np
import torch
import torchaudio
from torchaudio.models.decoder import ctc_decoder


def c_string(s):
    out = ""
    for b in s.encode():
        out += chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
    return f'"{out}"'


# ---- edit distance

def edits(a, b):
    @lru_cache(None)
    def go(i, j):  # (distance, -substitutions) of a[i:], b[j:]
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j, 0
        options = [tuple(map(sum, zip(go(i + 1, j), (1, 0)))), tuple(map(sum, zip(go(i, j + 1), (1, 0))))]
        d, s = go(i + 1, j + 1)
        options.append((d, s) if a[i] == b[j] else (d + 1, s - 1))
        return min(options)
    d, s = go(0, 0)
    s = -s
    deletions = (d - s + len(a) - len(b)) // 2
    return s, d - s - deletions, deletions, len(a)


TEXTS = [("", ""), ("abc", ""), ("", "abc"), ("kitten", "sitting"), ("sunday", "saturday"),
         ("the cat sat on the mat", "the cat  sat mat on"), ("na\u00efve caf\u00e9", "naive cafe"),
         ("\u0442\u0435\u043a\u0441\u0442 \u0442\u0435\u0441\u0442", "\u0442\u0435\u0441\u0442"),
         ("a\u00a0b\u2003c\td", " a b  c d "), ("ab", "ba"), ("abcdef", "bcdefa"), ("aaaa", "aa"),
         ("it's a \U0001f600 day", "its a \U0001f601 dayy"), ("one two three", "two three one two"),
         ("x\x1fy", "x y"), ("   ", "a")]
print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by scripts/make_text_values.py. */")
print("/* clang-format off */")
print("#ifdef VALUES_TEXT")
print("typedef struct EditCase { const char *a, *b; TtEdits chars, words; } EditCase;")
print("static const EditCase edit_cases[] = {")
for a, b in TEXTS:
    c, w = edits(tuple(a), tuple(b)), edits(tuple(a.split()), tuple(b.split()))
    print(f"    {{{c_string(a)}, {c_string(b)}, {{{', '.join(map(str, c))}}}, {{{', '.join(map(str, w))}}}}},")
print("};")

# ---- lower case

h = 0
for c in range(0x110000):
    low = chr(c).lower()
    h = (h * 31 + (ord(low) if len(low) == 1 else c)) % 2**64
print(f"static const uint64_t lower_hash = {h}u;")
print("static const char *const lower_cases[][2] = {")
for s in ["Hello World", "\u00c0\u00c9\u00de\u0178", "\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3", "\u03a3", "A\u03a3'", "A\u03a3'B",
          "\u0391\u0301\u03a3\u0301", "\u0130stanbul", "\u041c\u041e\u0421\u041a\u0412\u0410 \u0401\u0416", "\u1e9e\u1f08", "\u00df\u03a3."]:
    print(f"    {{{c_string(s)}, {c_string(s.lower())}}},")
print("};")

# ---- ARPA

print("#endif\n#ifdef VALUES_ARPA")
rng = random.Random(7)
words = ["<unk>", "<s>", "</s>", "a", "b", "ab", "ba", "aa"]


def make_model(order, unknown):
    grams = [{} for _ in range(order)]
    for w in words if unknown else words[1:]:
        grams[0][(w,)] = (-99.0 if w == "<s>" else -round(rng.uniform(0.3, 2.5), 4), -round(rng.uniform(0, 1), 4))
    for k in range(1, order):
        for g in list(grams[k - 1]):
            for w in grams[0]:
                if g[-1] != "</s>" and w != ("<s>",) and rng.random() < (0.45, 0.3, 0.25)[k - 1]:
                    grams[k][g + w] = (-round(rng.uniform(0.05, 2), 4), round(rng.uniform(-0.8, 0.2), 4))
    return grams


def arpa_text(grams):
    lines = ["made up", "", "\\data\\"] + [f"ngram {k + 1}={len(g)}" for k, g in enumerate(grams)] + [""]
    for k, g in enumerate(grams):
        lines.append(f"\\{k + 1}-grams:")
        items = list(g.items())
        rng.shuffle(items)
        for gram, (p, bo) in items:
            last = k + 1 == len(grams) or (bo == 0)
            lines.append(f"{p}\t{' '.join(gram)}" + ("" if last else f"\t{bo}"))
        lines.append("")
    return "\n".join(lines + ["\\end\\", ""])


def arpa_p(grams, context, w):
    f = lambda v: float(np.float32(v))
    if (w,) not in grams[0]:
        if ("<unk>",) not in grams[0]:
            return -100 + sum(f(grams[len(c) - 1][c][1]) for i in range(len(context))
                              for c in [context[i:]] if len(c) < len(grams) and c in grams[len(c) - 1])
        w = "<unk>"
    context = context[-(len(grams) - 1):] if len(grams) > 1 else ()
    gram = context + (w,)
    if gram in grams[len(gram) - 1]:
        return f(grams[len(gram) - 1][gram][0])
    bo = f(grams[len(context) - 1][context][1]) if context in grams[len(context) - 1] else 0
    return bo + arpa_p(grams, context[1:], w)


def arpa_sentence(grams, sentence):
    known = lambda w: w if (w,) in grams[0] else "<unk>"
    context, out = ("<s>",), []
    for w in sentence + ["</s>"]:
        out.append(arpa_p(grams, context, w))
        # a word that even <unk> does not stand for is no context
        context = context + (known(w),) if (known(w),) in grams[0] else ()
    return out


for name, order, unknown in [("four", 4, True), ("closed", 3, False), ("uni", 1, True)]:
    g = make_model(order, unknown)
    print(f"static const char arpa_{name}[] =")
    for line in arpa_text(g).split("\n")[:-1]:
        print(f"    {c_string(line + chr(10))}")
    print("    ;")
    sentences = [[rng.choice(words[3:] + ["zzz"]) for _ in range(rng.randrange(0, 8))] for _ in range(24)]
    print(f"static const struct {{ const char *text; int n; double p[9]; }} arpa_{name}_cases[] = {{")
    for s in sentences:
        p = arpa_sentence(g, s)
        print(f"    {{{c_string(' '.join(s))}, {len(p)}, {{{', '.join(f'{v:.12g}' for v in p)}}}}},")
    print("};")


# ---- CTC

def noise(n, seed):  # what tests/support/noise.h makes
    out = np.empty(n)
    x = seed
    for i in range(n):
        x = (x * 1103515245 + 12345) % 2**31
        out[i] = ((x >> 16) & 0x7FFF) / 16384 - 1
    return out


def log_probs(frames, classes, seed, scale):
    return torch.log_softmax(torch.tensor(noise(frames * classes, seed).reshape(frames, classes) * scale), -1).float()


print("#endif\n#ifdef VALUES_CTC")
print("static const struct { int frames, classes, seed; double scale; int n; int64_t token[8], begin[8], end[8]; double score; } "
      "align_cases[] = {")
for frames, classes, seed, scale, tokens in [(12, 5, 1, 3, [1, 2, 2, 4]), (7, 4, 2, 5, [3, 3, 3]), (30, 6, 3, 4, [1, 2, 3, 4, 5, 5, 1]),
                                             (5, 3, 4, 2, [1, 1, 2]), (9, 3, 5, 1, [2])]:
    lp = log_probs(frames, classes, seed, scale)
    path, scores = torchaudio.functional.forced_align(lp[None], torch.tensor([tokens]), blank=0)
    spans = torchaudio.functional.merge_tokens(path[0], scores[0], blank=0)
    put = lambda v: "{" + ", ".join(map(str, v)) + "}"
    print(f"    {{{frames}, {classes}, {seed}, {scale}, {len(tokens)}, {put(tokens)}, {put([s.start for s in spans])}, "
          f"{put([s.end for s in spans])}, {scores.double().sum().item():.9g}}},")
print("};")

print("static const struct { int frames, classes, seed; double scale; bool log_add; int64_t beam_size_token; int n; "
      "struct { double score; int n; int64_t token[16]; } result[4]; } beam_cases[] = {")
for frames, classes, seed, scale, log_add, size_token in [(10, 5, 11, 4, False, None), (10, 5, 11, 4, True, None), (10, 4, 12, 2, False, None),
                                                          (10, 4, 12, 2, True, None), (9, 6, 13, 6, True, 3)]:
    names = ["-", "|"] + [chr(97 + i) for i in range(classes - 2)]
    d = ctc_decoder(lexicon=None, tokens=names, nbest=4, beam_size=50000, beam_size_token=size_token, beam_threshold=1000,
                    log_add=log_add)
    lp = log_probs(frames, classes, seed, scale)
    lp[0, 1] -= 100  # the decoder begins and ends with a sil_token, which would swallow one of the first or last frame
    lp[-1, 1] -= 100
    found = d(lp[None])[0]
    rows = []
    for r in found:
        t = r.tokens.tolist()[1:-1]  # the decoder puts a sil_token at both ends
        rows.append(f"{{{r.score:.9g}, {len(t)}, {{{', '.join(map(str, t)) or 0}}}}}")
    print(f"    {{{frames}, {classes}, {seed}, {scale}, {str(log_add).lower()}, {size_token or 'TT_NULL_INT'}, {len(rows)}, "
          f"{{{', '.join(rows)}}}}},")
print("};")

# ---- BSS eval

T = 3000


def smooth(x):  # exact in double
    for _ in range(2):
        x = np.array([x[max(0, t - 15):t + 1].sum() for t in range(len(x))]) / 16
    return x


def case(kind):
    a, b, c = noise(T, 21), noise(T, 22), noise(T, 23)
    if kind == 1:
        a, b = smooth(a), smooth(b)
    ref = np.stack([a, b]).astype(np.float32).astype(float)
    delay = lambda x, n: np.concatenate([np.zeros(n), x[:-n]])
    est = np.stack([b + delay(b, 3) / 2 + c / 16, a - delay(a, 40) / 4 + b / 8]).astype(np.float32).astype(float)
    return ref, est, (a + b).astype(np.float32).astype(float)


print("#endif\n#ifdef VALUES_BSS")
print("static const double bss_values[][6] = { /* SDR of est 0, est 1, mixture for ref 0, ref 1; then SI-SDR of the estimates */")
for kind in range(2):
    ref, est, mix = case(kind)
    sdr, _, _, perm = mir_eval.separation.bss_eval_sources(ref, est)  # by reference
    fast, order = fast_bss_eval.sdr(ref, est, return_perm=True)
    before = mir_eval.separation.bss_eval_sources(ref, np.stack([mix, mix]), compute_permutation=False)[0]
    assert np.allclose(sdr, fast, atol=1e-6), (sdr, fast)
    assert list(perm) == [1, 0]
    si = []
    for e, r in ((est[0], ref[1]), (est[1], ref[0])):
        t = (e @ r) / (r @ r) * r
        si.append(10 * np.log10((t @ t) / ((e - t) @ (e - t))))
    print("    {" + ", ".join(f"{v:.12g}" for v in (sdr[1], sdr[0], before[0], before[1], *si)) + "},")
print("};")
print("#endif\n/* clang-format on */")
