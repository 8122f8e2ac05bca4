// PartialEvaluate: runs what is known of a program and writes the rest.
#include <algorithm>

#include <relay/ir/equal.h>
#include <relay/ir/result_names.h>
#include <relay/transform/partial/idle.h>
#include <relay/transform/partial/machine.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_report.h>

namespace relay {
namespace {

Module evaluate_partially(const Module& module, partial::Limits limits,
                          const PassContext& context) {
  const auto& functions = module.functions();
  if (std::all_of(functions.begin(), functions.end(), [](const Module::FunctionEntry& entry) {
        return partial::is_idle(entry.function);
      }))
    return module;
  Module normal = (*create_pass("ToANormalForm"))(module, context);
  normal = (*create_pass("InferType"))(normal, context);
  Effects effects(normal);
  partial::Machine machine(normal, effects, limits);
  Module result = module;
  for (const auto& entry : normal.functions()) {
    // A function that has attributes may be compiled elsewhere.
    if (!is_marked(entry.function->attrs())) {
      if (FunctionRef same = partial::without_known(entry.function)) {
        result.update_function(entry.name, std::move(same));
        continue;
      }
    }
    FunctionRef written = machine.run(entry.function);
    if (written == nullptr) {
      report_in_pass(Diagnostic::warning(
          "partial evaluation of @" + entry.name.str() + " takes more than " +
              std::to_string(limits.max_steps) + " steps; the function stays as it is",
          entry.function->span()));
    } else if (!(written == entry.function)) {
      result.update_function(entry.name, std::move(written));
    }
  }
  result = (*create_pass("DeadCodeElimination"))(result, context);
  for (const auto& entry : module.functions()) {
    const Function* written = result.function(entry.name);
    if (structural_equal(written, entry.function.get()))
      result.update_function(entry.name, entry.function);
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"PartialEvaluate",
     1,
     {ProgramState::kTyped},
     "Runs what is known of a program before it runs: calls known functions where they are called, "
     "decides conditions and matches, computes on constants, follows tuples, data values, closures "
     "and references; writes the rest in A-normal form. Recursion is unfolded as long as known "
     "arguments change; below a branch that only a run decides, as long as a number or data value "
     "becomes smaller. An interpreter of a known program becomes that program; where a loop of the "
     "program ends by what only a run decides, its test and body are unfolded once, and the "
     "interpreter is called for the rest."},
    {{"max_unfold", "Activations of one function inside each other, at most.", int64_t{1000}},
     {"max_steps",
      "Steps for each global function. After half of them calls stay; a function that needs more "
      "stays as it is, with a warning.",
      int64_t{1000000}}},
    [](const PassInfo& info, const PassOptions& options) {
      const partial::Limits limits{option<int64_t>(options, "max_unfold"),
                                   option<int64_t>(options, "max_steps")};
      return make_module_pass(info, [limits](const Module& module, const PassContext& context) {
        return evaluate_partially(module, limits, context);
      });
    },
});

}  // namespace
}  // namespace relay
