#include <relay/reduce/verify_runs.h>

#include <memory>
#include <set>
#include <utility>

#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/transform/pass_result.h>
#include <relay/vm/machine/machine.h>

namespace relay::reduce {

namespace {

// The effect of a pass on the program, in the words of an error.
std::string verdict(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kDiffers:
      return "changed what the program computes: " + outcome.text;
    case Outcome::Kind::kFails:
      return "made a program that fails where the one before does not: " + outcome.text;
    case Outcome::Kind::kCrashes:
      return "made a program that crashes the reference evaluator: " + outcome.text;
    case Outcome::Kind::kHangs:
      return "made a program that does not end in time";
    default:
      return "made a program that cannot be run: " + outcome.text;
  }
}

}  // namespace

PassInstrument verify_runs(Arguments arguments, RunChecks checks) {
  auto said = std::make_shared<std::set<std::string>>();
  auto skip = [said, tell = checks.skipped](const std::string& why) {
    if (tell && said->insert(why).second) tell(why);
  };
  PassInstrument instrument;
  instrument.name = "verify_runs";
  instrument.after = [arguments = std::move(arguments), checks, skip](
                         const Module& before, const Module& after, const PassInfo& info, double) {
    if (same_functions(before, after)) return;
    Comparison comparison = checks.comparison;
    const std::optional<Module> result = comparable(after, info, comparison);
    if (!result) {
      const TypeRef given = function_signature(before, arguments.entry);
      const TypeRef found = function_signature(after, arguments.entry);
      const bool kept = given && found && types_equal(given, found);
      skip("pass " + info.name.str() +
           (kept ? " changes what is computed on purpose" : " changes the signature"));
      return;
    }
    auto compare = [&](const Module& module) {
      return run_isolated([&] { return compare_runs(before, module, comparison, arguments); },
                          checks.limits);
    };
    Outcome found = compare(*result);
    if (found.kind == Outcome::Kind::kFine) return;
    if (found.kind == Outcome::Kind::kInterrupted) throw vm::Interrupted();
    if (found.kind == Outcome::Kind::kRefused) {
      skip(found.text);
      return;
    }
    if (found.kind == Outcome::Kind::kCrashes || found.kind == Outcome::Kind::kHangs) {
      // The program itself may do so; then nothing can be said of the pass.
      Outcome alone =
          run_isolated([&] { return check_evaluation(before, arguments); }, checks.limits);
      if (alone.kind != Outcome::Kind::kFine) {
        skip("by itself, the program " + std::string(outcome_text(alone.kind)));
        return;
      }
    }
    if (info.blame) {
      auto wrong = [&](const Module& module) {
        const Outcome outcome = compare(module);
        if (outcome.kind == Outcome::Kind::kInterrupted) throw vm::Interrupted();
        return outcome.kind != Outcome::Kind::kFine && outcome.kind != Outcome::Kind::kRefused;
      };
      if (std::optional<Diagnostic> blamed = info.blame(before, wrong))
        throw Error(std::move(*blamed).note("pass " + info.name.str() + ' ' + verdict(found)));
    }
    throw InternalError("internal error: pass " + info.name.str() + ' ' + verdict(found));
  };
  return instrument;
}

}  // namespace relay::reduce
