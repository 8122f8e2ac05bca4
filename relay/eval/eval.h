// The reference evaluator: the meaning of every construct, slow and obvious.
#pragma once

#include <functional>
#include <span>

#include <relay/ir/module.h>
#include <relay/runtime/value.h>

namespace relay {

/// Evaluates `@entry(arguments…)` of a specialised module (infer.h). Throws Error if the arguments
/// are not on the devices that the program wants (devices.h). Frames live on the heap; tail calls
/// take constant space. Throws RuntimeError with a call trace if the program fails.
Value evaluate_function(const Module& module, Name entry, std::span<const Value> arguments);

/// Sees what each call and projection of an evaluation gives, as often as it runs. Not the call
/// that ends a function, whose value is that of the call around it.
using EvalWatch = std::function<void(const Expr& expr, const Value& value)>;
Value evaluate_watched(const Module& module, Name entry, std::span<const Value> arguments,
                       const EvalWatch& watch);

/// Evaluates a closed, typed expression (constant folding), everything on `device`. Throws as
/// above.
Value evaluate_expr(const ExprRef& expr, const Module& module, Device device = kCpu);

/// Calls a closure that an evaluation returned. Throws Error for arguments that do not fit its
/// type.
Value call_closure(const Value& closure, std::span<const Value> arguments);

/// Applies one operator to values, straight from its definition: runs the relation on the run-time
/// types, then the tensor expression, the expansion or the library kernel. The arguments are on one
/// device.
Value apply_op(const Operator* op, const AttrsRef& attrs, std::span<const Value> arguments,
               Span span = {});

/// The type of a value; closures have no type of their own and give `_`.
TypeRef value_type(const Value& value);

}  // namespace relay
