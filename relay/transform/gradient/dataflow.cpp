// The gradient of functions of operators, tuples, lets and ifs: dataflow again.
#include <relay/transform/gradient/parts.h>
#include <relay/transform/gradient/reverse.h>

#include <relay/ir/result_names.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/inline_calls.h>
#include <relay/transform/lets.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {
namespace {

constexpr size_t kMaxNodes = 1'000'000;  // that inlining may add

// Callees are rewritten before the functions that call them.
class CallInliner final : public Rewriter {
 public:
  explicit CallInliner(const Module& module) : module_(module), graph_(module) {}

  FunctionRef inline_in(const FunctionRef& function) {
    const View view(function);
    const Lets lets(view);
    for (const Lets::Entry& entry : lets.all()) {
      if (view.kind(entry.value) == ExprKind::kFunction && !lets.recursive(entry))
        locals_[entry.let->var().get()] = nullptr;
    }
    return FunctionRef(run(function)->as<Function>());
  }
  void known(const Name& name, FunctionRef function) { globals_[name] = std::move(function); }
  const CallGraph& graph() const { return graph_; }

 private:
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    auto local = locals_.find(let->var().get());
    if (local != locals_.end()) local->second = FunctionRef(done[0]->as<Function>());
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* call = expr->as<Call>();
    if (call == nullptr) return rebuild(expr, operands);
    const FunctionRef callee = function_of(operands[0]);
    const auto args = operands.subspan(1);
    if (!callee || is_primitive(callee.get()) || is_marked(callee->attrs()) ||
        !can_inline(*callee, args.size()))
      return rebuild(expr, operands);
    added_ += count_nodes(callee.get());
    if (added_ > kMaxNodes) return rebuild(expr, operands);
    return inline_call(*callee, args, true);
  }

  FunctionRef function_of(const ExprRef& callee) const {
    if (const auto* global = callee->as<GlobalVar>()) {
      auto found = globals_.find(global->name());
      return found == globals_.end() ? FunctionRef() : found->second;
    }
    if (const auto* var = callee->as<Var>()) {
      auto found = locals_.find(var);
      return found == locals_.end() ? FunctionRef() : found->second;
    }
    return FunctionRef(callee->as<Function>());
  }

  const Module& module_;
  CallGraph graph_;
  std::unordered_map<Name, FunctionRef> globals_;
  std::unordered_map<const Var*, FunctionRef> locals_;
  size_t added_ = 0;
};

}  // namespace

FunctionRef with_calls_inlined(const FunctionRef& function, const Module& module) {
  CallInliner inliner(module);
  Name own;
  for (const auto& entry : module.functions()) {
    if (entry.function == function) own = entry.name;
  }
  std::unordered_set<Name> wanted;
  for (const Name& name : inliner.graph().reachable({own})) wanted.insert(name);
  for (const std::vector<Name>& component : inliner.graph().components()) {
    const Name& name = component[0];
    if (wanted.count(name) == 0 || name == own) continue;
    if (component.size() > 1 || inliner.graph().is_recursive(name)) continue;
    inliner.known(name, inliner.inline_in(FunctionRef(module.function(name))));
  }
  const FunctionRef inlined = inliner.inline_in(function);
  if (inlined == function) return function;
  return without_dead_lets(inlined);
}

const Expr* not_dataflow(const Function& function, Loops* loops) {
  for (const VarRef& param : function.params()) {
    if (!is_tensorial(param->type())) return param.get();
  }
  const Reverse reverse(&function, loops);
  const Regions& regions = reverse.regions();
  const Expr* found = nullptr;
  for (uint32_t id = 1; id < regions.num_nodes() && found == nullptr; ++id) {
    const Expr* expr = regions.expr(id);
    switch (expr->kind()) {
      case ExprKind::kLet:
        if (static_cast<const Let*>(expr)->value()->is<Function>()) found = expr;
        break;
      case ExprKind::kConstant:
      case ExprKind::kTuple:
      case ExprKind::kTupleGetItem:
        if (!is_tensorial(expr->type())) found = expr;
        break;
      default: {
        const Operator* op = called_op(expr);
        if (!reverse.is_dataflow(id) || (op != nullptr && !op->pure())) found = expr;
      }
    }
  }
  return found;
}

FunctionRef dataflow_gradient(const Function& function, const GradientForm& form, Loops* loops) {
  Reverse reverse(&function, loops);
  const std::vector<bool> chosen = chosen_params(function, form);
  std::vector<VarRef> params = function.params();
  for (size_t i = 0; i < params.size(); ++i) {
    const uint32_t id = reverse.variable(params[i].get());
    reverse.set_value(id, params[i]);
    if (chosen[i] && reverse.leaf_table().count(params[i]->type()) > 0) reverse.set_varied(id);
  }
  const uint32_t body = reverse.regions().first_region(0);
  reverse.forward_region(body);
  const uint32_t result = reverse.result_of(body);
  const Type* type = reverse.type(result);
  const ExprRef value = reverse.value(result);
  Leaves seeds;
  if (form.from_result) {
    VarRef given = make_var("g", TypeRef(type));
    params.push_back(given);
    for_each_tensor(type, given, [&](const Type* tensor, const ExprRef& leaf) {
      if (is_leaf(tensor)) seeds.push_back(leaf);
    });
  } else {
    for_each_tensor(type, value, [&](const Type* tensor, const ExprRef& leaf) {
      if (is_leaf(tensor)) seeds.push_back(ones_of(tensor, leaf));
    });
  }
  reverse.open_frame(body);
  for (uint32_t leaf = 0; leaf < seeds.size(); ++leaf) reverse.add(result, leaf, seeds[leaf]);
  const std::vector<uint32_t> nodes = reverse.nodes_of(body);
  reverse.backward(nodes);
  std::unordered_map<uint32_t, Leaves> found;
  for (const Reverse::Outer& outer : reverse.close_frame()) {
    Leaves& leaves = found[outer.id];
    if (leaves.size() <= outer.leaf) leaves.resize(outer.leaf + 1);
    leaves[outer.leaf] = outer.gradient;
  }
  std::vector<ExprRef> gradients;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    const VarRef& param = params[i];
    gradients.push_back(from_leaves(param->type(), param, found[reverse.variable(param.get())]));
  }
  ExprRef all = reverse.with_ifs(nodes, result_in_form(form, value, std::move(gradients)));
  return make_function(std::move(params), std::move(all), {}, function.type_params(), {},
                       without_result_names(function.attrs()), function.span());
}

}  // namespace relay::grad
