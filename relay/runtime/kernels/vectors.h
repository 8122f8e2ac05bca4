// Loops for the vectors that the processor has.
#pragma once

#include <relay/runtime/cpu_features.h>

#include <utility>

namespace relay {

/// Whether the processor has AVX2.
inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool has = cpu_has("avx2");
  return has;
#else
  return false;
#endif
}

/// Whether it has AVX2 and FMA.
inline bool has_avx2_fma() {
#if defined(__x86_64__)
  static const bool has = has_avx2() && cpu_has("fma");
  return has;
#else
  return false;
#endif
}

#if defined(__x86_64__)
// Without FMA: a product is rounded on every processor alike.
template <class F>
__attribute__((target("avx2"))) void run_avx2(F& body) {
  body();
}
#endif

/// Calls `body`, compiled for AVX2 too where that may run. It has to be marked RELAY_INLINE and
/// call nothing that the compiler does not inline.
template <class F>
void with_vectors(F&& body) {
#if defined(__x86_64__)
  if (has_avx2()) return run_avx2(body);
#endif
  body();
}

/// After the parameters of a lambda, `[&]() RELAY_INLINE { … }`, and before functions that it
/// calls.
#define RELAY_INLINE __attribute__((always_inline))

}  // namespace relay
