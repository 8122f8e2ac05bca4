// ExpandOps: operators that are defined by others become these.
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/qnn/canonical.h>
#include <relay/op/registry/columns.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

struct Wanted {
  bool (*op)(const Operator* op);             // true for an operator whose calls are to be expanded
  const OpColumn<ExpandFn>* forms = nullptr;  // what stands in the place of definitions
};

bool is_expanded(const Expr* expr, const Wanted& wanted) {
  const Operator* op = called_op(expr);
  return op != nullptr && op->definition() == DefinitionKind::kExpand && wanted.op(op);
}

class Expander final : public Rewriter {
 public:
  Expander(const LazyEffects& effects, const Function* root, Wanted wanted)
      : expander_(effects, root), wanted_(wanted) {}

 private:
  // Kernels keep the operators that they were made of.
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (is_expanded(expr, wanted_)) {
      const auto& call = static_cast<const Call&>(*expr);
      if (needs_run_to_check(call)) return rebuild(expr, operands);
      const Operator* op = called_op(expr);
      const ExpandFn* form = wanted_.forms == nullptr ? nullptr : wanted_.forms->find(op);
      ExprRef result;
      if (form != nullptr) result = expander_(*form, call, operands.subspan(1));
      if (!result) result = expander_(op->expand(), call, operands.subspan(1));
      if (result) return result;
    }
    return rebuild(expr, operands);
  }

  CallExpander expander_;
  const Wanted wanted_;
};

FunctionRef expand(const FunctionRef& function, const LazyEffects& effects, Wanted wanted) {
  bool any = false;
  post_order(function.get(), [&](const Expr* expr) { any |= is_expanded(expr, wanted); });
  if (!any) return function;
  ExprRef result = Expander(effects, function.get(), wanted).run(function);
  return FunctionRef(result->as<Function>());
}

PassRef make_expand(const PassInfo& info, Wanted wanted) {
  return make_prepared_function_pass(info, [wanted](const Module& module, const PassContext&) {
    return [effects = LazyEffects(module), wanted](const FunctionRef& function) {
      return expand(function, effects, wanted);
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
    [](const PassInfo& info, const PassOptions&) {
      return make_expand(info, {[](const Operator*) { return true; }});
    },
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
      return make_expand(info, {[](const Operator* op) { return quantised().find(op) != nullptr; },
                                option<bool>(options, "exact") ? nullptr : &narrow_forms()});
    },
});

}  // namespace
}  // namespace relay
