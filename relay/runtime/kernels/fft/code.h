// The loops of Fourier transforms, compiled for each kind of vectors.
#pragma once

#include <cstdint>

namespace relay::fft {

/// Loops over tiles: several transforms side by side, element j of transform v at j · width + v;
/// real and imaginary parts apart. A width is a multiple of `lanes`.
template <class T>
struct Code {
  int64_t lanes;
  /// One step of Stockham's algorithm. It transforms groups of `radix` elements that stand m · s
  /// apart, multiplies by twiddle factors and stores each result at its place; s is the width of
  /// the part that is transformed already. `twiddles`: for each p < m the real and imaginary parts
  /// for k = 1 … radix - 1; `roots`: the powers of the root, for a radix without code of its own.
  void (*pass)(int64_t radix, const T* xr, const T* xi, T* yr, T* yi, int64_t m, int64_t s,
               const T* twiddles, const T* roots);
  /// Reads a tile from as many rows as it is wide; writes it back, times `factor`.
  void (*gather)(const T* const* rows, int64_t n, T* tile, int64_t width);
  void (*scatter)(const T* tile, int64_t n, int64_t width, T factor, T* const* rows);
  /// Reads a tile from `count` columns of a matrix whose rows are `stride` apart, lanes behind them
  /// 0; writes it back, times `factor`.
  void (*read_columns)(const T* from, int64_t stride, int64_t n, int64_t count, T* tile,
                       int64_t width);
  void (*write_columns)(const T* tile, int64_t n, int64_t width, int64_t count, T factor, T* to,
                        int64_t stride);
  /// The same times numbers `w` in the layout of the columns.
  void (*write_products)(const T* tr, const T* ti, int64_t n, int64_t width, int64_t count,
                         const T* wr, const T* wi, T* to_r, T* to_i, int64_t stride);
  /// z *= w, element by element.
  void (*multiply)(T* zr, T* zi, const T* wr, const T* wi, int64_t n);
  /// The same with one factor for each row of a tile.
  void (*multiply_rows)(T* zr, T* zi, const T* wr, const T* wi, int64_t n, int64_t width);
};

/// The largest radix with loops of its own or of the general kind.
constexpr int64_t kLargestRadix = 31;

const Code<float>& code_baseline(float);
const Code<double>& code_baseline(double);
const Code<float>& code_avx2(float);
const Code<double>& code_avx2(double);

}  // namespace relay::fft
