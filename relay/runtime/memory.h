// One account of the memory of run-time values, so that a program which asks for too much gets an
// error instead of bringing the machine down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace relay {

/// The limit for the bytes of all run-time values: RELAY_MEMORY_LIMIT of the environment, else 90 %
/// of the memory that the system can give now (of the container, if that is less). The reading is
/// kept for a second.
size_t memory_limit();

/// Sets the limit; 0 goes back to the default.
void set_memory_limit(size_t bytes);

/// Bytes accounted for now, exact to about a mebibyte for each running thread.
size_t memory_in_use();

/// The largest number of bytes accounted for at once so far, equally exact.
size_t peak_memory();

/// Accounts for `bytes` about to be allocated. If the limit would be passed, it returns false and
/// accounts for nothing. Costs a thread-local addition for small amounts.
[[nodiscard]] bool try_charge_memory(size_t bytes) noexcept;

/// As `try_charge_memory`, but throws `Error`: "`what` needs N bytes, more than …".
void charge_memory(size_t bytes, const char* what);

/// Refunds charged bytes, on any thread.
void refund_memory(size_t bytes) noexcept;

/// The limit for the bytes of the calls of one run: RELAY_STACK_LIMIT of the environment, else 1
/// GiB.
size_t stack_limit();
/// The message about a recursion that would pass `limit`.
std::string too_deep_text(uint64_t calls, size_t limit);

/// Throws the `Error` for a refused request of `bytes` for `what`; with `overflow` the number does
/// not fit size_t.
[[noreturn]] void throw_out_of_memory(const char* what, size_t bytes, bool overflow = false);

}  // namespace relay
