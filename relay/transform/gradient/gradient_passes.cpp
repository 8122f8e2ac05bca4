// Gradient, FirstOrderGradient and ExpandGradients.
#include <map>
#include <set>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/gradient_call.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/gradient/gradient.h>
#include <relay/transform/gradient/gradient_calls.h>
#include <relay/transform/literals.h>
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

// ---- Calls of grad ---------------------------------------------------------------------------

GradientForm gradient_form(const GradientCallForm& form, size_t params, size_t captured) {
  GradientForm result;
  result.params = form.attrs.places(params);
  for (size_t& place : *result.params) place += captured;
  result.single = form.attrs.single();
  result.with_value = form.with_value;
  result.from_result = form.from_result;
  result.of_number = !form.from_result;
  return result;
}

ClosedFunction closed_function(const FunctionRef& function) {
  ClosedFunction result{{}, free_vars(function.get())};
  std::vector<VarRef> params;
  std::unordered_map<const Var*, ExprRef> replacement;
  auto add = [&](const VarRef& var) {
    params.push_back(make_var(var->name(), TypeRef(var->type()), var->span()));
    replacement[var.get()] = params.back();
  };
  for (const VarRef& var : result.captured) add(var);
  for (const VarRef& param : function->params()) add(param);
  const FunctionRef whole = make_function(params, substitute(function->body(), replacement), {}, {},
                                          {}, {}, function->span());
  result.function = FunctionRef(copy_with_fresh_vars(copy_nodes(whole))->as<Function>());
  return result;
}

ExprRef ClosedFunction::with_captured(const Name& name, const FunctionRef& of,
                                      const GradientCallForm& form, Span span) const {
  if (captured.empty()) return make_global_var(name, span);
  std::vector<VarRef> params;
  for (const VarRef& param : of->params())
    params.push_back(make_var(param->name(), TypeRef(param->type()), param->span()));
  if (form.from_result) params.push_back(make_var("g", TypeRef(of->body()->type()), span));
  std::vector<ExprRef> args(captured.begin(), captured.end());
  args.insert(args.end(), params.begin(), params.end());
  return make_function(params, make_call(make_global_var(name), args, {}, {}, span), {}, {}, {}, {},
                       span);
}

ExprRef gradient_source(const Expr* call, ExprRef function,
                        const std::unordered_map<const Var*, ExprRef>& lets) {
  while (function->is<Var>()) {
    auto found = lets.find(function->as<Var>());
    if (found == lets.end()) break;
    function = found->second;
  }
  if (function->is<GlobalVar>() || function->is<Function>()) return function;
  throw Error(Diagnostic::error("the function that this gradient is of is known only when the "
                                "program runs",
                                call->span())
                  .help("give the name of a function, or write the function here or in a let"));
}

bool has_gradient_call(const Expr* root) {
  bool found = false;
  visit_each(root, [&](const Expr* expr) {
    found = found || gradient_call(expr).has_value();
    return !found;
  });
  return found;
}

namespace {

class GradientCalls {
 public:
  explicit GradientCalls(Module& module) : module_(module), graph_(module) {
    for (const auto& entry : module.functions()) given_.insert(entry.name);
  }

  void run() {
    std::vector<Name> names;
    for (const auto& entry : module_.functions()) names.push_back(entry.name);
    for (const Name& name : names) expand(name);
  }

 private:
  class Writer;
  enum class State : uint8_t { kOpen, kDone };

  void expand(const Name& name);
  void expand_reached(const std::vector<Name>& from, const Expr* call);
  Name gradient_of(const Name& name, const GradientCallForm& form, const Expr* call);
  ExprRef gradient_of_literal(const FunctionRef& function, const GradientCallForm& form,
                              const Expr* call);

  Module& module_;
  const CallGraph graph_;  // of the functions given
  std::set<Name> given_;   // and not made here
  std::map<Name, State> states_;
  int depth_ = 0;
  std::map<std::pair<Name, std::string>, Name> made_;
};

// Rewrites one function; names of lets stand for their functions.
class GradientCalls::Writer final : public Rewriter {
 public:
  explicit Writer(GradientCalls& all) : all_(all) {}

