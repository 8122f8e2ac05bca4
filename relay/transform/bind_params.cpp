#include <relay/transform/bind_params.h>

#include <string>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay {

namespace {

bool refers_to(const Module& module, Name function) {
  bool found = false;
  for (const Module::FunctionEntry& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* global = expr->as<GlobalVar>();
      found = found || (global != nullptr && global->name() == function);
    });
  }
  return found;
}

// The program with a function under another name.
Module renamed(const Module& module, Name from, Name to) {
  Module result = module;
  FunctionRef moved(module.function(from));
  result.remove_function(from);
  result.add_function(to, moved);
  for (const Module::FunctionEntry& entry : std::vector(result.functions())) {
    ExprRef changed = rewrite_post_order(
        entry.function, [&](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
          const auto* global = expr->as<GlobalVar>();
          if (global == nullptr || global->name() != from) return {};
          return make_global_var(to, global->span());
        });
    if (!(changed == entry.function))
      result.update_function(entry.name, FunctionRef(changed->as<Function>()));
  }
  return result;
}

}  // namespace

Module bind_params(const Module& module, Name function,
                   const std::unordered_map<size_t, NDArray>& values) {
  const Function* old = module.function(function);
  if (old == nullptr) throw Error("there is no function @" + function.str());
  std::unordered_map<const Var*, ExprRef> replacement;
  for (const auto& [position, array] : values) {
    if (position >= old->params().size()) {
      throw Error("@" + function.str() + " has no parameter " + std::to_string(position + 1));
    }
    const VarRef& param = old->params()[position];
    replacement[param.get()] = make_constant(array, param->span());
  }
  std::vector<VarRef> params;
  for (size_t i = 0; i < old->params().size(); ++i) {
    if (!values.contains(i)) params.push_back(old->params()[i]);
  }
  const FunctionRef given(old);
  if (!refers_to(module, function)) {
    Module result = module;
    result.update_function(
        function, with_body(given, std::move(params), substitute(old->body(), replacement)));
    return result;
  }
  Name whole = module.fresh_name(function.str());
  Module result = renamed(module, function, whole);
  std::vector<ExprRef> arguments;
  for (VarRef& param : params) {
    VarRef fresh = make_var(param->name(), param->annotation(), param->span());
    replacement[param.get()] = fresh;
    param = fresh;
  }
  for (const VarRef& param : old->params()) arguments.push_back(replacement.at(param.get()));
  result.add_function(function, with_body(given, std::move(params),
                                          make_call(make_global_var(whole, old->span()),
                                                    std::move(arguments), {}, {}, old->span())));
  return result;
}

}  // namespace relay
