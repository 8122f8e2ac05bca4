#include <relay/vm/compiler/inline_once.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/effects.h>
#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/program/call_graph.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/inline_calls.h>
#include <relay/transform/lets.h>
#include <relay/transform/op_calls.h>

namespace relay::vm {
namespace {

constexpr size_t kMaxNodes = 200'000;  // that are copied in all

bool is_closed(const Type* type) {
  return type != nullptr && !type->has_any_dim() && !type->has_symbolic_dim();
}

bool computes_without_failing(const te::Computation& computation) {
  for (const te::Output& output : computation.outputs) {
    if (output.counted()) return false;
  }
  return std::none_of(computation.stages.begin(), computation.stages.end(),
                      [](const te::Stage& stage) { return te::can_fail(stage); });
}

// Calls of operators on tensors: which of them cannot fail, equal ones looked at once.
class PlainCalls {
 public:
  static bool is_plain(const Call& call) {
    const Operator* op = called_op(&call);
    return op != nullptr && op->pure() && op->definition() == DefinitionKind::kCompute;
  }

  /// Of a plain call.
  bool cannot_fail(const Call& call) {
    const Operator* op = called_op(&call);
    std::vector<const void*> key{op, call.attrs().get(), call.type()};
    for (const ExprRef& arg : call.args()) key.push_back(arg->type());
    auto [entry, added] = known_.try_emplace(std::move(key), false);
    if (added) entry->second = find(call, op);
    return entry->second;
  }

 private:
  static bool find(const Call& call, const Operator* op) {
    std::vector<TypeRef> types;
    for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
    AttrsRef attrs = call.attrs();
    if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
    try {
      return computes_without_failing(
          build_computation(OpCall(op, attrs, types, TypeRef(call.type()))));
    } catch (const Error&) {
      return false;  // says what is wrong when it runs
    }
  }

  std::map<std::vector<const void*>, bool> known_;
};

// Functions that may go, and the bodies that they have by now.
class OnceInliner final : public Rewriter {
 public:
  OnceInliner(const Module& module, std::span<const Name> entries)
      : module_(module), graph_(reached_part(module, {entries.begin(), entries.end()})) {
    for (const Name& entry : entries) entries_.insert(entry);
  }

  Module run_all() {
    Module result = module_;
    for (const std::vector<Name>& component : graph_.components()) {
      for (const Name& name : component) {
        const relay::FunctionRef function(module_.function(name));
        const relay::FunctionRef rewritten = inline_in(function);
        if (!(rewritten == function)) result.update_function(name, rewritten);
        const bool once = component.size() == 1 && !graph_.is_recursive(name) &&
                          graph_.ref_count(name) == 1 && entries_.count(name) == 0;
        if (once && goes(rewritten.get(), false)) globals_[name] = rewritten;
      }
    }
    // What no entry reaches, such as a function whose gradient has been written out, may mention
    // them.
    if (!gone_.empty()) result = reached_part(result, {entries_.begin(), entries_.end()});
    for (const Name& name : gone_) result.remove_function(name);
    return result;
  }

 private:
  relay::FunctionRef inline_in(const relay::FunctionRef& function) {
    locals_.clear();
    literals_.clear();
    const View view(function);
    const Lets lets(view);
    for (const Lets::Entry& entry : lets.all()) {
      const bool once = view.kind(entry.value) == ExprKind::kFunction && !lets.recursive(entry) &&
                        lets.uses(entry) == 1 && keeps_type(entry.let);
      if (once) locals_[entry.let->var().get()] = nullptr;
    }
    post_order(function.get(), [&](const Expr* expr) {
      for (const ExprRef& operand : expr->operands()) {
        if (operand->is<relay::Function>()) ++literals_[operand.get()];
      }
    });
    bool any = !locals_.empty() || !literals_.empty() || !globals_.empty();
    if (!any) return function;
    return relay::FunctionRef(run(function)->as<relay::Function>());
  }

  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    auto local = locals_.find(let->var().get());
    if (local == locals_.end()) return;
    const auto* function = done[0]->as<relay::Function>();
    if (goes(function, true)) local->second = relay::FunctionRef(function);
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* call = expr->as<Call>();
    if (call == nullptr) return rebuild(expr, operands);
    const relay::FunctionRef callee = function_of(call->callee().get(), operands[0]);
    // A parameter of known extents refuses an argument of others.
    bool fits = callee && can_inline(*callee, operands.size() - 1);
    for (const ExprRef& arg : call->args()) fits = fits && is_closed(arg->type());
    if (!fits) return rebuild(expr, operands);
    copied_ += count_nodes(callee.get());
    if (copied_ > kMaxNodes) return rebuild(expr, operands);
    if (const auto* global = operands[0]->as<GlobalVar>()) gone_.push_back(global->name());
    return inline_call(*callee, operands.subspan(1), true);
  }

  relay::FunctionRef function_of(const Expr* old, const ExprRef& callee) {
    if (const auto* global = callee->as<GlobalVar>()) {
      auto found = globals_.find(global->name());
      return found == globals_.end() ? relay::FunctionRef() : found->second;
    }
    if (const auto* var = callee->as<Var>()) {
      auto found = locals_.find(var);
      return found == locals_.end() ? relay::FunctionRef() : found->second;
    }
    const auto* function = callee->as<relay::Function>();
    auto uses = literals_.find(old);
    const bool once = function != nullptr && uses != literals_.end() && uses->second == 1;
    return once && goes(function, true) ? relay::FunctionRef(function) : relay::FunctionRef();
  }

  // True for dataflow; a function that stands within its caller, whose text an error shows anyway,
  // may fail.
  bool goes(const relay::Function* function, bool within) {
    if (is_marked(function->attrs()) || function->contains(ExprPart::kNumber)) return false;
    bool straight = true;
    for (const VarRef& param : function->params()) straight &= is_closed(param->type());
    post_order(function->body().get(),
               [&](const Expr* expr) { straight = straight && is_straight(expr, within); });
    return straight;
  }

  bool is_straight(const Expr* expr, bool may_fail) {
    if (expr->is<relay::Op>()) return true;
    if (!is_closed(expr->type())) return false;
    switch (expr->kind()) {
      case ExprKind::kVar:
      case ExprKind::kConstant:
      case ExprKind::kTuple:
      case ExprKind::kTupleGetItem:
        return true;
      case ExprKind::kLet:
        return !may_refuse(static_cast<const Let*>(expr));
      case ExprKind::kCall: {
        const Call& call = *static_cast<const Call*>(expr);
        return PlainCalls::is_plain(call) && (may_fail || calls_.cannot_fail(call));
      }
      default:
        return false;
    }
  }

  const Module& module_;
  const CallGraph graph_;  // of what the entries reach
  std::unordered_set<Name> entries_;
  std::unordered_map<Name, relay::FunctionRef> globals_;
  std::unordered_map<const Var*, relay::FunctionRef> locals_;
  std::unordered_map<const Expr*, size_t> literals_;  // places where each stands
  PlainCalls calls_;
  std::vector<Name> gone_;  // globals whose only call is replaced
  size_t copied_ = 0;
};

}  // namespace

Module inline_once(const Module& module, std::span<const Name> entries) {
  if (Effects(module).any()) return module;
  return OnceInliner(module, entries).run_all();
}

}  // namespace relay::vm
