// Expressions about the extent of one axis, which a run decides: what a pass writes that chooses by
// it.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// The extent of an axis, an int64 number.
ExprRef size_of(const ExprRef& tensor, int64_t axis);
/// True if a size is a number; true if it is one at most.
ExprRef size_is(const ExprRef& size, int64_t number);
ExprRef size_at_most(const ExprRef& size, int64_t number);
/// A tensor of `size` elements along the axis with so many of `value` behind them that there are
/// `extent`.
ExprRef padded_to(const ExprRef& tensor, int64_t rank, int64_t axis, int64_t extent,
                  const ExprRef& size, const NDArray& value);
/// The first `size` elements along the axis.
ExprRef cut_to(const ExprRef& tensor, int64_t rank, int64_t axis, const ExprRef& size);

}  // namespace relay
