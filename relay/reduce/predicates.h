// What `relay reduce` looks for in a program: a pass that fails, executors that differ, a command
// that answers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/reduce/isolate.h>
#include <relay/reduce/reduce.h>
#include <relay/runtime/value.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/compile.h>

namespace relay::reduce {

/// Values for the parameters of the program that is run. Parameters change while a program becomes
/// smaller: a value that was given is cut and converted to the parameter's type, a parameter
/// without one gets small numbers that follow from its name.
struct Arguments {
  Name entry;                                    // the function that is run
  std::unordered_map<std::string, Value> given;  // by the names of parameters
  uint64_t seed = 0;
  /// Puts tensors on the devices where the program wants them; may be null.
  std::function<void(std::vector<Value>&, const Module&, Name entry)> place;
};
/// Nothing if there is no such function, or a parameter has a type that no value is known of.
std::optional<std::vector<Value>> arguments_for(const Module& module, const Arguments& arguments);
/// As options of the command, `--arg 'x=[1, 2]'`; empty if they are too long to be read.
std::string arguments_text(const Module& module, const Arguments& arguments);

struct Comparison {
  double tolerance = 1e-3;  // of floats, relative to the largest number of the result
};
/// How two results differ; empty if they do not. Closures are taken as equal.
std::string difference(const Value& found, const Value& wanted, const Comparison& comparison = {});

/// Runs passes one after the other, whatever their level, and looks at what each leaves; then, if
/// `run` and the program can be run, whether the result computes what the program did.
struct PassCheck {
  std::vector<PassRef> passes;
  bool run = true;
  Comparison comparison;
};
Outcome check_passes(const Module& module, const PassCheck& check, const Arguments& arguments);

/// Runs a program and what became of it by the reference evaluator. Both are typed anew, on nodes
/// of their own.
Outcome compare_runs(const Module& before, const Module& after, const Comparison& comparison,
                     const Arguments& arguments);

/// Runs the program by the reference evaluator alone: fine, or refused.
Outcome check_evaluation(const Module& module, const Arguments& arguments);

/// Runs the program by the reference evaluator and by the machine.
struct ExecutorCheck {
  vm::CompileOptions compile;
  Comparison comparison;
};
Outcome check_executors(const Module& module, const ExecutorCheck& check,
                        const Arguments& arguments);

/// Whether a check, in a child process, ends as it did for another program; with `contains`, of the
/// same kind and with a message that contains it. If both crash or do not end, `alone` must be fine
/// (unless it is null): what does so without the part that has the defect is something else.
using Check = std::function<Outcome(const Module&)>;
Predicate fails_like(Check check, Outcome wanted, Limits limits, std::string contains = {},
                     Check alone = {});

/// What is wanted of a command: an exit code, a text in its output, or both. Neither: what it does
/// for the program itself, see `wanted_of`.
struct CommandCheck {
  std::string command;  // with `{}` for the path of a program
  std::string folder;   // where programs are written
  std::optional<int> exit_code;
  std::string contains;
  std::string signal;
  bool hangs = false;
};
CommandResult run_check(const Module& module, const CommandCheck& check, const Limits& limits);
bool answers(const CommandResult& result, const CommandCheck& check);
Predicate command_answers(CommandCheck check, Limits limits);

}  // namespace relay::reduce
