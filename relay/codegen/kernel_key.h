// The identity of a kernel: equal texts, equal code.
#pragma once

#include <string>

#include <relay/lower/loops.h>

namespace relay::codegen {

/// The kernel's content as text, the same in every process: names, and the ids of axes, registers
/// and symbols, do not show; symbols stand by their position among the dimension arguments.
/// It shows all that code follows from: bits of constants, and what statements share (a product
/// with two users is rounded by itself). `Kernel::str` is for readers and need not.
std::string kernel_key(const lower::Kernel& kernel);

}  // namespace relay::codegen
