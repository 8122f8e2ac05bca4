// Decides how a Fourier transform of some length is computed.
#pragma once

#include <relay/runtime/kernels/fft/code.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/library_kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace relay::fft {

/// The code for this processor.
template <class T>
const Code<T>& code();

/// Real and imaginary parts of the same layout.
template <class T>
struct Parts {
  T* r;
  T* i;
  Parts at(int64_t offset) const { return {r + offset, i + offset}; }
  Parts swapped() const { return {i, r}; }
};

/// So many complex numbers, unset.
template <class T>
struct Numbers {
  Scratch<T> r, i;
  Numbers() = default;
  explicit Numbers(int64_t n) : r(n), i(n) {}
  Parts<T> parts() const { return {r.data(), i.data()}; }
};

/// The transform of tiles whose length has small factors only. All transforms of this folder are
/// forward: the inverse is the same with real and imaginary parts exchanged.
template <class T>
class TilePlan {
 public:
  /// True if `n` has small factors only.
  static bool fits(int64_t n);
  explicit TilePlan(int64_t n);

  int64_t length() const { return n_; }
  size_t bytes() const;
  /// Transforms the tile in `x`, using `y` of the same size; returns the one that has the result.
  Parts<T> run(Parts<T> x, Parts<T> y, int64_t width) const;

 private:
  struct Pass {
    int64_t radix;
    int64_t m;
    std::vector<T> twiddles;
    std::vector<T> roots;
  };
  int64_t n_;
  std::vector<Pass> passes_;
};

/// A long transform as two rounds of short ones: the first over elements `inner.length()` apart.
template <class T>
struct SplitPlan {
  SplitPlan(int64_t outer_length, int64_t inner_length);
  size_t bytes() const;
  TilePlan<T> outer, inner;
  Numbers<T> twiddles;  // (outer, inner)
};

template <class T>
struct Plan;

/// A transform of any length as a convolution of a length with small factors (Bluestein).
template <class T>
struct ChirpPlan {
  explicit ChirpPlan(int64_t n);
  size_t bytes() const;                   // with those of `padded`
  std::shared_ptr<const Plan<T>> padded;  // of the convolution's length
  Numbers<T> chirp;                       // of n: exp(-pi i k^2 / n)
  Numbers<T> spectrum;                    // of the conjugate chirp, over the convolution's length
};

/// The data worked out for a length; unneeded parts are null.
template <class T>
struct Plan {
  explicit Plan(int64_t n);
  size_t bytes() const;
  const int64_t n;
  std::unique_ptr<TilePlan<T>> tile;
  std::unique_ptr<SplitPlan<T>> split;
  std::unique_ptr<ChirpPlan<T>> chirp;  // if there is no tile
};

/// The plan for a length, from the few that were used last. Those are small, and freed when memory
/// runs short.
template <class T>
std::shared_ptr<const Plan<T>> plan_for(int64_t n);

/// Transforms rows of the plan's length and multiplies them by `factor`. `call` lends threads; it
/// may be null.
template <class T>
void transform(LibraryCall* call, const Plan<T>& plan, Parts<const T> from, Parts<T> to,
               int64_t rows, T factor);

}  // namespace relay::fft
