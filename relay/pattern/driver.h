// The driver of rewriting by rules.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <relay/ir/effects.h>
#include <relay/pattern/automaton.h>
#include <relay/pattern/matcher.h>
#include <relay/pattern/rule.h>
#include <relay/support/diagnostic.h>

namespace relay::pattern {

/// A place where a rule's pattern fits.
struct Place {
  ExprRef root;
  const Matcher& matcher;
  /// How many operand places refer to a node.
  const std::function<uint32_t(const Expr*)>& uses;
  /// The node that fits the part of a name; null if nothing does.
  const Expr* part(const Name& name) const;
};

/// A rule that is ready: a pattern, and a function that says what stands in the place of what fits
/// it, null where the rule does not apply. New nodes need no types.
struct ReadyRule {
  Name name;
  DFPatternRef from;
  std::function<ExprRef(const Place& place)> apply;
  bool inexact = false;
  Span span;
  /// Says why `apply` gives null at a place where the pattern fits; null if nobody asks for it.
  std::function<std::string(const Place& place)> why_not = {};
};
ReadyRule ready(const Rule& rule);

/// Rules in the order to try them, their patterns compiled to one automaton. Can be used by several
/// threads at once.
class RuleSet {
 public:
  explicit RuleSet(std::vector<ReadyRule> rules);
  /// From text.
  explicit RuleSet(const Rules& rules);
  const std::vector<ReadyRule>& rules() const { return rules_; }
  const CompiledPattern& pattern(size_t i) const { return patterns_[i]; }
  const Automaton& automaton() const { return automaton_; }
  /// Operators without which rule i fits nothing.
  std::span<const Operator* const> needs(size_t i) const { return needs_[i]; }

 private:
  std::vector<ReadyRule> rules_;
  std::shared_ptr<const Source> source_;
  std::vector<CompiledPattern> patterns_;
  std::vector<std::vector<const Operator*>> needs_;
  Automaton automaton_;
};

/// One application of a rule.
struct Firing {
  const ReadyRule& rule;
  const ExprRef& before;
  const ExprRef& after;
};

/// A place where the pattern of a rule fits, and the rule does not apply.
struct Refusal {
  const ReadyRule& rule;
  const ExprRef& before;
  std::string why;
};

struct DriverOptions {
  /// Leaves out inexact rules where floats are concerned.
  bool exact = false;
  /// Computes calls of constants that a rule writes, and refuses what is written where that makes
  /// them larger.
  bool fold = false;
  /// The program says where things are: what is written is where a tensor is that it is made of.
  bool devices = false;
  /// For rules of others: those that never end are an error that names them. Else the driver stops.
  bool refuse_endless = true;
  /// At most so many applications, for each node of the function.
  size_t most_firings = 64;
  /// The known effects of the program: no rule replaces what has one. Nothing has any if null.
  std::function<const Effects&()> effects;
  std::function<void(const Firing&)> trace;
  /// Told where a pattern fits and its rule does not apply, maybe more than once of a place.
  std::function<void(const Refusal&)> refused;
  /// Asked before each application; false stops the driver.
  std::function<bool()> go_on;
};

/// While it lives, is told each application of a rule on this thread, by whatever pass: for those
/// who watch a whole compilation. Inner ones hide outer ones.
class FiringWatch {
 public:
  explicit FiringWatch(std::function<void(const Firing&)> told);
  ~FiringWatch();
  FiringWatch(const FiringWatch&) = delete;
  FiringWatch& operator=(const FiringWatch&) = delete;
  /// Tells the innermost watch of this thread, if there is one.
  static void tell(const Firing& firing);

 private:
  std::function<void(const Firing&)> told_;
  FiringWatch* outer_;
};

/// Applies rules in a typed function until none applies. What a rule writes has the type of what it
/// replaces, its place, and stands wherever that stood. A rule that writes several calls applies
/// only where all calls go that its pattern fits, so that nothing is computed twice; functions with
/// the attribute `Primitive` are left alone. The same function if nothing changes.
///
/// Each node is looked at once, after its operands, and again when something below it has changed
/// or a node of a match has lost a user. Throws `Error` for rules that never end.
FunctionRef apply_rules(const FunctionRef& function, const RuleSet& rules,
                        const DriverOptions& options);

}  // namespace relay::pattern
