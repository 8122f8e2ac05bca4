// What passes ask about the lets of a function, and taking lets away.
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
  /// Whether the value is a function literal that mentions the variable.
  bool recursive(const Let* let) const;
  /// Whether the function contains another one.
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

/// Lets whose variable nobody needs, as long as their values have no effect; those inside of dead
/// values are not listed, they go with them. None in a function with literals of open type, whose
/// dtype dead code may decide.
PointerSet<Let> dead_lets(const Function* function,
                          const std::unordered_set<const Expr*>& effectful);

/// Variables of lets whose every use is inside closures made in their scope: in place of its uses
/// the value would be computed again by each call.
PointerSet<Var> used_in_closures_only(const Function* function);

/// Whether the variable is used at several types: each use instantiates its scheme.
bool is_polymorphic(const Var* var);

/// Whether using the let's value in place of its variable means the same type: there is no
/// annotation that converts.
bool keeps_type(const Let* let);

/// The function without these lets: each variable that is used is replaced by its value, one node
/// however often.
FunctionRef without_lets(const FunctionRef& function, const PointerSet<Let>& removed);

}  // namespace relay
