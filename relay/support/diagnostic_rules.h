// The rules that diagnostics name by their codes, with examples: what `relay explain` prints.
#pragma once

#include <span>
#include <string_view>

namespace relay {

struct DiagnosticRule {
  std::string_view code;   // "T13"
  std::string_view title;  // "Dimension names belong to the caller"
  std::string_view text;
  std::string_view wrong;    // a program that breaks the rule, and no other
  std::string_view right;    // the same, mended
  std::string_view seen_as;  // the code of the error that `wrong` gives; of a warning: M2
  bool when_run = false;     // `wrong` passes `check` and fails when it runs
};

/// All rules, in the order of the reference.
std::span<const DiagnosticRule> diagnostic_rules();
/// Null for a code that does not exist.
const DiagnosticRule* find_rule(std::string_view code);

}  // namespace relay
