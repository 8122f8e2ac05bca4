#include <relay/transform/bind_nodes.h>

#include <algorithm>
#include <string>

#include <relay/ir/rewrite.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

class Binder {
 public:
  Binder(const Regions& regions, const std::function<bool(uint32_t)>& bound)
      : regions_(regions),
        vars_(regions.num_nodes()),
        values_(regions.num_nodes()),
        own_let_(regions.num_nodes(), Regions::kNone),
        stands_for_(ends_of_chains(regions)) {
    use_names_of_lets();
    for (uint32_t id : regions.post_order()) {
      if (id != 0 && regions.kind(id) != ExprKind::kLet && !vars_[id] && bound(id))
        vars_[id] = new_var(id);
    }
  }

  ExprRef run() {
    // Operands first; when the owner of a region is met, all nodes in the region are done.
    for (uint32_t id : regions_.post_order()) values_[id] = make_value(id);
    return values_[0];
  }

 private:
  VarRef new_var(uint32_t id) {
    const Expr* expr = regions_.expr(id);
    VarRef var = make_var("t" + std::to_string(next_name_++), {}, expr->span());
    if (const Type* type = expr->type()) var->set_type(TypeRef(type));
    return var;
  }

  // A let binds its value where the value runs: the value takes the let's variable, and the let is
  // that binding. Not if the annotation converts the value's type, and only for the first let of a
  // value.
  void use_names_of_lets() {
    for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
      for (Regions::Step step : regions_.steps(region)) {
        if (!step.bind) continue;
        const auto* let = static_cast<const Let*>(regions_.expr(step.node));
        uint32_t value = resolve(regions_.operand(step.node, 0));
        if (value == Regions::kNone || own_let_[value] != Regions::kNone) continue;
        if (regions_.home(value) != region || regions_.kind(value) == ExprKind::kLet) continue;
        const Var* var = let->var().get();
        bool converts =
            var->annotation() && (var->type() == nullptr || var->type() != let->value()->type());
        if (converts && regions_.uses(value) > 1) continue;
        own_let_[value] = step.node;
        vars_[value] = let->var();
      }
    }
  }

  uint32_t resolve(uint32_t id) const { return id == Regions::kNone ? id : stands_for_[id]; }

  // The expression for a node at a use of it.
  ExprRef atom(const ExprRef& expr, uint32_t id) const {
    id = resolve(id);
    if (id == Regions::kNone) return expr;
    if (regions_.kind(id) == ExprKind::kLet)
      return regions_.expr(id)->operands()[1];  // a variable or the like
    if (vars_[id]) return vars_[id];
    return values_[id];
  }

  ExprRef make_value(uint32_t id) {
    const Expr* expr = regions_.expr(id);
    if (expr->is<Let>()) return {};
    operands_.clear();
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      uint32_t region = regions_.region_of(id, i);
      operands_.push_back(region == Regions::kNone
                              ? atom(expr->operands()[i], regions_.operand(id, i))
                              : make_region(region));
    }
    return rebuild(expr, operands_);
  }

  ExprRef make_region(uint32_t region) const {
    ExprRef result = atom(ExprRef(regions_.root_expr(region)), regions_.region(region).root);
    auto steps = regions_.steps(region);
    for (size_t i = steps.size(); i-- > 0;) {
      uint32_t id = steps[i].node;
      if (!steps[i].bind) {
        if (vars_[id]) result = bind(vars_[id], values_[id], std::move(result), own_let_[id]);
        continue;
      }
      uint32_t value = resolve(regions_.operand(id, 0));
      if (value != Regions::kNone && own_let_[value] == id) continue;
      const auto* let = static_cast<const Let*>(regions_.expr(id));
      result = bind(let->var(), atom(let->value(), regions_.operand(id, 0)), std::move(result), id);
    }
    return result;
  }

  // The old let again if it is the same.
  ExprRef bind(const VarRef& var, const ExprRef& value, ExprRef body, uint32_t old) const {
    if (old != Regions::kNone) {
      const ExprRef operands[] = {value, std::move(body)};
      return rebuild(regions_.expr(old), operands);
    }
    // Publishes a type only on nodes that are typed throughout.
    TypeRef type(value->type() == nullptr ? nullptr : body->type());
    ExprRef let = make_let(var, value, std::move(body), value->span());
    if (type) let->set_type(std::move(type));
    return let;
  }

  const Regions& regions_;
  std::vector<VarRef> vars_;       // of bound nodes
  std::vector<ExprRef> values_;    // new nodes
  std::vector<uint32_t> own_let_;  // the let whose variable a node took
  std::vector<uint32_t> stands_for_;
  std::vector<ExprRef> operands_;
  size_t next_name_ = 0;
};

