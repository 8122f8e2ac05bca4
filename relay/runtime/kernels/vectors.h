// Compiles loops for the vectors that the processor has.
#pragma once

#include <relay/runtime/cpu_features.h>

#include <utility>

namespace relay {

/// True if the processor has AVX2.
inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool has = cpu_has("avx2");
  return has;
#else
  return false;
#endif
}

/// True if it has AVX2 and FMA.
inline bool has_avx2_fma() {
#if defined(__x86_64__)
  static const bool has = has_avx2() && cpu_has("fma");
  return has;
#else
  return false;
#endif
}

#if defined(__x86_64__)
// Without FMA, so that products round alike on every processor.
template <class F>
__attribute__((target("avx2"))) void run_avx2(F& body) {
  body();
}
#endif

/// Calls `body`, compiled for AVX2 too if the processor has it. Mark `body` RELAY_INLINE, and call
/// nothing in it that the compiler does not inline.
template <class F>
void with_vectors(F&& body) {
#if defined(__x86_64__)
  if (has_avx2()) return run_avx2(body);
#endif
  body();
}

/// Put it after the parameters of a lambda, `[&]() RELAY_INLINE { … }`, and before functions that
/// the lambda calls.
#define RELAY_INLINE __attribute__((always_inline))

}  // namespace relay
