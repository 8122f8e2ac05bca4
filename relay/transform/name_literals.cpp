#include <relay/transform/name_literals.h>

#include <string>
#include <utility>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/op.h>

namespace relay {
namespace {

class NameLiterals final : public Rewriter {
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> wrapped(operands.begin(), operands.end());
    for (size_t i = 0; i < wrapped.size(); ++i) {
      if (i == 0 && expr->is<Call>()) continue;
      if (wrapped[i]->is<Op>() || wrapped[i]->is<Constructor>())
        wrapped[i] = wrap(wrapped[i], expr->span());
    }
    return rebuild(expr, wrapped);
  }

  static ExprRef wrap(const ExprRef& callable, Span span) {
    size_t arity = callable->is<Op>() ? callable->as<Op>()->op()->num_inputs()
                                      : callable->as<Constructor>()->inputs().size();
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    for (size_t i = 0; i < arity; ++i) {
      params.push_back(make_var("x" + std::to_string(i)));
      args.push_back(params.back());
    }
    return make_function(std::move(params), make_call(callable, args, {}, {}, span), {}, {}, {}, {},
                         span);
  }
};

}  // namespace

FunctionRef with_name_literals(const FunctionRef& function) {
  return FunctionRef(NameLiterals().run(function)->as<Function>());
}

}  // namespace relay
