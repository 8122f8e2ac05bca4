// Checks that each pass keeps what a program computes.
#pragma once

#include <functional>
#include <string>

#include <relay/reduce/predicates.h>
#include <relay/transform/pass_context.h>

namespace relay::reduce {

/// How `verify_runs` compares a program before and after a pass.
struct RunChecks {
  Comparison comparison = {};
  Limits limits = {};  // of each comparison, which runs the program twice
  /// Receives the reason why a pass was not compared: the program fails by itself, or no values are
  /// known for its parameters. Each reason comes once.
  std::function<void(const std::string&)> skipped = {};
};

/// After each pass that changes something, runs the old and the new program in the reference
/// evaluator, in a child process, on `arguments`. Throws InternalError, which names the pass, if
/// the results differ, if only the new program fails, or if it crashes or does not end.
PassInstrument verify_runs(Arguments arguments, RunChecks checks = {});

}  // namespace relay::reduce
