#include <relay/ir/dim.h>
#include <relay/ir/dim_error.h>
#include <relay/ir/dim_extents.h>
#include <relay/ir/dim_table.h>

#include <algorithm>
#include <compare>
#include <numeric>

#include <relay/ir/type.h>
#include <relay/support/error.h>

namespace relay {
namespace {

constexpr int64_t kLimit = int64_t{1} << 61;

[[noreturn]] void out_of_range() { throw DimRangeError(); }

int64_t checked(int64_t value) {
  if (value >= kLimit || value <= -kLimit) out_of_range();
  return value;
}
int64_t checked_add(int64_t a, int64_t b) { return checked(a + b); }  // |a|, |b| < 2^61
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) out_of_range();
  return checked(result);
}
int64_t floor_div_int(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t floor_mod_int(int64_t a, int64_t b) { return a - floor_div_int(a, b) * b; }

}  // namespace

void Dim::refuse(int64_t) { throw DimRangeError(); }

namespace {

int rank_of(Dim d) {
  if (d.is_int()) return 0;
  if (d.is_any()) return 1;
  if (d.is_variable()) return 3;
  return d.term().op == DimOp::kSymbol ? 2 : 4 + static_cast<int>(d.term().op);
}

// A total order by structure, so that the order of a normal form does not depend on addresses
// (except for two symbols of one name).
std::strong_ordering compare(Dim a, Dim b) {
  if (a == b) return std::strong_ordering::equal;
  if (auto c = rank_of(a) <=> rank_of(b); c != 0) return c;
  if (a.is_int()) return a.as_int() <=> b.as_int();
  if (a.is_variable()) return a.variable_id() <=> b.variable_id();
  const DimTerm& s = a.term();
  const DimTerm& t = b.term();
  switch (s.op) {
    case DimOp::kSymbol:
      if (s.symbol->name() == t.symbol->name()) return std::compare_three_way()(s.symbol, t.symbol);
      return s.symbol->name().view() <=> t.symbol->name().view();
    case DimOp::kValue:
      if (auto c = s.input <=> t.input; c != 0) return c;
      return s.index <=> t.index;
    case DimOp::kLinear:
      if (auto c = s.parts.size() <=> t.parts.size(); c != 0) return c;
      for (size_t i = 0; i < s.parts.size(); ++i) {
        if (auto c = compare(s.parts[i].atom, t.parts[i].atom); c != 0) return c;
        if (auto c = s.parts[i].coefficient <=> t.parts[i].coefficient; c != 0) return c;
      }
      return s.constant <=> t.constant;
    default:
      if (auto c = compare(s.lhs, t.lhs); c != 0) return c;
      return compare(s.rhs, t.rhs);
  }
}
bool before(Dim a, Dim b) { return compare(a, b) < 0; }

using Part = DimTerm::Part;

// The view of any dimension but `?` as constant + sum of parts.
struct Linear {
  int64_t constant = 0;
  std::vector<Part> parts;

  explicit Linear(Dim d) {
    if (d.is_int()) {
      constant = d.as_int();
    } else if (d.is_term() && d.term().op == DimOp::kLinear) {
      constant = d.term().constant;
      parts = d.term().parts;
    } else {
      parts.push_back({1, d});
    }
  }
  Linear() = default;

  void normalise() {
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return before(a.atom, b.atom); });
    size_t out = 0;
    for (size_t i = 0; i < parts.size();) {
      Part merged = parts[i++];
      while (i < parts.size() && parts[i].atom == merged.atom) {
        merged.coefficient = checked_add(merged.coefficient, parts[i++].coefficient);
      }
      if (merged.coefficient != 0) parts[out++] = merged;
    }
    parts.resize(out);
  }

  Dim dim() && {
    checked(constant);
    if (parts.empty()) return Dim(constant);
    if (constant == 0 && parts.size() == 1 && parts[0].coefficient == 1) return parts[0].atom;
    DimTerm term{};
    term.op = DimOp::kLinear;
    term.constant = constant;
    term.parts = std::move(parts);
    return intern_term(std::move(term));
  }
};

Dim binary(DimOp op, Dim lhs, Dim rhs) {
  DimTerm term{};
  term.op = op;
  term.lhs = lhs;
  term.rhs = rhs;
  return intern_term(std::move(term));
}

