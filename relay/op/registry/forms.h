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
/// The value itself, which quantisation may keep in another dtype.
ExprRef make_cast_hint(const ExprRef& data, DType dtype, Span span);
/// True for a call that `make_cast_hint` makes.
bool is_cast_hint(const Expr* expr);
/// A tensor with its elements cut off at bounds.
ExprRef make_clip(const ExprRef& data, double least, double most, Span span);
/// The product of a matrix and a sparse one turned round, given by its elements or blocks, their
/// columns and where rows begin.
ExprRef make_sparse_dense(const ExprRef& data, std::span<const ExprRef> matrix, Span span);
/// A convolution of stride 1 whose result is as large as the data; rows of the matrix are output
/// channels, columns kernel rows, kernel columns and input channels.
ExprRef make_sparse_conv2d(const ExprRef& data, std::span<const ExprRef> matrix,
                           const std::string& layout, int64_t kernel_size, Span span);
/// A tensor with elements of another dtype.
ExprRef make_cast(const ExprRef& data, DType dtype, Span span);

}  // namespace relay
