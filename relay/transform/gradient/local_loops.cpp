// Loops that are written inside of a function become global functions of what they capture.
#include <relay/transform/gradient/parts.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/lets.h>

namespace relay::grad {
namespace {

constexpr size_t kMostLoops = 64;  // each takes a walk over the function

// Calls of a variable become calls of a global function with the captured variables before the
// arguments; its let goes.
class LoopLifter final : public Rewriter {
 public:
  LoopLifter(const Let* let, std::vector<VarRef> captured, ExprRef global)
      : let_(let), captured_(std::move(captured)), global_(std::move(global)) {}

  /// The function of the let, after `run`.
  FunctionRef lifted() const {
    std::vector<VarRef> params;
    std::unordered_map<const Var*, ExprRef> replacement;
    for (const VarRef& var : captured_) {
      params.push_back(make_var(var->name(), TypeRef(var->type()), var->span()));
      replacement[var.get()] = params.back();
    }
    params.insert(params.end(), function_->params().begin(), function_->params().end());
    const FunctionRef made =
        make_function(std::move(params), substitute(function_->body(), replacement),
                      TypeRef(static_cast<const Function&>(*let_->value()).body()->type()), {}, {},
                      {}, function_->span());
    return FunctionRef(copy_with_fresh_vars(copy_nodes(made))->as<Function>());
  }

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (expr == let_) {
      function_ = FunctionRef(operands[0]->as<Function>());
      return operands[1];
    }
    const auto* call = expr->as<Call>();
    if (call == nullptr || call->callee().get() != let_->var().get())
      return rebuild(expr, operands);
    std::vector<ExprRef> args(captured_.begin(), captured_.end());
    args.insert(args.end(), operands.begin() + 1, operands.end());
    return make_call(global_, args, {}, {}, expr->span());
  }

  const Let* let_;
  std::vector<VarRef> captured_;
  ExprRef global_;
  FunctionRef function_;
};

// True if a variable is never a value, but is called wherever it stands.
bool only_called(const View& view, uint32_t variable) {
  const std::span<const Users::Use> uses = view.users()[variable];
  return std::all_of(uses.begin(), uses.end(), [&](const Users::Use& use) {
    return use.operand == 0 && view.kind(use.user) == ExprKind::kCall;
  });
}

// The variables that a loop captures; nothing if it is none that can be lifted.
std::optional<std::vector<VarRef>> captured_by(const Let* let) {
  const auto& function = static_cast<const Function&>(*let->value());
  if (is_marked(function.attrs()) || !function.type_params().empty() ||
      !is_static(function.body()->type()))
    return std::nullopt;
  std::vector<VarRef> captured;
  for (const VarRef& var : free_vars(&function)) {
    if (var == let->var()) continue;
    if (!is_static(var->type())) return std::nullopt;
    captured.push_back(var);
  }
  return captured;
}

}  // namespace

FunctionRef with_global_loops(FunctionRef function, Module& whole, const Name& own) {
  for (size_t count = 0; count < kMostLoops; ++count) {
    const View view(function);
    const Lets lets(view);
    bool found = false;
    // Those inside of others come first.
    for (const Lets::Entry& entry : lets.all()) {
      const Let* let = entry.let;
      if (!lets.recursive(entry) || !only_called(view, entry.variable)) continue;
      std::optional<std::vector<VarRef>> captured = captured_by(let);
      if (!captured) continue;
      const Name name = whole.fresh_name(let->var()->name().str());
      LoopLifter lifter(let, std::move(*captured), make_global_var(name, let->span()));
      const ExprRef rest = lifter.run(function);
      whole.add_function(name, lifter.lifted());
      whole.update_function(own, FunctionRef(copy_with_fresh_vars(rest)->as<Function>()));
      infer_types_or_throw(whole);
      function = FunctionRef(whole.function(own));
      found = true;
      break;
    }
    if (!found) break;
  }
  return function;
}

}  // namespace relay::grad