// The operands of nested applications of a commutative, associative operation.
void flatten(DimOp op, Dim d, std::vector<Dim>& out) {
  while (d.is_term() && d.term().op == op) {
    out.push_back(d.term().rhs);
    d = d.term().lhs;
  }
  out.push_back(d);
}
Dim chain(DimOp op, std::vector<Dim>& operands) {
  std::sort(operands.begin(), operands.end(), before);
  Dim result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = binary(op, result, operands[i]);
  return result;
}

Dim multiply_atoms(Dim a, Dim b) {
  std::vector<Dim> factors;
  flatten(DimOp::kMul, a, factors);
  flatten(DimOp::kMul, b, factors);
  return chain(DimOp::kMul, factors);
}

// a / b where that is exact for every value of the atoms, assuming b positive.
std::optional<Dim> exact_quotient(Dim a, Dim b) {
  if (a == b) return Dim(1);
  Linear n(a);
  Linear d(b);
  if (n.parts.empty()) return n.constant == 0 ? std::optional<Dim>(0) : std::nullopt;
  if (d.parts.empty()) {
    int64_t k = d.constant;
    if (n.constant % k != 0) return std::nullopt;
    n.constant /= k;
    for (Part& part : n.parts) {
      if (part.coefficient % k != 0) return std::nullopt;
      part.coefficient /= k;
    }
    return std::move(n).dim();
  }
  if (d.parts.size() == 1 && d.constant == 0) {  // a monomial divides each monomial
    if (n.constant != 0) return std::nullopt;
    std::vector<Dim> divisor;
    flatten(DimOp::kMul, d.parts[0].atom, divisor);
    Linear q;
    for (const Part& part : n.parts) {
      if (part.coefficient % d.parts[0].coefficient != 0) return std::nullopt;
      int64_t coefficient = part.coefficient / d.parts[0].coefficient;
      std::vector<Dim> factors;
      flatten(DimOp::kMul, part.atom, factors);
      for (Dim f : divisor) {
        auto found = std::find(factors.begin(), factors.end(), f);
        if (found == factors.end()) return std::nullopt;
        factors.erase(found);
      }
      if (factors.empty()) {
        q.constant = checked_add(q.constant, coefficient);
      } else {
        q.parts.push_back({coefficient, chain(DimOp::kMul, factors)});
      }
    }
    q.normalise();
    return std::move(q).dim();
  }
  // An integer multiple of the same sum.
  if (n.parts.size() != d.parts.size() || n.parts[0].coefficient % d.parts[0].coefficient != 0) {
    return std::nullopt;
  }
  int64_t k = n.parts[0].coefficient / d.parts[0].coefficient;
  return Dim(k) * b == a ? std::optional<Dim>(k) : std::nullopt;
}

void check_divisor(Dim b) {
  if (b.is_int() && b.as_int() <= 0) {
    throw Error("a dimension is divided by " + std::to_string(b.as_int()));
  }
}

bool is_op(Dim d, DimOp op) { return d.is_term() && d.term().op == op; }

bool reads_numbers(Dim d) {
  bool found = false;
  for_each_atom(d, [&](Dim atom) { found |= atom.as_symbol() == nullptr || !atom.is_natural(); });
  return found;
}

// Two terms whose extremum a term is: n - min(1, n) is the maximum of n - 1 and n - n. The halves
// of what may cancel come first. Numbers of a run stay in the extremum that bounds them, since sums
// with them may leave 64 bits.
std::optional<std::pair<Dim, Dim>> halves(DimOp op, Dim d) {
  if (is_op(d, op)) return std::pair(d.term().lhs, d.term().rhs);
  if (!is_op(d, DimOp::kLinear) || reads_numbers(d)) return std::nullopt;
  const Part* chosen = nullptr;
  for (const Part& part : d.term().parts) {
    const bool turns = part.coefficient < 0;
    if (!is_op(part.atom, turns == (op == DimOp::kMax) ? DimOp::kMin : DimOp::kMax)) continue;
    if (chosen == nullptr || turns) chosen = &part;
  }
  if (chosen == nullptr) return std::nullopt;
  const DimTerm& inner = chosen->atom.term();
  try {
    const Dim scale(chosen->coefficient), rest = d - scale * chosen->atom;
    return std::pair(rest + scale * inner.lhs, rest + scale * inner.rhs);
  } catch (const DimRangeError&) {
    return std::nullopt;
  }
}

