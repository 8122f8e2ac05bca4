#include <relay/lower/index_math.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::BinaryOp;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

// Beyond these a constant is a limit, not an index, and does not fit into terms.
constexpr int64_t kFar = int64_t{1} << 48;
// Terms are compared and hashed as trees.
constexpr uint32_t kMaxSize = 512;

struct Part {
  int64_t coefficient;
  Dim atom;
};

/// The monomials of a polynomial and its constant.
int64_t split(Dim a, std::vector<Part>& parts) {
  if (a.is_int()) return a.as_int();
  if (a.is_term() && a.term().op == DimOp::kLinear) {
    for (const DimTerm::Part& part : a.term().parts) parts.push_back({part.coefficient, part.atom});
    return a.term().constant;
  }
  parts.push_back({1, a});
  return 0;
}

void factors_of(Dim monomial, std::vector<Dim>& out) {
  while (monomial.is_term() && monomial.term().op == DimOp::kMul) {
    out.push_back(monomial.term().rhs);
    monomial = monomial.term().lhs;
  }
  out.push_back(monomial);
}

bool is_op(Dim a, DimOp op) { return a.is_term() && a.term().op == op; }
uint32_t size_of(Dim a) { return a.is_term() ? a.term().size : 1; }

/// The extent of `select({extent} == 1, 0, index)`, or null.
const ScalarNode* asks_extent(const ScalarNode& node) {
  if (node.kind != ScalarKind::kSelect || node.dtype != kInt64) return nullptr;
  const ScalarNode& condition = *node.args[0];
  bool asks = condition.kind == ScalarKind::kBinary && condition.binary == BinaryOp::kEq &&
              condition.args[0]->kind == ScalarKind::kFromDim &&
              condition.args[1]->kind == ScalarKind::kConst && condition.args[1]->value.i == 1;
  bool zero = node.args[1]->kind == ScalarKind::kConst && node.args[1]->value.i == 0;
  return asks && zero ? condition.args[0].get() : nullptr;
}

/// a / b if b divides every monomial.
std::optional<Dim> exact(Dim a, Dim b) {
  if (a == b) return Dim(1);
  if (a.is_int(0)) return Dim(0);
  if (b.is_int()) {
    std::vector<Part> parts;
    int64_t constant = split(a, parts);
    if (constant % b.as_int() != 0) return std::nullopt;
    for (const Part& part : parts) {
      if (part.coefficient % b.as_int() != 0) return std::nullopt;
    }
    return floor_div(a, b);
  }
  Dim quotient = floor_div(a, b);
  return quotient * b == a ? std::optional<Dim>(quotient) : std::nullopt;
}

}  // namespace