 private:
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    if (done[0]->is<GlobalVar>() || done[0]->is<Function>() || done[0]->is<Var>())
      known_[let->var().get()] = done[0];
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const std::optional<GradientCallForm> form = gradient_call(expr);
    if (!form) return rebuild(expr, operands);
    const ExprRef function = gradient_source(expr, operands[1], known_);
    if (const auto* global = function->as<GlobalVar>())
      return make_global_var(all_.gradient_of(global->name(), *form, expr), expr->span());
    return all_.gradient_of_literal(FunctionRef(function->as<Function>()), *form, expr);
  }

  GradientCalls& all_;
  std::unordered_map<const Var*, ExprRef> known_;
};

void GradientCalls::expand(const Name& name) {
  if (states_.count(name) != 0) return;
  const FunctionRef function(module_.function(name));
  if (!has_gradient_call(function.get())) {
    states_[name] = State::kDone;
    return;
  }
  // Each level differentiates the gradients of those below it.
  constexpr int kMaxDepth = 16;
  if (depth_ == kMaxDepth)
    throw Error("gradients of functions that take gradients are nested deeper than " +
                    std::to_string(kMaxDepth),
                function->span());
  ++depth_;
  states_[name] = State::kOpen;
  const ExprRef written = Writer(*this).run(function);
  module_.update_function(name, FunctionRef(written->as<Function>()));
  states_[name] = State::kDone;
  --depth_;
}

// Writes the gradients that functions take, and those that they call: the derivation of their own
// finds none left.
void GradientCalls::expand_reached(const std::vector<Name>& from, const Expr* call) {
  for (const Name& name : graph_.reachable(from)) {
    auto state = states_.find(name);
    if (state != states_.end() && state->second == State::kOpen)
      throw Error("@" + name.str() + " takes its own gradient, which has no end", call->span());
    expand(name);
  }
}

Name GradientCalls::gradient_of(const Name& name, const GradientCallForm& form, const Expr* call) {
  if (given_.contains(name)) expand_reached({name}, call);
  const FunctionRef function(module_.function(name));
  const GradientForm wanted = gradient_form(form, function->params().size(), 0);
  std::string key(form.from_result ? "r" : form.with_value ? "v" : "g");
  if (wanted.single) key += "s";
  for (size_t place : *wanted.params) key += "," + std::to_string(place);
  auto found = made_.find({name, key});
  if (found != made_.end()) return found->second;
  const FunctionRef gradient =
      relay::gradient(function, module_, GradientMode::kHigherOrder, wanted);
  const Name own = module_.fresh_name("grad_" + name.str());
  module_.add_function(own, gradient);
  states_[own] = State::kDone;
  return made_[{name, key}] = own;
}

ExprRef GradientCalls::gradient_of_literal(const FunctionRef& function,
                                           const GradientCallForm& form, const Expr* call) {
  std::vector<Name> called;
  visit_each(function.get(), [&](const Expr* expr) {
    const auto* global = expr->as<GlobalVar>();
    if (global != nullptr && given_.contains(global->name())) called.push_back(global->name());
    return true;
  });
  expand_reached(called, call);
  const ClosedFunction closed = closed_function(function);
  const FunctionRef gradient =
      relay::gradient(closed.function, module_, GradientMode::kHigherOrder,
                      gradient_form(form, function->params().size(), closed.captured.size()));
  const Name own = module_.fresh_name("grad_of");
  module_.add_function(own, gradient);
  states_[own] = State::kDone;
  return closed.with_captured(own, function, form, call->span());
}

RELAY_REGISTER_PASS({
    {"ExpandGradients",
     0,
     {ProgramState::kTyped},
     "Writes the functions that calls of `grad`, `value_and_grad` and `vjp` stand for, and calls "
     "these. Programs are compiled and evaluated after it.",
     {}},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_module_pass(
          info, [](const Module& module, const PassContext&) { return expand_gradients(module); });
    },
});

}  // namespace

Module expand_gradients(Module module) {
  bool any = false;
  for (const auto& entry : module.functions()) any = any || has_gradient_call(entry.function.get());
  if (!any) return module;
  GradientCalls(module).run();
  infer_types_or_throw(module);
  return resolve_literals(module);
}

}  // namespace relay