bool is_multiple(Dim d) {
  if (!is_op(d, DimOp::kLinear)) return false;
  const auto& parts = d.term().parts;
  return std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return (is_op(part.atom, DimOp::kMin) || is_op(part.atom, DimOp::kMax)) &&
           part.coefficient != 1 && part.coefficient != -1;
  });
}

// True if a is no less than b whatever the extents are; an extremum is one of its operands. A sum
// of n extrema has 2^n cases, so the comparisons are counted, and those left over say nothing.
bool at_least(Dim a, Dim b, int& comparisons) {
  constexpr uint32_t kMaxSteps = 64;
  auto size = [](Dim d) { return d.is_term() ? d.term().size : 1; };
  if (comparisons-- <= 0) return false;
  if ((a - b).is_natural()) return true;
  if (size(a) * size(b) > kMaxSteps) return false;
  auto holds = [&](Dim x, Dim y) { return at_least(x, y, comparisons); };
  if (auto all = halves(DimOp::kMax, b)) return holds(a, all->first) && holds(a, all->second);
  if (auto all = halves(DimOp::kMin, a)) return holds(all->first, b) && holds(all->second, b);
  if (auto any = halves(DimOp::kMax, a)) {
    if (holds(any->first, b) || holds(any->second, b)) return true;
  }
  auto any = halves(DimOp::kMin, b);
  return any && (holds(a, any->first) || holds(a, any->second));
}
bool at_least(Dim a, Dim b) {
  int comparisons = 256;
  return at_least(a, b, comparisons);
}

// The operands whose extremum a term is. False if there are too many of them. A multiple of an
// extremum stays: 64 * n may leave 64 bits where 64 * min(2, n) does not.
bool operands_of(DimOp op, Dim d, std::vector<Dim>& out) {
  constexpr size_t kMost = 8;
  const auto both = is_multiple(d) ? std::nullopt : halves(op, d);
  if (both) return operands_of(op, both->first, out) && operands_of(op, both->second, out);
  out.push_back(d);
  return out.size() <= kMost;
}

Dim extremum(DimOp op, Dim a, Dim b) {
  if (a.is_any() || b.is_any()) return Dim::any();
  std::vector<Dim> all;
  if (!operands_of(op, a, all) || !operands_of(op, b, all)) {
    all.clear();
    flatten(op, a, all);
    flatten(op, b, all);
  }
  std::vector<Dim> kept;
  for (Dim d : all) {
    bool drop = false;
    for (size_t i = 0; i < kept.size() && !drop;) {
      const bool above = at_least(d, kept[i]), below = at_least(kept[i], d);
      const bool same = above && below;
      if (same ? !before(d, kept[i]) : (op == DimOp::kMin ? above : below)) {
        drop = true;
      } else if (above || below) {
        kept.erase(kept.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    if (!drop) kept.push_back(d);
  }
  return chain(op, kept);
}

// What two extents come to, if it is one of them wherever they broadcast. A slice [0:n] of a table
// of 512 rows has min(n, 512): beside n that is n, or 512 and neither n nor 1. max(n, 1) beside n
// is n, since 1 meets 0; max(n, 2) is that itself, since n is less only as 1.
std::optional<Dim> joined(Dim a, Dim b) {
  std::vector<Dim> least, most;
  auto others_reach = [](const std::vector<Dim>& all, Dim but, int64_t bound) {
    return std::all_of(all.begin(), all.end(),
                       [&](Dim d) { return d == but || at_least(d, Dim(bound)); });
  };
  auto among = [&](const std::vector<Dim>& all) {
    return all.size() > 1 && std::find(all.begin(), all.end(), a) != all.end();
  };
  if (operands_of(DimOp::kMin, b, least) && among(least) && others_reach(least, a, 1)) return a;
  if (!operands_of(DimOp::kMax, b, most) || !among(most)) return std::nullopt;
  if (most.size() == 2 && std::find(most.begin(), most.end(), Dim(1)) != most.end()) return a;
  if (others_reach(most, a, 2)) return b;
  return std::nullopt;
}

// Drops extents that others of the list stand for.
void join_extents(std::vector<Dim>& all) {
  constexpr size_t kMost = 8;
  if (all.size() > kMost) return;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j) continue;
      std::optional<Dim> both = joined(all[i], all[j]);
      if (!both) continue;
      all.erase(all.begin() + static_cast<ptrdiff_t>(*both == all[i] ? j : i));
      return join_extents(all);
    }
  }
}

}  // namespace