std::vector<Dim> dense_strides(std::span<const Dim> dims) {
  std::vector<Dim> strides(dims.size(), Dim(1));
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void IndexMath::add_folds(std::span<const ScalarRef> roots) {
  for (const ScalarNode* node : te::post_order(roots)) {
    if (node->kind == ScalarKind::kFold) add_axes(node->axes);
  }
}

Dim IndexMath::opaque(const ScalarRef& node) {
  opaque_.push_back(node);
  return Dim::variable(kOpaque + static_cast<uint32_t>(opaque_.size()) - 1);
}

Dim IndexMath::poly(const ScalarRef& index) {
  // Operands first; only int64 arithmetic is looked into.
  std::vector<std::pair<ScalarRef, bool>> stack{{index, false}};
  auto looked_into = [](const ScalarNode& node) {
    if (node.kind != ScalarKind::kBinary || node.dtype != kInt64) return false;
    switch (node.binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
      case BinaryOp::kMul:
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
        return true;
      default:
        return false;
    }
  };
  while (!stack.empty()) {
    auto [node, ready] = stack.back();
    stack.pop_back();
    if (known_.contains(node.get())) continue;
    bool inside = looked_into(*node);
    if (const ScalarNode* asked = asks_extent(*node)) {
      // A dimension that is read at 0 if its extent is 1: the index, if that is in range anyway.
      if (!ready) {
        stack.emplace_back(node, true);
        stack.emplace_back(node->args[2], false);
        continue;
      }
      Dim at = known_.at(node->args[2].get()).second;
      bool as_it_is = !broadcasts_ || in_range(at, asked->dim);
      known_.emplace(node.get(), std::pair(node, as_it_is ? at : opaque(node)));
      continue;
    }
    if (inside && !ready) {
      stack.emplace_back(node, true);
      for (const ScalarRef& arg : node->args) stack.emplace_back(arg, false);
      continue;
    }
    Dim result;
    if (node->kind == ScalarKind::kConst && -kFar < node->value.i && node->value.i < kFar) {
      result = Dim(node->value.i);
    } else if (node->kind == ScalarKind::kFromDim) {
      result = node->dim;
    } else if (node->kind == ScalarKind::kIndex) {
      result = Dim::variable(node->axis);
    } else if (inside) {
      Dim a = known_.at(node->args[0].get()).second, b = known_.at(node->args[1].get()).second;
      bool division = node->binary == BinaryOp::kFloorDiv || node->binary == BinaryOp::kFloorMod;
      bool too_large = size_of(a) + size_of(b) > kMaxSize ||
                       (node->binary == BinaryOp::kMul && size_of(a) * size_of(b) > kMaxSize);
      // A symbolic divisor must be an extent; an extent of 0 has no elements to index.
      bool bad_divisor =
          division && (b.has_variable() || !b.is_natural() || (b.is_int() && b.as_int() == 0));
      if (too_large || bad_divisor) {
        known_.emplace(node.get(), std::pair(node, opaque(node)));
        continue;
      }
      switch (node->binary) {
        case BinaryOp::kAdd:
          result = a + b;
          break;
        case BinaryOp::kSub:
          result = a - b;
          break;
        case BinaryOp::kMul:
          result = a * b;
          break;
        case BinaryOp::kFloorDiv:
          result = div(a, b);
          break;
        default:
          result = mod(a, b);
      }
    } else {
      result = opaque(node);
    }
    known_.emplace(node.get(), std::pair(node, result));
  }
  return recombine(known_.at(index.get()).second);
}

ScalarRef IndexMath::atom_scalar(Dim atom) {
  if (!atom.has_variable()) return te::from_dim(atom).ref();
  if (atom.is_variable()) {
    uint32_t id = atom.variable_id();
    if (id >= kOpaque) return opaque_[id - kOpaque];
    return te::index_of({id, Dim()}).ref();
  }
  const DimTerm& term = atom.term();
  Scalar a = scalar(term.lhs), b = scalar(term.rhs);
  switch (term.op) {
    case DimOp::kMul:
      return (a * b).ref();
    case DimOp::kFloorDiv:
      return te::floor_div(a, b).ref();
    case DimOp::kFloorMod:
      return te::floor_mod(a, b).ref();
    case DimOp::kCeilDiv:
      return te::floor_div(a + (b - 1), b).ref();
    case DimOp::kMin:
      return te::min(a, b).ref();
    case DimOp::kMax:
      return te::max(a, b).ref();
    default:
      RELAY_UNREACHABLE("an index cannot hold " + atom.str());
  }
}

ScalarRef IndexMath::scalar(Dim poly) {
  if (!poly.has_variable()) return te::from_dim(poly).ref();
  std::vector<Part> parts;
  Dim rest = split(poly, parts);
  // Σ (product of variables) · (sum of terms without variables).
  std::vector<std::pair<Dim, Dim>> sums;
  for (const Part& part : parts) {
    std::vector<Dim> factors;
    factors_of(part.atom, factors);
    Dim variables = 1, coefficient = part.coefficient;
    for (Dim factor : factors) {
      (factor.has_variable() ? variables : coefficient) =
          (factor.has_variable() ? variables : coefficient) * factor;
    }
    if (variables.is_int(1)) {
      rest = rest + coefficient;
      continue;
    }
    auto same = std::find_if(sums.begin(), sums.end(),
                             [&](const auto& sum) { return sum.first == variables; });
    if (same == sums.end()) {
      sums.emplace_back(variables, coefficient);
    } else {
      same->second = same->second + coefficient;
    }
  }
  Scalar total;
  for (const auto& [variables, coefficient] : sums) {
    Scalar term = Scalar(atom_scalar(variables)) * te::from_dim(coefficient);
    total = total.node() == nullptr ? term : total + term;
  }
  if (total.node() == nullptr) return te::from_dim(rest).ref();
  return rest.is_int(0) ? total.ref() : (total + te::from_dim(rest)).ref();
}

Dim IndexMath::div(Dim a, Dim b) {
  if (b.is_int(1)) return a;
  std::vector<Part> parts;
  int64_t constant = split(a, parts);
  Dim quotient = 0, rest = 0;
  for (const Part& part : parts) {
    Dim monomial = Dim(part.coefficient) * part.atom;
    if (auto q = exact(monomial, b)) {
      quotient = quotient + *q;
    } else {
      rest = rest + monomial;
    }
  }
  if (b.is_int()) {
    Dim whole = floor_div(Dim(constant), b);
    quotient = quotient + whole;
    constant -= whole.as_int() * b.as_int();
  }
  rest = rest + Dim(constant);
  if (in_range(rest, b)) return quotient;
  return quotient + floor_div(rest, b);
}

Dim IndexMath::mod(Dim a, Dim b) {
  if (b.is_int(1)) return 0;
  std::vector<Part> parts;
  int64_t constant = split(a, parts);
  Dim rest = b.is_int() ? floor_mod(Dim(constant), b) : Dim(constant);
  for (const Part& part : parts) {
    Dim monomial = Dim(part.coefficient) * part.atom;
    if (!exact(monomial, b)) rest = rest + monomial;
  }
  if (in_range(rest, b)) return rest;
  return floor_mod(rest, b);
}

Dim IndexMath::recombine(Dim a) const {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Part> parts;
    split(a, parts);
    for (const Part& part : parts) {
      std::vector<Dim> factors;
      factors_of(part.atom, factors);
      for (size_t i = 0; i < factors.size() && !changed; ++i) {
        if (!is_op(factors[i], DimOp::kFloorMod)) continue;
        Dim x = factors[i].term().lhs, b = factors[i].term().rhs;
        Dim others = part.coefficient;
        for (size_t j = 0; j < factors.size(); ++j) {
          if (j != i) others = others * factors[j];
        }
        Dim quotient = floor_div(x, b);
        // a holds others·b·quotient exactly if taking it away leaves no monomial of it.
        Dim wanted = others * b * quotient;
        Dim without = a - wanted;
        std::vector<Part> before, after, lost;
        split(a, before);
        split(without, after);
        split(wanted, lost);
        if (after.size() + lost.size() == before.size()) {
          a = without - Dim(part.coefficient) * part.atom + others * x;
          changed = true;
        }
      }
      if (changed) break;
    }
  }
  return a;
}

