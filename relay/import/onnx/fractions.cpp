#include <relay/import/onnx/fractions.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <relay/support/error.h>

namespace relay::onnx {
namespace {

using Fractions = std::vector<Fraction>;

// Small enough that floats of fractions are exact, or round to the side of the next integer that
// the fraction is on; numerators are looked at where extents are in them (`is_exact`).
constexpr int64_t kMostNumerator = 256;
constexpr int64_t kMostDenominator = 4096;
constexpr int64_t kMostExact = 16;
constexpr int kMostPower = 12;

bool is_power_of_two(int64_t value) { return (value & (value - 1)) == 0; }

// True if a float32 holds the numerator of a fraction while extents are below 2^20: then a quotient
// is exact, or rounds to the side of the next integer that it is on. Looked at where extents are
// least and greatest.
bool is_exact(Dim numerator) {
  constexpr int64_t kMost = int64_t{1} << 24, kExtent = int64_t{1} << 20;
  constexpr size_t kMostAtoms = 4;
  std::vector<Dim> atoms;
  for_each_atom(numerator, [&](Dim atom) {
    if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) atoms.push_back(atom);
  });
  if (atoms.size() > kMostAtoms) return false;
  for (size_t corner = 0; corner < size_t{1} << atoms.size(); ++corner) {
    Dim value = substitute(numerator, [&](Dim atom) {
      auto at = std::find(atoms.begin(), atoms.end(), atom) - atoms.begin();
      return (corner >> at & 1) != 0 ? Dim(kExtent) : Dim(1);
    });
    if (!value.is_int() || std::abs(value.as_int()) > kMost) return false;
  }
  return true;
}

bool all_exact(const Fractions& all) {
  return std::all_of(all.begin(), all.end(),
                     [](const Fraction& each) { return is_exact(each.numerator); });
}

// A number as p / 2^k; nothing where p would be large.
std::optional<Fraction> as_fraction(double value) {
  if (!(std::abs(value) < kMostDenominator)) return std::nullopt;
  double numerator = std::ldexp(value, kMostPower);
  if (numerator != std::floor(numerator)) return std::nullopt;
  auto p = static_cast<int64_t>(numerator);
  int64_t denominator = int64_t{1} << kMostPower;
  while (denominator > 1 && p % 2 == 0) {
    p /= 2;
    denominator /= 2;
  }
  return Fraction{p, denominator};
}

// What is known of the elements of an operand.
std::optional<Fractions> fractions_of(const GraphValue& value) {
  if (!value.is_tensor()) return std::nullopt;
  if (value.fractions() != nullptr) return *value.fractions();
  const NDArray& array = value.array();
  bool listed = value.dtype().is_float() && array && array.size() >= 1 &&
                array.size() <= static_cast<int64_t>(kMostFractions);
  if (!listed) return std::nullopt;
  Fractions result;
  for (int64_t k = 0; k < array.size(); ++k) {
    std::optional<Fraction> element = as_fraction(array.element_as_double(k));
    if (!element) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

std::optional<Fraction> times(const Fraction& a, const Fraction& b) {
  // What is not exact may not be multiplied back.
  if (!is_power_of_two(a.denominator) || !is_power_of_two(b.denominator)) return std::nullopt;
  const Fraction& factor = a.numerator.is_int() ? a : b;
  if (!factor.numerator.is_int() || std::abs(factor.numerator.as_int()) > kMostNumerator) {
    return std::nullopt;
  }
  int64_t denominator = a.denominator * b.denominator;
  int64_t most = factor.numerator.is_int(1) ? kMostDenominator : kMostExact;
  if (denominator > most) return std::nullopt;
  return Fraction{a.numerator * b.numerator, denominator};
}

std::optional<Fraction> quotient(const Fraction& a, const Fraction& b) {
  if (!b.numerator.is_int() || b.numerator.as_int() <= 0) return std::nullopt;
  int64_t by = b.numerator.as_int();
  if (is_power_of_two(by)) return times(a, {b.denominator, by});
  if (a.denominator != 1 || b.denominator != 1 || by > kMostDenominator) return std::nullopt;
  return Fraction{a.numerator, by};
}

std::optional<Fraction> sum(const Fraction& a, const Fraction& b, int64_t sign) {
  bool exact = is_power_of_two(a.denominator) && is_power_of_two(b.denominator) &&
               std::max(a.denominator, b.denominator) <= kMostExact;
  if (!exact) return std::nullopt;
  Dim numerator = a.numerator * b.denominator + Dim(sign) * b.numerator * a.denominator;
  return Fraction{numerator, a.denominator * b.denominator};
}

std::optional<Fraction> combined(std::string_view op, const Fraction& a, const Fraction& b) {
  if (op == "Mul") return times(a, b);
  if (op == "Div") return quotient(a, b);
  if (op == "Add") return sum(a, b, 1);
  if (op == "Sub") return sum(a, b, -1);
  return std::nullopt;
}

// The elements of the result of a node with two operands, of which one may be a single number.
std::optional<Fractions> combined(std::string_view op, const GraphValue& left,
                                  const GraphValue& right) {
  bool open = (left.is_tensor() && left.fractions() != nullptr) ||
              (right.is_tensor() && right.fractions() != nullptr);
  if (!open) return std::nullopt;
  std::optional<Fractions> a = fractions_of(left), b = fractions_of(right);
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
  Fractions result;
  for (size_t k = 0; k < std::max(a->size(), b->size()); ++k) {
    std::optional<Fraction> element =
        combined(op, (*a)[a->size() == 1 ? 0 : k], (*b)[b->size() == 1 ? 0 : k]);
    if (!element) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

Fractions rounded(Fractions all, bool up) {
  for (Fraction& each : all) {
    Dim numerator = up ? each.numerator + (each.denominator - 1) : each.numerator;
    each = {floor_div(numerator, Dim(each.denominator)), 1};
  }
  return all;
}

// Integers as they become floats; nothing where the elements are not all known.
std::optional<Fractions> of_integers(const GraphValue& x) {
  bool known = x.elements() && !x.elements()->empty() && x.elements()->size() <= kMostFractions &&
               std::none_of(x.elements()->begin(), x.elements()->end(),
                            [](Dim dim) { return dim.is_any(); });
  if (!known) return std::nullopt;
  Fractions result;
  for (Dim element : *x.elements()) result.push_back({element, 1});
  return result;
}

// A cast leaves off what is behind the point, which is the floor where nothing is negative.
std::optional<Elements> as_integers(const Fractions& all) {
  Elements elements;
  for (const Fraction& each : rounded(all, false)) elements.push_back(each.numerator);
  bool exact = std::all_of(all.begin(), all.end(), [](const Fraction& each) {
    return each.denominator == 1 || each.numerator.is_natural();
  });
  if (!exact) return std::nullopt;
  return elements;
}

bool is_wide(DType dtype) { return dtype == kFloat32 || dtype == kFloat64; }

void keep_cast(const Importer& importer, const Scope& scope, const Node& node, const GraphValue& x,
               GraphValue& result) {
  constexpr int64_t kToFloat = 1, kToDouble = 11;
  const Attribute* to = importer.attribute(scope, node, "to");
  bool exact = to != nullptr && (to->i == kToFloat || to->i == kToDouble);
  if (is_wide(result.dtype()) && exact) {
    std::optional<Fractions> all = x.dtype().is_float() ? fractions_of(x) : of_integers(x);
    bool open = all && std::any_of(all->begin(), all->end(),
                                   [](const Fraction& each) { return !each.numerator.is_int(); });
    if (open && all_exact(*all)) result = result.of_fractions(*all);
    return;
  }
  // What a narrow integer does not hold is another number.
  const bool holds = (result.dtype() == kInt64 || result.dtype() == kInt32) && result.narrow() == 0;
  if (holds && x.fractions() != nullptr && !result.elements()) {
    std::optional<Elements> elements = as_integers(*x.fractions());
    if (elements) result = result.knowing(std::move(*elements));
  }
}

// The parts of a list one behind the other.
std::optional<Fractions> joined(const Scope& scope, const Node& node) {
  Fractions result;
  bool open = false;
  for (std::string_view name : node.inputs) {
    const GraphValue* part = scope.find(name);
    if (part == nullptr || !part->is_tensor() || part->rank() != 1) return std::nullopt;
    std::optional<Fractions> all = fractions_of(*part);
    if (!all || result.size() + all->size() > kMostFractions) return std::nullopt;
    open |= part->fractions() != nullptr;
    result.insert(result.end(), all->begin(), all->end());
  }
  if (!open) return std::nullopt;
  return result;
}

}  // namespace

static void keep_known(const Importer& importer, const Scope& scope, const Node& node,
                       std::vector<GraphValue>& results) {
  if (!node.domain.empty() || results.size() != 1 || !results[0].is_tensor()) return;
  if (node.inputs.empty() || node.inputs[0].empty()) return;
  GraphValue& result = results[0];
  const GraphValue& x = *scope.find(node.inputs[0]);
  if (!x.is_tensor()) return;
  std::string_view op = node.op_type;
  if (op == "Cast") return keep_cast(importer, scope, node, x, result);
  if (!is_wide(result.dtype())) return;
  std::optional<Fractions> all;
  if (node.inputs.size() == 2 && !node.inputs[1].empty()) {
    all = combined(op, x, *scope.find(node.inputs[1]));
  }
  if (op == "Concat") all = joined(scope, node);
  if (x.fractions() != nullptr) {
    bool same = op == "Identity" || op == "Unsqueeze" || op == "Squeeze" || op == "Reshape";
    if (same) all = *x.fractions();
    if (op == "Floor" || op == "Ceil") all = rounded(*x.fractions(), op == "Ceil");
  }
  // Two lists may have been broadcast to a matrix.
  bool fits = all && relay::product(result.dims()).is_int(static_cast<int64_t>(all->size()));
  if (fits && all_exact(*all)) result = result.of_fractions(std::move(*all));
}

void keep_fractions(const Importer& importer, const Scope& scope, const Node& node,
                    std::vector<GraphValue>& results) {
  try {
    keep_known(importer, scope, node, results);
  } catch (const Error&) {
    // Numbers or terms beyond what a Dim holds are not known.
  }
}

}  // namespace relay::onnx