Dim operator+(Dim a, Dim b) {
  if (a.is_int() && b.is_int()) return Dim(checked_add(a.as_int(), b.as_int()));
  if (a.is_any() || b.is_any()) return Dim::any();
  if (a.is_int(0)) return b;
  if (b.is_int(0)) return a;
  Linear sum(a);
  Linear other(b);
  sum.constant = checked_add(sum.constant, other.constant);
  sum.parts.insert(sum.parts.end(), other.parts.begin(), other.parts.end());
  sum.normalise();
  return std::move(sum).dim();
}

Dim operator-(Dim a, Dim b) {
  if (a.is_any() || b.is_any()) return Dim::any();
  if (a == b) return Dim(0);
  return a + Dim(-1) * b;
}

Dim operator*(Dim a, Dim b) {
  if (a.is_int() && b.is_int()) return Dim(checked_mul(a.as_int(), b.as_int()));
  if (a.is_any() || b.is_any()) return Dim::any();
  if (a.is_int()) std::swap(a, b);
  if (b.is_int(0)) return Dim(0);
  if (b.is_int(1)) return a;
  Linear x(a);
  Linear y(b);
  if (y.parts.empty()) {
    x.constant = checked_mul(x.constant, y.constant);
    for (Part& part : x.parts) part.coefficient = checked_mul(part.coefficient, y.constant);
    return std::move(x).dim();
  }
  // Distributed, so that equal polynomials are one object; large ones stay opaque.
  constexpr size_t kMaxProducts = 64;
  if ((x.parts.size() + 1) * (y.parts.size() + 1) > kMaxProducts) {
    return before(b, a) ? binary(DimOp::kMul, b, a) : binary(DimOp::kMul, a, b);
  }
  Linear out;
  out.constant = checked_mul(x.constant, y.constant);
  for (const Part& p : x.parts) {
    if (y.constant != 0) out.parts.push_back({checked_mul(p.coefficient, y.constant), p.atom});
    for (const Part& q : y.parts) {
      out.parts.push_back(
          {checked_mul(p.coefficient, q.coefficient), multiply_atoms(p.atom, q.atom)});
    }
  }
  if (x.constant != 0) {
    for (const Part& q : y.parts) {
      out.parts.push_back({checked_mul(q.coefficient, x.constant), q.atom});
    }
  }
  out.normalise();
  return std::move(out).dim();
}

Dim floor_div(Dim a, Dim b) {
  check_divisor(b);
  if (a.is_int() && b.is_int()) return Dim(floor_div_int(a.as_int(), b.as_int()));
  if (a.is_any() || b.is_any()) return Dim::any();
  if (b.is_int(1)) return a;
  if (auto q = exact_quotient(a, b)) return *q;
  if (!b.is_int()) return binary(DimOp::kFloorDiv, a, b);
  // floor((k*q + r) / k) = q + floor(r / k), monomial by monomial.
  int64_t k = b.as_int();
  Linear whole;
  Linear rest;
  Linear n(a);
  whole.constant = floor_div_int(n.constant, k);
  rest.constant = floor_mod_int(n.constant, k);
  for (const Part& part : n.parts) {
    if (part.coefficient % k == 0) {
      whole.parts.push_back({part.coefficient / k, part.atom});
    } else {
      rest.parts.push_back(part);
    }
  }
  Dim quotient = std::move(whole).dim();
  if (rest.parts.empty()) return quotient;
  // A factor common to the divisor and all coefficients cancels; the constant rounds down.
  int64_t g = k;
  for (const Part& part : rest.parts) g = std::gcd(g, part.coefficient);
  if (g > 1) {
    for (Part& part : rest.parts) part.coefficient /= g;
    rest.constant = floor_div_int(rest.constant, g);
    k /= g;
  }
  Dim remainder = std::move(rest).dim();
  if (remainder.is_term() && remainder.term().op == DimOp::kFloorDiv &&
      remainder.term().rhs.is_int()) {
    Dim inner = remainder.term().lhs;
    Dim divisor = remainder.term().rhs * Dim(k);
    return quotient + floor_div(inner, divisor);
  }
  return quotient + binary(DimOp::kFloorDiv, remainder, Dim(k));
}

