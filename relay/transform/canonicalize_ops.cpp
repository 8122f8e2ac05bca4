// CanonicalizeOps: operators that are shorthand for others.
#include <relay/ir/rewrite.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/transform/calls_any.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// data + bias, the bias shaped so that it broadcasts along its axis.
ExprRef canonical_bias_add(const OpCall& call, std::span<const ExprRef> args) {
  auto rank = static_cast<int64_t>(call.tensor(0).rank());
  int64_t axis = call.attrs<BiasAddAttrs>().axis;
  if (axis < 0) axis += rank;
  ExprRef bias = args[1];
  if (axis + 1 < rank) {
    ExpandDimsAttrs attrs;
    attrs.axis.value = 1;
    attrs.num_newaxis = rank - axis - 1;
    bias = call_op("expand_dims", {bias}, Attrs::make(attrs));
  }
  return call_op("add", {args[0], bias});
}

// Each argument is used once, so that effects in them stay as they are.
const OpColumn<ExpandFn>& canonical_forms() {
  static const OpColumn<ExpandFn>* column = [] {
    auto* forms = new OpColumn<ExpandFn>("canonical_form");
    forms->set(get_op("nn.bias_add"), canonical_bias_add);
    return forms;
  }();
  return *column;
}

FunctionRef canonicalize(const FunctionRef& function, const Module&, const PassContext&) {
  if (!calls_any(function.get(), canonical_forms())) return function;
  auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const auto* call = expr->as<Call>();
    const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
    const ExpandFn* expand = node == nullptr ? nullptr : canonical_forms().find(node->op());
    if (expand == nullptr || call->type() == nullptr) return {};
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call->args()) {
      const auto* tensor = arg->type() == nullptr ? nullptr : arg->type()->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return {};
      types.emplace_back(tensor);
    }
    OpCall described(node->op(), call->attrs(), std::move(types), TypeRef(call->type()));
    return (*expand)(described, operands.subspan(1));
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"CanonicalizeOps",
     3,
     {ProgramState::kTyped},
     "Writes bias_add as expand_dims and a broadcasting add."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, canonicalize); },
});

}  // namespace
}  // namespace relay
