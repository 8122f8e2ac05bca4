// Working memory of library kernels.
#pragma once

#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace relay {

/// `count` elements with unset contents, from the pool and accounted for.
template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Scratch() = default;
  explicit Scratch(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(T)) {
    if (bytes_ == 0) return;
    charge_memory(bytes_, "the working memory of a kernel");
    // From a cache line on, whatever the pool gives.
    block_ = pool_allocate(bytes_ + kLine);
    if (block_ == nullptr) {
      refund_memory(bytes_);
      throw_out_of_memory("the working memory of a kernel", bytes_);
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
  void swap(Scratch& other) {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void* block_ = nullptr;
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace relay
