// Finds computations that put tensors one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// An operand of a concatenation: an input, and the element of the result where its elements begin.
struct Part {
  size_t input;
  Dim offset;
};

/// The parts of a computation that copies its inputs, each whole and in order, one after the other
/// (an axis of a result whose axes before it have one element); nothing if it does anything else.
std::optional<std::vector<Part>> concatenated(const te::Computation& computation);

}  // namespace relay::graph
