// Conditions of rules at a place.
#pragma once

#include <relay/pattern/driver.h>

namespace relay::pattern {

/// True if the condition holds. One about what is not known does not hold.
bool holds(const RuleCondition& condition, const Place& place);
/// True if the numbers that fit a pattern say nothing about the shape of the result: they are
/// broadcast along every axis that is not known.
bool numbers_broadcast(const Place& place);

}  // namespace relay::pattern
