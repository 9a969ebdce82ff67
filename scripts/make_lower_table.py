#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the table of lower-case letters: make_lower_table.py > audio/lower.inc

Every character whose lower case is one other character, in runs: first, last, every how many, what is added.
"""
import unicodedata

pairs = [(c, ord(chr(c).lower())) for c in range(0x110000) if len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)]
pairs = [p for p in pairs if not 0xD800 <= p[0] < 0xE000]


def run(i, step):
    j = i
    while j + 1 < len(pairs) and pairs[j + 1][0] == pairs[j][0] + step \
            and pairs[j + 1][1] - pairs[j + 1][0] == pairs[i][1] - pairs[i][0]:
        j += 1
    return j


rows, i = [], 0
while i < len(pairs):
    last, step = max((run(i, s), s) for s in (2, 1))
    rows.append(f"{{0x{pairs[i][0]:X}, 0x{pairs[last][0]:X}, {step if last > i else 1}, {pairs[i][1] - pairs[i][0]}}},")
    i = last + 1

print("/* SPDX-License-Identifier: Apache-2.0 */")
print(f"/* Made by scripts/make_lower_table.py from Unicode {unicodedata.unidata_version}. */")
print("/* clang-format off */")
line = ""
for r in rows:
    if len(line) + len(r) + 1 > 116:
        print("   " + line)
        line = ""
    line += " " + r
print("   " + line)
print("/* clang-format on */")
