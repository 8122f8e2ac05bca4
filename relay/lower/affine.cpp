#include <relay/lower/affine.h>

#include <algorithm>
#include <unordered_map>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::BinaryOp;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

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
  std::unordered_map<const ScalarNode*, Affine> sums;
  // Where a node is kept whole its operands are computed in vain; index expressions are small.
  auto whole = [](const ScalarRef& node) {
    Affine sum;
    sum.others.push_back({node, 1});
    return sum;
  };
  auto sum_of = [&](const ScalarRef& ref) -> Affine {
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
        auto arg = [&](size_t i) -> const Affine& { return sums.at(node.args[i].get()); };
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
  // post_order gives borrowed pointers; the operands' references are found at their users.
  std::unordered_map<const ScalarNode*, const ScalarRef*> refs{{index.get(), &index}};
  const ScalarRef roots[] = {index};
  std::vector<const ScalarNode*> order = te::post_order(roots);
  for (const ScalarNode* node : order) {
    for (const ScalarRef& arg : node->args) refs.emplace(arg.get(), &arg);
  }
  for (const ScalarNode* node : order) {
    if (node->dtype == kInt64 || node == index.get()) {
      // Operands of other dtypes are below a node that is kept whole.
      bool known = std::all_of(node->args.begin(), node->args.end(),
                               [&](const ScalarRef& arg) { return sums.contains(arg.get()); });
      const ScalarRef& ref = *refs.at(node);
      sums.emplace(node, known ? sum_of(ref) : whole(ref));
    }
  }
  return sums.at(index.get());
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

}  // namespace relay::lower
