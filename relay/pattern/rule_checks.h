// Mistakes in rules because of which they could never apply.
#pragma once

#include <relay/pattern/rule.h>

namespace relay::pattern {

/// The sort of a value in a condition, as far as the rule says it.
enum class ValueKind : uint8_t { kUnknown, kNumber, kText, kDType, kList };
ValueKind value_kind(const RuleValue& value, const DFPattern* part);

/// Each throws `Error` at `span` where the rule could never apply.
///
/// A field of what fits a pattern, or of an operator's result.
void check_projection(const DFPattern& tuple, uint32_t index, Span span);
void check_result(const Operator& op, uint32_t index, Span span);
/// An attribute of what fits the part `name`; any attribute at all.
void check_attribute(const DFPattern& part, const Name& name, const Name& attribute, Span span);
void check_has_attributes(const DFPattern& part, const Name& name, Span span);
/// An axis of a tensor that fits the part.
void check_axis(const DFPattern& part, const Name& name, int64_t axis, Span span);
/// Two values that a condition compares.
void check_comparison(const RuleCondition& condition, ValueKind left, ValueKind right, Span span);

/// True for a name of a constructor: it begins with a capital letter and is not the name of an
/// operator but for that.
bool is_constructor_name(const std::string& name);

}  // namespace relay::pattern
