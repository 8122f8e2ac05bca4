#include <relay/pattern/rule_checks.h>

#include <algorithm>
#include <cctype>

#include <relay/op/op.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

namespace relay::pattern {

namespace {

/// The pattern without what it also asks of its node.
const DFPattern& bare(const DFPattern& pattern) {
  const DFPattern* at = &pattern;
  for (;;) {
    switch (at->kind()) {
      case DFPatternKind::kAttr:
      case DFPatternKind::kType:
      case DFPatternKind::kDType:
      case DFPatternKind::kShape:
        at = at->child(0).get();
        break;
      case DFPatternKind::kDominator:
        at = at->child(2).get();
        break;
      default:
        return *at;
    }
  }
}

/// The operator that every node that fits calls, or null.
const Operator* called(const DFPattern& part) {
  const DFPattern& pattern = bare(part);
  return pattern.kind() == DFPatternKind::kCall ? pattern.child(0)->as_op() : nullptr;
}

/// True if what fits may be a call or function.
bool may_have_attributes(const DFPattern& part) {
  switch (bare(part).kind()) {
    case DFPatternKind::kWildcard:
    case DFPatternKind::kAlt:
    case DFPatternKind::kCall:
    case DFPatternKind::kFunction:
    case DFPatternKind::kExpr:
    case DFPatternKind::kNumber:  // full and the like
      return true;
    default:
      return false;
  }
}

const AttrField* find_field(const Operator& op, const Name& name) {
  const AttrsSchema* schema = op.attrs_schema();
  for (size_t i = 0; schema != nullptr && i < schema->fields.size(); ++i) {
    if (schema->fields[i].name == name) return &schema->fields[i];
  }
  return nullptr;
}

std::string_view kind_text(ValueKind kind) {
  constexpr std::string_view kTexts[] = {"something", "a number", "a text", "a dtype", "a list"};
  return kTexts[static_cast<size_t>(kind)];
}

}  // namespace

void check_result(const Operator& op, uint32_t index, Span span) {
  if (op.outputs().empty()) return;
  const size_t count = op.outputs().size();
  if (count == 1 && op.outputs()[0].spec.is_tensor())
    throw Error(op.name().str() + " gives one tensor, which has no fields", span);
  if (count > 1 && index >= count)
    throw Error(op.name().str() + " gives " + std::to_string(count) + " results", span);
}

void check_projection(const DFPattern& tuple, uint32_t index, Span span) {
  if (const Operator* op = called(tuple)) return check_result(*op, index, span);
  const DFPattern& pattern = bare(tuple);
  if (pattern.kind() == DFPatternKind::kConstant || pattern.kind() == DFPatternKind::kNumber)
    throw Error("a constant has no fields", span);
  if (pattern.kind() == DFPatternKind::kTuple && !pattern.any() &&
      index >= pattern.children().size())
    throw Error("this tuple has " + std::to_string(pattern.children().size()) + " fields", span);
}

void check_has_attributes(const DFPattern& part, const Name& name, Span span) {
  const Operator* op = called(part);
  if (op != nullptr ? op->attrs_schema() != nullptr : may_have_attributes(part)) return;
  throw Error("what %" + name.str() + " fits has no attributes", span);
}

void check_attribute(const DFPattern& part, const Name& name, const Name& attribute, Span span) {
  check_has_attributes(part, name, span);
  const Operator* op = called(part);
  if (op == nullptr || find_field(*op, attribute) != nullptr) return;
  Diagnostic diagnostic =
      Diagnostic::error(op->name().str() + " has no attribute " + attribute.str(), span);
  std::vector<std::string> known;
  for (const AttrField& field : op->attrs_schema()->fields) known.push_back(field.name.str());
  suggest(diagnostic, attribute.str(), known);
  throw Error(std::move(diagnostic));
}

void check_axis(const DFPattern& part, const Name& name, int64_t axis, Span span) {
  int64_t rank = NDArray::kMaxRank;
  if (const Operator* op = called(part); op != nullptr && op->outputs().size() == 1) {
    const ValueSpec& spec = op->outputs()[0].spec;
    if (spec.is_tensor()) rank = std::min<int64_t>(rank, spec.max_rank());
  }
  for (const DFPattern* at = &part; at != &bare(part);
       at = at->child(at->kind() == DFPatternKind::kDominator ? 2 : 0).get()) {
    if (at->kind() == DFPatternKind::kShape)
      rank = std::min(rank, static_cast<int64_t>(at->dims().size()));
  }
  if (axis < rank && axis >= -rank) return;
  throw Error("%" + name.str() + " has at most " + std::to_string(rank) +
                  " axes, so it has no axis " + std::to_string(axis),
              span);
}

ValueKind value_kind(const RuleValue& value, const DFPattern* part) {
  switch (value.kind) {
    case RuleValue::Kind::kDType:
      return ValueKind::kDType;
    case RuleValue::Kind::kRank:
    case RuleValue::Kind::kSize:
      return ValueKind::kNumber;
    case RuleValue::Kind::kShape:
      return ValueKind::kList;
    case RuleValue::Kind::kExtent:
      return ValueKind::kUnknown;  // a number, or the text of a symbol
    case RuleValue::Kind::kAttribute: {
      const Operator* op = part == nullptr ? nullptr : called(*part);
      const AttrField* field = op == nullptr ? nullptr : find_field(*op, value.attribute);
      if (field == nullptr) return ValueKind::kUnknown;
      const std::string& type = field->type;
      if (type == "int" || type == "float" || type == "bool") return ValueKind::kNumber;
      if (type == "str") return ValueKind::kText;
      if (type == "dtype") return ValueKind::kDType;
      return type.starts_with("list<") ? ValueKind::kList : ValueKind::kUnknown;
    }
    case RuleValue::Kind::kLiteral:
      break;
  }
  const AttrValue& literal = value.literal;
  if (const auto* text = literal.get<std::string>())
    return DType::parse(*text) ? ValueKind::kUnknown : ValueKind::kText;
  if (literal.get<DType>() != nullptr) return ValueKind::kDType;
  if (literal.get<AttrValue::List>() != nullptr) return ValueKind::kList;
  if (literal.is_none() || literal.get<AttrValue::Dict>() != nullptr) return ValueKind::kUnknown;
  return ValueKind::kNumber;
}

void check_comparison(const RuleCondition& condition, ValueKind left, ValueKind right, Span span) {
  using Test = RuleCondition::Test;
  const bool ordered = condition.test != Test::kEqual && condition.test != Test::kNotEqual &&
                       condition.test != Test::kIn;
  for (ValueKind kind : {left, right}) {
    if (ordered && kind != ValueKind::kNumber && kind != ValueKind::kUnknown)
      throw Error("numbers have an order, " + std::string(kind_text(kind)) + " has none", span);
  }
  if (left == right || left == ValueKind::kUnknown || right == ValueKind::kUnknown) return;
  throw Error("this compares " + std::string(kind_text(left)) + " with " +
                  std::string(kind_text(right)) + ", which are never equal",
              span);
}

bool is_constructor_name(const std::string& name) {
  if (name.empty() || std::isupper(static_cast<unsigned char>(name[0])) == 0) return false;
  auto lower = [](std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
  };
  const std::string wanted = lower(name);
  for (const Operator* op : all_ops()) {
    const std::string_view full = op->name().view();
    if (lower(full) == wanted || lower(full.substr(full.rfind('.') + 1)) == wanted) return false;
  }
  return true;
}

}  // namespace relay::pattern
