// Arithmetic on known elements: what makes shapes fold away.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// The most elements of a value that are kept as terms.
inline constexpr size_t kMostElements = 256;

/// True if an extent or element is `?`.
bool any_unknown(std::span<const Dim> dims);

/// The truth of two terms being equal, as far as that follows from extents being no less than 0.
Truth surely_equal(Dim a, Dim b);

/// 1 where two terms are equal, else 0: a number where that is known, else a term.
Dim equality(Dim a, Dim b);

/// An element of a result from one of each operand; `?` if it is not known.
using ElementFn = std::function<Dim(std::span<const Dim> operands)>;

/// The result of an elementwise operator on integers (or bools) whose elements are known, under
/// broadcasting; nothing where no element of it would be known. With `?` among the elements,
/// `emit` makes the expression.
std::optional<GraphValue> fold_elementwise(NodeContext& node, const std::vector<GraphValue>& args,
                                           DType dtype, const ElementFn& element,
                                           const std::function<GraphValue()>& emit);

/// A result whose elements are those of `value` at `positions`; `emit` makes the expression where
/// some are `?`. Nothing if none is known.
std::optional<GraphValue> fold_rearranged(NodeContext& node, const GraphValue& value,
                                          const std::vector<int64_t>& positions,
                                          std::span<const Dim> dims,
                                          const std::function<GraphValue()>& emit);

/// The same for the elements at these places on each axis of `value`; axis k of the result goes
/// through those on axis `order[k]`.
std::optional<GraphValue> fold_places(NodeContext& node, const GraphValue& value,
                                      const std::vector<std::vector<int64_t>>& places,
                                      const std::vector<int64_t>& order,
                                      const std::function<GraphValue()>& emit);
/// All places on each axis of a value; nothing if its elements are not known.
std::optional<std::vector<std::vector<int64_t>>> all_places(const GraphValue& value);

/// A value of known elements, with the expression that `emit` makes if some are `?`.
GraphValue known_or(NodeContext& node, Elements elements, std::span<const Dim> dims, DType dtype,
                    const std::function<GraphValue()>& emit);

}  // namespace relay::onnx
