// Which nodes get a name of their own, in which order they are numbered, and how variables are told
// apart.
#include <relay/print/printer.h>
#include <relay/print/text.h>

namespace relay::printing {
namespace {

bool all_digits(std::string_view text) {
  for (char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return !text.empty();
}

}  // namespace

Layout::Layout(const Regions& regions, const Effects& effects, const std::vector<VarRef>& free)
    : regions_(regions) {
  collect(free);
  std::unordered_set<const Expr*> effectful;
  if (effects.any() && regions.num_nodes() != 0)
    effectful = effects.effectful_nodes(regions.expr(0));
  number_.assign(regions.num_nodes(), kInline);
  // Marked first; the numbers follow in the order of the text.
  for (uint32_t id = 0; id < number_.size(); ++id) {
    if (is_bound(id, effectful)) number_[id] = 0;
  }
  assign(free);
}

// TVM's rule: everything but atoms gets a name, unless it is used once and stands as a let's value
// or at the end of a region. A node with an effect stays in its place (E4).
bool Layout::is_bound(uint32_t id, const std::unordered_set<const Expr*>& effectful) const {
  ExprKind kind = regions_.kind(id);
  if (regions_.uses(id) == 0 || kind == ExprKind::kConstant) return false;
  // A literal's dtype is solved once, so two uses of one node are not two literals.
  if (regions_.uses(id) > 1) return true;
  if (kind == ExprKind::kLiteral) return false;
  if (!effectful.empty() && effectful.count(regions_.expr(id)) > 0) return false;
  ExprKind user = regions_.kind(regions_.user(id));
  if (user == ExprKind::kLet || user == ExprKind::kTempExpr) return false;
  return regions_.region_of(regions_.user(id), regions_.user_operand(id)) == Regions::kNone;
}

void Layout::bind(const Var* var) {
  Name name = var->name();
  if (!seen_names_.insert(name.view().data()).second) {
    same_names_ = true;
    return;
  }
  names_.push_back(name);
  if (name.empty()) same_names_ = true;
  if (all_digits(name.view())) numbers_.insert(name.str());
  note_dots(name.view());
}

void Layout::note_dots(std::string_view text) {
  for (size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    if (dot + 1 < text.size() && text[dot + 1] >= '0' && text[dot + 1] <= '9') {
      dotted_.emplace(text.substr(0, dot));
    }
  }
}

void Layout::collect(const std::vector<VarRef>& free) {
  for (const VarRef& var : free) bind(var.get());
  for (uint32_t id = 0; id < regions_.num_nodes(); ++id) {
    const Expr* expr = regions_.expr(id);
    switch (regions_.kind(id)) {
      case ExprKind::kFunction:
        for (const VarRef& var : static_cast<const Function*>(expr)->params()) bind(var.get());
        break;
      case ExprKind::kLet:
        bind(static_cast<const Let*>(expr)->var().get());
        break;
      case ExprKind::kMatch:
        for (const PatternRef& pattern : static_cast<const Match*>(expr)->patterns()) {
          for (const VarRef& var : pattern_vars(pattern.get())) bind(var.get());
        }
        break;
      default:
        break;
    }
  }
}

std::string Layout::fresh(std::string_view base) {
  if (taken_.empty()) {
    for (Name name : names_) taken_.insert(name.str());
  }
  std::string name(base);
  // Digits alone would be the number of a node.
  if (all_digits(base)) name += '_';
  size_t stem = name.size();
  uint32_t& count =
      renamings_[name];  // where to go on, or many of one name would take quadratic time
  do {
    name.resize(stem);
    name += std::to_string(++count);
  } while (!taken_.insert(name).second);
  note_dots(name);
  return name;
}

void Layout::declare(const Var* var, std::vector<const Var*>& frame) {
  if (!same_names_) return;
  if (var->name().empty()) {
    if (renamed_.count(var) == 0) renamed_[var] = fresh("v");
    return;
  }
  ++in_scope_[var];
  frame.push_back(var);
  if (renamed_.count(var) == 0) scope_[var->name()].push_back(var);
}

void Layout::undeclare(const Var* var) {
  --in_scope_[var];
  std::vector<const Var*>& visible = scope_[var->name()];
  if (!visible.empty() && visible.back() == var) visible.pop_back();
}

// Renames variables between a use and its variable if the text would take one of them for it.
void Layout::use(const Var* var) {
  if (renamed_.count(var) > 0) return;
  auto scoped = in_scope_.find(var);
  if (scoped == in_scope_.end() || scoped->second == 0) return;
  std::vector<const Var*>& visible = scope_[var->name()];
  while (!visible.empty() && visible.back() != var) {
    if (renamed_.count(visible.back()) == 0) {
      renamed_[visible.back()] = fresh(var->name().view());
    }
    visible.pop_back();
  }
}

void Layout::check_uses(uint32_t node) {
  auto operands = regions_.expr(node)->operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->kind() != ExprKind::kVar) continue;
    if (regions_.region_of(node, i) != Regions::kNone) continue;  // seen at the end of that region
    // The end of a chain of lets is where that variable is used.
    if (i == 1 && regions_.expr(node)->kind() == ExprKind::kLet) continue;
    use(static_cast<const Var*>(operands[i].get()));
  }
}

