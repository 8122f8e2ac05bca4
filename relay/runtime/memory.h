// One account of the memory that run-time values take, so that a program which asks for too much
// gets an error instead of bringing the machine down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace relay {

/// Bytes that run-time values may take together. By default RELAY_MEMORY_LIMIT of the environment,
/// else 90 % of what the system can give now (of the container, if that is less). The reading is
/// kept for a second.
size_t memory_limit();

/// Sets the limit; 0 goes back to the default.
void set_memory_limit(size_t bytes);

/// Bytes accounted for now, exact to about a mebibyte for each running thread.
size_t memory_in_use();

/// The most that was accounted for at once so far, as exact.
size_t peak_memory();

/// Accounts for `bytes` about to be allocated. False, and nothing is accounted for, when the limit
/// would be passed. Costs a thread-local addition for small amounts.
[[nodiscard]] bool try_charge_memory(size_t bytes) noexcept;

/// As `try_charge_memory`, but throws `Error`: "`what` needs N bytes, more than …".
void charge_memory(size_t bytes, const char* what);

/// Gives back what was charged, by any thread.
void refund_memory(size_t bytes) noexcept;

/// Bytes that the calls of one run may take: RELAY_STACK_LIMIT of the environment, else 1 GiB.
size_t stack_limit();
/// What is said of a recursion that would pass `limit`.
std::string too_deep_text(uint64_t calls, size_t limit);

/// Throws the `Error` that a request for `bytes` (too many, or more than size_t can say if
/// `overflow`) for `what` deserves.
[[noreturn]] void throw_out_of_memory(const char* what, size_t bytes, bool overflow = false);

}  // namespace relay
