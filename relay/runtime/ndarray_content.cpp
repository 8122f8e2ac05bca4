// The contents of arrays, bit by bit: equal elements, equal arrays, hashes.
#include <algorithm>
#include <cstring>

#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/support/hash.h>

namespace relay {
namespace {

// The array at position 0 of each axis for which `repeats` is true.
template <class F>
NDArray without_repetition(const NDArray& array, F&& repeats) {
  NDArray result = array;
  for (size_t axis = 0; array.size() > 0 && axis < array.rank(); ++axis) {
    if (array.extent(axis) > 1 && repeats(axis)) result = result.slice(axis, 0, 1);
  }
  return result;
}

// True if all elements of an array with elements have the same bits.
bool all_equal(const NDArray& array) {
  if (array.is_uniform()) return true;
  size_t width = array.dtype().size();
  const auto* first = static_cast<const std::byte*>(array.raw());
  if (array.is_contiguous())
    return std::memcmp(first, first + width, array.byte_size() - width) == 0;
  constexpr int64_t kBlock = 512;
  alignas(8) std::byte block[kBlock * 8];
  ElementReader reader(
      without_repetition(array, [&](size_t axis) { return array.stride(axis) == 0; }));
  while (int64_t count = reader.read(block, kBlock)) {
    size_t rest = static_cast<size_t>(count - 1) * width;
    if (std::memcmp(first, block, width) != 0 || std::memcmp(block, block + width, rest) != 0)
      return false;
  }
  return true;
}

}  // namespace

NDArray NDArray::compact() const {
  if (size() > 1 && !is_uniform() && all_equal(*this))
    return uniform(NDArray::from_bytes({}, dtype(), {object_->data_, dtype().size()}, device()),
                   shape());
  return *this;
}

bool bit_equal(const NDArray& left, const NDArray& right) {
  if (left == right) return true;
  if (!left || !right || left.dtype() != right.dtype() || left.device() != right.device() ||
      !std::ranges::equal(left.shape(), right.shape()))
    return false;
  // Compares only stored elements: once along an axis where both repeat themselves.
  auto repeats = [&](size_t axis) { return left.stride(axis) == 0 && right.stride(axis) == 0; };
  const NDArray a = without_repetition(left, repeats);
  const NDArray b = without_repetition(right, repeats);
  if (a.is_contiguous() && b.is_contiguous())
    return a.size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
  constexpr int64_t kBlock = 512;
  alignas(8) std::byte block_a[kBlock * 8];
  alignas(8) std::byte block_b[kBlock * 8];
  ElementReader read_a(a), read_b(b);
  while (int64_t count = read_a.read(block_a, kBlock)) {
    read_b.read(block_b, kBlock);
    if (std::memcmp(block_a, block_b, static_cast<size_t>(count) * a.dtype().size()) != 0)
      return false;
  }
  return true;
}

uint64_t content_hash(const NDArray& array) {
  if (!array) return 0;
  uint64_t hash = hash_combine(static_cast<uint64_t>(array.dtype().code), array.dtype().bits);
  for (int64_t extent : array.shape()) hash = hash_combine(hash, static_cast<uint64_t>(extent));
  // Equal elements count once, in any storage.
  size_t width = array.dtype().size();
  if (array.size() > 1 && all_equal(array))
    return hash_bytes(array.raw(), width, hash_combine(hash, 1));
  // In blocks, so that it does not depend on strides.
  constexpr int64_t kBlock = 512;
  if (array.is_contiguous()) {
    const std::byte* at = static_cast<const std::byte*>(array.raw());
    for (int64_t left = array.size(); left > 0; left -= kBlock) {
      size_t bytes = static_cast<size_t>(std::min(left, kBlock)) * width;
      hash = hash_bytes(at, bytes, hash);
      at += bytes;
    }
    return hash;
  }
  alignas(8) std::byte block[kBlock * 8];
  ElementReader reader(array);
  while (int64_t count = reader.read(block, kBlock))
    hash = hash_bytes(block, static_cast<size_t>(count) * width, hash);
  return hash;
}

}  // namespace relay
