#include <relay/vm/compiler/scopes.h>

#include <algorithm>

#include <relay/transform/fusion.h>

namespace relay::vm {

Scopes::Scopes(const Regions& regions)
    : regions_(regions),
      function_of_(regions.num_regions(), Regions::kNone),
      captures_(regions.num_nodes()),
      kernels_(regions.num_nodes(), 0),
      users_(regions.num_nodes()) {
  std::vector<char> known(regions.num_regions(), 0);
  known[0] = 1;
  std::vector<uint32_t> way;
  for (uint32_t region = 0; region < regions.num_regions(); ++region) {
    uint32_t at = region;
    for (way.clear(); known[at] == 0; at = regions.region(at).parent) way.push_back(at);
    uint32_t function = function_of_[at];
    for (size_t i = way.size(); i-- > 0;) {
      uint32_t owner = regions.region(way[i]).owner;
      if (regions.expr(owner)->is<relay::Function>()) function = owner;
      function_of_[way[i]] = function;
      known[way[i]] = 1;
    }
  }
  find_names();
  find_users();
  find_captures();
}

Entity Scopes::resolve(const Expr* expr, uint32_t node) const {
  while (const auto* let = expr->as<Let>()) {
    node = regions_.operand(node, 1);
    expr = let->body().get();
  }
  if (node != Regions::kNone) return {node, nullptr};
  return {Regions::kNone, expr->as<Var>()};
}

uint32_t Scopes::bound_function_node(const Var* var) const {
  auto found = bound_.find(var);
  return found == bound_.end() ? Regions::kNone : found->second;
}

const Var* Scopes::name_of(const Expr* function) const {
  auto found = names_.find(function);
  return found == names_.end() ? nullptr : found->second;
}

const std::vector<uint32_t>& Scopes::users(const Var* var) const {
  static const std::vector<uint32_t> kNone;
  auto found = var_users_.find(var);
  return found == var_users_.end() ? kNone : found->second;
}

void Scopes::find_names() {
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
    const Expr* expr = regions_.expr(id);
    if (const auto* function = expr->as<relay::Function>()) {
      for (const VarRef& param : function->params()) owner_[param.get()] = id;
    } else if (const auto* let = expr->as<Let>()) {
      owner_[let->var().get()] = function_of_[regions_.home(id)];
      if (!let->value()->is<relay::Function>()) continue;
      bound_[let->var().get()] = regions_.operand(id, 0);
      names_[let->value().get()] = let->var().get();
    } else if (const auto* match = expr->as<Match>()) {
      for (const PatternRef& pattern : match->patterns()) {
        for (const VarRef& var : pattern_vars(pattern.get()))
          owner_[var.get()] = function_of_[regions_.home(id)];
      }
    }
  }
}

void Scopes::find_users() {
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
    const Expr* expr = regions_.expr(id);
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      if (regions_.region_of(id, i) != Regions::kNone) continue;
      uint32_t operand = regions_.operand(id, i);
      if (operand != Regions::kNone) {
        users_[operand].push_back(id);
      } else if (const auto* var = expr->operands()[i]->as<Var>()) {
        var_users_[var].push_back(id);
      }
    }
  }
  for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
    uint32_t root = regions_.region(region).root;
    if (root != Regions::kNone) {
      users_[root].push_back(Regions::kNone);
    } else if (const auto* var = regions_.root_expr(region)->as<Var>()) {
      var_users_[var].push_back(Regions::kNone);
    }
  }
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
    const auto* function = regions_.expr(id)->as<relay::Function>();
    if (function == nullptr || !is_primitive(function)) continue;
    kernels_[id] = std::all_of(users_[id].begin(), users_[id].end(), [&](uint32_t user) {
      if (user == Regions::kNone) return false;
      const auto* call = regions_.expr(user)->as<Call>();
      if (call == nullptr || call->callee().get() != function) return false;
      for (const ExprRef& arg : call->args()) {
        if (arg.get() == function) return false;
      }
      return true;
    });
  }
}