// Makes copies inside the function's value, so that the originals are used outside only.
class Doubler final : public Rewriter {
 public:
  explicit Doubler(const View& view) : view_(view), waiting_(view.scopes().regions().waiting()) {
    for (const auto& [node, let] : waiting_) nodes_.emplace_back(let, node);
    std::sort(nodes_.begin(), nodes_.end());
  }

 private:
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef>) override {
    if (!expr->is<Let>()) return;
    const auto waiting = waiting_for(number(expr));
    if (waiting.empty()) return;
    if (operand == 0) {
      inside_.insert(expr);
      return;
    }
    inside_.erase(expr);
    for (const auto& [let, node] : waiting) forget(view_.expr(view_.scopes().view_node(node)));
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const uint32_t own = number(expr);
    if (own == Regions::kNone) return rebuild(expr, operands);
    if (expr->is<Let>() && !waiting_for(own).empty()) {
      // The copies bind variables of their own.
      const ExprRef parts[] = {copy_with_fresh_vars(operands[0]), operands[1]};
      return rebuild(expr, parts);
    }
    ExprRef result = rebuild(expr, operands);
    auto let = waiting_.find(own);
    if (let == waiting_.end() || !(result == expr)) return result;
    if (!inside_.contains(view_.expr(view_.scopes().view_node(let->second)))) return result;
    ExprRef copy = clone_node(expr);
    if (expr->type() != nullptr) copy->set_type(TypeRef(expr->type()));
    return copy;
  }

  using Waiting = std::pair<uint32_t, uint32_t>;  // a let, a node that waits for it
  uint32_t number(const Expr* expr) const {
    const uint32_t id = view_.id(expr);
    return id == View::kNone ? Regions::kNone : view_.scopes().region_node(id);
  }
  std::span<const Waiting> waiting_for(uint32_t let) const {
    auto [first, last] =
        std::equal_range(nodes_.begin(), nodes_.end(), Waiting{let, 0},
                         [](const Waiting& a, const Waiting& b) { return a.first < b.first; });
    return {first, last};
  }

  const View& view_;
  const std::unordered_map<uint32_t, uint32_t>& waiting_;
  std::vector<Waiting> nodes_;
  PointerSet<Expr> inside_;  // lets whose value is being rewritten
};

}  // namespace

std::vector<uint32_t> ends_of_chains(const Regions& regions) {
  std::vector<uint32_t> ends(regions.num_nodes());
  for (uint32_t id : regions.post_order()) {
    uint32_t body = regions.kind(id) == ExprKind::kLet ? regions.operand(id, 1) : Regions::kNone;
    ends[id] = body == Regions::kNone ? id : ends[body];
  }
  return ends;
}

FunctionRef without_waiting_nodes(const Program& program, const FunctionRef& function) {
  FunctionRef result = function;
  for (;;) {  // a node may wait for several names; each round frees it of the outermost
    const View& view = program.view(result);
    if (view.scopes().regions().waiting().empty()) return result;
    result = FunctionRef(Doubler(view).run(result)->as<Function>());
  }
}

FunctionRef bind_nodes(const View& view, const std::function<bool(uint32_t node)>& bound) {
  const Regions& regions = view.scopes().regions();
  RELAY_CHECK(regions.waiting().empty(), "nodes that wait for a name cannot be bound");
  ExprRef result = Binder(regions, bound).run();
  RELAY_CHECK(result->is<Function>(), "binding the nodes of a function gave something else");
  return FunctionRef(result->as<Function>());
}

}  // namespace relay
