// Calls that every gradient is made of: zeros, ones, sums and broadcasting.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// Zeros and ones of a tensor type. A tensor of the type is needed if not all extents are known.
ExprRef zeros_of(const Type* tensor, const ExprRef& like);
ExprRef ones_of(const Type* tensor, const ExprRef& like);
/// A value with the extents of a tensor type, which are known, by broadcasting.
ExprRef spread_to(const TensorType& tensor, const ExprRef& value);
/// a + b, where null is zero.
ExprRef sum(const ExprRef& a, const ExprRef& b);

}  // namespace relay
