// Questions about the lets of a view, answered by its columns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <relay/program/view.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// The number of the variable that a let binds.
uint32_t variable_of_let(const View& view, uint32_t let);

/// The function literal that a let binds to a variable; null for other expressions and values.
const Function* bound_literal(const View& view, const Expr* expr);
/// The variable that the last let with this literal as its value binds; null for none.
const Var* name_of_literal(const View& view, const Expr* literal);

/// The lets of a view in order of number: values before what uses them.
class Lets {
 public:
  explicit Lets(const View& view);

  struct Entry {
    const Let* let;
    uint32_t value;  // numbers
    uint32_t variable;
  };
  const std::vector<Entry>& all() const { return lets_; }
  /// The number of operand places with the variable.
  size_t uses(const Entry& entry) const { return view_.users()[entry.variable].size(); }
  /// True if the value is a function literal that mentions the variable.
  bool recursive(const Entry& entry) const {
    return entry.variable < entry.value && view_.kind(entry.value) == ExprKind::kFunction;
  }
  /// True if every use of the variable is inside closures made in its scope, or if it has none: if
  /// the value replaced it, each call would compute it again.
  bool used_in_closures_only(const Entry& entry) const;

 private:
  const View& view_;
  std::vector<Entry> lets_;
  bool closures_;  // a function is inside another one
};

/// The lets whose variable nothing that is needed mentions, by number. A value is needed if its
/// variable is, or if it runs for something else: `runs_anyway` says so of a let. Lets inside of
/// values that are not needed are not listed, since they go with them. None in an expression that
/// needs literals of open type, because what is not needed may decide their dtype.
std::vector<uint32_t> unneeded_lets(const View& view,
                                    const std::function<bool(uint32_t let)>& runs_anyway);

}  // namespace relay
