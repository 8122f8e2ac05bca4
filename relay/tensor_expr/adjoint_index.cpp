// Index maps inverted: at which points do indices name a given element?
#include <algorithm>
#include <numeric>

#include <relay/tensor_expr/adjoint_parts.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

/// axis = inner.extent · outer + inner.
struct Split {
  Axis axis, outer, inner;
};

/// select(n = 1, 0, a), how a tensor is read that may be broadcast, is floor_mod(a, n).
ScalarRef as_remainder(const ScalarRef& node, const std::vector<ScalarRef>& args) {
  if (node->kind != ScalarKind::kSelect || node->dtype != kInt64) return {};
  const ScalarNode& condition = *args[0];
  bool asks = condition.kind == ScalarKind::kBinary && condition.binary == BinaryOp::kEq &&
              condition.args[0]->kind == ScalarKind::kFromDim &&
              condition.args[1]->kind == ScalarKind::kConst && condition.args[1]->value.i == 1;
  bool first = args[1]->kind == ScalarKind::kConst && args[1]->value.i == 0;
  if (!asks || !first || args[2]->kind != ScalarKind::kIndex) return {};
  return floor_mod(Scalar(args[2]), from_dim(condition.args[0]->dim)).ref();
}

template <class List>
auto find(const List& axes, uint32_t id) {
  return std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.id == id; });
}

class Solver {
 public:
  Solver(std::span<const Axis> scope, const std::function<Axis(Dim)>& fresh)
      : scope_(scope), fresh_(fresh) {}

  std::optional<Preimage> solve(std::span<const ScalarRef> indices, std::span<const Dim> dims,
                                Indices target) {
    std::vector<ScalarRef> plain = split_axes(indices);
    for (size_t d = 0; d < plain.size(); ++d) {
      Affine sum = affine(plain[d]);
      if (!sum.others.empty()) return std::nullopt;
      equations_.push_back({std::move(sum), target[d], dims[d]});
    }
    while (!equations_.empty()) {
      auto next =
          std::min_element(equations_.begin(), equations_.end(),
                           [&](const Equation& a, const Equation& b) { return rank(a) < rank(b); });
      Equation equation = std::move(*next);
      equations_.erase(next);
      if (!solve(equation)) return std::nullopt;
    }
    for (const Axis& axis : axes_) {
      if (!values_.contains(axis.id)) release(axis);
    }
    return finish();
  }

 private:
  struct Equation {
    Affine sum;
    Scalar target;
    Dim dim;
  };
  struct Unknown {
    Axis axis;
    Dim coefficient;
  };

  // ---- Axes that are used divided --------------------------------------------------------------

  std::vector<ScalarRef> split_axes(std::span<const ScalarRef> indices) {
    ScalarRewriter broadcasts(as_remainder);
    std::vector<ScalarRef> roots = broadcasts(indices);
    for (const ScalarNode* node : post_order(roots)) {
      Dim by = divisor(*node);
      if (by.is_int(0) || node->args[0]->kind != ScalarKind::kIndex) continue;
      auto axis = std::find_if(scope_.begin(), scope_.end(),
                               [&](const Axis& a) { return a.id == node->args[0]->axis; });
      if (axis == scope_.end() || axis->extent == by || find_split(axis->id) != nullptr) continue;
      // An extent of 0 has no points; its quotients must not fail for that.
      Dim part = by.is_int() ? by : max(by, Dim(1));
      splits_.push_back({*axis, fresh_(ceil_div(axis->extent, part)), fresh_(by)});
    }
    for (const Axis& axis : scope_) {
      if (const Split* split = find_split(axis.id)) {
        axes_.push_back(split->outer);
        axes_.push_back(split->inner);
      } else {
        axes_.push_back(axis);
      }
    }
    AxisValues parts;
    for (const Split& split : splits_) parts.emplace(split.axis.id, joined(split, nullptr).ref());
    std::function<Dim(uint32_t)> extent_of = [&](uint32_t id) { return find(axes_, id)->extent; };
    ScalarRewriter simplify(
        [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
          if (node->kind == ScalarKind::kIndex) {
            auto found = parts.find(node->axis);
            return found == parts.end() ? ScalarRef() : found->second;
          }
          return simplify_division(*node, args, extent_of);
        });
    return simplify(roots);
  }

