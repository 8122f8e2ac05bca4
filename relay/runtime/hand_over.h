// Memory that its owner gives away without letting go of it.
#pragma once

#include <relay/runtime/ndarray.h>

namespace relay {

/// The same elements as a tensor of their own, which is `unique` as long as no other handle to it
/// exists: a program may write results over them. The handles that were there keep the memory and
/// see what is written. `array` is contiguous, all of its memory, and not empty; it may come from
/// this function itself.
NDArray hand_over(const NDArray& array);

/// True for the deleter of such a tensor's memory.
bool is_handed_over(void (*deleter)(void*));
/// True if memory at this address is handed over at present.
bool is_handed_over(const void* address);

}  // namespace relay
