// Operators on quantised numbers as scripts for TVM know them after qnn.CanonicalizeOps: in int32
// and float32, with fixed_point_multiply.
#pragma once

#include <functional>
#include <span>

#include <relay/op/op.h>
#include <relay/op/qnn/quantised.h>

namespace relay {

/// The forms that `QnnCanonicalize(exact=False)` writes. They give what the definitions give where
/// no sum leaves 32 bits and nothing is not-a-number. A form may leave a call alone (null), whose
/// definition then stands for it.
OpColumn<ExpandFn>& narrow_forms();
/// What `QnnLegalize(products=True)` writes: products of integers, with operands less their zero
/// points.
OpColumn<ExpandFn>& plain_products();

ExprRef narrow_quantize(const OpCall& call, std::span<const ExprRef> args);
ExprRef narrow_requantize(const OpCall& call, std::span<const ExprRef> args);
/// `op` is add or subtract.
ExprRef narrow_sum(const OpCall& call, std::span<const ExprRef> args, std::string_view op);
ExprRef narrow_product(const OpCall& call, std::span<const ExprRef> args);
ExprRef narrow_concatenate(const OpCall& call, std::span<const ExprRef> args);
/// qnn.dense as a product of the integers and what their zero points add.
ExprRef narrow_dense(const OpCall& call, std::span<const ExprRef> args);
/// A function of numbers between qnn.dequantize and qnn.quantize.
ExprRef narrow_function(const OpCall& call, std::span<const ExprRef> args,
                        const std::function<Formula(const Formula&)>& f);

}  // namespace relay
