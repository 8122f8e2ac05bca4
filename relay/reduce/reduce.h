// Makes a program that shows a defect as small as possible: delta debugging over typed programs
// (docs/reduce.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include <relay/ir/module.h>

namespace relay::reduce {

/// True if a program still shows the defect. The program is well typed and well formed, with types
/// published. Exceptions end the reduction.
using Predicate = std::function<bool(const Module&)>;

struct Options {
  /// The largest number of calls of the predicate.
  size_t max_tries = 10000;
  /// Seconds after which the search ends with the smallest program so far; 0: no limit.
  double time_limit = 0;
  /// When it becomes true, the search ends with the smallest program so far.
  const std::atomic<bool>* interrupt = nullptr;
};

/// The state of a reduction, reported before each call of the predicate.
struct Progress {
  const char* rewrite = "";  // the current rewrite
  size_t tries = 0;          // calls of the predicate so far
  size_t steps = 0;          // calls that returned true
  size_t nodes = 0;          // of the smallest program so far
};
using ProgressFn = std::function<void(const Progress&)>;

struct Result {
  enum class End { kSmallest, kTries, kTime, kInterrupted };
  Module module;
  size_t tries = 0;
  size_t steps = 0;
  /// Candidates that were refused without a call: ill-typed, not smaller, or tried before.
  size_t refused = 0;
  End end = End::kSmallest;
};

/// The smallest program found for which `is_interesting` holds, starting from one for which it
/// does. Parts are dropped, or replaced by parts of themselves or by simple values, as long as the
/// program stays well typed. The same input gives the same result if the predicate answers the same
/// and no limit ends the search. Throws `Error` if the module is ill typed or not interesting.
Result reduce(const Module& module, const Predicate& is_interesting, const Options& options = {},
              const ProgressFn& progress = {});

/// The number of nodes of all functions.
size_t program_size(const Module& module);
/// The number of lines of its text.
size_t program_lines(const Module& module);

}  // namespace relay::reduce
