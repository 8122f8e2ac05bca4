// Instances of polymorphic functions: of a given one, and of those that lets bind inside another.
#pragma once

#include <utility>
#include <vector>

#include <relay/infer/inferencer.h>
#include <relay/infer/matters.h>

namespace relay::inference {

/// Types for some type parameters, in their order.
using Substitution = std::vector<std::pair<TypeVarRef, TypeRef>>;

/// What `instance`, a type that `scheme` was instantiated to, puts for the parameters among
/// `which`.
Substitution match_scheme(const FuncType* scheme, const TypeRef& instance, const TypeVarSet& which);

/// What of a substitution an instance can be made for: a dimension that is no number there stays the
/// name that `function` declares for it (else becomes `?`), and so do names inside of types.
Substitution without_names(Substitution types, const Function* function);

/// A copy of `function` with `types` put for type parameters of its scheme: parameters (and the
/// result, if asked for) are annotated accordingly.
FunctionRef instantiate_function(const Function* function, const FuncType* scheme,
                                 const Substitution& types, bool annotate_result);

struct LocalResult {
  FunctionRef function;
  std::vector<Occurrence> global_uses;  // in terms of `function`'s nodes
};

/// Infers a function by itself and puts an instance of each polymorphic function that a let binds
/// inside for every set of types at which it is used, until none is left whose code depends on its
/// types. Throws `Error` if the function does not type-check.
LocalResult specialize_locals(FunctionRef function, Context& context, const Matters& matters);

}  // namespace relay::inference
