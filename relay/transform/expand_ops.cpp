// ExpandOps: operators that are defined by others become these.
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

const Operator* expanded(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr || node->op()->definition() != DefinitionKind::kExpand) return nullptr;
  return call->args().size() == node->op()->num_inputs() ? node->op() : nullptr;
}

// Whether the operator can be looked into here: it asks for ranks and dtypes.
bool is_known(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (!is_known(field.get())) return false;  // as deep as the type, which is bounded
    }
    return true;
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

class Expander final : public Rewriter {
  // Kernels keep the operators that they were made of.
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const Operator* op = expanded(expr);
    if (op == nullptr || !is_known(expr->type())) return rebuild(expr, operands);
    const auto* call = static_cast<const Call*>(expr);
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call->args()) {
      if (!is_known(arg->type())) return rebuild(expr, operands);
      types.emplace_back(arg->type());
    }
    AttrsRef attrs = call->attrs();
    if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
    OpCall typed(op, attrs, types, TypeRef(call->type()));
    ExprRef result = op->expand()(typed, operands.subspan(1));
    return with_span(result, operands, call->span());
  }

  // New nodes stand where the call stood.
  static ExprRef with_span(const ExprRef& root, std::span<const ExprRef> args, Span span) {
    PointerSet<Expr> given;
    for (const ExprRef& arg : args) given.insert(arg.get());
    class Placer final : public Rewriter {
     public:
      Placer(const PointerSet<Expr>& given, Span span) : given_(given), span_(span) {}

     private:
      ExprRef enter(const Expr* expr) override {
        return given_.contains(expr) ? ExprRef(expr) : ExprRef();
      }
      ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
        const auto* call = expr->as<Call>();
        if (call == nullptr || call->span().known()) return rebuild(expr, operands);
        return make_call(operands[0], operands.subspan(1), call->attrs(), call->type_args(), span_);
      }
      const PointerSet<Expr>& given_;
      Span span_;
    };
    return Placer(given, span).run(root);
  }
};

FunctionRef expand(const FunctionRef& function) {
  bool any = false;
  post_order(function.get(), [&](const Expr* expr) { any |= expanded(expr) != nullptr; });
  if (!any) return function;
  ExprRef result = Expander().run(function);
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"ExpandOps",
     0,
     {ProgramState::kTyped},
     "Puts the definition of operators that are defined by other operators (`nn.group_norm`, "
     "`stack`, …) in the place of their calls, so that passes see what is computed. Functions "
     "marked Primitive are left as they are."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_function_pass(info, [](const FunctionRef& function, const Module&,
                                         const PassContext&) { return expand(function); });
    },
});

}  // namespace
}  // namespace relay
