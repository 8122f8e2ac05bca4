// Keeps memory blocks for the next request, so that steady work does not go to the system.
#pragma once

#include <cstddef>

namespace relay {

/// Like std::malloc: at least `size` bytes, null if there are none. Does not account for them.
void* pool_allocate(size_t size) noexcept;

/// Like std::calloc for `size` bytes.
void* pool_allocate_zeros(size_t size) noexcept;

/// Frees a block of these functions (or of malloc, calloc), on any thread.
void pool_free(void* block) noexcept;

/// The same for a block whose size you know, so that malloc is not asked: what malloc_usable_size
/// gives for it.
void pool_free_usable(void* block, size_t usable) noexcept;
/// The same for a block of the functions above that were asked for `size` bytes.
void pool_free_request(void* block, size_t size) noexcept;

/// While one lives, requests of a megabyte and more, on every thread, may also take kept blocks
/// that are much larger: for work on tensors that become smaller, none of which stays.
class PoolTakesLarger {
 public:
  PoolTakesLarger() noexcept;
  ~PoolTakesLarger();
  PoolTakesLarger(const PoolTakesLarger&) = delete;
  PoolTakesLarger& operator=(const PoolTakesLarger&) = delete;
};

/// Bytes of large blocks that are kept.
size_t pool_kept_bytes() noexcept;
/// Frees kept blocks, the oldest first, until at most 256 MiB are kept, or what is kept and what is
/// in use are no more than was in use at once before; at most a quarter of the limit. Whoever
/// allocates by other means calls it, after accounting for that.
void pool_keep_less() noexcept;

/// Frees all kept blocks: those of this thread and the large ones.
void pool_trim() noexcept;

}  // namespace relay
