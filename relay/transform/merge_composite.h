// MergeComposite: what fits a pattern becomes a function that a code generator knows by its name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <relay/pattern/rule.h>
#include <relay/transform/pass.h>

namespace relay {

/// An entry of a table: the function's attribute `Composite`, what its body fits, and what else
/// must hold of the root of a match, which is typed. No check accepts all.
struct CompositePattern {
  std::string name;
  DFPatternRef pattern;
  std::function<bool(const ExprRef& root)> check;
};

/// Patterns are cut out one after the other: an earlier one has what both fit.
PassRef make_merge_composite(std::vector<CompositePattern> table);
/// Entries from text (docs/patterns.md). Throws `Error`.
std::vector<CompositePattern> parse_pattern_table(std::string name, std::string text);

}  // namespace relay
