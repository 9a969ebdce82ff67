/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/utf8.c - UTF-8 to code points and back. */
#include "tensor/utf8.h"

int tt_utf8_decode(const char *s, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    if (n == 0 || (size_t)n > left) return 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7FU >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3FU);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
    *code = c;
    return n;
}

int tt_utf8_encode(uint32_t code, char out[4])
{
    int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (n == 1) {
        out[0] = (char)code;
        return 1;
    }
    for (int i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | code);
    return n;
}
