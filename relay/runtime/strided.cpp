#include <relay/runtime/file.h>
#include <relay/runtime/strided.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

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
