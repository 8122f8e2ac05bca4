#include <relay/pattern/attr_values.h>
#include <relay/pattern/conditions.h>

#include <algorithm>

namespace relay::pattern {

namespace {

const TensorType* tensor_of(const Expr* expr) {
  const Type* type = expr == nullptr ? nullptr : expr->type();
  return type == nullptr ? nullptr : type->as<TensorType>();
}

std::optional<DType> dtype_of(const Expr* expr) {
  const TensorType* tensor = tensor_of(expr);
  if (tensor == nullptr || !tensor->has_dtype()) return std::nullopt;
  return tensor->dtype();
}

AttrValue extent(const Dim& dim) {
  if (dim.is_int()) return AttrValue(dim.as_int());
  return dim.is_any() ? AttrValue() : AttrValue(dim.str());
}

/// Nothing where it is not known, `?` included.
std::optional<AttrValue> evaluate(const RuleValue& value, const Place& place) {
  if (value.kind == RuleValue::Kind::kLiteral) return value.literal;
  const Expr* part = place.part(value.part);
  if (part == nullptr) return std::nullopt;
  if (value.kind == RuleValue::Kind::kAttribute) return attribute_of(part, value.attribute);
  if (value.kind == RuleValue::Kind::kDType) {
    std::optional<DType> dtype = dtype_of(part);
    return dtype ? std::optional<AttrValue>(*dtype) : std::nullopt;
  }
  const TensorType* tensor = tensor_of(part);
  if (tensor == nullptr || !tensor->has_rank()) return std::nullopt;
  std::span<const Dim> dims = tensor->dims();
  auto rank = static_cast<int64_t>(dims.size());
  switch (value.kind) {
    case RuleValue::Kind::kRank:
      return AttrValue(rank);
    case RuleValue::Kind::kExtent: {
      int64_t axis = value.axis < 0 ? value.axis + rank : value.axis;
      if (axis < 0 || axis >= rank || dims[static_cast<size_t>(axis)].is_any()) return std::nullopt;
      return extent(dims[static_cast<size_t>(axis)]);
    }
    case RuleValue::Kind::kSize: {
      Dim size = product(dims);
      return size.is_int() ? std::optional<AttrValue>(size.as_int()) : std::nullopt;
    }
    default:
      break;
  }
  AttrValue::List shape;
  for (const Dim& dim : dims) {
    if (dim.is_any()) return std::nullopt;
    shape.push_back(extent(dim));
  }
  return AttrValue(std::move(shape));
}

bool of_part(RuleCondition::Test test, const Expr* part, const Place& place) {
  using Test = RuleCondition::Test;
  std::optional<DType> dtype = dtype_of(part);
  const TensorType* tensor = tensor_of(part);
  bool ranked = tensor != nullptr && tensor->has_rank();
  switch (test) {
    case Test::kConstant:
      return part->is<Constant>();
    case Test::kScalar:
      return ranked && tensor->dims().empty();
    case Test::kStatic:
      return ranked && std::all_of(tensor->dims().begin(), tensor->dims().end(),
                                   [](const Dim& dim) { return dim.is_int(); });
    case Test::kOnce:
      return place.uses(part) <= 1;
    case Test::kFloat:
      return dtype && dtype->is_float();
    case Test::kInteger:
      return dtype && !dtype->is_float() && !dtype->is_bool();
    case Test::kBool:
      return dtype && dtype->is_bool();
    default:
      return false;
  }
}

/// Nothing where it is not known.
std::optional<bool> compare(const RuleCondition& condition, const Place& place) {
  using Test = RuleCondition::Test;
  std::vector<AttrValue> values;
  for (const RuleValue& value : condition.values) {
    std::optional<AttrValue> found = evaluate(value, place);
    if (!found) return std::nullopt;
    values.push_back(std::move(*found));
  }
  if (condition.test == Test::kIn) {
    return std::any_of(values.begin() + 1, values.end(),
                       [&](const AttrValue& value) { return same_value(values[0], value); });
  }
  if (condition.test == Test::kEqual) return same_value(values[0], values[1]);
  if (condition.test == Test::kNotEqual) return !same_value(values[0], values[1]);
  std::optional<double> x = number_of(values[0]), y = number_of(values[1]);
  if (!x || !y) return std::nullopt;
  switch (condition.test) {
    case Test::kLess:
      return *x < *y;
    case Test::kLessEqual:
      return *x <= *y;
    case Test::kGreater:
      return *x > *y;
    default:
      return *x >= *y;
  }
}

}  // namespace

bool holds(const RuleCondition& condition, const Place& place) {
  if (!condition.values.empty()) {
    std::optional<bool> known = compare(condition, place);
    return known && *known != condition.negated;
  }
  const Expr* part = place.part(condition.part);
  return part != nullptr && of_part(condition.test, part, place) != condition.negated;
}

bool numbers_broadcast(const Place& place) {
  const Type* whole = place.root->type();
  if (whole == nullptr || !whole->has_any_dim()) return true;
  for (const Binding& binding : place.matcher.bindings()) {
    if (binding.pattern->kind() != DFPatternKind::kNumber) continue;
    const TensorType* tensor = tensor_of(binding.expr);
    if (tensor == nullptr || !tensor->has_rank()) return false;
    for (const Dim& dim : tensor->dims()) {
      if (!dim.is_int(1)) return false;
    }
  }
  return true;
}

}  // namespace relay::pattern
