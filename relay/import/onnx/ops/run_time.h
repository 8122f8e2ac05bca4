// Shapes, axes and positions that only a run knows: arithmetic on int64 tensors that the program
// does. Where the numbers are known when the model is read, converters use those instead.
#pragma once

#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// An int64 of rank 0.
GraphValue number_value(NodeContext& node, int64_t value);
/// A tensor of one element as an int64 of rank 0; `what` says what it is, for the refusal of
/// others.
GraphValue as_number(NodeContext& node, const GraphValue& value, std::string_view what);
/// A vector (or a number) of integers as a vector of int64.
GraphValue as_list(NodeContext& node, const GraphValue& value, std::string_view what);
/// How many entries a vector has. It has to be known: it decides the rank of a result.
int64_t length_of(NodeContext& node, const GraphValue& list, std::string_view what);

/// One extent of a tensor as an int64 of rank 0, and all of them as a vector.
GraphValue extent_value(NodeContext& node, const GraphValue& x, size_t axis);
GraphValue shape_value(NodeContext& node, const GraphValue& x);
/// Entry k of a list, of rank 0.
GraphValue entry(NodeContext& node, const GraphValue& list, int64_t k);
/// 0, 1, … count - 1 as int64.
GraphValue counted(NodeContext& node, const GraphValue& count);
/// The same along `axis` of `rank` axes, the others of extent 1.
GraphValue counted_along(NodeContext& node, const GraphValue& count, size_t axis, size_t rank);

/// An int64 of rank 0 that is 0; where `bad`, a bool of rank 0, holds, the run fails instead, with
/// the message.
GraphValue zero_unless(NodeContext& node, const GraphValue& bad, const std::string& message);

/// 0 if `row` has the shape of the rows of `rows`, or if there are none; else the run fails with
/// the message.
GraphValue rows_like(NodeContext& node, const GraphValue& rows, const GraphValue& row,
                     const std::string& message);
/// The rows with one more at their end, or before them. Rows of another shape are refused with the
/// message, by the run where only that knows.
GraphValue with_row(NodeContext& node, const GraphValue& rows, const GraphValue& row, bool at_end,
                    const std::string& message);
/// The message for sequences that loops append to, whose items become rows.
inline constexpr const char* kItemsOfOneShape =
    "the items of a sequence that a loop appends to have one shape";

/// Positions on an axis of `x`, negative ones counted from the end, int64: the run fails at others.
GraphValue inside(NodeContext& node, const GraphValue& x, size_t axis, const GraphValue& places);

/// `value` repeated to the shape of `like`.
GraphValue broadcast_like(NodeContext& node, const GraphValue& value, const GraphValue& like);
/// Axes (a list) counted from the front; a run fails at others.
GraphValue from_front(NodeContext& node, const GraphValue& axes, size_t rank);
/// A vector with an entry for each of `rank` axes: `values` at `axes`, else `otherwise`'s.
GraphValue at_axes(NodeContext& node, const GraphValue& values, const GraphValue& axes,
                   const GraphValue& otherwise, size_t rank);
/// Bools of rank 0, one for each of `rank` axes: true if it is in the list `axes`.
std::vector<GraphValue> chosen_axes(NodeContext& node, const GraphValue& axes, size_t rank);

/// Elements from `begin` to before `end` on one axis, both int64 of rank 0.
GraphValue slice_between(NodeContext& node, const GraphValue& x, int64_t axis,
                         const GraphValue& begin, const GraphValue& end);

// ---- Operators whose axes or places are inputs that only a run knows ----

GraphValue slice_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& starts,
                             const GraphValue& ends, const GraphValue& axes,
                             const GraphValue& steps);
/// As many parts as there are outputs, with extents that a list says.
std::vector<GraphValue> split_at_run_time(NodeContext& node, const GraphValue& x, int64_t axis,
                                          const GraphValue& sizes);
/// The same in equal parts, of which the last one may be smaller.
std::vector<GraphValue> split_evenly_at_run_time(NodeContext& node, const GraphValue& x,
                                                 int64_t axis);
GraphValue unsqueeze_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& axes);
GraphValue squeeze_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& axes);

}  // namespace relay::onnx