  const Split* find_split(uint32_t axis) const {
    for (const Split& split : splits_) {
      if (split.axis.id == axis) return &split;
    }
    return nullptr;
  }

  static Scalar joined(const Split& split, const AxisValues* values) {
    auto value = [&](const Axis& axis) {
      return values == nullptr ? index_of(axis) : Scalar(values->at(axis.id));
    };
    return value(split.outer) * from_dim(split.inner.extent) + value(split.inner);
  }

  // ---- Equations -------------------------------------------------------------------------------

  std::vector<Unknown> unknowns(const Equation& equation) const {
    std::vector<Unknown> result;
    for (const Axis& axis : axes_) {
      if (values_.contains(axis.id)) continue;
      Dim coefficient = equation.sum.coefficient(axis.id);
      if (!coefficient.is_int(0)) result.push_back({axis, coefficient});
    }
    return result;
  }

  /// Ranks equations: the one that determines most comes first.
  int rank(const Equation& equation) const {
    std::vector<Unknown> left = unknowns(equation);
    if (left.empty()) return 0;
    if (left.size() == 1) return left[0].coefficient.is_int(1) ? 1 : 2;
    return std::min<int>(static_cast<int>(left.size()), 100) + (digits(left) ? 0 : 100);
  }

  /// The sum of the unknowns.
  Scalar rest(const Equation& equation) const {
    Scalar sum = equation.target;
    if (!equation.sum.constant.is_int(0)) sum = sum - from_dim(equation.sum.constant);
    for (const Affine::Term& term : equation.sum.terms) {
      auto value = values_.find(term.axis);
      if (value != values_.end()) sum = sum - times(value->second, term.coefficient);
    }
    return sum;
  }

  static Scalar times(const Scalar& value, Dim factor) {
    return factor.is_int(1) ? value : value * from_dim(factor);
  }

  /// True if the unknowns sum up to the target itself.
  bool is_bare(const Equation& equation) const {
    if (!equation.sum.constant.is_int(0)) return false;
    return std::none_of(equation.sum.terms.begin(), equation.sum.terms.end(),
                        [&](const auto& term) { return values_.contains(term.axis); });
  }

  void set(const Axis& axis, const Scalar& value, bool in_range) {
    values_[axis.id] = value.ref();
    if (in_range) return;
    bool of_scope = find(scope_, axis.id) != scope_.end();
    result_.ranges.push_back(
        {of_scope ? std::optional<uint32_t>(axis.id) : std::nullopt, axis.extent, value});
  }

  void divides(const Scalar& value, int64_t by) {
    if (by != 1) {
      result_.conditions.push_back(floor_mod(value, index_constant(by)) == index_constant(0));
    }
  }

  /// An axis that takes every value. There is nothing to add up over one value.
  void release(const Axis& axis) {
    if (axis.extent.is_int(1)) {
      values_[axis.id] = index_constant(0).ref();
      return;
    }
    Axis free = fresh_(axis.extent);
    result_.free.push_back(free);
    order_.push_back(axis.id);
    values_[axis.id] = index_of(free).ref();
  }

  bool solve(const Equation& given) {
    Equation equation = given;
    std::vector<Unknown> left = unknowns(equation);
    if (left.empty()) {
      if (!(is_bare(equation) && equation.dim.is_int(1))) {
        result_.conditions.push_back(rest(equation) == index_constant(0));
      }
      return true;
    }
    // Axes that count backwards are counted from their ends.
    std::vector<Axis> backwards;
    for (Unknown& unknown : left) {
      if (!unknown.coefficient.is_int() || unknown.coefficient.as_int() > 0) continue;
      equation.sum.constant =
          equation.sum.constant + unknown.coefficient * (unknown.axis.extent - 1);
      unknown.coefficient = unknown.coefficient * Dim(-1);
      backwards.push_back(unknown.axis);
    }
    std::optional<std::vector<Unknown>> places = digits(left);
    bool solved = true;
    if (places) {
      solve_digits(equation, *places);
    } else {
      solved = solve_overlap(equation, left);
    }
    for (const Axis& axis : backwards) {
      if (!solved) break;
      values_[axis.id] = (from_dim(axis.extent - 1) - Scalar(values_.at(axis.id))).ref();
      // A range stays one, mirrored; but a load at the axis has another value than that of the
      // condition.
      for (RangeCondition& range : result_.ranges) {
        if (range.axis == axis.id) range.axis.reset();
      }
    }
    return solved;
  }

