// ToCPS and UnCPS: continuation-passing style and back.
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/cps.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_report.h>

namespace relay {
namespace {

// Names of global functions that are mentioned in some function.
std::unordered_set<Name> mentioned_functions(const Module& module) {
  std::unordered_set<Name> names;
  for (const auto& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      if (const auto* global = expr->as<GlobalVar>()) names.insert(global->name());
    });
  }
  return names;
}

class GlobalRenamer final : public Rewriter {
 public:
  explicit GlobalRenamer(const std::unordered_map<Name, Name>& names) : names_(names) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* global = expr->as<GlobalVar>();
    auto found = global == nullptr ? names_.end() : names_.find(global->name());
    return found == names_.end() ? rebuild(expr, operands)
                                 : make_global_var(found->second, expr->span());
  }
  const std::unordered_map<Name, Name>& names_;
};

// A function that others call with a continuation goes on under another name, and its own is that
// of one that returns; what nobody mentions becomes part of the one that returns.
Module leave_cps(const Module& module, const PassContext&) {
  const std::unordered_set<Name> mentioned = mentioned_functions(module);
  std::unordered_map<Name, Name> names;
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (!is_cps(*entry.function)) continue;
    if (gives_cps(*entry.function)) {
      report_in_pass(Diagnostic::warning(
          "@" + entry.name.str() +
              " stays in continuation-passing style, since it returns functions in this style",
          entry.function->span()));
      continue;
    }
    if (mentioned.count(entry.name) == 0) {
      result.update_function(entry.name, un_cps(*entry.function, entry.function));
      continue;
    }
    const Name other = result.fresh_name(entry.name.str() + "_cps");
    names[entry.name] = other;
    result.update_function(entry.name, un_cps(*entry.function, make_global_var(other)));
    result.add_function(other, entry.function);
  }
  if (names.empty()) return result;
  const Module renamed_in = result;
  for (const auto& entry : renamed_in.functions()) {
    auto found = names.find(entry.name);
    if (found != names.end()) continue;  // calls the other one already
    ExprRef renamed = GlobalRenamer(names).run(entry.function);
    result.update_function(entry.name, FunctionRef(renamed->as<Function>()));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"ToCPS",
     1,
     {ProgramState::kTyped},
     "Continuation-passing style: a function takes one more argument, a function, and calls it "
     "with "
     "its result instead of returning. All calls but those of operators, constructors and kernels "
     "(`Primitive`, `Compiler`, `Extern`) become the last thing that is done. UnCPS gives "
     "functions "
     "their signatures back.",
     {},
     false,
     PassInfo::Signature::kContinuation},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_module_pass(
          info, [](const Module& module, const PassContext&) { return module_to_cps(module); });
    },
});

RELAY_REGISTER_PASS({
    {"UnCPS",
     1,
     {ProgramState::kTyped},
     "Gives functions in continuation-passing style the signature that they had before ToCPS: they "
     "pass the identity as continuation. A function that others call in this style keeps it under "
     "another name, `NAME_cps`. A function that returns functions in this style stays in it.",
     {},
     false,
     PassInfo::Signature::kOther},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, leave_cps); },
});

}  // namespace
}  // namespace relay