namespace {

// How many regions the text of a node has.
uint32_t inner_regions(const Regions& regions, uint32_t node) {
  if (regions.first_region(node) == Regions::kNone) return 0;
  switch (regions.kind(node)) {
    case ExprKind::kFunction:
    case ExprKind::kLet:
      return 1;
    default:
      return static_cast<uint32_t>(regions.num_operands(node)) - 1;
  }
}

// The let whose value is this function literal in place, which may refer to itself, or null.
const Let* own_let(const Regions& regions, uint32_t node) {
  if (regions.kind(node) != ExprKind::kFunction || regions.uses(node) != 1 ||
      regions.user_operand(node) != 0) {
    return nullptr;
  }
  return regions.expr(regions.user(node))->as<Let>();
}

}  // namespace

// Declares the variables in front of a region. Names that are declared side by side must differ
// whatever is used.
void Layout::declare_front(uint32_t region, const std::vector<VarRef>& free,
                           std::vector<const Var*>& declared) {
  std::unordered_set<Name> together;
  auto declare_all = [&](std::span<const VarRef> vars) {
    for (const VarRef& var : vars) {
      if (!var->name().empty() && !together.insert(var->name()).second &&
          renamed_.count(var.get()) == 0) {
        renamed_[var.get()] = fresh(var->name().view());
      }
      declare(var.get(), declared);
    }
  };
  const uint32_t owner = regions_.region(region).owner;
  if (owner == Regions::kNone) {
    declare_all(free);
  } else if (const Function* function = regions_.expr(owner)->as<Function>()) {
    declare_all(function->params());
  } else if (const Match* match = regions_.expr(owner)->as<Match>()) {
    declare_all(pattern_vars(match->patterns()[regions_.region(region).operand - 1].get()));
  }
}

// Walks the text in its order: numbers bound nodes, inner regions before the statement that
// contains them, and keeps the scopes of names if two variables share one.
void Layout::assign(const std::vector<VarRef>& free) {
  struct Frame {
    uint32_t region;
    uint32_t step;
    uint32_t inner;  // of the step's node: regions already seen
    std::vector<const Var*> declared;
  };
  std::vector<Frame> stack;
  std::vector<const Var*> own;  // names that are in scope in the function they are bound to
  uint32_t next = 0;
  auto number = [&](uint32_t node) {
    if (number_[node] == kInline) return;
    while (!numbers_.empty() && numbers_.count(std::to_string(next)) > 0) ++next;
    number_[node] = next++;
  };
  auto open = [&](uint32_t region) {
    stack.push_back({region, 0, 0, {}});
    if (same_names_) declare_front(region, free, stack.back().declared);
  };
  open(0);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    auto steps = regions_.steps(frame.region);
    if (frame.step == steps.size()) {
      if (same_names_) {
        if (const Var* var = regions_.result(frame.region).expr->as<Var>()) use(var);
        for (auto it = frame.declared.rbegin(); it != frame.declared.rend(); ++it) undeclare(*it);
      }
      stack.pop_back();
      continue;
    }
    Regions::Step step = steps[frame.step];
    if (step.bind) {
      ++frame.step;
      if (same_names_) {
        const Let* let = static_cast<const Let*>(regions_.expr(step.node));
        if (const Var* var = let->value()->as<Var>()) use(var);
        declare(let->var().get(), frame.declared);
      }
      continue;
    }
    if (frame.inner == 0 && same_names_) {
      if (!regions_.expr(step.node)->is<Let>()) check_uses(step.node);
      if (const Let* let = own_let(regions_, step.node)) declare(let->var().get(), own);
    }
    if (frame.inner < inner_regions(regions_, step.node)) {
      open(regions_.first_region(step.node) + frame.inner++);
      continue;
    }
    if (same_names_) {
      if (const Let* let = own_let(regions_, step.node);
          let != nullptr && !let->var()->name().empty()) {
        undeclare(let->var().get());
      }
    }
    number(step.node);
    frame.inner = 0;
    ++frame.step;
  }
}

void Layout::append_var(std::string& out, const Var* var) const {
  if (!renamed_.empty()) {
    auto entry = renamed_.find(var);
    if (entry != renamed_.end()) {
      append_name(out, '%', entry->second);
      return;
    }
  }
  append_name(out, '%', var->name().view());
}

bool Layout::dotted(const Var* var) const {
  if (dotted_.empty()) return false;
  auto entry = renamed_.find(var);
  return dotted(entry != renamed_.end() ? std::string_view(entry->second) : var->name().view());
}

}  // namespace relay::printing
