// FastMath: approximations in the place of functions.
#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef approximate(const FunctionRef& function, const Module&, const PassContext&) {
  if (!calls_any(function.get(), fast_forms())) return function;
  auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const Operator* op = called_op(expr);
    const std::string* fast = op == nullptr ? nullptr : fast_forms().find(op);
    if (fast == nullptr) return {};
    const auto& call = static_cast<const Call&>(*expr);
    return make_call(make_op(get_op(*fast)), operands.subspan(1), call.attrs(), {}, call.span());
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"FastMath",
     4,
     {ProgramState::kTyped},
     "Calls `fast_exp`, `fast_erf`, `fast_tanh` and `nn.fast_softmax` in the place of the "
     "operators "
     "that they approximate."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, approximate); },
});

}  // namespace
}  // namespace relay
