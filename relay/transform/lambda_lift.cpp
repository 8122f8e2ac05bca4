// LambdaLift: functions inside of functions become global ones.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/fusion.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

bool mentions_outer_types(const Expr* root);

class Lifter final : public Rewriter {
 public:
  Lifter(Module& module, const FunctionRef& root)
      : module_(module), root_(root.get()), view_(root) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = rebuild(expr, operands);
    if (!expr->is<Function>() || expr == root_ || mentions_outer_types(result.get())) return result;
    const Var* self = name_of_literal(view_, expr);

    std::vector<VarRef> captured;
    std::unordered_map<const Var*, ExprRef> replacement;
    for (const VarRef& var : free_vars(result.get())) {
      if (var.get() == self) continue;
      if (auto global = globals_.find(var.get()); global != globals_.end()) {
        replacement[var.get()] = make_global_var(global->second);
        continue;
      }
      if (is_polymorphic(var.get())) return result;  // a parameter has one type
      captured.push_back(var);
    }
    Name name = module_.fresh_name("lifted");
    ExprRef global = make_global_var(name, expr->span());
    if (captured.empty()) {
      if (self != nullptr) {
        replacement[self] = global;
        globals_[self] = name;
      }
      module_.add_function(name, as_function(substitute(result, replacement)));
      return global;
    }
    std::vector<VarRef> params;
    std::vector<ExprRef> inside, outside;
    for (const VarRef& var : captured) {
      const Type* type = var->type();
      TypeRef declared(type != nullptr && type->closed() ? type : nullptr);
      params.push_back(make_var(var->name(), declared, var->span()));
      replacement[var.get()] = params.back();
      inside.push_back(params.back());
      outside.push_back(var);
    }
    // Within itself the closure is made again.
    if (self != nullptr) replacement[self] = make_call(global, inside, {}, {}, expr->span());
    ExprRef closure = substitute(result, replacement);
    module_.add_function(
        name, make_function(std::move(params), closure, {}, {}, {},
                            make_dict_attrs({{"Closure", AttrValue(int64_t{1})}}), expr->span()));
    return make_call(global, outside, {}, {}, expr->span());
  }

  static FunctionRef as_function(const ExprRef& expr) { return FunctionRef(expr->as<Function>()); }

  Module& module_;
  const Function* root_;
  const View view_;
  std::unordered_map<const Var*, Name> globals_;  // lets of what captures nothing
};

// True if types in it mention type variables of the functions around.
bool mentions_outer_types(const Expr* root) {
  std::vector<TypeVarRef> used;
  std::unordered_set<const TypeVar*> bound;
  auto use = [&](const TypeRef& type) {
    if (!type) return;
    for (TypeVarRef& var : free_type_vars(type)) used.push_back(std::move(var));
  };
  post_order(root, [&](const Expr* expr) {
    if (const auto* function = expr->as<Function>()) {
      for (const TypeVarRef& var : function->type_params()) bound.insert(var.get());
      for (const VarRef& param : function->params()) use(param->annotation());
      for (const RelationTypeRef& relation : function->constraints()) use(relation);
      use(function->ret_type());
    } else if (const auto* let = expr->as<Let>()) {
      use(let->var()->annotation());
    } else if (const auto* call = expr->as<Call>()) {
      for (const TypeRef& type : call->type_args()) use(type);
    } else if (const auto* match = expr->as<Match>()) {
      for (const PatternRef& pattern : match->patterns()) {
        for (const VarRef& var : pattern_vars(pattern.get())) use(var->annotation());
      }
    }
  });
  for (const TypeVarRef& var : used) {
    if (bound.count(var.get()) == 0) return true;
  }
  return false;
}

bool has_functions(const Function* root) {
  bool found = false;
  post_order(root, [&](const Expr* expr) {
    const auto* function = expr->as<Function>();
    found |= function != nullptr && function != root && !is_primitive(function);
  });
  return found;
}

// The result of a lifted closure is a function literal that stays.
bool is_closure_maker(const Function* function) {
  return function->attrs() && !dict_attr(function->attrs(), "Closure").is_none();
}

Module lift(const Module& module, const PassContext& context) {
  bool any = false;
  for (const auto& entry : module.functions()) {
    any |= !is_closure_maker(entry.function.get()) && has_functions(entry.function.get());
  }
  if (!any) return module;
  // A node that is used in a closure and outside of it is bound outside. In a program with effects
  // every node is: nothing shows any more that calling the result of a global has none.
  bool acts = program_of(module).effects().any();
  const char* form = acts ? "ToANormalForm" : "ToBasicBlockNormalForm";
  Module result = (*create_pass(form))(module, context);
  for (const auto& entry : module.functions()) {
    FunctionRef function(result.function(entry.name));
    if (is_primitive(function.get()) || is_closure_maker(function.get())) continue;
    ExprRef lifted = Lifter(result, function).run(function);
    if (!(lifted == function))
      result.update_function(entry.name, FunctionRef(lifted->as<Function>()));
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"LambdaLift",
     1,
     {ProgramState::kTyped},
     "Makes functions inside of functions global ones. One that captures variables becomes a "
     "global, marked `Closure=1`, that takes these and gives the function. Kernels (`Primitive`) "
     "stay, and so do functions that capture polymorphic variables or mention type variables of "
     "the functions around."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, lift); },
});

}  // namespace
}  // namespace relay
