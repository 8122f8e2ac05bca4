// CanonicalizeCast: a widening cast of its own for each user, so that each user can take it into
// its kernel.
#include <algorithm>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/program/view.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// True if the cast writes more than it reads.
bool widens(const Expr* expr) {
  if (!call_attrs<CastAttrs>(expr)) return false;
  auto bits = [](const Type* type) {
    const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
    return tensor == nullptr || !tensor->has_dtype() ? 0 : int{tensor->dtype().bits};
  };
  const int from = bits(static_cast<const Call*>(expr)->args()[0]->type());
  return from > 0 && bits(expr->type()) > from;
}

class CastCopier final : public Rewriter {
 public:
  explicit CastCopier(const View& view) : view_(view), copied_(view.size()) {
    const Scopes* scopes = nullptr;
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (view.kind(id) != ExprKind::kCall || !widens(view.expr(id))) continue;
      auto users = view.users()[id];
      if (users.size() < 2) continue;
      if (scopes == nullptr) scopes = &view.scopes();
      // In a scope further inside it might be computed more often.
      const bool here = std::all_of(users.begin(), users.end(), [&](Users::Use use) {
        return view.kind(use.user) == ExprKind::kCall &&
               scopes->place(use.user, use.operand) == scopes->home(id);
      });
      copied_[id] = here;
      any_ = any_ || here;
    }
  }
  bool any() const { return any_; }

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (!expr->is<Call>()) return rebuild(expr, operands);
    std::vector<ExprRef> own(operands.begin(), operands.end());
    for (size_t i = 1; i < own.size(); ++i) {
      const Expr* before = expr->operands()[i].get();
      if (before->is<Call>() && copied_[view_.id(before)]) {
        ExprRef copy = clone_node(own[i].get());
        copy->set_type(TypeRef(before->type()));
        own[i] = std::move(copy);
      }
    }
    return rebuild(expr, own);
  }

  const View& view_;
  std::vector<bool> copied_;
  bool any_ = false;
};

FunctionRef copy_casts(const FunctionRef& function, const Module&, const PassContext&) {
  View view(function);
  CastCopier copier(view);
  return copier.any() ? FunctionRef(copier.run(function)->as<Function>()) : function;
}

RELAY_REGISTER_PASS({
    {"CanonicalizeCast",
     3,
     {ProgramState::kTyped},
     "Gives each call that uses a widening cast one of its own, where all uses are calls beside "
     "it: "
     "then each can be computed with its user, and the wide tensor is never written."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, copy_casts); },
});

}  // namespace
}  // namespace relay