  /// The unknowns from the least to the greatest coefficient, if each value of the sum comes about
  /// in one way: like digits.
  static std::optional<std::vector<Unknown>> digits(std::span<const Unknown> unknowns) {
    std::vector<Unknown> left(unknowns.begin(), unknowns.end()), places;
    for (const Unknown& unknown : left) {
      if (unknown.coefficient.is_int() && unknown.coefficient.as_int() < 0) return std::nullopt;
    }
    auto least = [&] {
      return std::min_element(left.begin(), left.end(), [](const Unknown& a, const Unknown& b) {
        auto key = [](const Unknown& u) {
          return u.coefficient.is_int() ? u.coefficient.as_int() : INT64_MAX;
        };
        return key(a) < key(b);
      });
    };
    auto first = least();
    if (!first->coefficient.is_int()) return std::nullopt;
    places.push_back(*first);
    left.erase(first);
    while (!left.empty()) {
      const Unknown& last = places.back();
      Dim carry = last.coefficient * last.axis.extent;
      auto next = std::find_if(left.begin(), left.end(),
                               [&](const Unknown& u) { return u.coefficient == carry; });
      if (next == left.end()) {
        // Or there is room between the places.
        next = least();
        Dim most = 1;
        for (const Unknown& place : places) {
          most = most + place.coefficient * (place.axis.extent - 1);
        }
        bool room = next->coefficient.is_int() && most.is_int() &&
                    next->coefficient.as_int() >= most.as_int();
        if (!room) return std::nullopt;
      }
      places.push_back(*next);
      left.erase(next);
    }
    return places;
  }

  void solve_digits(const Equation& equation, std::span<const Unknown> places) {
    Scalar sum = rest(equation);
    for (size_t j = places.size(); j-- > 0;) {
      const auto& [axis, coefficient] = places[j];
      bool top = j + 1 == places.size();
      Dim carry = coefficient * axis.extent;
      bool inside =
          top ? is_bare(equation) && carry == equation.dim : carry == places[j + 1].coefficient;
      if (top && j == 0) inside |= surely_inside(equation, places[0]);
      if (coefficient.is_int(1)) {
        set(axis, sum, inside);
        sum = index_constant(0);  // for axes of one value
      } else {
        Scalar by = from_dim(coefficient);
        set(axis, floor_div(sum, by), inside);
        if (j == 0) {
          divides(sum, coefficient.as_int());
        } else {
          sum = floor_mod(sum, by);
        }
      }
    }
  }

  /// One unknown, by a constant: whether every element of the target is met.
  bool surely_inside(const Equation& equation, const Unknown& unknown) const {
    if (!unknown.coefficient.is_int(1)) return false;
    for (const Affine::Term& term : equation.sum.terms) {
      if (values_.contains(term.axis)) return false;
    }
    Dim least = equation.sum.constant * Dim(-1);
    Dim room = unknown.axis.extent - equation.dim - least;
    return least.is_int() && least.as_int() >= 0 && room.is_int() && room.as_int() >= 0;
  }

