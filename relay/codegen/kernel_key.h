// The identity of a kernel: equal texts, equal code.
#pragma once

#include <string>

#include <relay/lower/loops.h>

namespace relay::codegen {

/// The kernel's content as text, the same in every process. It does not show names, nor the ids of
/// axes, registers and symbols; a symbol appears as its position among the dimension arguments. It
/// shows everything that the code follows from: bits of constants, and shared parts of statements
/// (a product with two users is rounded by itself). `Kernel::str` is for readers and need not.
std::string kernel_key(const lower::Kernel& kernel);

}  // namespace relay::codegen
