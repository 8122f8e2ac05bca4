#include <relay/pattern/rewrite.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/op/op.h>
#include <relay/pattern/groups.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay::pattern {

namespace {

// The most that an expression may grow, as a multiple of its nodes, and a size that is always
// allowed.
constexpr size_t kMostGrowth = 64;
constexpr size_t kSmall = 100000;

/// Replaces the roots of groups. Keeps what became of the nodes that `replace` asks for.
class GroupRewriter : public Rewriter {
 public:
  explicit GroupRewriter(std::span<const Group> groups) {
    for (const Group& group : groups) groups_[group.root] = &group;
  }

 protected:
  virtual ExprRef replace(const Group& group, const ExprRef& after) = 0;
  void keep(const Expr* expr) { results_[expr]; }
  ExprRef result(const Expr* expr) const {
    const ExprRef* found = results_.find(expr);
    return found == nullptr || !*found ? ExprRef(expr) : *found;
  }

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef after = rebuild(expr, operands);
    if (ExprRef* kept = results_.find(expr)) *kept = after;
    const Group* const* group = groups_.find(expr);
    if (group == nullptr) return after;
    after = replace(**group, after);
    if (ExprRef* kept = results_.find(expr)) *kept = after;
    return after;
  }

  PointerMap<Expr, const Group*> groups_;
  PointerMap<Expr, ExprRef> results_;
};

class CallbackRewriter final : public GroupRewriter {
 public:
  CallbackRewriter(std::span<const Group> groups, const Callback& callback)
      : GroupRewriter(groups), callback_(callback) {
    for (const Group& group : groups) {
      for (const Binding& binding : group.bindings) keep(binding.expr);
    }
  }
  const Expr* last() const { return last_; }

 private:
  ExprRef replace(const Group& group, const ExprRef& after) override {
    stop_if_asked();
    std::vector<Binding> bindings = group.bindings;
    std::vector<ExprRef> held;
    for (Binding& binding : bindings) {
      held.push_back(binding.expr == group.root ? after : result(binding.expr));
      binding.expr = held.back().get();
    }
    ExprRef made = callback_.apply(ExprRef(group.root), after, MatchResult(bindings));
    if (made != after) last_ = group.root;
    return made;
  }

  const Callback& callback_;
  const Expr* last_ = nullptr;  // what was changed last
};

[[noreturn]] void refuse(const Callback& callback, int rounds, Span where) {
  throw Error(Diagnostic::error("rewriting does not end: after " + std::to_string(rounds) +
                                    " rounds the callback of " +
                                    short_text(callback.pattern.get()) + " still changes this",
                                where)
                  .note("a callback whose result its own pattern fits is called again; "
                        "rewrite_once stops it after the first round that changes something"));
}

/// Names of what is in a group, as TVM writes them.
std::string group_name(const Group& group) {
  std::string name;
  for (const Expr* expr : group.nodes) {
    if (const auto* call = expr->as<Call>()) {
      const auto* node = call->callee()->as<Op>();
      name += node == nullptr ? "Call_" : node->op()->name().str() + "_";
    } else if (const auto* item = expr->as<TupleGetItem>()) {
      name += "TupleGetItem" + std::to_string(item->index()) + "_";
    } else if (expr->is<Tuple>() || expr->is<Let>() || expr->is<If>() || expr->is<Match>()) {
      name += std::string(expr_kind_name(expr->kind())) + "_";
    } else if (expr->is<Function>()) {
      name += "Function";
    }
  }
  return name;
}

class Partitioner final : public GroupRewriter {
 public:
  Partitioner(std::span<const Group> groups, const std::map<Name, AttrValue>& attrs,
              const std::function<bool(const ExprRef&)>& check)
      : GroupRewriter(groups), attrs_(attrs), check_(check) {
    for (const Group& group : groups) {
      for (const Expr* input : group.inputs) keep(input);
    }
  }

 private:
  ExprRef replace(const Group& group, const ExprRef& after) override {
    stop_if_asked();
    if (check_ && !check_(ExprRef(group.root))) return after;
    std::vector<VarRef> params;
    std::vector<ExprRef> args;
    PointerMap<Expr, ExprRef> inside;
    for (const Expr* input : group.inputs) {
      params.push_back(make_var("FunctionVar_" + std::to_string(group.number) + "_" +
                                std::to_string(params.size())));
      inside[input] = params.back();
      args.push_back(result(input));
    }
    for (const Expr* expr : group.nodes) {
      if (inside.contains(expr)) continue;  // a root that is its own input
      std::vector<ExprRef> operands;
      for (const ExprRef& operand : expr->operands()) operands.push_back(inside.at(operand.get()));
      inside[expr] = rebuild(expr, operands);
    }
    std::map<Name, AttrValue> attrs = attrs_;
    attrs.try_emplace("PartitionedFromPattern", group_name(group));
    FunctionRef function = make_function(std::move(params), inside.at(group.root), {}, {}, {},
                                         make_dict_attrs(std::move(attrs)), group.root->span());
    return make_call(std::move(function), args, {}, {}, group.root->span());
  }

  const std::map<Name, AttrValue>& attrs_;
  const std::function<bool(const ExprRef&)>& check_;
};

}  // namespace

ExprRef rewrite(std::span<const Callback> callbacks, const ExprRef& expr, const Module* module) {
  std::vector<CompiledPattern> patterns;
  for (const Callback& callback : callbacks) patterns.emplace_back(callback.pattern);
  std::vector<char> done(callbacks.size(), 0);
  ExprRef now = expr;
  int rounds = 0;
  size_t first_size = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < callbacks.size(); ++i) {
      if (done[i] != 0) continue;
      if (callbacks[i].require_type) infer_expr_type(now, module == nullptr ? Module() : *module);
      Surroundings around(now, module);
      std::vector<Group> groups = find_groups(patterns[i], around);
      if (groups.empty()) continue;
      CallbackRewriter rewriter(groups, callbacks[i]);
      ExprRef next = rewriter.run(now);
      ++rounds;
      if (next == now || structural_equal(next.get(), now.get())) continue;
      Span where = rewriter.last() == nullptr ? Span() : rewriter.last()->span();
      // Twice as many nodes in each round are too many long before the last one.
      size_t size = around.view().size();
      if (rounds == 1) first_size = size;
      bool grows = size > std::max<size_t>(kMostGrowth * first_size, kSmall);
      if (rounds >= kMostRounds || grows) refuse(callbacks[i], rounds, where);
      now = std::move(next);
      changed = true;
      done[i] = callbacks[i].rewrite_once ? 1 : 0;
    }
  }
  return now;
}

ExprRef partition(const DFPatternRef& pattern, const ExprRef& expr, std::map<Name, AttrValue> attrs,
                  const std::function<bool(const ExprRef& root)>& check, const Module* module) {
  CompiledPattern compiled(pattern);
  Surroundings around(expr, module);
  std::vector<Group> groups = find_groups(compiled, around);
  if (groups.empty()) return expr;
  return Partitioner(groups, attrs, check).run(expr);
}

}  // namespace relay::pattern
