// Working memory of library kernels.
#pragma once

#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace relay {

/// `count` elements with unset contents, from the pool and accounted for.
template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Scratch() = default;
  explicit Scratch(int64_t count) {
    if (count == 0) return;
    if (static_cast<uint64_t>(count) > kMostBytes / sizeof(T))
      throw_out_of_memory(kPurpose, 0, /*overflow=*/true);
    bytes_ = static_cast<size_t>(count) * sizeof(T);
    charge_memory(bytes_, kPurpose);
    // Begins at a cache line, whatever the pool gives.
    block_ = pool_allocate(bytes_ + kLine);
    if (block_ == nullptr) {
      refund_memory(bytes_);
      throw_out_of_memory(kPurpose, bytes_);
    }
    auto address = reinterpret_cast<uintptr_t>(block_);
    data_ = reinterpret_cast<T*>((address + kLine - 1) & ~uintptr_t{kLine - 1});
  }
  Scratch(Scratch&& other) noexcept { swap(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Scratch() {
    if (block_ == nullptr) return;
    pool_free(block_);
    refund_memory(bytes_);
  }

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kMostBytes = std::numeric_limits<ptrdiff_t>::max() - kLine;
  static constexpr const char* kPurpose = "the working memory of a kernel";
  void swap(Scratch& other) {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void* block_ = nullptr;
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

/// The same for a number of elements that is not known beforehand.
template <class T>
class ScratchList {
 public:
  int64_t size() const { return size_; }
  T& operator[](int64_t i) const { return items_[i]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  void push(const T& item) {
    if (size_ == room_) grow(size_ + 1);
    items_[size_++] = item;
  }
  void push(const T* items, int64_t count) {
    if (size_ + count > room_) grow(size_ + count);
    std::copy_n(items, count, items_.data() + size_);
    size_ += count;
  }

 private:
  void grow(int64_t least) {
    int64_t room = std::max({least, 2 * room_, int64_t{16}});
    Scratch<T> wider(room);
    std::copy_n(items_.data(), size_, wider.data());
    items_ = std::move(wider);
    room_ = room;
  }
  Scratch<T> items_;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace relay
