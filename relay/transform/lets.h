// Questions of passes about the lets of a function, and removal of lets.
#pragma once

#include <unordered_set>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// The lets of a function, values before bodies, and how often their variables occur.
class Lets {
 public:
  explicit Lets(const Function* function);

  const std::vector<const Let*>& all() const { return lets_; }
  /// The number of operand places (of distinct nodes) with the variable.
  size_t uses(const Var* var) const {
    const Use* use = uses_.find(var);
    return use == nullptr ? 0 : use->count;
  }
  /// True if the value is a function literal that mentions the variable.
  bool recursive(const Let* let) const;
  /// True if the function contains another one.
  bool closures() const { return function_done_.size() > 1; }

 private:
  struct Use {
    size_t first = 0;  // when the first user was visited
    size_t count = 0;
  };
  std::vector<const Let*> lets_;
  PointerMap<Var, Use> uses_;
  PointerMap<Expr, size_t> function_done_;  // when a function literal was visited
};

/// Lets whose variable nobody needs, if their values have no effect and are of the stated type.
/// Lets inside of dead values are not listed, since they go with them. None in a function with
/// literals of open type, because dead code may decide their dtype.
PointerSet<Let> dead_lets(const Function* function,
                          const std::unordered_set<const Expr*>& effectful);

/// Variables of lets whose every use is inside closures made in their scope: if the value replaced
/// them, each call would compute it again.
PointerSet<Var> used_in_closures_only(const Function* function);

/// True if the variable is used at several types: each use instantiates its scheme.
bool is_polymorphic(const Var* var);

/// True if a run has to compare the value with the type that the let states (E5). Types nest no
/// deeper than `Type::kMaxDepth`.
bool may_refuse(const Let* let);

/// True if the let's value may replace its variable without changing a type: no annotation
/// converts.
bool keeps_type(const Let* let);

/// The function without these lets: the value replaces each use of the variable, as one node for
/// all uses.
FunctionRef without_lets(const FunctionRef& function, const PointerSet<Let>& removed);

}  // namespace relay