std::optional<Dim> IndexMath::atom_bound(Dim atom, bool greatest) const {
  if (atom.is_variable()) {
    auto known = extents_.find(atom.variable_id());
    if (known == extents_.end()) return std::nullopt;
    return greatest ? known->second - Dim(1) : Dim(0);
  }
  if (!atom.has_variable()) return atom;
  const DimTerm& term = atom.term();
  switch (term.op) {
    case DimOp::kLinear:
      return bound(atom, greatest);
    case DimOp::kFloorDiv: {
      if (term.rhs.has_variable()) return std::nullopt;
      std::optional<Dim> inner = bound(term.lhs, greatest);
      if (!inner) return std::nullopt;
      if (!greatest && inner->is_natural()) return Dim(0);
      return floor_div(*inner, term.rhs);
    }
    case DimOp::kFloorMod:
      if (term.rhs.has_variable()) return std::nullopt;
      return greatest ? term.rhs - Dim(1) : Dim(0);
    default:
      return std::nullopt;
  }
}

std::optional<Dim> IndexMath::bound(Dim a, bool greatest) const {
  std::vector<Part> parts;
  Dim total = split(a, parts);
  for (const Part& part : parts) {
    std::vector<Dim> factors;
    factors_of(part.atom, factors);
    bool upper = (part.coefficient > 0) == greatest;
    Dim bound_of_product = 1;
    for (Dim factor : factors) {
      std::optional<Dim> low = atom_bound(factor, false);
      if (factors.size() > 1 && (!low || !low->is_natural())) {
        return std::nullopt;
      }
      std::optional<Dim> limit = upper ? atom_bound(factor, true) : low;
      if (!limit) return std::nullopt;
      bound_of_product = bound_of_product * *limit;
    }
    total = total + Dim(part.coefficient) * bound_of_product;
  }
  return total;
}