  /// Several points: one unknown follows from the others, which take the values that allow it.
  bool solve_overlap(const Equation& equation, std::span<const Unknown> unknowns) {
    // The one with the most values, so that the others have few.
    auto values = [](const Unknown& u) {
      return u.axis.extent.is_int() ? u.axis.extent.as_int() : INT64_MAX;
    };
    const Unknown* pivot = nullptr;
    for (const Unknown& unknown : unknowns) {
      if (!unknown.coefficient.is_int()) continue;
      if (pivot == nullptr || values(unknown) > values(*pivot)) pivot = &unknown;
    }
    if (pivot == nullptr) return false;
    int64_t step = pivot->coefficient.as_int();
    // For one of the others, only every so many-th value leaves a multiple of the step.
    const Unknown* sieve = nullptr;
    for (const Unknown& unknown : unknowns) {
      if (&unknown == pivot || !unknown.coefficient.is_int() || step == 1) continue;
      auto common = [&](const Unknown& u) { return std::gcd(step, u.coefficient.as_int()); };
      if (sieve == nullptr || common(unknown) < common(*sieve)) sieve = &unknown;
    }
    Scalar sum = rest(equation);
    for (const Unknown& unknown : unknowns) {
      if (&unknown == pivot || &unknown == sieve) continue;
      release(unknown.axis);
      sum = sum - times(Scalar(values_.at(unknown.axis.id)), unknown.coefficient);
    }
    if (sieve == nullptr) {
      if (step != 1) divides(sum, step);
      set(pivot->axis, step == 1 ? sum : floor_div(sum, index_constant(step)), false);
      return true;
    }
    int64_t factor = sieve->coefficient.as_int();
    int64_t common = std::gcd(step, factor);
    int64_t period = step / common;
    divides(sum, common);
    if (period == 1) {
      release(sieve->axis);
      sum = sum - times(Scalar(values_.at(sieve->axis.id)), factor);
      set(pivot->axis, floor_div(sum, index_constant(step)), false);
      return true;
    }
    // factor · s ≡ sum (mod step): s = first + period · j.
    Scalar first = common == 1 ? sum : floor_div(sum, index_constant(common));
    int64_t inverse = inverse_mod(factor / common % period, period);
    if (inverse != 1) first = floor_mod(first, index_constant(period)) * inverse;
    first = floor_mod(first, index_constant(period));
    Axis turns = fresh_(ceil_div(sieve->axis.extent, Dim(period)));
    result_.free.push_back(turns);
    order_.push_back(sieve->axis.id);
    Scalar j = index_of(turns);
    set(sieve->axis, first + j * period, floor_mod(sieve->axis.extent, Dim(period)).is_int(0));
    Scalar start = factor == 1 ? floor_div(sum, index_constant(step))
                               : floor_div(sum - first * factor, index_constant(step));
    set(pivot->axis, start - j * (factor / common), false);
    return true;
  }

  static int64_t inverse_mod(int64_t a, int64_t m) {
    int64_t old_r = a, r = m, old_s = 1, s = 0;
    while (r != 0) {
      int64_t q = old_r / r;
      old_r -= q * r;
      std::swap(old_r, r);
      old_s -= q * s;
      std::swap(old_s, s);
    }
    return (old_s % m + m) % m;
  }

  Preimage finish() {
    // Free axes in the order of the axes that they stand for.
    std::vector<size_t> by_place(result_.free.size());
    std::iota(by_place.begin(), by_place.end(), size_t{0});
    auto place = [&](size_t k) { return find(axes_, order_[k]) - axes_.begin(); };
    std::stable_sort(by_place.begin(), by_place.end(),
                     [&](size_t a, size_t b) { return place(a) < place(b); });
    std::vector<Axis> free;
    for (size_t k : by_place) free.push_back(result_.free[k]);
    result_.free = std::move(free);
    for (const Axis& axis : scope_) {
      const Split* split = find_split(axis.id);
      if (split == nullptr) {
        result_.axes.emplace(axis.id, values_.at(axis.id));
        continue;
      }
      Scalar value = joined(*split, &values_);
      result_.axes.emplace(axis.id, value.ref());
      if (!floor_mod(axis.extent, split->inner.extent).is_int(0)) {
        result_.ranges.push_back({axis.id, axis.extent, value});
      }
    }
    return std::move(result_);
  }

  std::span<const Axis> scope_;
  const std::function<Axis(Dim)>& fresh_;
  std::vector<Split> splits_;
  std::vector<Axis> axes_;  // of the scope, those that are split in two parts
  std::vector<Equation> equations_;
  AxisValues values_;
  Preimage result_;
  std::vector<uint32_t> order_;  // the axis that each free one stands for
};

/// True if an expression has a value everywhere, apart from its loads, and loads of 0 give no
/// infinite one.
bool is_harmless(const ScalarNode& node) {
  switch (node.kind) {
    case ScalarKind::kConst:
    case ScalarKind::kIndex:
    case ScalarKind::kFromDim:
    case ScalarKind::kCast:
    case ScalarKind::kSelect:
    case ScalarKind::kLoad:
      return true;
    case ScalarKind::kUnary:
      return node.unary == UnaryOp::kNeg || node.unary == UnaryOp::kNot;
    case ScalarKind::kBinary:
      switch (node.binary) {
        case BinaryOp::kAdd:
        case BinaryOp::kSub:
        case BinaryOp::kMul:
        case BinaryOp::kMin:
        case BinaryOp::kMax:
          return true;
        default:
          return node.dtype.is_bool();
      }
    default:
      return false;
  }
}

