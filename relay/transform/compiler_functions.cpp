// Functions of code generators: from where they stand to global ones, and back.
#include <algorithm>
#include <map>

#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/transform/external_code.h>
#include <relay/transform/inline_calls.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

bool is_of(const Function& function, const std::string& filter) {
  std::optional<std::string> compiler = compiler_of(function);
  return compiler && (filter.empty() || *compiler == filter);
}

// ---- Outlining --------------------------------------------------------------------------------

class Outliner final : public Rewriter {
 public:
  Outliner(const Function* root, const std::string& filter, Module& module)
      : root_(root), filter_(filter), module_(module) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef made = rebuild(expr, operands);
    const auto* function = made->as<Function>();
    if (function == nullptr || expr == root_ || !is_of(*function, filter_)) return made;
    AttrValue symbol = dict_attr(function->attrs(), "global_symbol");
    const auto* name = symbol.get<std::string>();
    // A function that captures a variable cannot stand elsewhere.
    if (name == nullptr || name->empty() || !free_vars(function).empty()) return made;
    const Function* known = module_.function(Name(*name));
    if (known == nullptr) {
      module_.add_function(Name(*name), FunctionRef(function));
    } else if (known != function && !structural_equal(known, function)) {
      throw Error(Diagnostic::error(
          "the module has another function @" + *name + " than the one with this global_symbol",
          function->span()));
    }
    return make_global_var(Name(*name), expr->span());
  }

  const Function* root_;
  const std::string& filter_;
  Module& module_;
};

Module outline(const Module& module, const std::string& filter) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (compiler_of(*entry.function)) continue;
    ExprRef made = Outliner(entry.function.get(), filter, result).run(entry.function);
    if (!(made == entry.function))
      result.update_function(entry.name, FunctionRef(made->as<Function>()));
  }
  return result;
}

// ---- Extern -----------------------------------------------------------------------------------

Module mark_extern(const Module& module, const std::string& filter) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    const Function& function = *entry.function;
    if (!is_of(function, filter)) continue;
    result.update_function(
        entry.name,
        make_function({function.params().begin(), function.params().end()},
                      ExprRef(function.body()), TypeRef(function.ret_type()),
                      {function.type_params().begin(), function.type_params().end()},
                      {function.constraints().begin(), function.constraints().end()},
                      make_dict_attrs({{"Extern", AttrValue(int64_t{1})}}), function.span()));
  }
  return result;
}

// ---- Inlining ---------------------------------------------------------------------------------

/// Puts bodies in the place of calls of `functions`, and of composite functions in those bodies.
class CallInliner {
 public:
  CallInliner(const Module& module, std::map<Name, FunctionRef> functions)
      : module_(module), functions_(std::move(functions)), effects_(module) {
    for (auto& [name, function] : functions_) {
      ExprRef plain = inlined(function, [](const Expr* callee) -> const Function* {
        const auto* literal = callee->as<Function>();
        const bool composite =
            literal != nullptr && !dict_attr(literal->attrs(), "Composite").is_none();
        return composite ? literal : nullptr;
      });
      function = FunctionRef(plain->as<Function>());
    }
  }

  Module run() {
    Module result = module_;
    for (const auto& entry : module_.functions()) {
      if (functions_.count(entry.name) != 0) continue;
      ExprRef made = inlined(entry.function, [&](const Expr* callee) -> const Function* {
        const auto* global = callee->as<GlobalVar>();
        auto found = global == nullptr ? functions_.end() : functions_.find(global->name());
        return found == functions_.end() ? nullptr : found->second.get();
      });
      if (!(made == entry.function))
        result.update_function(entry.name, FunctionRef(made->as<Function>()));
    }
    for (const auto& inlined_one : functions_) {
      const Name& name = inlined_one.first;  // lambdas capture no parts of a pair
      bool used = false;
      for (const auto& entry : result.functions()) {
        if (entry.name == name) continue;
        post_order(entry.function.get(), [&](const Expr* expr) {
          const auto* global = expr->as<GlobalVar>();
          used |= global != nullptr && global->name() == name;
        });
      }
      if (!used) result.remove_function(name);
    }
    return result;
  }

