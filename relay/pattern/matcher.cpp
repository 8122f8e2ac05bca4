// The machine that matches: goals, and points to go back to.
#include <relay/pattern/matcher.h>

#include <cmath>

#include <relay/ir/equal.h>
#include <relay/op/registry/simplify.h>
#include <relay/support/error.h>

namespace relay::pattern {

bool Matcher::match(const CompiledPattern& pattern, const Expr* root) {
  if (pattern_ == &pattern) {
    for (uint32_t part : trail_parts_) {
      if (part != kEnd) bound_[part] = nullptr;
    }
  } else {
    pattern_ = &pattern;
    bound_.assign(pattern.parts_.size(), nullptr);
    promised_.assign(pattern.parts_.size(), nullptr);
    promised_parts_.clear();
    forget();
  }
  trail_.clear();
  trail_parts_.clear();
  pool_.clear();
  points_.clear();
  ways_.clear();
  root_ = root;
  around_.begin_match();
  recalled_.clear();
  break_promises(0);
  Goal start{Task::kMatch, false, pattern.root_, root, kEnd, kEnd};
  goals_ = push(Task::kMatch, start, pattern.root_, root, kEnd);
  const bool fits = run();
  if (remembers_) keep(fits);
  return fits;
}

const Expr* Matcher::bound(const DFPattern* part) const {
  for (const Binding& binding : trail_) {
    if (binding.pattern == part) return binding.expr;
  }
  return nullptr;
}

bool Matcher::run() {
  while (goals_ != kEnd) {
    around_.step(root_);
    Goal goal = pool_[goals_];  // a copy: the pool grows
    if (!step(goal) && !back()) return false;
  }
  return true;
}

bool Matcher::step(const Goal& goal) {
  switch (goal.task) {
    case Task::kMatch:
      return match_part(goal);
    case Task::kBind:
      bind(goal);
      goals_ = goal.next;
      return true;
    case Task::kCheck:
      if (!check(goal)) return false;
      goals_ = goal.next;
      return true;
    case Task::kPromise:
      if (!keep_promise(goal)) return false;
      goals_ = goal.next;
      return true;
    case Task::kWays:
      return goal.ways == kEnd ? begin_ways(goal) : next_way(goal);
    case Task::kEndsHere:
      ways_[goal.ways].parent = goal.expr;
      ++ways_[goal.ways].done;
      goals_ = goal.next;
      return true;
    case Task::kGoesOn:
      return way_goes_on(goal);
    case Task::kDeadEnd:
      return way_is_dead(goal, ways_[goal.ways].done);
    case Task::kCut:
      points_.resize(goal.part);
      goals_ = goal.next;
      return true;
  }
  return false;
}

uint32_t Matcher::push(Task task, const Goal& like, uint32_t part, const Expr* expr,
                       uint32_t next) {
  const bool only_binds = task == Task::kBind && (next == kEnd || pool_[next].only_binds);
  pool_.push_back({task, like.free, part, expr, like.ways, next, only_binds});
  return static_cast<uint32_t>(pool_.size()) - 1;
}

void Matcher::point(uint32_t goals) {
  points_.push_back({goals, static_cast<uint32_t>(pool_.size()),
                     static_cast<uint32_t>(trail_.size()), static_cast<uint32_t>(ways_.size()),
                     static_cast<uint32_t>(recalled_.size()),
                     static_cast<uint32_t>(promised_parts_.size())});
}

bool Matcher::back() {
  if (points_.empty()) return false;
  Point point = points_.back();
  points_.pop_back();
  while (trail_.size() > point.num_bindings) {
    if (trail_parts_.back() != kEnd) bound_[trail_parts_.back()] = nullptr;
    trail_.pop_back();
    trail_parts_.pop_back();
  }
  pool_.resize(point.num_goals, Goal{Task::kBind, false, 0, nullptr, kEnd, kEnd});
  ways_.resize(point.num_ways);
  recalled_.resize(point.num_recalled);
  break_promises(point.num_promised);
  goals_ = point.goals;
  return true;
}

void Matcher::bind(const Goal& goal) {
  const CompiledPattern::Part& part = pattern_->parts_[goal.part];
  if (!part.recorded) return;
  bool first = !goal.free && bound_[goal.part] == nullptr;
  if (first) bound_[goal.part] = goal.expr;
  trail_.push_back({part.pattern, goal.expr});
  trail_parts_.push_back(first ? goal.part : kEnd);
}

bool Matcher::fits_number(const DFPattern& pattern, const Expr* expr) {
  double wanted = pattern.number();
  if (const auto* literal = expr->as<Literal>()) {
    const LiteralValue& value = literal->value();
    double number = value.is_float ? value.number : static_cast<double>(value.magnitude);
    if (value.negative) number = -number;
    return number == wanted && (!value.is_float || std::signbit(number) == std::signbit(wanted));
  }
  std::optional<double> value = value_of_all(expr);
  if (!value || *value != wanted) return false;
  if (std::signbit(*value) == std::signbit(wanted)) return true;
  const auto* constant = expr->as<Constant>();
  const Type* type = constant == nullptr ? expr->type() : nullptr;
  DType dtype = constant == nullptr ? type->as<TensorType>()->dtype() : constant->data().dtype();
  return !dtype.is_float();  // integers have one zero
}

namespace {

// Each function has symbols of its own, so a pattern means them by their names.
bool fits_extent(const Dim& extent, const Dim& wanted) {
  if (extent == wanted || wanted == DFPattern::any_extent()) return true;
  const TypeVar* symbol = extent.as_symbol();
  const TypeVar* other = wanted.as_symbol();
  return symbol != nullptr && other != nullptr && symbol->name() == other->name();
}

// True if the node is of the kind that a pattern with parts means.
bool fits_shallow(const DFPattern& pattern, size_t parts, const Expr* expr) {
  switch (pattern.kind()) {
    case DFPatternKind::kNode:
      return expr->kind() == pattern.expr_kind();
    case DFPatternKind::kTuple:
      return expr->is<Tuple>() && expr->operands().size() == parts;
    case DFPatternKind::kTupleGetItem: {
      const auto* item = expr->as<TupleGetItem>();
      return item != nullptr && (pattern.index() < 0 || item->index() == pattern.index());
    }
    case DFPatternKind::kLet:
      return expr->is<Let>();
    case DFPatternKind::kIf:
      return expr->is<If>();
    default:
      return true;
  }
}

// True if a pattern without parts fits, which depends on the node alone; nothing for others and for
// numbers.
std::optional<bool> fits_leaf(const DFPattern& pattern, bool has_target, const Expr* expr) {
  switch (pattern.kind()) {
    case DFPatternKind::kWildcard:
      if (has_target) return std::nullopt;
      return true;
    case DFPatternKind::kExpr:
      if (const Operator* op = pattern.as_op()) return expr->is<Op>() && expr->as<Op>()->op() == op;
      return pattern.expr().get() == expr || (pattern.expr()->kind() == expr->kind() &&
                                              structural_equal(pattern.expr().get(), expr));
    case DFPatternKind::kVar: {
      const auto* var = expr->as<Var>();
      return var != nullptr && (pattern.var_name().empty() || var->name() == pattern.var_name());
    }
    case DFPatternKind::kName: {
      const auto* global = expr->as<GlobalVar>();
      const auto* constructor = expr->as<Constructor>();
      return expr->kind() == pattern.expr_kind() &&
             (global != nullptr ? global->name() : constructor->name()) == pattern.var_name();
    }
    case DFPatternKind::kConstant:
      return expr->is<Constant>() || expr->is<Literal>();
    case DFPatternKind::kTuple:
      if (!pattern.any()) return std::nullopt;
      return expr->is<Tuple>();
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Matcher::match_part(const Goal& goal) {
  const CompiledPattern::Part& part = pattern_->parts_[goal.part];
  const DFPattern& pattern = *part.pattern;
  const Expr* expr = goal.expr;
  if (!goal.free && bound_[goal.part] != nullptr) {
    goals_ = goal.next;
    return bound_[goal.part] == expr;
  }
  if (!goal.free && promised_[goal.part] != nullptr && promised_[goal.part] != expr) return false;
  std::optional<bool> fits = fits_leaf(pattern, part.target != UINT32_MAX, expr);
  if (pattern.kind() == DFPatternKind::kNumber) fits = fits_number(pattern, expr);
  if (fits) {
    if (!*fits) return false;
    bind(goal);
    goals_ = goal.next;
    return true;
  }
  if (pattern.kind() == DFPatternKind::kCall) {
    const auto* call = expr->as<Call>();
    return call != nullptr && match_call(goal, *call);
  }
  if (pattern.kind() == DFPatternKind::kFunction) return match_function(goal);
  if (!fits_shallow(pattern, part.count, expr)) return false;
  const uint32_t done = push(Task::kBind, goal, goal.part, expr, goal.next);
  auto then = [&](uint32_t child, uint32_t next) {
    goals_ = push(Task::kMatch, goal, child, expr, next);
    return true;
  };
  switch (pattern.kind()) {
    case DFPatternKind::kWildcard:
      if (std::optional<bool> known = recall(goal, done)) return *known;
      return then(part.target, done);
    case DFPatternKind::kNode:
      return match_children(goal, expr->operands().first(part.count), 0, done);
    case DFPatternKind::kLet: {
      match_children(goal, expr->operands(), 1, done);
      const Var* var = expr->as<Let>()->var().get();
      goals_ = push(Task::kMatch, goal, pattern_->child(goal.part, 0), var, goals_);
      return true;
    }
    case DFPatternKind::kAlt:
      point(push(Task::kMatch, goal, pattern_->child(goal.part, 1), expr, done));
      return then(pattern_->child(goal.part, 0), done);
    case DFPatternKind::kAttr:
    case DFPatternKind::kType:
    case DFPatternKind::kDType:
    case DFPatternKind::kShape:
      // Types may have to be found first, so the cheap question comes first.
      return then(pattern_->child(goal.part, 0), push(Task::kCheck, goal, goal.part, expr, done));
    case DFPatternKind::kDominator: {
      Goal fresh = goal;
      fresh.ways = kEnd;
      return then(pattern_->child(goal.part, 2), push(Task::kWays, fresh, goal.part, expr, done));
    }
    default:  // a tuple, a projection, a choice
      return match_children(goal, expr->operands(), 0, done);
  }
}

bool Matcher::match_children(const Goal& goal, std::span<const ExprRef> operands,
                             size_t first_child, uint32_t next) {
  auto part = [&](size_t i) { return pattern_->child(goal.part, first_child + i); };
  if (!answers()) {
    for (size_t i = operands.size(); i-- > 0;)
      next = push(Task::kMatch, goal, part(i), operands[i].get(), next);
    goals_ = next;
    return true;
  }
  // What fits in one way comes first, which does not change the answer: then often nothing can fail
  // any more where the whole pattern is met again, and an earlier match has the answer.
  bool recurs = false;
  for (bool one_way : {false, true}) {
    for (size_t i = operands.size(); i-- > 0;) {
      recurs |= !pattern_->parts_[part(i)].one_node;
      if (pattern_->parts_[part(i)].one_way == one_way)
        next = push(Task::kMatch, goal, part(i), operands[i].get(), next);
    }
  }
  // Of the others it is known at least which node they fit inside of what comes before them.
  for (size_t i = 0; recurs && i < operands.size(); ++i) {
    const CompiledPattern::Part& other = pattern_->parts_[part(i)];
    if (other.one_node && !other.one_way)
      next = push(Task::kPromise, goal, part(i), operands[i].get(), next);
  }
  goals_ = next;
  return true;
}

bool Matcher::match_call(const Goal& goal, const Call& call) {
  const CompiledPattern::Part& part = pattern_->parts_[goal.part];
  uint32_t callee = pattern_->child(goal.part, 0);
  const auto* node = call.callee()->as<Op>();
  const Operator* wanted = pattern_->parts_[callee].pattern->as_op();
  bool other_op = wanted != nullptr && (node == nullptr || node->op() != wanted);
  if (other_op && part.num_rotated == 0) return false;
  uint32_t done = push(Task::kBind, goal, goal.part, &call, goal.next);
  if (other_op) {
    for (uint32_t i = part.num_rotated; i-- > 1;)
      point(push(Task::kMatch, goal, pattern_->children_[part.rotated + i], &call, done));
    goals_ = push(Task::kMatch, goal, pattern_->children_[part.rotated], &call, done);
    return true;
  }
  if (part.pattern->any()) {
    goals_ = push(Task::kMatch, goal, callee, call.callee().get(), done);
    return true;
  }
  if (call.args().size() + 1 != part.count) return false;
  if (part.commutes && call.args()[0] != call.args()[1]) {
    const ExprRef other_way[] = {call.args()[1], call.args()[0]};
    match_children(goal, other_way, 1, done);
    point(push(Task::kMatch, goal, callee, call.callee().get(), goals_));
  }
  return match_children(goal, call.operands(), 0, done);
}

bool Matcher::match_function(const Goal& goal) {
  const auto* function = goal.expr->as<Function>();
  if (function == nullptr) return false;
  const CompiledPattern::Part& part = pattern_->parts_[goal.part];
  bool any = part.pattern->any();
  if (!any && function->params().size() + 1 != part.count) return false;
  uint32_t next = push(Task::kBind, goal, goal.part, goal.expr, goal.next);
  next = push(Task::kMatch, goal, pattern_->child(goal.part, 0), function->body().get(), next);
  for (size_t i = any ? 0 : function->params().size(); i-- > 0;) {
    next = push(Task::kMatch, goal, pattern_->child(goal.part, i + 1), function->params()[i].get(),
                next);
  }
  goals_ = next;
  return true;
}

bool Matcher::check(const Goal& goal) {
  const DFPattern& pattern = *pattern_->parts_[goal.part].pattern;
  if (pattern.kind() == DFPatternKind::kAttr) {
    for (const NamedAttr& wanted : pattern.attributes()) {
      if (!has_attribute(goal.expr, wanted)) return false;
    }
    return true;
  }
  const Type* type = around_.type_of(goal.expr);
  if (type == nullptr) return false;
  if (pattern.kind() == DFPatternKind::kType) return pattern.type() == type;
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) return false;
  if (pattern.kind() == DFPatternKind::kDType)
    return tensor->has_dtype() && tensor->dtype() == pattern.dtype();
  if (!tensor->has_rank()) return false;
  std::span<const Dim> dims = tensor->dims();
  return std::equal(dims.begin(), dims.end(), pattern.dims().begin(), pattern.dims().end(),
                    fits_extent);
}

}  // namespace relay::pattern
