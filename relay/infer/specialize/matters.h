// Finds the type parameters that a function's code depends on (T16).
#pragma once

#include <unordered_map>
#include <unordered_set>

#include <relay/ir/module.h>

namespace relay::inference {

using TypeVarSet = std::unordered_set<const TypeVar*>;

/// For the functions of a typed module: the type parameters that occur in the types of literals, of
/// operator calls, or of calls of functions that depend on theirs. Values of other types are
/// uniform.
class Matters {
 public:
  explicit Matters(const Module& module);

  /// The parameters of a global function; empty if it is not polymorphic.
  const TypeVarSet& of(const Name& function) const;
  /// The parameters of a function literal with this published scheme.
  TypeVarSet of(const Expr* function, const FuncType* scheme) const;
  /// True if specialisation has to look inside: there is a use of a polymorphic function that
  /// depends on its types, or a polymorphic let.
  bool has_polymorphic_uses(const Expr* root) const;

 private:
  bool depends(const Expr* callee) const;

  std::unordered_map<Name, TypeVarSet> globals_;
};

/// True if a use may need an instance of the let's value: a polymorphic function, or a name or a
/// tuple that replaces its uses.
bool may_have_instances(const Let* let);

/// The scheme that inference published for a node, or null.
const FuncType* scheme_type(const Expr* expr);

}  // namespace relay::inference
