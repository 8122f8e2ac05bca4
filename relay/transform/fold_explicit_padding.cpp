// FoldExplicitPadding: operators that can pad take over padding before them.
#include <relay/ir/rewrite.h>
#include <relay/op/nn/padding.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

/// The attributes of `call` with the padding of its first argument; null if it stays.
AttrsRef with_padding(const Call& call) {
  const Operator* op = called_op(&call);
  const TakePaddingFn* take = op == nullptr ? nullptr : takes_padding().find(op);
  if (take == nullptr) return {};
  const Expr* data = call.args()[0].get();
  const Operator* pad = called_op(data);
  const AddedPaddingFn* added = pad == nullptr ? nullptr : added_padding().find(pad);
  if (added == nullptr) return {};
  const auto* value = static_cast<const Call*>(data)->args()[1]->as<Constant>();
  if (value == nullptr || value->data().size() != 1) return {};
  std::optional<OpCall> padding = typed_call(data), user = typed_call(&call);
  if (!padding || !user) return {};
  PaddingWidths widths = (*added)(*padding);
  if (widths.empty()) return {};
  try {
    return (*take)(*user, widths, value->data().element_as_double(0));
  } catch (const Error&) {
    return {};  // says what is wrong when it runs
  }
}

FunctionRef fold_padding(const FunctionRef& function, const Module& module, const PassContext&) {
  if (!calls_any(function.get(), added_padding())) return function;
  // A tensor that others read padded is padded once.
  const Program program = program_of(module);
  const View& view = program.view(function);
  const Users& users = view.users();
  const Scopes& scopes = view.scopes();
  PointerMap<Expr, AttrsRef> changed;
  for (uint32_t id = 0; id < view.size(); ++id) {
    const auto* call = view.expr(id)->as<Call>();
    if (call == nullptr || called_op(call) == nullptr || call->args().empty()) continue;
    const uint32_t data = view.operands(id)[1];
    if (users[data].size() != 1 || scopes.home(data) != scopes.home(id)) continue;
    if (AttrsRef attrs = with_padding(*call)) changed[call] = attrs;
  }
  auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const AttrsRef* attrs = changed.find(expr);
    if (attrs == nullptr) return {};
    std::vector<ExprRef> args(operands.begin() + 1, operands.end());
    args[0] = args[0]->as<Call>()->args()[0];
    return make_call(operands[0], args, *attrs, {}, expr->span());
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"FoldExplicitPadding",
     0,
     {ProgramState::kTyped},
     "Moves padding by a call of its own, which nothing else reads, into the padding of the "
     "convolution or pool that reads it: zeros for convolutions and averages (which then count "
     "them), minus infinity for maxima."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, fold_padding); },
});

}  // namespace
}  // namespace relay
