// Counts the generalised scopes around each shared node of a graph.
#pragma once

#include <relay/ir/expr.h>
#include <relay/support/pointer_map.h>

namespace relay::inference {

/// True if a let generalises its value (T5): a function, a name, or a tuple of these.
bool generalisable(const Expr* value);

/// A node of a graph that is used in a generalised function and outside belongs outside
/// (language.md E1), so its types must not be generalised with the function.
class Homes {
 public:
  explicit Homes(const Expr* root);
  /// The number of generalised scopes around the home of a node with several owners.
  uint32_t depth(const Expr* expr) const {
    const uint32_t* found = depths_.find(expr);
    return found == nullptr ? UINT32_MAX : *found;
  }

 private:
  PointerMap<Expr, uint32_t> depths_;
};

}  // namespace relay::inference
