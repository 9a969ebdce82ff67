/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/utf8.h - characters of UTF-8 text (RFC 3629), one at a time. */
#ifndef TT_TENSOR_UTF8_H
#define TT_TENSOR_UTF8_H

#include "tensor/status.h"

/* Bytes of the character at S, of which LEFT bytes may be read (1 or more), and its code point. 0 when there is none:
 * overlong forms, surrogates and values beyond U+10FFFF included. */
int tt_utf8_decode(const char *s, size_t left, uint32_t *code);
/* The bytes of CODE, a code point that is no surrogate; returns their number. */
int tt_utf8_encode(uint32_t code, char out[4]);

#endif
