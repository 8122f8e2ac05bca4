// Facts that follow from what an operator computes: where the numbers of its results come from, and
// what the computation costs.
#pragma once

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// What the numbers of a result are. Elements may stand where sums are said, and anything where
/// functions are.
enum class NumbersOf : uint8_t {
  kConstants,  // of no input: constants, extents, positions
  kElements,   // elements of inputs, unchanged: moved, repeated, chosen by position or by order
  kElementsOrConstants,  // some this, some that
  kSums,                 // sums of elements, of products of two, of multiples by constants
  kFunctions             // anything else
};
NumbersOf numbers_of(const Computation& computation);

/// Work that a computation takes, as terms over its extents.
struct Work {
  Dim operations = 0;  // arithmetic on values; arithmetic on positions does not count
  Dim macs = 0;        // products of elements of two tensors that are summed, two operations each
  Dim bytes = 0;       // of inputs that are read and results that are written, each once
  /// Whether a library kernel takes part, whose work is not among these.
  bool has_library = false;
};
Work work_of(const Computation& computation);

/// Whether a position is part of a value, not only of where to read.
bool uses_positions(const Computation& computation);

}  // namespace relay::te
