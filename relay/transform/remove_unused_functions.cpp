// RemoveUnusedFunctions: globals that the entry never reaches.
#include <unordered_set>

#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

Module remove_unused(const Module& module, const std::vector<std::string>& entries) {
  std::vector<Name> work;
  std::unordered_set<Name> reached;
  auto reach = [&](Name name) {
    if (reached.insert(name).second) work.push_back(name);
  };
  for (const std::string& name : entries) {
    if (module.function(name) == nullptr) {
      throw Error("entry function @" + name + " does not exist");
    }
    reach(name);
  }
  if (entries.empty()) {
    const Module::FunctionEntry* entry = module.entry();
    if (entry == nullptr) return module;
    reach(entry->name);
  }
  // Ends once all functions are reached.
  size_t count = module.functions().size();
  while (!work.empty() && reached.size() < count) {
    const Function* function = module.function(work.back());
    work.pop_back();
    if (function == nullptr) continue;
    visit_each(function, [&](const Expr* expr) {
      if (const auto* global = expr->as<GlobalVar>()) reach(global->name());
      return reached.size() < count;
    });
  }
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (reached.count(entry.name) == 0) result.remove_function(entry.name);
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"RemoveUnusedFunctions",
     1,
     {},
     "Removes global functions that cannot be reached from the entry functions. Data types stay."},
    {{"entry_functions", "Names of the entries; by default @main, else the only function.",
      std::vector<std::string>{}}},
    [](const PassInfo& info, const PassOptions& options) {
      auto entries = option<std::vector<std::string>>(options, "entry_functions");
      return make_module_pass(info, [entries](const Module& module, const PassContext&) {
        return remove_unused(module, entries);
      });
    },
});

}  // namespace
}  // namespace relay