std::optional<Dim> IndexMath::least(Dim a) const { return bound(a, false); }
std::optional<Dim> IndexMath::greatest(Dim a) const { return bound(a, true); }

bool IndexMath::in_range(Dim a, Dim extent) const {
  // Quotients of what lies in the divisor's multiple, exactly: bounds of a quotient by a symbol do
  // not say so.
  if (is_op(a, DimOp::kFloorDiv) && !a.term().rhs.has_variable() && a.term().rhs.is_natural()) {
    return in_range(a.term().lhs, extent * a.term().rhs);
  }
  std::optional<Dim> low = least(a);
  if (!low || !low->is_natural()) return false;
  std::optional<Dim> high = greatest(a);
  return high && (extent - Dim(1) - *high).is_natural();
}

std::optional<Dim> IndexMath::coefficient(Dim a, uint32_t axis) const {
  std::vector<Part> parts;
  split(a, parts);
  Dim total = 0, variable = Dim::variable(axis);
  for (const Part& part : parts) {
    std::vector<Dim> factors;
    factors_of(part.atom, factors);
    Dim others = part.coefficient;
    bool found = false;
    for (Dim factor : factors) {
      if (factor == variable && !found) {
        found = true;
      } else if (mentions(factor, axis)) {
        return std::nullopt;
      } else {
        others = others * factor;
      }
    }
    if (!found) continue;
    total = total + others;
  }
  return total;
}

Dim IndexMath::without(Dim a, uint32_t axis) const {
  std::optional<Dim> c = coefficient(a, axis);
  RELAY_CHECK(c.has_value(), "an index that is not linear in an axis");
  return a - *c * Dim::variable(axis);
}

bool IndexMath::mentions(Dim a, uint32_t axis) const {
  if (!a.has_variable()) return false;
  bool found = false;
  for_each_atom(a, [&](Dim atom) {
    if (!atom.is_variable()) return;
    uint32_t id = atom.variable_id();
    if (id == axis) found = true;
    if (id >= kOpaque && !found) {
      std::vector<ScalarRef> roots{opaque_[id - kOpaque]};
      for (const ScalarNode* node : te::post_order(roots)) {
        found |= node->kind == ScalarKind::kIndex && node->axis == axis;
      }
    }
  });
  return found;
}

bool IndexMath::is_polynomial(Dim a) const {
  std::vector<Part> parts;
  split(a, parts);
  for (const Part& part : parts) {
    std::vector<Dim> factors;
    factors_of(part.atom, factors);
    for (Dim factor : factors) {
      if (factor.is_variable() ? factor.variable_id() >= kOpaque : factor.has_variable()) {
        return false;
      }
    }
  }
  return true;
}

std::vector<Dim> IndexMath::delinearise(Dim flat, std::span<const Dim> dims) {
  std::vector<Dim> strides = dense_strides(dims);
  std::vector<Dim> index(dims.size());
  for (Dim dim : dims) {
    if (dim.is_int(0)) return index;  // there is no element to be found
  }
  // Whole lines come out even; from there on there is less to divide.
  Dim line = flat;
  for (size_t d = dims.size(); d-- > 0;) {
    if (d + 1 < dims.size()) {
      line = is_polynomial(line) ? div(line, dims[d + 1]) : div(flat, strides[d]);
    }
    index[d] = d == 0 ? line : mod(line, dims[d]);
    if (dims[d].is_int(1)) index[d] = Dim(0);
  }
  return index;
}

Dim IndexMath::linearise(std::span<const Dim> index, std::span<const Dim> dims) {
  Dim flat = 0;
  for (size_t d = 0; d < dims.size(); ++d) flat = flat * dims[d] + index[d];
  return flat;
}

}  // namespace relay::lower
