// Columns that say what a pass may write in the place of a call.
#pragma once

#include <map>
#include <string>

#include <relay/op/op.h>

namespace relay {

/// The operator that computes the same approximately (FastMath): it has the same inputs and
/// attributes.
OpColumn<std::string>& fast_forms();

/// How DivToMul writes a quotient whose divisor is a constant. Null where that is none.
OpColumn<ExpandFn>& reciprocal_forms();

/// Of an operator `dyn.NAME`, whose inputs are attributes of `NAME`: the attributes that are not
/// called as the inputs are, by the input.
OpColumn<std::map<std::string, std::string>>& static_attributes();

/// A tensor that is not computed together with what uses it.
ExprRef make_stop_fusion(const ExprRef& data, Span span);
/// A tensor with elements of another dtype.
ExprRef make_cast(const ExprRef& data, DType dtype, Span span);

}  // namespace relay
