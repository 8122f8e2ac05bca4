#include <relay/runtime/file.h>
#include <relay/runtime/strided.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace relay {
namespace {

template <size_t kWidth>
void copy_fixed(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to, from, kWidth);
    to += to_stride;
    from += from_stride;
  }
}

// to[i][j] = from[i][j], where from lies side by side along i: whole lines of both are touched.
// Constant `rows` and `columns` (at most kBlock) make full blocks fast.
template <class T, int64_t kBlock>
void turn_block(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                auto rows, auto columns) {
  T block[kBlock][kBlock];
  for (int64_t j = 0; j < columns; ++j)
    std::memcpy(block[j], from + j * from_stride, static_cast<size_t>(rows) * sizeof(T));
  for (int64_t i = 0; i < rows; ++i) {
    T line[kBlock];
    for (int64_t j = 0; j < columns; ++j) line[j] = block[j][i];
    std::memcpy(to + i * to_stride, line, static_cast<size_t>(columns) * sizeof(T));
  }
}

/// The same with few columns: their streams go by side by side, without blocks.
template <class T>
void turn_narrow(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                 int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    const std::byte* in = from + i * static_cast<int64_t>(sizeof(T));
    std::byte* out = to + i * to_stride;
    for (int64_t j = 0; j < columns; ++j) {
      std::memcpy(out, in, sizeof(T));
      in += from_stride;
      out += sizeof(T);
    }
  }
}

constexpr int64_t kFewColumns = 16;

template <class T>
void turn(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
          int64_t rows, int64_t columns) {
  if (columns < kFewColumns) return turn_narrow<T>(to, to_stride, from, from_stride, rows, columns);
  constexpr int64_t kBlock = 64 / sizeof(T) * 2;
  constexpr std::integral_constant<int64_t, kBlock> kFull;
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < rows; i += kBlock) {
    for (int64_t j = 0; j < columns; j += kBlock) {
      std::byte* out = to + i * to_stride + j * kWidth;
      const std::byte* in = from + j * from_stride + i * kWidth;
      if (i + kBlock <= rows && j + kBlock <= columns) {
        turn_block<T, kBlock>(out, to_stride, in, from_stride, kFull, kFull);
      } else {
        turn_block<T, kBlock>(out, to_stride, in, from_stride, std::min(kBlock, rows - i),
                              std::min(kBlock, columns - j));
      }
    }
  }
}

using Turn = void (*)(std::byte*, int64_t, const std::byte*, int64_t, int64_t, int64_t);
Turn turn_of(size_t width) {
  switch (width) {
    case 1:
      return turn<uint8_t>;
    case 2:
      return turn<uint16_t>;
    case 4:
      return turn<uint32_t>;
    default:
      return turn<uint64_t>;
  }
}

}  // namespace

void copy_row_major(const NDArray& array, std::byte* out) {
  constexpr int64_t kWorthIt = 8, kColumns = 2;
  size_t along = array.rank();  // the axis whose elements lie side by side
  for (size_t axis = 0; axis + 1 < array.rank(); ++axis) {
    if (array.stride(axis) == 1 && array.extent(axis) >= kWorthIt) along = axis;
  }
  if (array.is_contiguous() || along == array.rank() || array.extent(array.rank() - 1) < kColumns) {
    ElementReader(array).read(out, array.size());
    return;
  }
  const size_t last = array.rank() - 1;
  const auto width = static_cast<int64_t>(array.dtype().size());
  Shape to_strides(array.rank(), width);
  for (size_t axis = last; axis-- > 0;)
    to_strides[axis] = to_strides[axis + 1] * array.extent(axis + 1);
  const Turn turn = turn_of(array.dtype().size());
  int64_t index[NDArray::kMaxRank] = {};
  const auto* from = static_cast<const std::byte*>(array.raw());
  while (true) {
    turn(out, to_strides[along], from, array.stride(last) * width, array.extent(along),
         array.extent(last));
    size_t axis = last;
    while (axis-- > 0) {
      if (axis == along) continue;
      out += to_strides[axis];
      from += array.stride(axis) * width;
      if (++index[axis] < array.extent(axis)) break;
      index[axis] = 0;
      out -= to_strides[axis] * array.extent(axis);
      from -= array.stride(axis) * array.extent(axis) * width;
    }
    if (axis == SIZE_MAX) return;
  }
}

void copy_elements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
                   int64_t count, size_t width) {
  int64_t dense = static_cast<int64_t>(width);
  if (to_stride == dense && from_stride == dense) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * width);
    return;
  }
  switch (width) {
    case 1:
      return copy_fixed<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_fixed<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_fixed<4>(to, to_stride, from, from_stride, count);
    default:
      return copy_fixed<8>(to, to_stride, from, from_stride, count);
  }
}

ElementReader::ElementReader(const NDArray& array)
    : array_(array),
      at_(static_cast<const std::byte*>(array.raw())),
      left_(array.size()),
      width_(array.dtype().size()) {}

int64_t ElementReader::read(void* out, int64_t most) {
  std::byte* to = static_cast<std::byte*>(out);
  int64_t width = static_cast<int64_t>(width_);
  int64_t count = std::min(most, left_);
  if (array_.is_contiguous()) {
    if (count > 0) std::memcpy(to, at_, static_cast<size_t>(count * width));
    at_ += count * width;
    left_ -= count;
    return count;
  }
  // Not contiguous, hence of rank 1 or more.
  size_t inner = array_.rank() - 1;
  ShapeView extents = array_.shape();
  ShapeView strides = array_.strides();
  int64_t todo = count;
  while (todo > 0) {
    int64_t run = std::min(todo, extents[inner] - index_[inner]);
    int64_t step = strides[inner] * width;
    copy_elements(to, width, at_, step, run, width_);
    to += run * width;
    at_ += run * step;
    index_[inner] += run;
    todo -= run;
    for (size_t axis = inner; index_[axis] == extents[axis] && axis > 0; --axis) {
      at_ += (strides[axis - 1] - strides[axis] * extents[axis]) * width;
      index_[axis] = 0;
      ++index_[axis - 1];
    }
  }
  left_ -= count;
  return count;
}

void write_elements(ByteSink& sink, const NDArray& array) {
  if (array.is_contiguous()) {
    if (array.size() > 0) sink.write(array.raw(), array.byte_size());
    return;
  }
  constexpr int64_t kBlock = 2048;
  alignas(8) std::byte block[kBlock * 8];
  ElementReader reader(array);
  while (int64_t count = reader.read(block, kBlock))
    sink.write(block, static_cast<size_t>(count) * array.dtype().size());
}

void normalize_bools(const NDArray& array) {
  if (!array.dtype().is_bool()) return;
  auto* at = static_cast<uint8_t*>(array.raw());
  for (int64_t i = 0; i < array.size(); ++i) at[i] = at[i] != 0 ? 1 : 0;
}

}  // namespace relay
