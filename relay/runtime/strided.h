// Walking the elements of an array in row-major order, whatever its strides.
#pragma once

#include <relay/runtime/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace relay {

/// The places of a tensor's elements: (i, j, …) is `places[0][i]` + `places[1][j]` + … elements
/// from the first.
using Places = std::vector<std::vector<int64_t>>;

/// Reads the elements of an array from first to last, a number at a time.
class ElementReader {
 public:
  explicit ElementReader(const NDArray& array);

  /// Copies up to `most` further elements to `out`; the number copied, 0 at the end.
  int64_t read(void* out, int64_t most);

 private:
  NDArray array_;
  const std::byte* at_;
  int64_t left_;
  size_t width_;
  int64_t index_[NDArray::kMaxRank] = {};
};

/// Copies `count` elements of `width` bytes; strides count bytes.
void copy_elements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                   int64_t count, size_t width);

/// Writes the elements in row-major order to `out`, without gaps. Fast if rows of another axis than
/// the last one lie side by side, as in a transposed array.
void copy_row_major(const NDArray& array, std::byte* out);

class ByteSink;

/// Writes the elements in row-major order.
void write_elements(ByteSink& sink, const NDArray& array);

/// Makes every byte of a contiguous bool array 0 or 1; leaves other arrays alone. For data from
/// outside.
void normalize_bools(const NDArray& array);

}  // namespace relay
