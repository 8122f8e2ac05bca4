#include <relay/reduce/predicates.h>

#include <algorithm>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/reduce/draft.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>
#include <relay/vm/machine/machine.h>

namespace relay::reduce {

namespace {

constexpr const char* kNoValues = "no values are known for its parameters";

// A program ready to be run.
struct Ready {
  Module module;
  std::vector<Value> arguments;
};

std::optional<Ready> prepare(const Module& module, const Arguments& arguments) {
  std::optional<std::vector<Value>> values = arguments_for(module, arguments);
  if (!values) return std::nullopt;
  const std::vector<bool> constants(values->size(), false);
  Ready ready{close_program(module, arguments.entry, *values, constants), std::move(*values)};
  if (arguments.place) arguments.place(ready.arguments, ready.module, arguments.entry);
  return ready;
}

// A result, or the reason why there is none.
struct Ran {
  Value value;
  bool fails = false;
  std::string message;
};

template <class Run>
Ran ran(const Run& run) {
  try {
    return {run(), false, ""};
  } catch (const Error& error) {
    return {Value(), true, error.what()};
  }
}

Ran evaluated(const Module& module, const Arguments& arguments) {
  return ran([&] {
    std::optional<Ready> ready = prepare(module, arguments);
    if (!ready) throw Error(kNoValues);
    return evaluate_function(ready->module, arguments.entry, ready->arguments);
  });
}

// The arguments with the values that the program gets of them: a pass may leave the type of a
// parameter open, and another one would be made up then.
Arguments same_arguments(const Module& module, const Arguments& arguments) {
  const std::optional<std::vector<Value>> values = arguments_for(module, arguments);
  if (!values) return arguments;
  Arguments same = arguments;
  const auto& params = module.function(arguments.entry)->params();
  for (size_t i = 0; i < params.size(); ++i) same.given[params[i]->name().str()] = (*values)[i];
  return same;
}

// Compares the result of a changed program with that of the original.
Outcome compare_results(const Ran& wanted, Module after, const Comparison& comparison,
                        const Arguments& arguments) {
  if (wanted.fails) return {Outcome::Kind::kRefused, wanted.message};
  infer_types_or_throw(after);
  Ran found = evaluated(after, arguments);
  if (found.fails) return {Outcome::Kind::kFails, found.message};
  std::string why = difference(found.value, wanted.value, comparison);
  return why.empty() ? Outcome{} : Outcome{Outcome::Kind::kDiffers, why};
}

}  // namespace

std::optional<Module> comparable(const Module& after, const PassInfo& info,
                                 Comparison& comparison) {
  constexpr double kNarrowTolerance = 0.1;  // products of bfloat16, summed up over some layers
  switch (info.signature) {
    case PassInfo::Signature::kKept:
      return after;
    case PassInfo::Signature::kContinuation: {
      PassContext context;
      DiagnosticSink unheard;  // the pass itself says what it says
      context.diagnostics = &unheard;
      context.config["relay.verify_passes"] = false;
      PassContext::Scope scope(context);
      return (*create_pass("UnCPS"))(Draft(after).apply(), context);
    }
    case PassInfo::Signature::kNarrowFloats:
      comparison.any_float = true;
      comparison.tolerance = std::max(comparison.tolerance, kNarrowTolerance);
      return after;
    case PassInfo::Signature::kOther:
      break;
  }
  return std::nullopt;
}

Outcome check_passes(const Module& module, const PassCheck& check, const Arguments& arguments) {
  PassContext context;
  context.config["relay.verify_passes"] = false;  // said below
  PassContext::Scope scope(context);
  // A copy with types of its own: passes share nodes with their argument.
  Module after = Draft(module).apply();
  const PassInfo* changes = nullptr;  // the pass after which the signature is another
  for (const PassRef& pass : check.passes) {
    after = (*pass)(after, context);
    const bool kept = pass->info().signature == PassInfo::Signature::kKept;
    // UnCPS after ToCPS gives the signature back.
    const bool back = changes != nullptr && pass->info().name == Name("UnCPS");
    changes = back ? nullptr : kept ? changes : &pass->info();
    std::string name = pass->info().name.str();
    std::vector<Diagnostic> problems = verify(after);
    if (!problems.empty()) return {Outcome::Kind::kIllFormed, name + ": " + problems[0].message};
    for (const Diagnostic& diagnostic : infer_types(after)) {
      if (diagnostic.severity == Severity::kError)
        return {Outcome::Kind::kIllTyped, name + ": " + diagnostic.message};
    }
  }
  if (!check.run) return {};
  Comparison comparison = check.comparison;
  if (changes != nullptr) {
    std::optional<Module> as_before = comparable(after, *changes, comparison);
    if (!as_before) return {};
    after = std::move(*as_before);
  }
  return compare_results(evaluated(module, arguments), std::move(after), comparison,
                         same_arguments(module, arguments));
}

Outcome compare_runs(const Module& before, const Module& after, const Comparison& comparison,
                     const Arguments& arguments) {
  Module given = Draft(before).apply();
  infer_types_or_throw(given);
  return compare_results(evaluated(given, arguments), Draft(after).apply(), comparison,
                         same_arguments(given, arguments));
}

Outcome check_evaluation(const Module& module, const Arguments& arguments) {
  Ran ran = evaluated(module, arguments);
  return ran.fails ? Outcome{Outcome::Kind::kRefused, ran.message} : Outcome{};
}

Outcome check_executors(const Module& module, const ExecutorCheck& check,
                        const Arguments& arguments) {
  std::optional<Ready> ready;
  try {
    ready = prepare(module, arguments);
  } catch (const Error& error) {
    return {Outcome::Kind::kRefused, error.what()};
  }
  if (!ready) return {Outcome::Kind::kRefused, kNoValues};
  Ran wanted =
      ran([&] { return evaluate_function(ready->module, arguments.entry, ready->arguments); });
  Ran found = ran([&] {
    auto executable = vm::compile(ready->module, arguments.entry, check.compile);
    vm::Machine machine(executable);
    return machine.run(arguments.entry.view(), ready->arguments);
  });
  if (wanted.fails && found.fails) return {Outcome::Kind::kRefused, wanted.message};
  if (found.fails) return {Outcome::Kind::kFails, "machine: " + found.message};
  if (wanted.fails) return {Outcome::Kind::kFails, "reference evaluator: " + wanted.message};
  std::string why = difference(found.value, wanted.value, check.comparison);
  return why.empty() ? Outcome{} : Outcome{Outcome::Kind::kDiffers, why};
}

Predicate fails_like(Check check, Outcome wanted, Limits limits, std::string contains,
                     Check alone) {
  return [check = std::move(check), wanted = std::move(wanted), limits,
          contains = std::move(contains), alone = std::move(alone)](const Module& module) {
    Outcome outcome = run_isolated([&] { return check(module); }, limits);
    if (outcome.kind != wanted.kind) return false;
    bool ends = outcome.kind != Outcome::Kind::kCrashes && outcome.kind != Outcome::Kind::kHangs;
    if (!ends && alone) {
      Outcome other = run_isolated([&] { return alone(module); }, limits);
      if (other.kind != Outcome::Kind::kFine) return false;
    }
    if (!contains.empty()) return outcome.text.find(contains) != std::string::npos;
    // A smaller program has another difference of results.
    return wanted.kind == Outcome::Kind::kDiffers || same_failure(outcome, wanted);
  };
}

// ---- Commands ---------------------------------------------------------------------------------

CommandResult run_check(const Module& module, const CommandCheck& check, const Limits& limits) {
  std::string path = check.folder + "/program.rly";
  std::string text = print_module(module);
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
  std::string command;
  size_t from = 0;
  for (size_t at = check.command.find("{}"); at != std::string::npos;
       at = check.command.find("{}", from)) {
    command += check.command.substr(from, at - from) + shell_word(path);
    from = at + 2;
  }
  return run_command(command + check.command.substr(from), limits);
}

bool answers(const CommandResult& result, const CommandCheck& check) {
  if (result.interrupted || result.hangs != check.hangs || result.signal != check.signal)
    return false;
  if (check.exit_code && result.exit_code != *check.exit_code) return false;
  return result.output.find(check.contains) != std::string::npos;
}

Predicate command_answers(CommandCheck check, Limits limits) {
  return [check = std::move(check), limits](const Module& module) {
    return answers(run_check(module, check, limits), check);
  };
}

}  // namespace relay::reduce
