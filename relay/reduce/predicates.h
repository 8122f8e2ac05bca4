// The searches of `relay reduce`: a pass that fails, executors that differ, a command that answers.
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
/// smaller: a given value is cut and converted to the parameter's type, and a parameter without one
/// gets small numbers that follow from its name.
struct Arguments {
  Name entry;                                    // the function to run
  std::unordered_map<std::string, Value> given;  // by the names of parameters
  uint64_t seed = 0;
  /// Puts tensors on the devices where the program wants them; may be null.
  std::function<void(std::vector<Value>&, const Module&, Name entry)> place;
};
/// Nothing if there is no such function, or if a parameter's type has no known value.
std::optional<std::vector<Value>> arguments_for(const Module& module, const Arguments& arguments);
/// The arguments as options of the command, `--arg 'x=[1, 2]'`; empty if they are too long to read.
std::string arguments_text(const Module& module, const Arguments& arguments);

struct Comparison {
  double tolerance = 1e-3;  // of floats, relative to the largest number of the result
  bool any_float = false;   // floats may have another dtype
};
/// The difference of two results; empty if there is none. Closures count as equal.
std::string difference(const Value& found, const Value& wanted, const Comparison& comparison = {});

/// Runs passes one after the other, whatever their level, and checks the result of each; then, if
/// `run` is set and the program can run, checks that the result still computes the same.
struct PassCheck {
  std::vector<PassRef> passes;
  bool run = true;
  Comparison comparison;
};
Outcome check_passes(const Module& module, const PassCheck& check, const Arguments& arguments);

/// The part that remains to be compared after a pass that changes the signature on purpose: the
/// module with the signature that it had before, and the precision to expect. Nothing if that
/// cannot be had.
std::optional<Module> comparable(const Module& after, const PassInfo& info, Comparison& comparison);

/// Runs a program and its new form in the reference evaluator. Both are typed anew, on nodes of
/// their own.
Outcome compare_runs(const Module& before, const Module& after, const Comparison& comparison,
                     const Arguments& arguments);

/// Runs the program in the reference evaluator alone: fine, or refused.
Outcome check_evaluation(const Module& module, const Arguments& arguments);

/// Runs the program in the reference evaluator and on the machine.
struct ExecutorCheck {
  vm::CompileOptions compile;
  Comparison comparison;
};
Outcome check_executors(const Module& module, const ExecutorCheck& check,
                        const Arguments& arguments);

/// A check that, in a child process, must end as it did for another program; with `contains`, with
/// the same kind and a message that contains it. If both crash or do not end, `alone` must be fine
/// (unless it is null): a program that does so without the defective part has another defect.
using Check = std::function<Outcome(const Module&)>;
Predicate fails_like(Check check, Outcome wanted, Limits limits, std::string contains = {},
                     Check alone = {});

/// The wanted answer of a command: an exit code, a text in its output, or both. Without either, its
/// answer for the program itself, see `wanted_of`.
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
