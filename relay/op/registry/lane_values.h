// Calls that programs of many lanes are made of.
#pragma once

#include <span>

#include <relay/ir/expr.h>

namespace relay {

/// `x` with `count` axes of extent 1 from `axis` on.
ExprRef with_axes(const ExprRef& x, int64_t axis, int64_t count);
/// The axis `from` moved to place `to`; `rank` is that of `x`.
ExprRef with_moved_axis(const ExprRef& x, size_t from, size_t to, size_t rank);
/// `x` for each of `lanes` lanes; `dims` are its extents, all of them known.
ExprRef for_each_lane(const ExprRef& x, int64_t lanes, std::span<const Dim> dims, Span span);
/// The same, for as many lanes as the vector `mask` has. `one` has a leading axis of extent 1 and
/// is used twice.
ExprRef for_lanes_of(const ExprRef& mask, const ExprRef& one, Span span);
/// Elements of x where the condition holds, else of y; all three broadcast.
ExprRef chosen(const ExprRef& condition, const ExprRef& x, const ExprRef& y, Span span);

/// Vectors of bools: true for all of `lanes` lanes; true for each lane of a tensor with lanes;
/// both; not; and if any is true.
ExprRef all_lanes(int64_t lanes);
ExprRef all_lanes_of(const ExprRef& tensor);
ExprRef both(const ExprRef& a, const ExprRef& b);
ExprRef no(const ExprRef& a);
ExprRef any_lane(const ExprRef& mask);

/// The number of the first lane of the mask, the first lane if there is none; and what a tensor
/// with lanes is for the lane of that number.
ExprRef first_lane(const ExprRef& mask);
ExprRef one_lane(const ExprRef& x, const ExprRef& number);

}  // namespace relay
