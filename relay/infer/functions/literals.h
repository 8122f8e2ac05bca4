// Unsuffixed numbers (T4, T8).
#pragma once

#include <string>

#include <relay/infer/solve/solver.h>
#include <relay/ir/expr.h>

namespace relay::inference {

/// The demand of a literal on its dtype: any numeric one for integers, a float for floats.
Numeric literal_class(const LiteralValue& value);
/// True if it does not fit int32, so that its default is int64 (T8).
bool literal_is_wide(const LiteralValue& value);
/// Its text as written, with its sign.
std::string literal_text(const LiteralValue& value);
/// Empty if `value` can be a number of `dtype`, else the mistake.
std::string literal_problem(const LiteralValue& value, DType dtype);
/// The rank-0 tensor of a literal that fits.
NDArray literal_array(const LiteralValue& value, DType dtype);

}  // namespace relay::inference
