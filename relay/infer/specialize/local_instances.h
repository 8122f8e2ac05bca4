// Instances of the polymorphic functions that lets bind inside another.
#pragma once

#include <functional>
#include <vector>

#include <relay/infer/functions/inferencer.h>
#include <relay/infer/specialize/instance_types.h>
#include <relay/infer/specialize/matters.h>

namespace relay::inference {

/// A copy that shares no part whose type may differ: variables and literals are new.
ExprRef fresh_copy(const ExprRef& expr, const std::function<TypeRef(const TypeRef&)>& types = {});

struct LocalResult {
  FunctionRef function;
  std::vector<Occurrence> global_uses;  // in terms of `function`'s nodes
  /// The errors of an instance; the rest is as it was before that instance was made.
  std::vector<Diagnostic> errors;
};

/// Infers a function by itself. Replaces each polymorphic function that a let binds inside by an
/// instance for every set of types at which it is used, until no remaining one has code that
/// depends on its types. `entry`: variables that its arguments leave open take defaults.
LocalResult specialize_locals(FunctionRef function, Context& context, const Matters& matters,
                              bool entry = true);

}  // namespace relay::inference
