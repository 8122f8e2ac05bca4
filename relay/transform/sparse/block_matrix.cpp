// Matrices cut into blocks.
#include <cstring>
#include <limits>
#include <vector>

#include <relay/support/error.h>
#include <relay/transform/sparse/sparse.h>

namespace relay::sparse {
namespace {

// One byte for each element: 0 for zeros.
NDArray nonzero(const NDArray& array) { return array.cast(kBool).contiguous(); }

}  // namespace

bool can_be_blocks(ShapeView matrix, int64_t height, int64_t width) {
  if (matrix.size() != 2 || height < 1 || width < 1) return false;
  if (matrix[0] % height != 0 || matrix[1] % width != 0) return false;
  const int64_t rows = matrix[0] / height, columns = matrix[1] / width;
  return columns == 0 || rows <= std::numeric_limits<int32_t>::max() / columns;
}

BlockMatrix block_matrix(const NDArray& matrix, int64_t height, int64_t width) {
  RELAY_CHECK(can_be_blocks(matrix.shape(), height, width), "blocks that do not fit a matrix");
  const int64_t rows = matrix.extent(0), columns = matrix.extent(1);
  const NDArray values = matrix.contiguous();
  const NDArray there = nonzero(values);
  const auto* flags = static_cast<const uint8_t*>(there.raw());
  auto is_zero = [&](int64_t row, int64_t column) {
    for (int64_t i = 0; i < height; ++i) {
      const uint8_t* line = flags + (row * height + i) * columns + column * width;
      if (std::memchr(line, 1, static_cast<size_t>(width)) != nullptr) return false;
    }
    return true;
  };
  std::vector<int32_t> at, beginnings{0};
  for (int64_t row = 0; row < rows / height; ++row) {
    for (int64_t column = 0; column < columns / width; ++column) {
      if (!is_zero(row, column)) at.push_back(static_cast<int32_t>(column));
    }
    beginnings.push_back(static_cast<int32_t>(at.size()));
  }
  const auto count = static_cast<int64_t>(at.size());
  NDArray elements = NDArray::empty({count, height, width}, values.dtype());
  const size_t item = values.dtype().size(), line = static_cast<size_t>(width) * item;
  auto* to = static_cast<std::byte*>(elements.raw());
  const auto* from = static_cast<const std::byte*>(values.raw());
  for (int64_t row = 0, block = 0; row < rows / height; ++row) {
    for (; block < beginnings[static_cast<size_t>(row) + 1]; ++block) {
      for (int64_t i = 0; i < height; ++i, to += line) {
        const int64_t place = (row * height + i) * columns + at[static_cast<size_t>(block)] * width;
        std::memcpy(to, from + static_cast<size_t>(place) * item, line);
      }
    }
  }
  const int64_t extents[] = {count}, starts[] = {static_cast<int64_t>(beginnings.size())};
  return {std::move(elements),
          NDArray::from<int32_t>(ShapeView(extents), std::span<const int32_t>(at)),
          NDArray::from<int32_t>(ShapeView(starts), std::span<const int32_t>(beginnings))};
}

double share_of_zeros(const NDArray& array) {
  if (array.size() == 0) return 0;
  const NDArray there = nonzero(array);
  const auto* flags = static_cast<const uint8_t*>(there.raw());
  int64_t count = 0;
  for (int64_t i = 0; i < there.size(); ++i) count += flags[i];
  return 1 - static_cast<double>(count) / static_cast<double>(array.size());
}

}  // namespace relay::sparse
