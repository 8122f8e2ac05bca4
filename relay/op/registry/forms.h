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

/// For an operator `dyn.NAME`, whose inputs are attributes of `NAME`: the attributes that are not
/// called as the inputs are, by the input.
OpColumn<std::map<std::string, std::string>>& static_attributes();

/// `memory.kill`: the value is not needed from here on.
ExprRef make_kill(const ExprRef& data, Span span);
bool is_kill(const Expr* expr);
/// A tensor that is not computed together with what uses it.
ExprRef make_stop_fusion(const ExprRef& data, Span span);
/// True for a call that `make_stop_fusion` makes.
bool is_stop_fusion(const Expr* expr);
/// Where a value goes into a region that a code generator compiles, and comes out of it.
ExprRef make_compiler_begin(const ExprRef& data, const std::string& compiler, Span span);
ExprRef make_compiler_end(const ExprRef& data, const std::string& compiler, Span span);
/// The operators of these calls.
const Operator* compiler_begin_op();
const Operator* compiler_end_op();
/// A tensor with elements of another dtype.
ExprRef make_cast(const ExprRef& data, DType dtype, Span span);

}  // namespace relay
