// Where graph nodes run (language.md §2, E1 and E2).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

/// The regions of an expression and what runs in each, in order.
///
/// A region is a function body, a branch of an `if` or a clause of a `match`; region 0 is the expression
/// itself. Each node that computes (not a variable, global, constant, literal, operator or constructor)
/// has a home: the lowest region common to its uses, a use by node m counting in m's home (E1). It runs
/// once per activation of its home, before the first let value or final expression that contains a use
/// and after the binding of its variables (E2).
///
/// Evaluation, A-normal form and printing all follow this one schedule. Linear time, no recursion. The
/// expression must outlive the object.
class Regions {
 public:
  struct Region {
    uint32_t parent;      // of region 0: itself
    uint32_t depth;       // nesting below region 0
    const Expr* owner;    // Function, If or Match; of region 0: null
    uint32_t operand;     // which operand of the owner the region is
    const Expr* result;   // the region's expression
  };
  /// One thing to do. A `bind` gives a let's variable the value of the let's first operand; the let's own
  /// value is that of its body. All other nodes are computed from their operands, which have run in this
  /// region or an enclosing one.
  struct Step {
    const Expr* expr;
    bool bind;
  };

  /// `root` itself is region 0; a function at the root is a node there with its body as a region.
  explicit Regions(const Expr* root);

  size_t size() const { return regions_.size(); }
  const Region& region(uint32_t index) const { return regions_[index]; }
  /// The region that operand `operand` of `owner` is, or 0 if it is none.
  uint32_t region_of(const Expr* owner, uint32_t operand) const;
  /// The steps of a region, in order.
  std::span<const Step> steps(uint32_t region) const { return steps_[region]; }
  /// Home of a node that computes.
  uint32_t home(const Expr* expr) const;

  /// Whether the operand is a region: the body of a function, a branch, a clause.
  static bool is_region(const Expr* owner, uint32_t operand);
  /// Whether a node stands for itself and takes no step: variables, globals, constants, literals,
  /// operators, constructors.
  static bool is_atom(const Expr* expr);
  /// Follows lets to what their value is: `let %a = …; e` is e.
  static const Expr* value_of(const Expr* expr);

 private:
  struct Info {
    uint32_t home;
    uint32_t first_region;  // regions of one owner are consecutive; 0: none
  };
  uint32_t common(uint32_t a, uint32_t b) const;

  std::vector<Region> regions_;
  std::vector<std::vector<Step>> steps_;
  std::unordered_map<const Expr*, Info> info_;
};

}  // namespace relay