bool is_zero(const ScalarNode& node) {
  return node.kind == ScalarKind::kConst &&
         (node.dtype.is_float() ? node.value.f == 0 : node.value.i == 0);
}

}  // namespace

std::optional<Preimage> preimage(std::span<const ScalarRef> indices, std::span<const Dim> dims,
                                 std::span<const Axis> scope, Indices target,
                                 const std::function<Axis(Dim)>& fresh) {
  return Solver(scope, fresh).solve(indices, dims, target);
}

bool vanishes_outside(const Scalar& value, uint32_t axis, Dim extent,
                      const std::function<const TensorInfo&(TensorId)>& info,
                      std::vector<const ScalarNode*>& filled) {
  ScalarRef root[] = {value.ref()};
  std::vector<const ScalarNode*> order = post_order(root);
  NodeNumbers numbers = number_nodes(order);
  std::vector<FreeSet> free = free_sets(order, numbers);
  // Ignores nodes that are only part of an index.
  std::vector<char> is_value(order.size());
  is_value.back() = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (is_value[i] == 0 || order[i]->kind == ScalarKind::kLoad) continue;
    for (const ScalarRef& arg : order[i]->args) is_value[numbers.at(arg.get())] = 1;
  }
  std::vector<const ScalarNode*> found;
  std::vector<char> vanishes(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const ScalarNode& node = *order[i];
    bool depends = std::binary_search(free[i].begin(), free[i].end(), axis);
    if (is_value[i] == 0) {
      bool loads = node.kind == ScalarKind::kLoad && node.bounds != Bounds::kFill;
      if (depends && (loads || can_fail(node))) return false;
      continue;
    }
    auto arg = [&](size_t k) { return vanishes[numbers.at(node.args[k].get())] != 0; };
    if (depends && !is_harmless(node)) return false;
    switch (node.kind) {
      case ScalarKind::kConst:
        vanishes[i] = is_zero(node);
        break;
      case ScalarKind::kLoad: {
        if (!depends) break;
        const TensorInfo& tensor = info(node.tensor);
        bool exact = false;
        for (size_t d = 0; d < node.args.size(); ++d) {
          exact |= node.args[d]->kind == ScalarKind::kIndex && node.args[d]->axis == axis &&
                   dims_equal(tensor.dims[d], extent) == Truth::kYes;
        }
        bool fills = node.bounds == Bounds::kFill;
        if (!fills && (!exact || node.bounds != Bounds::kProven)) return false;
        if (!fills) found.push_back(&node);
        vanishes[i] = exact && (!fills || is_zero(*node.fill));
        break;
      }
      case ScalarKind::kCast:
        vanishes[i] = arg(0) && node.dtype.is_float();
        break;
      case ScalarKind::kUnary:
        vanishes[i] = node.unary == UnaryOp::kNeg && arg(0);
        break;
      case ScalarKind::kBinary:
        if (node.binary == BinaryOp::kMul) vanishes[i] = arg(0) || arg(1);
        if (node.binary == BinaryOp::kDiv) vanishes[i] = arg(0);
        if (node.binary == BinaryOp::kAdd || node.binary == BinaryOp::kSub) {
          vanishes[i] = arg(0) && arg(1);
        }
        break;
      case ScalarKind::kSelect:
        vanishes[i] = arg(1) && arg(2);
        break;
      default:
        break;
    }
  }
  if (vanishes.back() == 0) return false;
  filled.insert(filled.end(), found.begin(), found.end());
  return true;
}

Scalar fill_outside(const Scalar& value, std::span<const ScalarNode* const> loads) {
  ScalarRewriter rewrite([&](const ScalarRef& node,
                             const std::vector<ScalarRef>& args) -> ScalarRef {
    if (std::find(loads.begin(), loads.end(), node.get()) == loads.end()) return {};
    Ref<ScalarNode> copy = copy_node(*node);
    copy->args = args;
    copy->bounds = Bounds::kFill;
    copy->fill = node->dtype.is_float() ? zero(node->dtype).ref() : constant(0, node->dtype).ref();
    return copy;
  });
  return rewrite(value.ref());
}

}  // namespace relay::te
