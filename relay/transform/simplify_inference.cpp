// SimplifyInference: what an operator becomes when a network no longer learns.
#include <relay/ir/rewrite.h>
#include <relay/op/registry/columns.h>
#include <relay/tensor_expr/precision.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

class InferenceSimplifier final : public Rewriter {
 public:
  InferenceSimplifier(const LazyEffects& effects, const Function* root, bool elementwise)
      : expander_(effects, root), elementwise_(elementwise) {}

 private:
  // A result of several: of the call as it is, before its other results are asked for.
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (const auto* projection = expr->as<TupleGetItem>()) {
      const auto* call = operands[0]->as<Call>();
      if (call != nullptr && projection->index() == 0) {
        const auto* old = projection->tuple()->as<Call>();
        if (old != nullptr && old->type() != nullptr && old->type()->is<TupleType>()) {
          if (ExprRef simple = simplify(*old, call->args())) return simple;
        }
      }
    } else if (const auto* call = expr->as<Call>()) {
      if (call->type() != nullptr && call->type()->is<TensorType>()) {
        if (ExprRef simple = simplify(*call, operands.subspan(1))) return simple;
      }
    }
    return rebuild(expr, operands);
  }

  ExprRef simplify(const Call& call, std::span<const ExprRef> args) {
    const Operator* op = called_op(&call);
    if (op == nullptr || simplified_for_inference().find(op) == nullptr) return {};
    if (elementwise_ && !works_by_element(call)) return {};
    return expander_(*simplified_for_inference().find(op), call, args);
  }

  /// True if one kernel computes each element by itself, in the dtype that simpler operators would
  /// use.
  bool works_by_element(const Call& call) {
    const std::optional<CallFusion>& fusion = kinds_.find(call);
    if (!fusion || fusion->kind > te::FusionKind::kBroadcast) return false;
    for (const ExprRef& arg : call.args()) {
      const auto* type = arg->type()->as<TensorType>();
      if (type == nullptr || te::wide_float(type->dtype()) != type->dtype()) return false;
    }
    return true;
  }

  CallExpander expander_;
  bool elementwise_;
  FusionKinds kinds_;
};

RELAY_REGISTER_PASS({
    {"SimplifyInference",
     0,
     {ProgramState::kTyped},
     "Expands batch_norm (where only its first result is used), layer_norm, group_norm, "
     "instance_norm and "
     "l2_normalize into simpler operators and removes dropout."},
    {{"elementwise",
      "Only operators that compute each element by itself, such as batch_norm; norms of rows stay "
      "whole, and narrow floats are not rounded in between.",
      false}},
    [](const PassInfo& info, const PassOptions& options) {
      bool elementwise = option<bool>(options, "elementwise");
      return make_prepared_function_pass(info, [elementwise](const Module& module,
                                                             const PassContext&) {
        return [elementwise, effects = LazyEffects(module)](const FunctionRef& function) {
          if (!calls_any(function.get(), simplified_for_inference())) return function;
          ExprRef result = InferenceSimplifier(effects, function.get(), elementwise).run(function);
          return FunctionRef(result->as<Function>());
        };
      });
    },
});

}  // namespace

}  // namespace relay
