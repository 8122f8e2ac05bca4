// ExpandOps: operators that are defined by others become these.
#include <relay/transform/expand_ops.h>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/qnn/canonical.h>
#include <relay/op/registry/columns.h>
#include <relay/transform/fusion.h>
#include <relay/transform/literals.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

bool is_expanded(const Expr* expr, const Expansion& expansion) {
  const Operator* op = called_op(expr);
  return op != nullptr && op->definition() == DefinitionKind::kExpand &&
         (!expansion.wanted || expansion.wanted(*op));
}

class Expander final : public Rewriter {
 public:
  Expander(const LazyEffects& effects, const Function* root, const Expansion& expansion)
      : expander_(effects, root), expansion_(expansion) {}

 private:
  // Kernels keep the operators that they were made of.
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    const bool kernel = function != nullptr && is_primitive(function);
    return kernel && !expansion_.everywhere ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (!is_expanded(expr, expansion_)) return rebuild(expr, operands);
    const auto& call = static_cast<const Call&>(*expr);
    if (!expansion_.everywhere && needs_run_to_check(call)) return rebuild(expr, operands);
    const Operator* op = called_op(expr);
    const ExpandFn* form = expansion_.forms == nullptr ? nullptr : expansion_.forms->find(op);
    ExprRef result;
    if (form != nullptr) result = expander_(*form, call, operands.subspan(1));
    if (!result) result = expander_(op->expand(), call, operands.subspan(1));
    if (!result) return rebuild(expr, operands);
    const bool annotation = operands.size() > 1 && result == operands[1];
    return annotation && expansion_.keep_annotations ? rebuild(expr, operands) : result;
  }

  CallExpander expander_;
  const Expansion& expansion_;
};

}  // namespace

FunctionRef with_definitions(const FunctionRef& function, const LazyEffects& effects,
                             const Expansion& expansion) {
  bool any = false;
  visit_each(function.get(), [&](const Expr* expr) {
    any = any || is_expanded(expr, expansion);
    return !any;
  });
  if (!any) return function;
  ExprRef result = Expander(effects, function.get(), expansion).run(function);
  return FunctionRef(result->as<Function>());
}

Module with_definitions(Module module, const Expansion& expansion, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const LazyEffects effects(module);
    Module changed = module;
    bool any = false;
    for (const auto& entry : module.functions()) {
      FunctionRef defined = with_definitions(entry.function, effects, expansion);
      if (defined == entry.function) continue;
      changed.update_function(entry.name, std::move(defined));
      any = true;
    }
    if (!any) break;
    infer_types_or_throw(changed);
    module = resolve_literals(changed);
  }
  return module;
}

namespace {

PassRef make_expand(const PassInfo& info, const Expansion& expansion) {
  return make_prepared_function_pass(info, [expansion](const Module& module, const PassContext&) {
    return [effects = LazyEffects(module), expansion](const FunctionRef& function) {
      return with_definitions(function, effects, expansion);
    };
  });
}

RELAY_REGISTER_PASS({
    {"ExpandOps",
     0,
     {ProgramState::kTyped},
     "Puts the definition of operators that are defined by other operators (`nn.group_norm`, "
     "`stack`, …) in the place of their calls, so that passes see what is computed. Functions "
     "marked Primitive are left as they are, and calls whose arguments only a run can check."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_expand(info, {}); },
});

RELAY_REGISTER_PASS({
    {"QnnCanonicalize",
     1,
     {ProgramState::kTyped},
     "The same for the operators of quantised networks alone (`qnn.quantize`, `qnn.dense`, …): "
     "they become operators on integers and floats, which all other passes know."},
    {{"exact",
      "Write the definitions, which are right for all numbers. Else int32 and "
      "fixed_point_multiply, as TVM's qnn.CanonicalizeOps writes most of them: the same results "
      "where no sum leaves 32 bits and nothing is not-a-number.",
      true}},
    [](const PassInfo& info, const PassOptions& options) {
      return make_expand(info, {[](const Operator& op) { return quantised().find(&op) != nullptr; },
                                option<bool>(options, "exact") ? nullptr : &narrow_forms()});
    },
});

}  // namespace
}  // namespace relay
