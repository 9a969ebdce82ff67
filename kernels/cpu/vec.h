/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/cpu/vec.h - one vector register of the instruction set that is compiled for, where a loop over lanes would not
 * stay in registers (matrix products). tt_vec_mad rounds as tt_mad does: once with AVX2 and AVX-512, whose results are
 * therefore the same bits, twice in plain C. tt_vec_widen loads bfloat16. */
#ifndef TT_KERNELS_CPU_VEC_H
#define TT_KERNELS_CPU_VEC_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { TT_VEC = 16 };
typedef __m512 TtVec;
static inline TtVec tt_vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void tt_vec_store(float *p, TtVec v)
{
    _mm512_storeu_ps(p, v);
}
static inline TtVec tt_vec_all(float v)
{
    return _mm512_set1_ps(v);
}
static inline TtVec tt_vec_mad(TtVec a, TtVec b, TtVec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline TtVec tt_vec_widen(const uint16_t *p)
{
    __m512i v = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { TT_VEC = 8 };
typedef __m256 TtVec;
static inline TtVec tt_vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void tt_vec_store(float *p, TtVec v)
{
    _mm256_storeu_ps(p, v);
}
static inline TtVec tt_vec_all(float v)
{
    return _mm256_set1_ps(v);
}
static inline TtVec tt_vec_mad(TtVec a, TtVec b, TtVec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline TtVec tt_vec_widen(const uint16_t *p)
{
    __m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}
#else
#include <string.h>
enum { TT_VEC = 4 };
typedef float TtVec __attribute__((vector_size(16)));
static inline TtVec tt_vec_load(const float *p)
{
    TtVec v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void tt_vec_store(float *p, TtVec v)
{
    memcpy(p, &v, sizeof v);
}
static inline TtVec tt_vec_all(float v)
{
    return (TtVec){v, v, v, v};
}
static inline TtVec tt_vec_mad(TtVec a, TtVec b, TtVec c)
{
    return a * b + c;
}
static inline TtVec tt_vec_widen(const uint16_t *p)
{
    uint32_t u[4] = {(uint32_t)p[0] << 16, (uint32_t)p[1] << 16, (uint32_t)p[2] << 16, (uint32_t)p[3] << 16};
    TtVec v;
    memcpy(&v, u, sizeof v);
    return v;
}
#endif

#endif
