// Rewriting by callbacks, and cutting matches out as functions: what TVM's rewrite and partition
// do.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include <relay/pattern/matcher.h>

namespace relay::pattern {

/// A rewrite of the matches of a pattern.
struct Callback {
  DFPatternRef pattern;
  /// The expression is typed before each round.
  bool require_type = false;
  /// No further rounds after the first that changed something.
  bool rewrite_once = false;
  /// The expression that stands in the place of a match: `before` is its root as it was, `after`
  /// the same with what is below it rewritten; `result` has rewritten nodes. `after` itself for no
  /// change.
  std::function<ExprRef(const ExprRef& before, const ExprRef& after, const MatchResult& result)>
      apply;
};

/// Applies all callbacks in order, round after round, until the expression stays as it is. Throws
/// `Error`, which names the last pattern and place, if it still changes after `kMostRounds`
/// applications.
constexpr int kMostRounds = 100;
ExprRef rewrite(std::span<const Callback> callbacks, const ExprRef& expr,
                const Module* module = nullptr);

/// Makes a call of a function of each match. Functions have the attribute `PartitionedFromPattern`,
/// which names the operators inside, and `attrs`. `check`, if given, may refuse a match by its
/// root. Constants that fit a pattern of a constant go into the function, others are arguments.
ExprRef partition(const DFPatternRef& pattern, const ExprRef& expr,
                  std::map<Name, AttrValue> attrs = {},
                  const std::function<bool(const ExprRef& root)>& check = {},
                  const Module* module = nullptr);

}  // namespace relay::pattern
