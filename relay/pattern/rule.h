// Rules as text: what fits a pattern becomes something else, where conditions hold.
//
//   rule add_zero: %x + 0 => %x where integer(%x);
//   inexact rule factors: %x * (%a = const) * (%b = const) => %x * (%a * %b);
//   rule two_softmax: nn.softmax(%s = nn.softmax(%x, axis=1), axis=1) => nn.softmax(%x, ..%s);
//
// Conditions are joined by commas:
//   constant(%x), scalar(%x), static(%x), once(%x)     constant; no axes; all extents known; one
//   user float(%x), integer(%x), bool(%x)                   of the dtype V == V, V != V, V < V, V
//   <= V, V > V, V >= V       where both sides are known V in (V, V) not CONDITION
// and values V are numbers, "texts", [lists], dtypes, True, False, None, dtype(%x), rank(%x),
// shape(%x), shape(%x)[0], size(%x) and attributes: %c.axis.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <relay/pattern/pattern.h>

namespace relay {

/// The expression that a rule writes. Nests as deep as text may.
struct RuleTemplate {
  enum class Kind : uint8_t { kPart, kNumber, kCall, kTuple, kProjection };
  explicit RuleTemplate(Kind what = Kind::kPart) : kind(what) {}
  Kind kind;
  Name part;                     // kPart: what fits the part of this name
  double number = 0;             // kNumber: of the dtype that the rule's result has
  const Operator* op = nullptr;  // kCall
  std::vector<RuleTemplate> children;
  uint32_t index = 0;  // kProjection
  struct Attribute {
    Name name;
    AttrValue value;
    Name part, of_part;  // where `part` is named: the value of its attribute `of_part`
  };
  std::vector<Attribute> attributes;
  Name spread;  // all attributes of the call that fits the part of this name
  friend bool operator==(const RuleTemplate& a, const RuleTemplate& b);
};

/// A value in a condition.
struct RuleValue {
  enum class Kind : uint8_t { kLiteral, kDType, kRank, kShape, kExtent, kSize, kAttribute };
  Kind kind = Kind::kLiteral;
  AttrValue literal;
  Name part;
  Name attribute;
  int64_t axis = 0;  // kExtent; negative ones count from the end
  friend bool operator==(const RuleValue& a, const RuleValue& b);
};

struct RuleCondition {
  enum class Test : uint8_t {
    kConstant,
    kScalar,
    kStatic,
    kOnce,
    kFloat,
    kInteger,
    kBool,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kIn
  };
  Test test = Test::kConstant;
  bool negated = false;
  Name part;                      // of a test of one part
  std::vector<RuleValue> values;  // of a comparison: left, right; of kIn: left, then the set
  friend bool operator==(const RuleCondition& a, const RuleCondition& b);
};

struct Rule {
  Name name;
  DFPatternRef from;
  RuleTemplate to;
  std::vector<RuleCondition> where;
  /// Floats may be rounded otherwise, or a zero lose its sign.
  bool inexact = false;
  Span span;
};

/// Rules in their order. `source` is kept for the places in messages.
struct Rules {
  std::vector<Rule> rules;
  std::shared_ptr<const Source> source;
};

/// Reads rules; throws `Error` with everything that is wrong in them.
Rules parse_rules(std::string name, std::string text);
/// Reads a table of patterns, `pattern NAME: PATTERN where CONDITIONS;`: rules that write nothing.
/// Throws `Error` with everything that is wrong in it.
Rules parse_patterns(std::string name, std::string text);
/// Rules as text, one on a line; parses back to equal ones.
std::string rules_text(std::span<const Rule> rules);
std::string rule_text(const Rule& rule);
std::string condition_text(const RuleCondition& condition);
bool rules_equal(const Rule& a, const Rule& b);

}  // namespace relay
