// The rules of relay/op/simplify as one set for the driver.
#pragma once

#include <relay/pattern/driver.h>

namespace relay::pattern {

/// Made once. What says more of a call goes first: a shape that is known, then what it is equal to.
const RuleSet& simplify_rules();

}  // namespace relay::pattern
