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

bool has_derivative(UnaryOp op) {
  switch (op) {
    case UnaryOp::kSign:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kTrunc:
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
    case UnaryOp::kIsFinite:
      return false;
    default:
      return true;
  }
}

bool has_derivative(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
    case BinaryOp::kFloorMod:
    case BinaryOp::kPow:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAtan2:
      return true;
    default:
      return false;
  }
}

/// a · ∂ op(x) / ∂ x, where y = op(x).
Scalar unary_adjoint(UnaryOp op, const Scalar& x, const Scalar& y, const Scalar& a) {
  switch (op) {
    case UnaryOp::kNeg:
      return -a;
    case UnaryOp::kAbs:
      return select(x >= 0.0, a, -a);
    case UnaryOp::kExp:
      return mul(a, y);
    case UnaryOp::kLog:
      return a / x;
    case UnaryOp::kLog2:
      return a / (x * std::numbers::ln2);
    case UnaryOp::kLog10:
      return a / (x * std::numbers::ln10);
    case UnaryOp::kSqrt:
      return a * 0.5 / y;
    case UnaryOp::kRsqrt:
      return a * -0.5 * y / x;
    case UnaryOp::kErf:
      return a * (2 * std::numbers::inv_sqrtpi) * exp(-(x * x));
    case UnaryOp::kSigmoid:
      return mul(a, y * (1.0 - y));
    case UnaryOp::kSin:
      return mul(a, unary(UnaryOp::kCos, x));
    case UnaryOp::kCos:
      return -mul(a, unary(UnaryOp::kSin, x));
    case UnaryOp::kTan:
      return mul(a, y * y + 1.0);
    case UnaryOp::kAsin:
      return a / sqrt(1.0 - x * x);
    case UnaryOp::kAcos:
      return -(a / sqrt(1.0 - x * x));
    case UnaryOp::kAtan:
      return a / (x * x + 1.0);
    case UnaryOp::kSinh:
      return mul(a, unary(UnaryOp::kCosh, x));
    case UnaryOp::kCosh:
      return mul(a, unary(UnaryOp::kSinh, x));
    case UnaryOp::kTanh:
      return mul(a, 1.0 - y * y);
    case UnaryOp::kAsinh:
      return a / sqrt(x * x + 1.0);
    case UnaryOp::kAcosh:
      return a / sqrt(x * x - 1.0);
    case UnaryOp::kAtanh:
      return a / (1.0 - x * x);
    default:
      RELAY_UNREACHABLE("no derivative");
  }
}

/// a · ∂ op(x, y) / ∂ of operand `which`, where z = op(x, y).
Scalar binary_adjoint(BinaryOp op, int which, const Scalar& x, const Scalar& y, const Scalar& z,
                      const Scalar& a) {
  bool first = which == 0;
  Scalar none = zero(a.dtype());
  switch (op) {
    case BinaryOp::kAdd:
      return a;
    case BinaryOp::kSub:
      return first ? a : -a;
    case BinaryOp::kMul:
      return first ? mul(a, y) : mul(a, x);
    case BinaryOp::kDiv:
      return first ? a / y : -(mul(a, z) / y);
    case BinaryOp::kMod:
      return first ? a : -mul(a, unary(UnaryOp::kTrunc, x / y));
    case BinaryOp::kFloorMod:
      return first ? a : -mul(a, floor_div(x, y));
    case BinaryOp::kPow:
      // x⁰ is 1 for every x, 0ʸ is 0 for every y > 0: neither moves, whatever the formula says.
      if (!first) return select(x == 0.0, none, mul(a, z) * log(x));
      if (is_number(y, 1)) return a;
      if (is_number(y, 2)) return a * 2.0 * x;
      return select(y == 0.0, none, mul(a, y) * pow(x, y - 1.0));
    case BinaryOp::kMax:
      return first ? select(x > y, a, none) : select(x > y, none, a);
    case BinaryOp::kMin:
      return first ? select(x < y, a, none) : select(x < y, none, a);
    case BinaryOp::kAtan2: {
      Scalar square = x * x + y * y;
      return first ? mul(a, y) / square : -(mul(a, x) / square);
    }
    default:
      RELAY_UNREACHABLE("no derivative");
  }
}

/// Whether the adjoints of the operands take values of the operands.
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

/// Whether `a` is `b`, or one of the cases of `b`, with further conditions.
bool narrows(const ScalarNode* a, const ScalarNode* b) {
  for (const ScalarNode* outer = a; ; outer = outer->args[0].get()) {
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

Scalar Guards::both(const Scalar& outer, Scalar condition) {
  return outer.node() == nullptr ? condition : outer && condition;
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
          result = has_derivative(node.unary) && arg(0);
          break;
        case ScalarKind::kBinary:
          result = has_derivative(node.binary) && (arg(0) || arg(1));
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
    // The adjoint of what is not evaluated is 0; operands' values must not be asked for there.
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
        add(node.args[0], lazy(unary_adjoint(node.unary, node.args[0], order[i], a)));
        break;
      case ScalarKind::kBinary:
        for (int k = 0; k < 2; ++k) {
          if (!is_wanted(static_cast<size_t>(k))) continue;
          add(node.args[static_cast<size_t>(k)],
              lazy(binary_adjoint(node.binary, k, node.args[0], node.args[1], order[i], a)));
        }
        break;
      case ScalarKind::kCast:
        add(node.args[0], cast(a, node.args[0]->dtype));
        break;
      case ScalarKind::kSelect: {
        Scalar none = zero(a.dtype());
        if (is_wanted(1)) add(node.args[1], select(node.args[0], a, none));
        if (is_wanted(2)) add(node.args[2], select(node.args[0], none, a));
        break;
      }
      case ScalarKind::kFail:
        add(node.args[1], select(node.args[0], a, zero(a.dtype())));
        break;
      default:
        throw NoAdjoint("it folds over what a scan carries");
    }
  }
  return leaves;
}

}  // namespace relay::te
