#include <relay/transform/op_calls.h>

#include <relay/ir/rewrite.h>
#include <relay/program/cost.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/support/suggest.h>

namespace relay {
std::vector<const Operator*> operators_of(const std::string& option,
                                          const std::vector<std::string>& names) {
  std::vector<const Operator*> found;
  for (const std::string& name : names) {
    found.push_back(find_op(name));
    if (found.back() != nullptr) continue;
    std::vector<std::string> known;
    for (const Operator* op : all_ops()) known.push_back(op->name().str());
    Diagnostic diagnostic =
        Diagnostic::error("option " + option + " names the unknown operator " + name);
    suggest(diagnostic, name, known);
    throw Error(std::move(diagnostic));
  }
  return found;
}

ExprRef place_calls(const ExprRef& root, std::span<const ExprRef> given, Span span) {
  PointerSet<Expr> old;
  for (const ExprRef& expr : given) old.insert(expr.get());
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
  return Placer(old, span).run(root);
}

const TensorType* tensor_of(const Expr* expr) {
  const auto* tensor = expr->type() == nullptr ? nullptr : expr->type()->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype() ? tensor : nullptr;
}

const Operator* called_op(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr || call->args().size() != node->op()->num_inputs()) return nullptr;
  return node->op();
}

ExprRef expand_call(const ExpandFn& expand, const Call& call, std::span<const ExprRef> args) {
  std::optional<OpCall> typed = typed_call(&call);
  if (!typed) return {};
  ExprRef result = expand(*typed, args);
  return result ? place_calls(result, args, call.span()) : result;
}

bool CallExpander::any_acts(const Call& call) {
  if (!effects_.get().any()) return false;
  if (!effectful_) effectful_ = effects_.get().effectful_nodes(root_);
  for (const ExprRef& arg : call.args()) {
    if (effectful_->count(arg.get()) != 0) return true;
  }
  return false;
}

ExprRef CallExpander::operator()(const ExpandFn& expand, const Call& call,
                                 std::span<const ExprRef> args) {
  if (!any_acts(call)) return expand_call(expand, call, args);
  std::vector<ExprRef> atoms;
  std::vector<VarRef> vars;
  for (const ExprRef& arg : args) {
    VarRef var;
    if (!arg->is<Constant>()) {
      var = make_var("x", {}, arg->span());
      if (arg->type() != nullptr) var->set_type(TypeRef(arg->type()));
    }
    atoms.push_back(var ? ExprRef(var) : arg);
    vars.push_back(std::move(var));
  }
  ExprRef result = expand_call(expand, call, atoms);
  if (!result) return {};
  for (size_t i = args.size(); i-- > 0;) {
    if (vars[i]) result = make_let(vars[i], args[i], std::move(result));
  }
  return result;
}

bool needs_run_to_check(const Call& call) {
  const Operator* op = called_op(&call);
  if (op == nullptr) return false;
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) {
    if (!has_known_tensors(arg->type())) return false;
    types.emplace_back(arg->type());
  }
  return leaves_checks(op, types, call.attrs());
}

ExprRef expand_call(const OpColumn<ExpandFn>& column, const Call& call,
                    std::span<const ExprRef> args) {
  const Operator* op = called_op(&call);
  const ExpandFn* expand = op == nullptr ? nullptr : column.find(op);
  return expand == nullptr ? ExprRef() : expand_call(*expand, call, args);
}

}  // namespace relay
