// Reverse differentiation of scalar expressions.
#include <numbers>

#include <relay/tensor_expr/adjoint_parts.h>

namespace relay::te {
namespace {

bool is_number(const Scalar& x, double value) {
  const ScalarNode& node = *x.node();
  return node.kind == ScalarKind::kConst && node.dtype.is_float() && node.value.f == value;
}

Scalar mul(Scalar a, Scalar b) {
  if (is_number(a, 1)) return b;
  if (is_number(b, 1)) return a;
  return std::move(a) * std::move(b);
}

// x⁰ is 1 for every x, 0ʸ is 0 for every y > 0: neither moves, whatever the formula says.
Scalar power_by_base(const Scalar& x, const Scalar& y, const Scalar& a) {
  if (is_number(y, 1)) return a;
  if (is_number(y, 2)) return a * 2.0 * x;
  return select(y == 0.0, zero(a.dtype()), mul(a, y) * pow(x, y - 1.0));
}
Scalar power_by_exponent(const Scalar& x, const Scalar& z, const Scalar& a) {
  return select(x == 0.0, zero(a.dtype()), mul(a, z) * log(x));
}

// Null: no derivative.
#define RELAY_NO_DERIVATIVE Scalar()

/// a · ∂ op(x) / ∂ x, where z = op(x).
Scalar adjoint(UnaryOp op, const Scalar& x, const Scalar& z, const Scalar& a) {
  switch (op) {
#define RELAY_UNARY(Name, text, cost, floats, integers, bools, derivative) \
  case UnaryOp::k##Name:                                                   \
    return derivative;
#include <relay/runtime/scalar_ops.def>
  }
  return Scalar();
}

#define RELAY_NO_DERIVATIVE Scalar()

/// a · ∂ op(x, y) / ∂ of operand `which`, where z = op(x, y).
Scalar adjoint(BinaryOp op, size_t which, const Scalar& x, const Scalar& y, const Scalar& z,
               const Scalar& a) {
  Scalar none = zero(a.dtype());
  switch (op) {
#define RELAY_BINARY(Name, text, word, cost, floats, integers, bools, by_x, by_y) \
  case BinaryOp::k##Name:                                                         \
    return which == 0 ? by_x : by_y;
#include <relay/runtime/scalar_ops.def>
  }
  return Scalar();
}

/// True if the adjoints of the operands use values of the operands.
bool needs_values(const ScalarNode& node) {
  if (node.kind == ScalarKind::kUnary) return node.unary != UnaryOp::kNeg;
  return node.kind == ScalarKind::kBinary && node.binary != BinaryOp::kAdd &&
         node.binary != BinaryOp::kSub;
}

bool is_not(const ScalarNode& a, const ScalarNode* b) {
  return a.kind == ScalarKind::kUnary && a.unary == UnaryOp::kNot && a.args[0].get() == b;
}

bool is_and(const ScalarNode& node) {
  return node.kind == ScalarKind::kBinary && node.dtype.is_bool() && node.binary == BinaryOp::kAnd;
}

bool is_or(const ScalarNode& node) {
  return node.kind == ScalarKind::kBinary && node.dtype.is_bool() && node.binary == BinaryOp::kOr;
}

/// True if `a` is `b`, or one of the cases of `b`, with further conditions.
bool narrows(const ScalarNode* a, const ScalarNode* b) {
  for (const ScalarNode* outer = a;; outer = outer->args[0].get()) {
    for (const ScalarNode* cases = b;; cases = cases->args[0].get()) {
      if (outer == cases) return true;
      if (!is_or(*cases)) break;
      if (outer == cases->args[1].get()) return true;
    }
    if (!is_and(*outer)) return false;
  }
}

}  // namespace

AxisValues bind_axes(std::span<const Axis> axes, Indices indices) {
  AxisValues values;
  for (size_t i = 0; i < axes.size(); ++i) values.emplace(axes[i].id, indices[i].ref());
  return values;
}

std::vector<Dim> extents_of(std::span<const Axis> axes) {
  std::vector<Dim> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

std::vector<Scalar> indices_of(std::span<const Axis> axes) {
  std::vector<Scalar> indices;
  for (const Axis& axis : axes) indices.push_back(index_of(axis));
  return indices;
}

std::vector<ScalarRef> level_order(std::span<const ScalarRef> roots) {
  std::vector<ScalarRef> order;
  std::unordered_map<const ScalarNode*, bool> seen;
  std::vector<std::pair<ScalarRef, size_t>> stack;
  auto push = [&](const ScalarRef& node) {
    if (seen.emplace(node.get(), true).second) stack.emplace_back(node, 0);
  };
  for (const ScalarRef& root : roots) {
    push(root);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (node->kind == ScalarKind::kFold || next == node->args.size()) {
        order.push_back(std::move(node));
        stack.pop_back();
      } else {
        ScalarRef arg = node->args[next++];
        push(arg);
      }
    }
  }
  return order;
}

Guards::Guards(std::span<const ScalarRef> order, std::span<const ScalarRef> roots,
               const Scalar& around) {
  for (const ScalarRef& root : roots) join(root.get(), around);
  for (size_t i = order.size(); i-- > 0;) {
    const ScalarNode& node = *order[i];
    Scalar when = guards_[&node].when;
    if (node.kind == ScalarKind::kFold) continue;
    if (node.kind == ScalarKind::kSelect) {
      join(node.args[0].get(), when);
      join(node.args[1].get(), both(when, node.args[0]));
      join(node.args[2].get(), both(when, opposite(node.args[0])));
    } else if (node.kind == ScalarKind::kFail) {
      join(node.args[0].get(), when);
      join(node.args[1].get(), both(when, node.args[0]));
    } else {
      for (const ScalarRef& arg : node.args) join(arg.get(), when);
    }
  }
}

// An `and` evaluates both of its operands.
Scalar Guards::both(const Scalar& outer, const Scalar& condition) {
  if (outer.node() == nullptr) return condition;
  return is_harmless(condition.ref()) ? outer && condition : anywhere(outer, condition);
}

Scalar Guards::anywhere(const Scalar& when, const Scalar& condition) {
  if (when.node() == nullptr || is_harmless(condition.ref())) return condition;
  return select(when, condition, zero(kBool));
}

// True for a condition that may be evaluated anywhere: its loads, if any, say themselves what is
// outside, or stand at indices of loops.
bool Guards::is_harmless(const ScalarRef& condition) {
  auto [entry, added] = harmless_.try_emplace(condition.get(), true);
  if (!added) return entry->second;
  const ScalarRef roots[] = {condition};
  bool harmless = true;
  for (const ScalarNode* node : post_order(roots)) {
    harmless = harmless && !can_fail(*node);
    if (node->kind != ScalarKind::kLoad || node->bounds != Bounds::kProven) continue;
    for (const ScalarRef& index : node->args)
      harmless =
          harmless && (index->kind == ScalarKind::kIndex || index->kind == ScalarKind::kConst);
  }
  return harmless_[condition.get()] = harmless;
}

Scalar Guards::opposite(const ScalarRef& condition) {
  Scalar& entry = opposites_[condition.get()];
  if (entry.node() == nullptr) entry = !Scalar(condition);
  return entry;
}

void Guards::join(const ScalarNode* node, const Scalar& when) {
  Guard& guard = guards_[node];
  if (!guard.reached) {
    guard.reached = true;
    guard.when = when;
    return;
  }
  const ScalarNode* a = guard.when.node();
  const ScalarNode* b = when.node();
  if (a == nullptr || b == nullptr) {
    guard.when = Scalar();
  } else if (narrows(b, a)) {
    return;
  } else if (narrows(a, b)) {
    guard.when = when;
  } else if (is_not(*a, b) || is_not(*b, a)) {
    guard.when = Scalar();
  } else if (is_and(*a) && is_and(*b) && a->args[0] == b->args[0] &&
             (is_not(*a->args[1], b->args[1].get()) || is_not(*b->args[1], a->args[1].get()))) {
    guard.when = a->args[0];
  } else {
    guard.when = guard.when || when;
  }
}

std::unordered_map<const ScalarNode*, bool> active_nodes(std::span<const ScalarRef> order,
                                                         const IsActive& is_active) {
  std::unordered_map<const ScalarNode*, bool> active;
  for (const ScalarRef& ref : order) {
    const ScalarNode& node = *ref;
    auto arg = [&](size_t i) { return active.at(node.args[i].get()); };
    bool result = false;
    if (node.dtype.is_float()) {
      switch (node.kind) {
        case ScalarKind::kLoad:
        case ScalarKind::kVar:
          result = is_active(node);
          break;
        case ScalarKind::kUnary:
          result = scalar_op(node.unary).differentiable && arg(0);
          break;
        case ScalarKind::kBinary:
          result = scalar_op(node.binary).differentiable && (arg(0) || arg(1));
          break;
        case ScalarKind::kCast:
        case ScalarKind::kGet:
          result = arg(0);
          break;
        case ScalarKind::kSelect:
          result = arg(1) || arg(2);
          break;
        case ScalarKind::kFail:
          result = arg(1);
          break;
        default:
          break;
      }
    }
    if (node.kind == ScalarKind::kFold) {
      std::vector<ScalarRef> inner = level_order(node.args);
      std::unordered_map<const ScalarNode*, bool> below = active_nodes(inner, is_active);
      for (const ScalarRef& value : node.args) result |= below.at(value.get());
    }
    active.emplace(&node, result);
  }
  return active;
}

std::vector<LeafAdjoint> differentiate(std::span<const ScalarRef> roots,
                                       std::span<const Scalar> seeds, const IsActive& is_active,
                                       const Scalar& around) {
  std::vector<ScalarRef> order = level_order(roots);
  std::unordered_map<const ScalarNode*, bool> active = active_nodes(order, is_active);
  Guards guards(order, roots, around);
  std::unordered_map<const ScalarNode*, Scalar> adjoints;
  auto add = [&](const ScalarRef& node, Scalar value) {
    if (!active.at(node.get()) || is_number(value, 0)) return;
    Scalar& sum = adjoints[node.get()];
    sum = sum.node() == nullptr ? value : sum + value;
  };
  for (size_t k = 0; k < roots.size(); ++k) {
    if (seeds[k].node() == nullptr) continue;
    bool guarded = around.node() != nullptr;
    add(roots[k], guarded ? select(around, seeds[k], zero(seeds[k].dtype())) : seeds[k]);
  }
  std::vector<LeafAdjoint> leaves;
  for (size_t i = order.size(); i-- > 0;) {
    const ScalarNode& node = *order[i];
    auto found = adjoints.find(&node);
    if (found == adjoints.end()) continue;
    Scalar a = found->second;
    const Scalar& guard = guards.of(&node);
    // The adjoint of an unevaluated node is 0; operands' values must not be used there.
    auto lazy = [&](Scalar value) {
      bool wrap = guard.node() != nullptr && needs_values(node);
      return wrap ? select(guard, value, zero(value.dtype())) : value;
    };
    auto is_wanted = [&](size_t k) { return active.at(node.args[k].get()); };
    switch (node.kind) {
      case ScalarKind::kLoad:
      case ScalarKind::kVar:
        leaves.push_back({order[i], a, guard});
        break;
      case ScalarKind::kUnary:
        add(node.args[0], lazy(adjoint(node.unary, node.args[0], order[i], a)));
        break;
      case ScalarKind::kBinary:
        for (size_t k = 0; k < 2; ++k) {
          if (!is_wanted(k)) continue;
          add(node.args[k], lazy(adjoint(node.binary, k, node.args[0], node.args[1], order[i], a)));
        }
        break;
      case ScalarKind::kCast:
        add(node.args[0], cast(a, node.args[0]->dtype));
        break;
      case ScalarKind::kSelect: {
        Scalar none = zero(a.dtype());
        const Scalar condition = guards.anywhere(&node, node.args[0]);
        if (is_wanted(1)) add(node.args[1], select(condition, a, none));
        if (is_wanted(2)) add(node.args[2], select(condition, none, a));
        break;
      }
      case ScalarKind::kFail:
        add(node.args[1], select(guards.anywhere(&node, node.args[0]), a, zero(a.dtype())));
        break;
      default:
        throw NoAdjoint("it folds over what a scan carries");
    }
  }
  return leaves;
}

}  // namespace relay::te
