// Packs constant operands of contractions in the order in which tiles read them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <relay/lower/processor.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// An input of a computation that one of its contractions reads better packed: in panels of `width`
/// columns or rows, one step of k after the other, the last panel filled up with zeros.
struct PackedOperand {
  enum class Side : uint8_t { kRows, kColumns };
  size_t input = 0;  // number of the operand among the inputs
  Side side = Side::kColumns;
  int64_t width = 1;
  /// One input, the operand; one output, packed[batch…, ceil(n / width), k…, width].
  te::Computation packing;
  /// The new computation, ready for `lower`. It has one input more, the last: the packed operand.
  /// Other inputs keep their numbers; the operand itself stays an input even if nothing reads it
  /// any longer (`reads_input`).
  te::Computation computation;
};

/// The first contraction of `computation` with an operand for which `constant` is true and packing
/// pays on a target with vectors of so many bytes; nothing if there is none. For computations with
/// several contractions call it again on the result, until it returns nothing. `prepared`: the
/// computation is such a result.
std::optional<PackedOperand> packing_of(const te::Computation& computation,
                                        const std::function<bool(size_t input)>& constant,
                                        const Processor& processor, bool prepared = false);

/// True if some fold reads, through any stages, an input for which `constant` is true: a
/// computation without such a fold can stay as it is, without a closer look.
bool folds_read(const te::Computation& computation,
                const std::function<bool(size_t input)>& constant);

/// True if a stage or an output of the computation uses an input.
bool reads_input(const te::Computation& computation, size_t input);

}  // namespace relay::lower
