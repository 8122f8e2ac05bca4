#include <relay/transform/simplify_inference.h>

#include <relay/ir/rewrite.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/transform/calls_any.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

size_t position(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

ExprRef number(double value, DType dtype) { return make_constant(NDArray::scalar(dtype, value)); }

// A channel vector shaped so that it broadcasts along `axis`.
ExprRef along(const ExprRef& vector, size_t axis, size_t rank) {
  if (axis + 1 == rank) return vector;
  ExpandDimsAttrs attrs;
  attrs.axis.value = 1;
  attrs.num_newaxis = static_cast<int64_t>(rank - axis - 1);
  return call_op("expand_dims", {vector}, Attrs::make(attrs));
}

// x * scale + shift, with one vector each for the channels.
ExprRef batch_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<BatchNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = position(attrs.axis, data.rank());
  ExprRef deviation =
      call_op("sqrt", {call_op("add", {args[4], number(attrs.epsilon, data.dtype)})});
  ExprRef scale = call_op("divide", {number(1, data.dtype), deviation});
  if (attrs.scale) scale = call_op("multiply", {scale, args[1]});
  ExprRef shift = call_op("multiply", {call_op("negative", {args[3]}), scale});
  if (attrs.center) shift = call_op("add", {shift, args[2]});
  ExprRef scaled = call_op("multiply", {args[0], along(scale, axis, data.rank())});
  return call_op("add", {scaled, along(shift, axis, data.rank())});
}

ExprRef layer_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<LayerNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = position(attrs.axis, data.rank());
  ReduceAttrs mean_attrs;
  mean_attrs.axis = {attrs.axis};
  mean_attrs.keepdims = true;
  VarianceAttrs variance_attrs;
  variance_attrs.axis = {attrs.axis};
  variance_attrs.keepdims = true;
  ExprRef mean = call_op("mean", {args[0]}, Attrs::make(mean_attrs));
  ExprRef variance = call_op("variance", {args[0], mean}, Attrs::make(variance_attrs));
  ExprRef deviation =
      call_op("sqrt", {call_op("add", {variance, number(attrs.epsilon, data.dtype)})});
  ExprRef value = call_op("divide", {call_op("subtract", {args[0], mean}), deviation});
  if (attrs.scale) value = call_op("multiply", {value, along(args[1], axis, data.rank())});
  if (attrs.center) value = call_op("add", {value, along(args[2], axis, data.rank())});
  return value;
}

// The operators whose whole point is training or a fused kernel: those defined by an expansion are
// expanded, those with a computation of their own (it is more exact in half precision) get the
// expansion here.
OpColumn<ExpandFn> make_column() {
  OpColumn<ExpandFn> column("simplified_for_inference");
  column.set(get_op("nn.batch_norm"), batch_norm);
  column.set(get_op("nn.layer_norm"), layer_norm);
  column.set(get_op("nn.dropout"),
             [](const OpCall&, std::span<const ExprRef> args) { return args[0]; });
  for (const char* name : {"nn.group_norm", "nn.instance_norm", "nn.l2_normalize"}) {
    column.set(get_op(name), get_op(name)->expand());
  }
  return column;
}

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
    const auto* node = call.callee()->as<Op>();
    const ExpandFn* expand =
        node == nullptr ? nullptr : simplified_for_inference().find(node->op());
    if (expand == nullptr) return {};
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call.args()) {
      const Type* type = arg->type();
      const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return {};
      types.emplace_back(type);
    }
    OpCall described(node->op(), call.attrs(), std::move(types), TypeRef(call.type()));
    if (!any_acts(call)) return (*expand)(described, args);

    // An argument with an effect is used once only: by a let, and those before it in their order
    // too.
    std::vector<ExprRef> atoms;
    std::vector<VarRef> vars;
    for (const ExprRef& arg : args) {
      vars.push_back(make_var("x", {}, arg->span()));
      if (arg->type() != nullptr) vars.back()->set_type(TypeRef(arg->type()));
      atoms.push_back(vars.back());
    }
    ExprRef result = (*expand)(described, atoms);
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

OpColumn<ExpandFn>& simplified_for_inference() {
  static OpColumn<ExpandFn>* column = new OpColumn<ExpandFn>(make_column());
  return *column;
}

}  // namespace relay
