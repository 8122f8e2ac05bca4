// The tape of a thread: memory in which kernels put the data values that their loops make. It grows
// in place, so nothing on it ever moves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace relay {

/// The slots of the calling thread's tape, 8 bytes each; the first are aligned to a page. What they
/// hold is not specified. Null if the system gives no addresses: then there is no room either.
/// Kernels call it through `KernelFunction::kTape`.
void* tape_slots();

/// How many slots the calling thread may use after it has asked for `needed` of them: as many, or
/// more, or fewer if the memory limit (relay/runtime/memory.h) leaves no room or the system gives
/// no memory. Kernels call it through `KernelFunction::kTapeRoom`.
int64_t tape_room(int64_t needed);

/// Call it after each kernel that may have used the tape: gives memory back, but for a few
/// mebibytes that the next kernel on this thread uses again.
void trim_tape() noexcept;

/// The bytes that a thread's tape keeps between kernels.
inline constexpr size_t kTapeKept = size_t{4} << 20;

}  // namespace relay
