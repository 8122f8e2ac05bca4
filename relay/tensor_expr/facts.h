// Facts that follow from an operator's computation: the sources of its results' numbers, and its
// cost.
#pragma once

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The source of a result's numbers. Sums include elements, and functions include everything.
enum class NumbersOf : uint8_t {
  kConstants,  // of no input: constants, extents, positions
  kElements,   // elements of inputs, unchanged: moved, repeated, chosen by position or by order
  kElementsOrConstants,  // some this, some that
  kSums,                 // sums of elements, of products of two, of multiples by constants
  kFunctions             // anything else
};
NumbersOf numbers_of(const Computation& computation);

/// The work of a computation, as terms over its extents.
struct Work {
  Dim operations = 0;  // arithmetic on values; arithmetic on positions does not count
  Dim macs = 0;        // products of elements of two tensors that are summed, two operations each
  Dim bytes = 0;       // of inputs that are read and results that are written, each once
  /// True if it includes a library kernel, whose work is not counted here.
  bool has_library = false;
};
Work work_of(const Computation& computation);

/// True if a position is part of a value, and not only of an index.
bool uses_positions(const Computation& computation);

/// True if finite inputs give finite results and derivatives, but for overflow: sums, products,
/// choices and functions that are smooth and bounded, or nearly so, for all numbers.
bool is_finite_everywhere(const Computation& computation);

}  // namespace relay::te
