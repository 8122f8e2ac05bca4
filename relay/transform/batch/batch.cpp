#include <relay/transform/batch/batch.h>

#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/batch.h>
#include <relay/support/error.h>
#include <relay/transform/batch/parts.h>
#include <relay/transform/fusion.h>
#include <relay/transform/gradient/parts.h>
#include <relay/transform/literals.h>
#include <relay/transform/monomorphic.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace lanes {
namespace {

// If the types of the parameters say all, functions inside have one type each, and numbers dtypes.
Module with_types(const Module& module, const Name& name) {
  std::vector<TypeRef> types;
  for (const VarRef& param : module.function(name)->params()) {
    if (param->type() == nullptr || !param->type()->closed())
      return without_polymorphic_lets(resolve_literals(module));
    types.emplace_back(param->type());
  }
  return monomorphic(without_polymorphic_lets(specialize(module, name, types)), name);
}

bool is_defined_by_others(const Expr* expr) {
  const Operator* op = called_op(expr);
  return op != nullptr && op->definition() == DefinitionKind::kExpand;
}

class Expander final : public Rewriter {
 public:
  Expander(const LazyEffects& effects, const Function* root) : expander_(effects, root) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (is_defined_by_others(expr)) {
      const auto& call = static_cast<const Call&>(*expr);
      if (ExprRef defined = expander_(called_op(expr)->expand(), call, operands.subspan(1)))
        return defined;
    }
    return rebuild(expr, operands);
  }
  CallExpander expander_;
};

/// Operators that others define have no form for lanes of their own.
Module with_all_definitions(Module module) {
  constexpr int kMostRounds = 8;  // definitions in terms of others that others define
  for (int round = 0; round < kMostRounds; ++round) {
    const LazyEffects effects(module);
    Module changed = module;
    bool any = false;
    for (const auto& entry : module.functions()) {
      bool here = false;
      visit_each(entry.function.get(), [&](const Expr* expr) {
        here = here || is_defined_by_others(expr);
        return !here;
      });
      if (!here) continue;
      const ExprRef defined = Expander(effects, entry.function.get()).run(entry.function);
      if (defined == entry.function) continue;
      changed.update_function(entry.name, FunctionRef(defined->as<Function>()));
      any = true;
    }
    if (!any) break;
    infer_types_or_throw(changed);
    module = resolve_literals(changed);
  }
  return module;
}

/// The program with types again after a change of `own`.
Module typed(Module module) {
  infer_types_or_throw(module);
  return resolve_literals(module);
}

Module prepared(const FunctionRef& function, const Module& module, const Name& own) {
  Module whole = module;
  whole.add_function(own, function);
  infer_types_or_throw(whole);
  whole = with_all_definitions(with_types(whole, own));
  const FunctionRef given(whole.function(own));
  if (!Effects(whole).any()) {
    const FunctionRef plain = grad::with_calls_inlined(given, whole);
    if (!(plain == given)) {
      whole.update_function(own, plain);
      whole = typed(std::move(whole));
    }
    const FunctionRef outer = grad::with_global_loops(FunctionRef(whole.function(own)), whole, own);
    if (!(outer.get() == whole.function(own))) whole.update_function(own, outer);
    whole = typed(std::move(whole));
  }
  // Constructors that are values become functions.
  whole = (*create_pass("EtaExpand", {{"expand_constructor", true}}))(whole);
  return typed(std::move(whole));
}

/// True if functions, effects or data are left: then every node runs in a place of its own.
bool has_places(const Function& function) {
  bool found = function.body()->contains(ExprPart::kEffect) ||
               function.body()->contains(ExprPart::kGlobal) ||
               function.body()->contains(ExprPart::kData);
  visit_each(function.body().get(), [&](const Expr* expr) {
    found = found || expr->is<Function>();
    return !found;
  });
  return found;
}

}  // namespace
}  // namespace lanes

FunctionRef batch(const FunctionRef& function, Module& module, const BatchForm& form) {
  if (form.in.size() != function->params().size())
    throw Error("the function has " + std::to_string(function->params().size()) +
                    " parameters; in_axes has " + std::to_string(form.in.size()) + " entries",
                function->span());
  const Name own = module.fresh_name("batched");
  Module whole = lanes::prepared(function, module, own);
  if (lanes::has_places(*whole.function(own))) {
    whole = (*create_pass("ToANormalForm", {}))(whole);
    whole = lanes::typed(std::move(whole));
  }
  const TypeVarRef name = TypeVar::make("lanes", Kind::kShapeVar);
  const Dim number = form.lanes ? Dim(*form.lanes) : Dim::symbol(name.get());
  lanes::ProgramLanes lanes(whole, module, own, form, number);
  const FunctionRef made = lanes::write_lanes(whole, module, own, lanes, form, number);
  const FunctionRef result(copy_with_fresh_vars(made)->as<Function>());
  Module all = module;
  const Name name_of_result = all.fresh_name("batched");
  all.add_function(name_of_result, result);
  infer_types_or_throw(all);
  return FunctionRef(all.function(name_of_result));
}

}  // namespace relay
