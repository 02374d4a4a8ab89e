// Vectors of float32 by the compiler's own extension, and functions of them that are right to a few units in the last
// place, at a fraction of the exact ones' cost.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define WIDE 1
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX2__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif
#define INLINE inline __attribute__((always_inline))

constexpr int LANES = VECTOR_BYTES / 4;
typedef float Floats __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(VECTOR_BYTES)));
typedef double Doubles __attribute__((vector_size(2 * VECTOR_BYTES)));
typedef uint16_t Halves __attribute__((vector_size(VECTOR_BYTES / 2)));

struct BFloat16 {
  uint16_t bits;
};

INLINE Floats all(float value) { return Floats{} + value; }
#if defined(WIDE)  // the compiler would compare and select
INLINE Floats maximum(Floats a, Floats b) { return (Floats)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE Floats minimum(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
INLINE Ints widened(Halves h) { return (Ints)_mm512_cvtepu16_epi32((__m256i)h); }
INLINE Halves narrowed(Ints v) { return (Halves)_mm512_cvtepi32_epi16((__m512i)v); }
#else
INLINE Floats maximum(Floats a, Floats b) { return a > b ? a : b; }
INLINE Floats minimum(Floats a, Floats b) { return a < b ? a : b; }
INLINE Ints widened(Halves h) { return __builtin_convertvector(h, Ints); }
INLINE Halves narrowed(Ints v) { return __builtin_convertvector(v & 0xffff, Halves); }
#endif
INLINE Floats magnitude(Floats x) { return (Floats)((Ints)x & 0x7fffffff); }

INLINE Floats load(const float* from) {
  Floats v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

INLINE Floats load(const BFloat16* from) {
  Halves h;
  std::memcpy(&h, from, sizeof h);
  return (Floats)(widened(h) << 16);
}

INLINE void store(float* to, Floats v) { std::memcpy(to, &v, sizeof v); }

INLINE void store(BFloat16* to, Floats v) {  // rounds to the nearest, to even between two; a NaN stays one
  Ints bits = (Ints)v, rounded = bits + 0x7fff + ((bits >> 16) & 1), kept = v == v ? rounded : (bits | 0x400000);
  Halves h = narrowed(kept >> 16);
  std::memcpy(to, &h, sizeof h);
}

template <class T>
INLINE Floats load(const T* from, int count) {
  T some[LANES] = {};
  std::memcpy(some, from, count * sizeof(T));
  return load(some);
}

template <class T>
INLINE void store(T* to, Floats v, int count) {
  T some[LANES];
  store(some, v);
  std::memcpy(to, some, count * sizeof(T));
}

INLINE Ints first_lanes(int count) {
  Ints lane;
  for (int i = 0; i < LANES; i++) lane[i] = i;
  return lane < count;
}

INLINE unsigned bits_of(Ints mask) {  // a bit for each lane that is set
#if defined(WIDE)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__)
  return (unsigned)_mm256_movemask_ps((__m256)mask);
#else
  unsigned bits = 0;
  for (int i = 0; i < LANES; i++) bits |= (unsigned)(mask[i] != 0) << i;
  return bits;
#endif
}

INLINE Floats near_inverse_root(Floats x) {  // of positive numbers, to three digits
#if defined(WIDE)
  return (Floats)_mm512_rsqrt14_ps((__m512)x);
#elif defined(__AVX2__)
  return (Floats)_mm256_rsqrt_ps((__m256)x);
#else
  Floats y = (Floats)(0x5f375a86 - ((Ints)x >> 1));
  for (int i = 0; i < 2; i++) y = y * (1.5f - 0.5f * x * y * y);
  return y;
#endif
}

INLINE Floats inverse_root(Floats x) {  // improved by a step of Newton's
  Floats y = near_inverse_root(x);
  return y * (1.5f - 0.5f * x * y * y);
}

INLINE Floats near_inverse(Floats x) {  // to three digits
#if defined(WIDE)
  return (Floats)_mm512_rcp14_ps((__m512)x);
#elif defined(__AVX2__)
  return (Floats)_mm256_rcp_ps((__m256)x);
#else
  return 1.0f / x;
#endif
}

// The polynomials interpolate log2(1 + t) / t and 2^t at Chebyshev's points.

template <int N>
INLINE Floats polynomial(const float (&coefficients)[N], Floats t) {  // the highest power first
  Floats p = all(coefficients[0]);
  for (int i = 1; i < N; i++) p = p * t + coefficients[i];
  return p;
}

INLINE Floats log2(Floats x) {  // of positive normal numbers
#if defined(WIDE)
  constexpr float C[] = {-0.0938960984f, 0.202076584f, -0.250414431f, 0.290264517f,
                         -0.360368282f,  0.48084268f,  -0.721350074f, 1.44269526f};
  Floats t = (Floats)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src) - 1.0f;
  return t * polynomial(C, t) + (Floats)_mm512_getexp_ps((__m512)(x * (float)(4.0 / 3)));
#else
  constexpr float C[] = {-0.14275974f,  0.232652575f, -0.249271825f, 0.287288874f,
                         -0.360225171f, 0.480916709f, -0.721352935f, 1.44269502f};
  Ints bits = (Ints)x, exponent = (bits - 0x3f3504f3) >> 23;
  Floats t = (Floats)(bits - (exponent << 23)) - 1.0f;  // from sqrt(1/2) - 1 to sqrt(2) - 1
  return t * polynomial(C, t) + __builtin_convertvector(exponent, Floats);
#endif
}

INLINE Floats exp2(Floats x) {
  constexpr float C[] = {0.00133908633f, 0.00967603177f, 0.0555035695f, 0.240221068f, 0.693147182f, 1.00000012f};
#if defined(WIDE)
  Floats t = (Floats)_mm512_reduce_ps((__m512)x, 0);  // x minus the nearest integer
  return (Floats)_mm512_scalef_ps((__m512)polynomial(C, t), (__m512)(x - t));
#else
  x = minimum(maximum(x, all(-126.0f)), all(126.0f));
  Floats shifted = x + 12582912.0f, t = x - (shifted - 12582912.0f);  // 1.5 * 2^23 rounds to an integer
  return (Floats)((Ints)polynomial(C, t) + ((Ints)shifted << 23));
#endif
}

// |d|^(phi - 2), up to a unit that cancels
template <bool ROOT>
struct Weights {
  Floats power, of_unit;  // (d / unit)^power = 2^(power log2 d + of_unit)

  INLINE Floats operator()(Floats distance) const {
    return ROOT ? inverse_root(distance) : exp2(power * log2(distance) + of_unit);
  }

  INLINE Floats roughly(Floats distance) const { return ROOT ? near_inverse_root(distance) : (*this)(distance); }

  static double of(double distance, double phi, double unit) {
    return ROOT ? 1 / std::sqrt(distance) : std::pow(distance / unit, phi - 2);
  }

  static double log_of_unit(double phi, double unit) { return ROOT ? 0 : -(phi - 2) * std::log2(unit); }
};
