// Rules to text, and equality of rules.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/pattern/rule.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>

namespace relay {

namespace {

std::string template_text(const RuleTemplate& written) {
  std::string text;
  auto add = [&](const std::string& piece) { text += (text.empty() ? "" : ", ") + piece; };
  for (const RuleTemplate& child : written.children) add(template_text(child));
  switch (written.kind) {
    case RuleTemplate::Kind::kPart:
      return "%" + written.part.str();
    case RuleTemplate::Kind::kNumber:
      return pattern_number_text(written.number);
    case RuleTemplate::Kind::kTuple:
      return "(" + text + (written.children.size() == 1 ? ",)" : ")");
    case RuleTemplate::Kind::kProjection:
      return text + "." + std::to_string(written.index);
    case RuleTemplate::Kind::kCall:
      break;
  }
  for (const auto& attribute : written.attributes) {
    add(attribute.name.str() + "=" +
        (attribute.part.empty() ? pattern_value_text(attribute.value)
                                : "%" + attribute.part.str() + "." + attribute.of_part.str()));
  }
  if (!written.spread.empty()) add("..%" + written.spread.str());
  return written.op->name().str() + "(" + text + ")";
}

std::string value_text(const RuleValue& value) {
  std::string part = "%" + value.part.str();
  switch (value.kind) {
    case RuleValue::Kind::kLiteral:
      return pattern_value_text(value.literal);
    case RuleValue::Kind::kDType:
      return "dtype(" + part + ")";
    case RuleValue::Kind::kRank:
      return "rank(" + part + ")";
    case RuleValue::Kind::kShape:
      return "shape(" + part + ")";
    case RuleValue::Kind::kExtent:
      return "shape(" + part + ")[" + std::to_string(value.axis) + "]";
    case RuleValue::Kind::kSize:
      return "size(" + part + ")";
    case RuleValue::Kind::kAttribute:
      return part + "." + value.attribute.str();
  }
  RELAY_UNREACHABLE("unknown value");
}

}  // namespace

bool operator==(const RuleTemplate& a, const RuleTemplate& b) {
  auto same = [](const RuleTemplate::Attribute& x, const RuleTemplate::Attribute& y) {
    return x.name == y.name && x.value == y.value && x.part == y.part && x.of_part == y.of_part;
  };
  return a.kind == b.kind && a.part == b.part &&
         pattern_number_text(a.number) == pattern_number_text(b.number) && a.op == b.op &&
         a.index == b.index && a.spread == b.spread && a.children == b.children &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                    b.attributes.end(), same);
}

bool operator==(const RuleValue& a, const RuleValue& b) {
  return a.kind == b.kind && a.literal == b.literal && a.part == b.part &&
         a.attribute == b.attribute && a.axis == b.axis;
}

bool operator==(const RuleCondition& a, const RuleCondition& b) {
  return a.test == b.test && a.negated == b.negated && a.part == b.part && a.values == b.values;
}

bool rules_equal(const Rule& a, const Rule& b) {
  return a.name == b.name && a.inexact == b.inexact && a.to == b.to && a.where == b.where &&
         patterns_equal(a.from.get(), b.from.get());
}

std::string condition_text(const RuleCondition& condition) {
  using Test = RuleCondition::Test;
  std::string text = condition.negated ? "not " : "";
  auto of_part = [&](const char* name) { return text + name + "(%" + condition.part.str() + ")"; };
  auto compare = [&](const char* sign) {
    return text + value_text(condition.values[0]) + sign + value_text(condition.values[1]);
  };
  switch (condition.test) {
    case Test::kConstant:
      return of_part("constant");
    case Test::kScalar:
      return of_part("scalar");
    case Test::kStatic:
      return of_part("static");
    case Test::kOnce:
      return of_part("once");
    case Test::kFloat:
      return of_part("float");
    case Test::kInteger:
      return of_part("integer");
    case Test::kBool:
      return of_part("bool");
    case Test::kEqual:
      return compare(" == ");
    case Test::kNotEqual:
      return compare(" != ");
    case Test::kLess:
      return compare(" < ");
    case Test::kLessEqual:
      return compare(" <= ");
    case Test::kGreater:
      return compare(" > ");
    case Test::kGreaterEqual:
      return compare(" >= ");
    case Test::kIn:
      break;
  }
  std::string set;
  for (size_t i = 1; i < condition.values.size(); ++i)
    set += (set.empty() ? "" : ", ") + value_text(condition.values[i]);
  return text + value_text(condition.values[0]) + " in (" + set + ")";
}

std::string rule_text(const Rule& rule) {
  std::string text = rule.inexact ? "inexact rule " : "rule ";
  if (is_word(rule.name.view())) {
    text += rule.name.str();
  } else {
    append_quoted(text, rule.name.view());
  }
  text += ": " + pattern_text(rule.from.get()) + " => " + template_text(rule.to);
  for (size_t i = 0; i < rule.where.size(); ++i)
    text += (i == 0 ? " where " : ", ") + condition_text(rule.where[i]);
  return text + ";";
}

std::string rules_text(std::span<const Rule> rules) {
  std::string text;
  for (const Rule& rule : rules) text += rule_text(rule) + "\n";
  return text;
}

}  // namespace relay
