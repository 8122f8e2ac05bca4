#include <relay/transform/literals.h>

#include <relay/infer/functions/literals.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay {
namespace {

std::optional<DType> known_dtype(const Expr* literal) {
  const Type* type = literal->type();
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_dtype()) return std::nullopt;
  return tensor->dtype();
}

bool resolves(const Expr* expr, Resolve which) {
  if (!expr->is<Literal>()) return false;
  std::optional<DType> dtype = known_dtype(expr);
  return dtype.has_value() && (which == Resolve::kAll || !(*dtype == kInt32));
}

class LiteralResolver final : public Rewriter {
 public:
  explicit LiteralResolver(Resolve which) : which_(which) {}

 private:
  ExprRef enter(const Expr* expr) override {
    return expr->contains(ExprPart::kNumber) ? ExprRef() : ExprRef(expr);
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (!resolves(expr, which_)) return rebuild(expr, operands);
    std::optional<NDArray> value = constant_array(expr);
    if (!value) return ExprRef(expr);
    ExprRef constant = make_constant(std::move(*value), expr->span());
    constant->set_type(TypeRef(expr->type()));
    return constant;
  }
  const Resolve which_;
};

}  // namespace

std::optional<NDArray> constant_array(const Expr* expr) {
  if (const auto* constant = expr->as<Constant>()) return constant->data();
  const auto* literal = expr->as<Literal>();
  if (literal == nullptr) return std::nullopt;
  std::optional<DType> dtype = known_dtype(literal);
  if (!dtype) return std::nullopt;
  return inference::literal_array(literal->value(), *dtype);
}

Module resolve_literals(const Module& module, Resolve which) {
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (!entry.function->contains(ExprPart::kNumber)) continue;
    bool found = false;
    visit_each(entry.function.get(), [&](const Expr* expr) {
      found = resolves(expr, which);
      return !found;
    });
    if (!found) continue;
    ExprRef function = LiteralResolver(which).run(entry.function);
    result.update_function(entry.name, FunctionRef(function->as<Function>()));
  }
  return result;
}

bool has_open_literals(const Expr* root) { return root->contains(ExprPart::kNumber); }

}  // namespace relay