// Uses by the innermost function that they are in.
std::vector<std::vector<Entity>> Scopes::uses_of_functions() const {
  std::vector<std::vector<Entity>> uses(regions_.num_nodes());
  for (uint32_t id : regions_.post_order()) {
    const Expr* expr = regions_.expr(id);
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      uint32_t region = regions_.region_of(id, i);
      if (region == Regions::kNone) region = regions_.home(id);
      const uint32_t function = function_of_[region];
      if (function == Regions::kNone) continue;
      Entity entity = resolve(expr->operands()[i].get(), regions_.operand(id, i));
      if (entity.node != Regions::kNone || entity.var != nullptr) uses[function].push_back(entity);
    }
  }
  return uses;
}

// True if a type has dimension names that `own`, if given, does not declare.
static bool has_names(const TypeRef& type, const relay::Function* own = nullptr) {
  if (!type || !type->has_symbolic_dim()) return false;
  if (own == nullptr) return true;
  const auto& declared = own->type_params();
  std::vector<TypeVarRef> names = free_type_vars(type);
  return std::any_of(names.begin(), names.end(), [&](const TypeVarRef& name) {
    return name->kind() == Kind::kShapeVar &&
           std::find(declared.begin(), declared.end(), name) == declared.end();
  });
}

// The parameters of the functions around give the dimension names in a function's annotations their
// values.
void Scopes::add_uses_of_names(std::vector<std::vector<Entity>>& uses) const {
  for (uint32_t id : regions_.post_order()) {
    uint32_t function = Regions::kNone;
    bool names = false;
    if (const auto* literal = regions_.expr(id)->as<relay::Function>()) {
      function = id;
      names = has_names(literal->ret_type(), literal);
      for (const VarRef& param : literal->params())
        names |= has_names(param->annotation(), literal);
    } else if (const auto* let = regions_.expr(id)->as<Let>()) {
      function = function_of_[regions_.home(id)];
      names = has_names(let->var()->annotation());
    }
    if (!names || function == Regions::kNone) continue;
    for (uint32_t at = function_of_[regions_.home(function)]; at != Regions::kNone;
         at = function_of_[regions_.home(at)]) {
      for (const VarRef& param : static_cast<const relay::Function*>(regions_.expr(at))->params()) {
        if (has_names(param->annotation())) uses[function].push_back({Regions::kNone, param.get()});
      }
    }
  }
}

// True if a function captures what it uses. `done` are the functions whose captures are known.
bool Scopes::is_captured(uint32_t function, const Entity& entity,
                         const std::vector<char>& done) const {
  auto captures_nothing = [&](uint32_t node) { return captures_[node].empty() && done[node] != 0; };
  if (entity.node != Regions::kNone) {
    const Expr* expr = regions_.expr(entity.node);
    if (function_of_[regions_.home(entity.node)] == function) return false;
    // Written again where they are used.
    if (expr->is<Constant>() || expr->is<Literal>() || is_kernel(entity.node)) return false;
    return !expr->is<relay::Function>() || !captures_nothing(entity.node);
  }
  auto owner = owner_.find(entity.var);
  if (owner != owner_.end() && owner->second == function) return false;
  const uint32_t bound = bound_function_node(entity.var);
  if (bound == Regions::kNone) return true;
  return bound != function && !captures_nothing(bound);  // nor itself
}

void Scopes::find_captures() {
  std::vector<std::vector<Entity>> uses = uses_of_functions();
  add_uses_of_names(uses);
  // Functions inside come before those around them.
  std::vector<std::vector<uint32_t>> inside(regions_.num_nodes());
  std::vector<char> done(regions_.num_nodes(), 0);
  for (uint32_t id : regions_.post_order()) {
    if (!regions_.expr(id)->is<relay::Function>()) continue;
    std::vector<Entity>& captures = captures_[id];
    auto add = [&](const std::vector<Entity>& entities) {
      for (const Entity& entity : entities) {
        if (is_captured(id, entity, done) &&
            std::find(captures.begin(), captures.end(), entity) == captures.end())
          captures.push_back(entity);
      }
    };
    add(uses[id]);
    for (uint32_t inner : inside[id]) add(captures_[inner]);
    done[id] = 1;
    uint32_t around = function_of_[regions_.home(id)];
    if (around != Regions::kNone) inside[around].push_back(id);
  }
}

}  // namespace relay::vm
