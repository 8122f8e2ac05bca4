// Gradient, FirstOrderGradient and LazyGradientInit.
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/gradient/gradient.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

std::vector<Name> named_functions(const Module& module, const std::vector<std::string>& wanted) {
  std::vector<Name> names;
  for (const std::string& text : wanted) {
    const Name name(text.rfind('@', 0) == 0 ? text.substr(1) : text);
    if (module.function(name) == nullptr)
      throw Error("Gradient: the program has no function @" + name.str());
    names.push_back(name);
  }
  if (!names.empty()) return names;
  const Module::FunctionEntry* entry = module.entry();
  if (entry == nullptr) throw Error("Gradient: the program has no @main; name the functions");
  return {entry->name};
}

// Functions keep their names and get another type, so nothing that stays may call them.
Module with_gradients(const Module& module, const std::vector<Name>& names, GradientMode mode) {
  Module result = module;
  for (const Name& name : names) {
    const FunctionRef function(module.function(name));
    result.update_function(name, gradient(function, result, mode));
  }
  const CallGraph graph(result);
  for (const Name& name : names) {
    if (graph.ref_count(name) == 0) continue;
    throw Error("Gradient: @" + name.str() +
                    " is called by functions that stay, and its gradient has another type",
                module.function(name)->span());
  }
  return result;
}

Module first_order(const Module& module, const PassContext&) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    Module given = module;
    result.update_function(entry.name, gradient(entry.function, given, GradientMode::kFirstOrder));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"Gradient",
     0,
     {ProgramState::kTyped},
     "Puts the gradient of functions in their place: `fn (x…) -> T` becomes `fn (x…) -> (T, "
     "(dx…))`, with the gradients of the sum of the result (docs/gradients.md). A function of "
     "operators, tuples and branches becomes such a function again; others get functions and data "
     "types beside them.",
     {},
     false,
     PassInfo::Signature::kOther},
    {{"functions", "Names of the functions; by default @main, else the only function.",
      std::vector<std::string>()},
     {"mode", "higher_order, or first_order to refuse all but operators, tuples and branches.",
      std::string("higher_order")}},
    [](const PassInfo& info, const PassOptions& options) {
      const auto functions = option<std::vector<std::string>>(options, "functions");
      const auto mode = option<std::string>(options, "mode");
      if (mode != "higher_order" && mode != "first_order")
        throw Error("Gradient: the mode is higher_order or first_order, not " + mode);
      return make_module_pass(info, [=](const Module& module, const PassContext&) {
        return with_gradients(
            module, named_functions(module, functions),
            mode == "first_order" ? GradientMode::kFirstOrder : GradientMode::kHigherOrder);
      });
    },
});

RELAY_REGISTER_PASS({
    {"FirstOrderGradient",
     0,
     {ProgramState::kTyped},
     "Puts its gradient of first order in the place of each function, as Gradient does.",
     {},
     false,
     PassInfo::Signature::kOther},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, first_order); },
});

}  // namespace
}  // namespace relay
