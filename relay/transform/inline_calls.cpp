#include <relay/transform/inline_calls.h>

#include <unordered_map>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay {

namespace {

// Nodes of its own for each copy: a node in two copies would run once, before both.
class Cloner final : public Rewriter {
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = rebuild(expr, operands);
    if (operands.empty() || !(result == expr)) return result;
    ExprRef copy = clone_node(expr);
    if (expr->type() != nullptr) copy->set_type(TypeRef(expr->type()));
    return copy;
  }
};

}  // namespace

bool can_inline(const Function& function, size_t arguments) {
  const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
  return type != nullptr && !type->is_scheme() && function.type_params().empty() &&
         function.constraints().empty() && function.params().size() == arguments;
}

ExprRef call_copy(const Function& function, std::span<const ExprRef> args, Span span) {
  const ExprRef copy = copy_with_fresh_vars(Cloner().run(FunctionRef(&function)));
  copy->publish_type(TypeRef(function.type()));
  ExprRef call = make_call(copy, args, {}, {}, span);
  call->publish_type(function.type()->as<FuncType>()->result());
  return call;
}

ExprRef inline_call(const Function& function, std::span<const ExprRef> args, bool pure) {
  RELAY_CHECK(can_inline(function, args.size()), "a call that cannot be inlined");
  ExprRef own = Cloner().run(FunctionRef(&function));
  FunctionRef copy(copy_with_fresh_vars(own)->as<Function>());
  bool closures = false;
  post_order(copy->body().get(), [&](const Expr* expr) { closures |= expr->is<Function>(); });
  std::unordered_map<const Var*, ExprRef> replacement;
  std::vector<size_t> bound;
  for (size_t i = 0; i < args.size(); ++i) {
    const VarRef& param = copy->params()[i];
    // A parameter's annotation may convert (`?` to a known extent); a let keeps that.
    bool converts = param->annotation() && param->type() != args[i]->type();
    bool leaf = args[i]->operands().empty() && !args[i]->is<Literal>();
    if ((leaf || (pure && !closures)) && !converts) {
      replacement[param.get()] = args[i];
    } else {
      bound.push_back(i);
    }
  }
  ExprRef result = substitute(copy->body(), replacement);
  for (size_t k = bound.size(); k-- > 0;) {
    result = make_let(copy->params()[bound[k]], args[bound[k]], std::move(result));
  }
  return result;
}

}  // namespace relay
