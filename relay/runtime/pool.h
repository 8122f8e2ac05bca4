// Memory blocks kept for the next request, so that steady work does not go to the system.
#pragma once

#include <cstddef>

namespace relay {

/// As std::malloc: at least `size` bytes, null if there are none. Does not account for them.
void* pool_allocate(size_t size) noexcept;

/// As std::calloc of `size` bytes.
void* pool_allocate_zeros(size_t size) noexcept;

/// Gives back a block of these functions (or of malloc, calloc), on any thread.
void pool_free(void* block) noexcept;

/// Frees every block that is kept: those of this thread and the large ones.
void pool_trim() noexcept;

}  // namespace relay
