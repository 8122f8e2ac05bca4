// The work of kernels as their loops have it, for predictions of their time.
#pragma once

#include <relay/lower/loops.h>
#include <relay/lower/processor.h>

namespace relay::lower {

/// Instructions of one run of a kernel by kind, about: those on vectors where the loops have
/// vectors.
struct KernelWork {
  Dim products = 0;   // multiply-adds of tiles, and what a tile waits for in their place
  Dim steps = 0;      // arithmetic, loads and stores
  Dim functions = 0;  // polynomials
};
KernelWork operator+(const KernelWork& a, const KernelWork& b);
KernelWork operator*(const KernelWork& work, Dim times);

/// The work as terms over the kernel's symbols. Counts that depend on elements, and those that are
/// too large, count as little.
KernelWork work_of(const Kernel& kernel, const Processor& processor);

/// The parts of it.
KernelWork work_of(const Nest& nest, const Processor& processor);
KernelWork work_of(const Contraction& contraction, const Processor& processor);

/// Instructions that evaluate a value once, without those of its loads' positions; `functions` gets
/// the number of polynomials.
struct ValueWork {
  int64_t steps = 0, functions = 0;
};
/// One node of it, without its operands.
ValueWork work_of(const te::ScalarNode& node);

}  // namespace relay::lower