 private:
  template <class Find>
  ExprRef inlined(const FunctionRef& function, const Find& find) {
    auto effectful = effects_.get().effectful_nodes(function.get());
    return rewrite_post_order(
        function, [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (!expr->is<Call>()) return {};
          const Function* callee = find(operands[0].get());
          if (callee == nullptr || callee->params().size() + 1 != operands.size()) return {};
          bool pure = true;
          for (const ExprRef& arg : expr->operands().subspan(1))
            pure &= effectful.count(arg.get()) == 0;
          return body_of(*callee, operands.subspan(1), pure);
        });
  }
  // Also of functions with type parameters, which are names of extents.
  static ExprRef body_of(const Function& function, std::span<const ExprRef> args, bool pure) {
    if (can_inline(function, args.size())) return inline_call(function, args, pure);
    ExprRef copy = copy_nodes(ExprRef(&function));
    const auto* own = copy->as<Function>();
    std::unordered_map<const Var*, ExprRef> replacement;
    for (size_t i = 0; i < args.size(); ++i) replacement[own->params()[i].get()] = args[i];
    if (pure) return substitute(own->body(), replacement);
    ExprRef result = own->body();
    for (size_t i = args.size(); i-- > 0;) {
      VarRef var = make_var(own->params()[i]->name());
      result = make_let(var, args[i], substitute(result, {{own->params()[i].get(), var}}));
    }
    return result;
  }

  const Module& module_;
  std::map<Name, FunctionRef> functions_;
  LazyEffects effects_;
};

Module inline_bound(const Module& module, const std::vector<std::string>& names) {
  std::map<Name, FunctionRef> functions;
  for (const std::string& given : names) {
    const Name name(given.empty() || given.front() != '@' ? given : given.substr(1));
    const Function* function = module.function(name);
    if (function == nullptr)
      throw Error("InlineCompilerFunctionsBoundTo: the module has no function @" + name.str());
    if (compiler_of(*function)) functions[name] = FunctionRef(function);
  }
  return functions.empty() ? module : CallInliner(module, std::move(functions)).run();
}

Module inline_all(const Module& module, const std::string& filter) {
  std::map<Name, FunctionRef> functions;
  for (const auto& entry : module.functions()) {
    if (is_of(*entry.function, filter)) functions[entry.name] = entry.function;
  }
  return functions.empty() ? module : CallInliner(module, std::move(functions)).run();
}

const PassRegistration::Option kFilter{
    "compiler_filter", "Only functions of this code generator; empty for all.", std::string()};

template <class Run>
PassRef filtered(const PassInfo& info, const PassOptions& options, Run run) {
  return make_module_pass(
      info, [run, filter = option<std::string>(options, "compiler_filter")](
                const Module& module, const PassContext&) { return run(module, filter); });
}

RELAY_REGISTER_PASS({
    {"OutlineCompilerFunctionsWithExistingGlobalSymbols",
     0,
     {ProgramState::kTyped},
     "Makes functions with the attributes `Compiler` and `global_symbol` that stand inside of "
     "others global functions with the name of the symbol. One that captures a variable stays."},
    {kFilter},
    [](const PassInfo& info, const PassOptions& options) {
      return filtered(info, options, outline);
    },
});

RELAY_REGISTER_PASS({
    {"MarkCompilerFunctionsAsExtern",
     0,
     {},
     "Gives global functions with the attribute `Compiler` the attribute `Extern=1` in the place "
     "of "
     "all others: what they compute is elsewhere."},
    {kFilter},
    [](const PassInfo& info, const PassOptions& options) {
      return filtered(info, options, mark_extern);
    },
});

RELAY_REGISTER_PASS({
    {"InlineCompilerFunctionsBoundTo",
     0,
     {ProgramState::kTyped},
     "Puts the bodies of these global functions, if they have the attribute `Compiler`, back in "
     "the "
     "place of their calls, and the bodies of composite functions in the place of calls inside."},
    {{"global_vars", "Names of functions.", std::vector<std::string>()}},
    [](const PassInfo& info, const PassOptions& options) {
      return make_module_pass(
          info,
          [names = option<std::vector<std::string>>(options, "global_vars")](
              const Module& module, const PassContext&) { return inline_bound(module, names); });
    },
});

RELAY_REGISTER_PASS({
    {"InlineCompilerFunctions",
     0,
     {ProgramState::kTyped},
     "Does what InlineCompilerFunctionsBoundTo does, for all functions of a code generator."},
    {kFilter},
    [](const PassInfo& info, const PassOptions& options) {
      return filtered(info, options, inline_all);
    },
});

}  // namespace
}  // namespace relay
