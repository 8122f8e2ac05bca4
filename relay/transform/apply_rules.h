// Rules as text, as a pass.
#pragma once

#include <functional>

#include <relay/pattern/driver.h>
#include <relay/transform/pass.h>

namespace relay {

/// A pass that applies rules in all functions until none applies.
struct ApplyRulesOptions {
  /// Leaves out inexact rules where floats are concerned.
  bool exact = false;
  /// Is told each application; from several threads at once if functions are worked on in parallel.
  std::function<void(const pattern::Firing&)> trace;
  /// In the same way is told each place where a pattern fits and its rule does not apply.
  std::function<void(const pattern::Refusal&)> refused;
};
PassRef make_rules_pass(const Rules& rules, ApplyRulesOptions options = {});

}  // namespace relay
