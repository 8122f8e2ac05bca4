// The types that an instance of a polymorphic function is made for (T16).
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/infer/specialize/matters.h>
#include <relay/ir/expr.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// Types for some type parameters, in their order.
using Substitution = std::vector<std::pair<TypeVarRef, TypeRef>>;

/// The dimension names that the functions in an expression declare and their callers choose.
TypeVarSet declared_dims(const Expr* root);

/// The dimension names that a function has from functions around it: in the types of variables that
/// it captures, and in its annotations.
TypeVarSet captured_dims(const Function* function);

/// The types that `instance`, an instance of `scheme`, has for the parameters among `which`.
Substitution match_scheme(const FuncType* scheme, const TypeRef& instance, const TypeVarSet& which);

/// The names of dimensions in the instances of one function.
class InstanceNames {
 public:
  /// The part of a substitution for which an instance can be made. A dimension that is not a number
  /// keeps the name that the function declares for it. The instance declares names for the others:
  /// the names in `declared`, of the caller, become the same ones for the same pattern of names, so
  /// that callers share instances. Names in `captured` mean the same inside and outside, and stay.
  /// Terms over other names that the arguments do not determine are `?`.
  Substitution settle(Substitution types, const Function* function, const FuncType* scheme,
                      const TypeVarSet& declared, const TypeVarSet& captured = {});

 private:
  std::vector<TypeVarRef> names_;
};

/// Makes a term `?` if no argument determines its names, after the names that arguments determine
/// and those in `captured` are known.
Substitution without_untold_names(Substitution types, const FuncType* scheme,
                                  const TypeVarSet& captured = {});

/// A copy of `function` with `types` put for type parameters of its scheme. Parameters (and the
/// result, if asked for) are annotated accordingly. The copy declares the names of dimensions in
/// them that are not in `captured`.
FunctionRef instantiate_function(const Function* function, const FuncType* scheme,
                                 const Substitution& types, bool annotate_result,
                                 const TypeVarSet& captured = {});

/// Errors for the dimensions that `function`, named `name`, declares for its results and lets and
/// that are below 0 with `types`. Callers decide those of parameters.
std::vector<Diagnostic> negative_dims(const Function* function, const std::string& name,
                                      const Substitution& types);

}  // namespace relay::inference