namespace {

// A sum without the remainders in it that make no difference to its own remainder: that of
// n + floormod(3 * n, 4) by 4 is that of 4 * n. Nothing if there are none. Numbers of a run stay
// within theirs: multiples of them may leave 64 bits.
std::optional<Dim> without_remainders(Dim a, int64_t divisor) {
  constexpr int64_t kMost = 1 << 20;
  if (divisor > kMost) return std::nullopt;
  bool found = false;
  Dim sum = Linear(a).constant;
  for (const Part& part : Linear(a).parts) {
    Dim atom = part.atom;
    if (is_op(atom, DimOp::kFloorMod) && atom.term().rhs.is_int() &&
        atom.term().rhs.as_int() % divisor == 0 && !reads_numbers(atom.term().lhs)) {
      found = true;
      atom = atom.term().lhs;
    }
    sum = sum + Dim(part.coefficient) * atom;
  }
  return found ? std::optional<Dim>(sum) : std::nullopt;
}

}  // namespace

Dim floor_mod(Dim a, Dim b) {
  check_divisor(b);
  if (a.is_int() && b.is_int()) return Dim(floor_mod_int(a.as_int(), b.as_int()));
  if (a.is_any() || b.is_any()) return Dim::any();
  if (exact_quotient(a, b)) return Dim(0);
  if (!b.is_int()) return binary(DimOp::kFloorMod, a, b);
  int64_t k = b.as_int();
  Linear n(a);
  Linear rest;
  rest.constant = floor_mod_int(n.constant, k);
  for (const Part& part : n.parts) {
    int64_t coefficient = floor_mod_int(part.coefficient, k);
    if (coefficient != 0) rest.parts.push_back({coefficient, part.atom});
  }
  Dim reduced = std::move(rest).dim();
  if (reduced.is_int()) return reduced;
  if (reduced.is_term() && reduced.term().op == DimOp::kFloorMod && reduced.term().rhs.is_int()) {
    int64_t inner = reduced.term().rhs.as_int();
    if (inner <= k) return reduced;
    if (inner % k == 0) return floor_mod(reduced.term().lhs, b);
  }
  try {
    if (auto sum = without_remainders(reduced, k)) return floor_mod(*sum, b);
  } catch (const DimRangeError&) {  // it stays as it is
  }
  return binary(DimOp::kFloorMod, reduced, b);
}

Dim ceil_div(Dim a, Dim b) {
  check_divisor(b);
  if (a.is_any() || b.is_any()) return Dim::any();
  if (auto q = exact_quotient(a, b)) return *q;
  if (b.is_int()) return floor_div(a + Dim(b.as_int() - 1), b);
  return binary(DimOp::kCeilDiv, a, b);
}

Dim min(Dim a, Dim b) { return extremum(DimOp::kMin, a, b); }
Dim max(Dim a, Dim b) { return extremum(DimOp::kMax, a, b); }

std::optional<Dim> broadcast(Dim a, Dim b) {
  if (a == b) return a;
  if (a.is_int(1)) return b;
  if (b.is_int(1)) return a;
  if (a.is_int() && b.is_int()) return std::nullopt;
  if (a.is_int()) return a;  // the other is 1 or the same, checked at run time
  if (b.is_int()) return b;
  if (a.is_any() || b.is_any()) return Dim::any();
  std::vector<Dim> all;
  flatten(DimOp::kBroadcast, a, all);
  flatten(DimOp::kBroadcast, b, all);
  std::sort(all.begin(), all.end(), before);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  join_extents(all);
  return chain(DimOp::kBroadcast, all);
}

std::vector<Dim> joined_extents(Dim dim) {
  std::vector<Dim> all;
  flatten(DimOp::kBroadcast, dim, all);
  return all;
}

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (Dim d : dims) result = result * d;
  return result;
}

Truth dims_equal(Dim a, Dim b) {
  if (a.is_any() || b.is_any()) return Truth::kUnknown;
  if (a == b) return Truth::kYes;
  if (a.is_int() && b.is_int()) return Truth::kNo;
  try {
    Linear difference(a - b);
    if (difference.parts.empty()) return difference.constant == 0 ? Truth::kYes : Truth::kNo;
    int64_t g = 0;
    for (const Part& part : difference.parts) g = std::gcd(g, part.coefficient);
    return difference.constant % g != 0 ? Truth::kNo : Truth::kUnknown;
  } catch (const Error&) {  // out of range: cannot tell
    return Truth::kUnknown;
  }
}

}  // namespace relay