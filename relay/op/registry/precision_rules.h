// The rule for a call where floats are narrow: a fact that mixed precision asks for.
#pragma once

#include <functional>
#include <optional>

#include <relay/op/op.h>

namespace relay {

/// The rule for a call of floats in mixed precision.
///  - kAlways: multiplies elements of two tensors and adds up, as products and convolutions do;
///    gains most from narrow floats.
///  - kFollows: moves elements, or computes each by few steps; narrow where its inputs are.
///  - kNever: adds up many elements, or computes functions whose results spread over many orders of
///    magnitude, such as exp; keeps wide floats.
RELAY_WORDS(PrecisionRule, (kAlways, "always", "is computed on narrow floats"),
            (kFollows, "follows", "is computed on narrow floats where its inputs are narrow"),
            (kNever, "never", "is computed on wide floats"))

/// The rule of a call, derived from what it computes where no column says it; nothing where neither
/// does, as of library kernels. Throws nothing.
std::optional<PrecisionRule> precision_rule(const OpCall& call);

/// For what is not derived, or derived wrongly.
OpColumn<PrecisionRule>& precision_rules();

/// A function that a script attached: the rule of a call, where `narrow` are the narrow floats;
/// nothing for the rule that the call has without it. Empty for none.
using PrecisionFn = std::function<std::optional<PrecisionRule>(const ExprRef& call, DType narrow)>;
OpColumn<PrecisionFn>& attached_precision();

/// True for a tensor of float32; and for a tuple with one in it, at any depth. Null has neither.
bool is_wide_tensor(const Type* type);
bool has_wide_fields(const Type* type);
/// The type with floats `to` in the place of floats `from`, in tensors and in tuples of them.
TypeRef with_floats(const TypeRef& type, DType from, DType to);

}  // namespace relay
