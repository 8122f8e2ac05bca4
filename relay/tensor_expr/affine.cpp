#include <relay/tensor_expr/affine.h>

#include <algorithm>
#include <optional>

#include <relay/tensor_expr/walk.h>

namespace relay::te {

Dim Affine::coefficient(uint32_t axis) const {
  for (const Term& term : terms) {
    if (term.axis == axis) return term.coefficient;
  }
  return 0;
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum = a;
  sum.constant = a.constant + b.constant;
  for (const Affine::Term& term : b.terms) {
    auto at = std::lower_bound(sum.terms.begin(), sum.terms.end(), term.axis,
                               [](const auto& x, uint32_t axis) { return x.axis < axis; });
    if (at == sum.terms.end() || at->axis != term.axis) {
      sum.terms.insert(at, term);
      continue;
    }
    at->coefficient = at->coefficient + term.coefficient;
    if (at->coefficient.is_int(0)) sum.terms.erase(at);
  }
  for (const Affine::Other& other : b.others) {
    auto at = std::find_if(sum.others.begin(), sum.others.end(),
                           [&](const auto& x) { return x.value == other.value; });
    if (at == sum.others.end()) {
      sum.others.push_back(other);
      continue;
    }
    at->coefficient = at->coefficient + other.coefficient;
    if (at->coefficient.is_int(0)) sum.others.erase(at);
  }
  return sum;
}

Affine operator*(const Affine& a, Dim factor) {
  Affine product;
  if (factor.is_int(0)) return product;
  product = a;
  product.constant = a.constant * factor;
  for (Affine::Term& term : product.terms) term.coefficient = term.coefficient * factor;
  for (Affine::Other& other : product.others) other.coefficient = other.coefficient * factor;
  return product;
}

Affine affine(const ScalarRef& index) {
  // The operands of a node that is kept whole are computed in vain; index expressions are small.
  auto whole = [](const ScalarRef& node) {
    Affine sum;
    sum.others.push_back({node, 1});
    return sum;
  };
  auto sum_of = [&](const ScalarRef& ref, const auto& arg) -> Affine {
    const ScalarNode& node = *ref;
    switch (node.kind) {
      case ScalarKind::kConst: {
        Affine sum;
        if (node.value.i > (int64_t{1} << 60) || node.value.i < -(int64_t{1} << 60)) break;
        sum.constant = Dim(node.value.i);
        return sum;
      }
      case ScalarKind::kFromDim: {
        Affine sum;
        sum.constant = node.dim;
        return sum;
      }
      case ScalarKind::kIndex: {
        Affine sum;
        sum.terms.push_back({node.axis, 1});
        return sum;
      }
      case ScalarKind::kBinary: {
        if (node.dtype != kInt64) break;
        if (node.binary == BinaryOp::kAdd) return arg(0) + arg(1);
        if (node.binary == BinaryOp::kSub) return arg(0) + arg(1) * Dim(-1);
        if (node.binary == BinaryOp::kMul) {
          if (arg(1).is_constant()) return arg(0) * arg(1).constant;
          if (arg(0).is_constant()) return arg(1) * arg(0).constant;
        }
        break;
      }
      default:
        break;
    }
    return whole(ref);
  };
  if (index->args.empty()) return sum_of(index, [](size_t) { return Affine(); });
  // post_order gives borrowed pointers; the operands' references are found at their users.
  std::vector<const ScalarNode*> order = post_order(std::span(&index, 1));
  NodeNumbers numbers = number_nodes(order);
  std::vector<const ScalarRef*> refs(order.size());
  refs.back() = &index;
  for (const ScalarNode* node : order) {
    for (const ScalarRef& arg : node->args) refs[numbers.at(arg.get())] = &arg;
  }
  std::vector<std::optional<Affine>> sums(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const ScalarNode& node = *order[i];
    if (node.dtype != kInt64 && &node != index.get()) continue;
    auto arg = [&](size_t k) -> const std::optional<Affine>& {
      return sums[numbers.at(node.args[k].get())];
    };
    // Operands of other dtypes are below a node that is kept whole.
    bool known = true;
    for (size_t k = 0; k < node.args.size(); ++k) known = known && arg(k).has_value();
    sums[i] = known ? sum_of(*refs[i], [&](size_t k) -> const Affine& { return *arg(k); })
                    : whole(*refs[i]);
  }
  return std::move(*sums.back());
}

Affine affine_offset(std::span<const ScalarRef> indices, std::span<const Dim> dims) {
  Affine offset;
  Dim stride = 1;
  for (size_t d = indices.size(); d-- > 0;) {
    offset = offset + affine(indices[d]) * stride;
    stride = stride * dims[d];
  }
  return offset;
}

bool surely_inside(const Affine& sum, Dim extent, const std::function<Dim(uint32_t)>& extent_of) {
  if (!sum.others.empty()) return false;
  // As terms: the difference to the limits may be an integer though neither is.
  Dim least = sum.constant;
  Dim most = sum.constant;
  for (const Affine::Term& term : sum.terms) {
    if (!term.coefficient.is_int()) return false;
    Dim last = (extent_of(term.axis) - 1) * term.coefficient;
    if (term.coefficient.as_int() > 0) {
      most = most + last;
    } else {
      least = least + last;
    }
  }
  Dim room = extent - 1 - most;
  return least.is_int() && least.as_int() >= 0 && room.is_int() && room.as_int() >= 0;
}

Dim divisor(const ScalarNode& node) {
  if (node.kind != ScalarKind::kBinary || node.dtype != kInt64) return 0;
  if (node.binary != BinaryOp::kFloorDiv && node.binary != BinaryOp::kFloorMod) return 0;
  const ScalarNode& by = *node.args[1];
  if (by.kind == ScalarKind::kConst) return by.value.i > 0 ? Dim(by.value.i) : Dim(0);
  return by.kind == ScalarKind::kFromDim ? by.dim : Dim(0);
}

Scalar to_scalar(const Affine& sum) {
  Scalar result;
  auto add = [&](Scalar term) { result = result.node() == nullptr ? term : result + term; };
  for (const auto& term : sum.terms) {
    add(index_of({term.axis, 0}) * from_dim(term.coefficient));
  }
  for (const auto& other : sum.others) add(Scalar(other.value) * from_dim(other.coefficient));
  if (!sum.constant.is_int(0) || result.node() == nullptr) add(from_dim(sum.constant));
  return result;
}

ScalarRef simplify_division(const ScalarNode& node, const std::vector<ScalarRef>& args,
                            const std::function<Dim(uint32_t)>& extent_of) {
  Dim by = divisor(node);
  if (by.is_int(0)) return {};
  Affine sum = affine(args[0]);
  Affine quotient, rest;
  rest.constant = sum.constant;
  rest.others = sum.others;
  for (const Affine::Term& term : sum.terms) {
    if (floor_mod(term.coefficient, by).is_int(0)) {
      quotient.terms.push_back({term.axis, floor_div(term.coefficient, by)});
    } else {
      rest.terms.push_back(term);
    }
  }
  if (by.is_int() && rest.constant.is_int()) {
    Dim whole = floor_div(rest.constant, by);
    quotient.constant = whole;
    rest.constant = rest.constant - whole * by;
  }
  bool small = surely_inside(rest, by, extent_of);
  if (quotient.terms.empty() && quotient.constant.is_int(0) && !small) return {};
  if (node.binary == BinaryOp::kFloorMod) {
    Scalar value = to_scalar(rest);
    return small ? value.ref() : floor_mod(value, args[1]).ref();
  }
  Scalar value = to_scalar(quotient);
  return small ? value.ref() : (value + floor_div(to_scalar(rest), args[1])).ref();
}

}  // namespace relay::te
