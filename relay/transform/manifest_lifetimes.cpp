// ManifestLifetimes: says where each variable is needed last.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/transform/fusion.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

// Tensors and tuples of them, as memory.kill takes them.
bool holds_tensors(const Type* type) {
  if (type == nullptr) return false;
  if (type->is<TensorType>()) return true;
  const auto* tuple = type->as<TupleType>();
  return tuple != nullptr &&
         std::all_of(tuple->fields().begin(), tuple->fields().end(),
                     [](const TypeRef& field) { return field->is<TensorType>(); });
}

// Where variables of one function end: behind lets, in the order of their last uses.
class Ends {
 public:
  explicit Ends(const View& view) : view_(view), users_(view.users()) {
    std::vector<Use> uses;
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (view.kind(id) != ExprKind::kVar || users_[id].empty()) continue;
      // Cheap questions first: a program with all its kills asks for no other column.
      const bool killed = std::any_of(users_[id].begin(), users_[id].end(),
                                      [&](Users::Use use) { return is_kill(view.expr(use.user)); });
      if (killed || is_only_result(users_[id])) continue;
      if (view.binder(id) == View::kNone || !holds_tensors(view.expr(id)->type())) continue;
      const Scopes& scopes = view.scopes();
      bool captured = false;
      uses.clear();
      for (Users::Use use : users_[id]) {
        const uint32_t place = scopes.place(use.user, use.operand);
        captured = captured || scopes.function(place) != scopes.function(scopes.home(id));
        uses.push_back({use.user, use.operand, place});
      }
      if (!captured) find(id, std::move(uses));
    }
    for (auto& [let, ends] : ends_)
      std::stable_sort(ends.begin(), ends.end(),
                       [](const End& a, const End& b) { return a.operand < b.operand; });
  }

  struct End {
    VarRef var;
    uint32_t operand;  // of the last use
  };
  bool empty() const { return ends_.empty(); }
  const std::vector<End>* behind(const Let* let) const {
    auto found = ends_.find(let);
    return found == ends_.end() ? nullptr : &found->second;
  }

 private:
  struct Use {
    uint32_t user, operand, place;
  };
  struct Work {
    uint32_t scope;
    std::vector<Use> uses;
  };

  // Read once, as the value of a branch, clause or body.
  bool is_only_result(std::span<const Users::Use> uses) const {
    if (uses.size() != 1) return false;
    switch (view_.kind(uses[0].user)) {
      case ExprKind::kFunction:
        return true;
      case ExprKind::kLet:
      case ExprKind::kIf:
      case ExprKind::kMatch:
        return uses[0].operand > 0;
      default:
        return false;
    }
  }

  // Uses in a scope or further inside, seen from the scope: the last one decides. Branches that use
  // the variable last end it each for itself.
  void find(uint32_t var, std::vector<Use> uses) {
    std::vector<Work> work{{view_.scopes().home(var), std::move(uses)}};
    while (!work.empty()) {
      const Work now = std::move(work.back());
      work.pop_back();
      uint32_t last = 0, operand = 0;
      const Let* let = nullptr;
      bool escapes = false;
      std::unordered_map<uint32_t, std::vector<Use>> inside;  // of the last node, by scope
      for (const Use& use : now.uses) {
        const auto [node, scope] = lifted(use, now.scope);
        if (scope == now.scope && is_result(use, now.scope)) escapes = true;
        const uint32_t position = place_in_chain(node, use);
        if (position < last) continue;
        if (position > last) {
          inside.clear();
          let = nullptr;
        }
        last = position;
        if (scope == now.scope) {
          let = let_of(node, use);
          operand = use.operand;
        } else {
          inside[scope].push_back(use);
        }
      }
      if (escapes) continue;
      for (auto& [scope, within] : inside) work.push_back({scope, std::move(within)});
      if (inside.empty() && let != nullptr)
        ends_[let].push_back({VarRef(static_cast<const Var*>(view_.expr(var))), operand});
    }
  }

  // The node of the scope that a use is in, and the scope that it opens around the use.
  std::pair<uint32_t, uint32_t> lifted(const Use& use, uint32_t scope) const {
    uint32_t node = use.user, place = use.place, opened = scope;
    while (place != scope) {
      node = view_.scopes()[place].owner;
      opened = place;
      place = view_.scopes().home(node);
    }
    return {node, opened};
  }
  // The value of a branch, clause or body, or of the lets before it.
  bool is_result(const Use& use, uint32_t scope) const {
    if (view_.kind(use.user) == ExprKind::kLet) return use.operand == 1;
    return view_.scopes().home(use.user) != scope;
  }
  // Lets are numbered from the last to the first, but their variables in order.
  uint32_t place_in_chain(uint32_t node, const Use& use) const {
    const auto* let = view_.expr(node)->as<Let>();
    return let != nullptr && node == use.user && use.operand == 0 ? view_.id(let->var().get())
                                                                  : node;
  }
  const Let* let_of(uint32_t node, const Use& use) const {
    if (view_.kind(node) == ExprKind::kLet && node == use.user)
      return static_cast<const Let*>(view_.expr(node));
    for (Users::Use user : users_[node]) {
      if (user.operand == 0 && view_.kind(user.user) == ExprKind::kLet)
        return static_cast<const Let*>(view_.expr(user.user));
    }
    return nullptr;
  }

  const View& view_;
  const Users& users_;
  std::unordered_map<const Let*, std::vector<End>> ends_;
};

class Killer final : public Rewriter {
 public:
  explicit Killer(const Ends& ends) : ends_(ends) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* function = expr->as<Function>();
    return function != nullptr && is_primitive(function) ? ExprRef(expr) : ExprRef();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* let = expr->as<Let>();
    const std::vector<Ends::End>* ends = let == nullptr ? nullptr : ends_.behind(let);
    if (ends == nullptr) return rebuild(expr, operands);
    ExprRef body = operands[1];
    for (size_t i = ends->size(); i-- > 0;) {
      body = make_let(make_var("x"), make_kill((*ends)[i].var, let->span()), std::move(body),
                      let->span());
    }
    return make_let(let->var(), operands[0], std::move(body), let->span());
  }
  const Ends& ends_;
};

FunctionRef manifest(const FunctionRef& function, const Module& module, const PassContext&) {
  if (is_primitive(function.get())) return function;
  const Program program = program_of(module);
  Ends ends(program.view(function));
  if (ends.empty()) return function;
  ExprRef result = Killer(ends).run(function);
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"ManifestLifetimes",
     0,
     {ProgramState::kANF, ProgramState::kTyped},
     "Writes `memory.kill` behind the last use of each variable that holds tensors, in each branch "
     "that uses it last. "
     "Results, variables that nobody uses and those that a closure captures have none. The "
     "machine frees values by itself: the calls show the lifetimes, and do nothing."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, manifest); },
});

}  // namespace
}  // namespace relay
