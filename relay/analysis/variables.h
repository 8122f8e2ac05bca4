// Variables, type variables and element types of an expression. Free and bound variables:
// ir/visit.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

/// Free and bound variables, in order of first mention; a binder before its uses.
std::vector<VarRef> all_vars(const Expr* root);

/// Type parameters of function literals and of function types inside annotations; the others; both,
/// in order of first mention. Looks at annotations, not at inferred types.
std::vector<TypeVarRef> bound_type_vars(const Expr* root);
std::vector<TypeVarRef> free_type_vars(const Expr* root);
std::vector<TypeVarRef> all_type_vars(const Expr* root);

/// Names of the element types of all sub-expressions: constants and published types.
std::set<std::string> all_dtypes(const Expr* root);

}  // namespace relay
