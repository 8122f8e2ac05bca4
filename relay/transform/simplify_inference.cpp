// SimplifyInference: what an operator becomes when a network no longer learns.
#include <relay/ir/rewrite.h>
#include <relay/op/columns.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

class Simplifier final : public Rewriter {
 public:
  Simplifier(const LazyEffects& effects, const Function* root) : effects_(effects), root_(root) {}

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
    if (!any_acts(call)) return expand_call(simplified_for_inference(), call, args);

    // An argument with an effect is used once only: by a let, and those before it in their order
    // too.
    std::vector<ExprRef> atoms;
    std::vector<VarRef> vars;
    for (const ExprRef& arg : args) {
      vars.push_back(make_var("x", {}, arg->span()));
      if (arg->type() != nullptr) vars.back()->set_type(TypeRef(arg->type()));
      atoms.push_back(vars.back());
    }
    ExprRef result = expand_call(simplified_for_inference(), call, atoms);
    if (!result) return {};
    for (size_t i = args.size(); i-- > 0;) result = make_let(vars[i], args[i], std::move(result));
    return result;
  }

  bool any_acts(const Call& call) {
    if (!effects_.get().any()) return false;
    if (!effectful_) effectful_ = effects_.get().effectful_nodes(root_);
    for (const ExprRef& arg : call.args()) {
      if (effectful_->count(arg.get()) != 0) return true;
    }
    return false;
  }

  const LazyEffects& effects_;
  const Function* root_;
  std::optional<std::unordered_set<const Expr*>> effectful_;
};

RELAY_REGISTER_PASS({
    {"SimplifyInference",
     0,
     {ProgramState::kTyped},
     "Expands batch_norm (where only its first result is used), layer_norm, group_norm, "
     "instance_norm and "
     "l2_normalize into simpler operators and removes dropout."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
        return [effects = LazyEffects(module)](const FunctionRef& function) {
          if (!calls_any(function.get(), simplified_for_inference())) return function;
          ExprRef result = Simplifier(effects, function.get()).run(function);
          return FunctionRef(result->as<Function>());
        };
      });
    },
});

}  // namespace

}  // namespace relay
