// Placement: which block each node of an expression is computed in.
#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/program_compiler.h>

namespace relay::te {
namespace {

constexpr int kMaxNesting = 200;

}  // namespace

void ProgramCompiler::run() {
  std::vector<ScalarRef> refs;
  for (const Root& root : roots_) refs.push_back(root.node);
  nodes_ = post_order(refs);
  numbers_ = number_nodes(nodes_);
  free_ = free_sets(nodes_, numbers_);
  make_levels();
  find_risks();
  places_.resize(nodes_.size());
  for (const Root& root : roots_) use(root.node.get(), level_scopes_[root.level]);
  for (size_t i = nodes_.size(); i-- > 0;) place(i);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!places_[i].uses.empty()) emit(i);
  }
  for (const Root& root : roots_) {
    bool wide = !p_.contexts_[0].axes.empty();
    p_.roots_.push_back(operand(root.node.get(), level_scopes_[root.level], wide));
  }
  for (uint32_t scope : level_scopes_) p_.level_blocks_.push_back(scopes_[scope].block);
  allocate();
}

uint32_t ProgramCompiler::add_scope(uint32_t parent, bool loop, bool trips, bool conditional,
                                    uint32_t context) {
  Scope scope;
  scope.parent = parent;
  scope.depth = scopes_.empty() ? 0 : scopes_[parent].depth + 1;
  scope.loop = loop;
  scope.trips = trips;
  scope.conditional = conditional;
  scope.context = context;
  scope.block = static_cast<uint32_t>(p_.blocks_.size());
  RELAY_CHECK(scope.depth < kMaxNesting, "a scalar expression is nested too deeply");
  p_.blocks_.push_back({context, {}});
  scopes_.push_back(scope);
  return static_cast<uint32_t>(scopes_.size() - 1);
}

void ProgramCompiler::make_levels() {
  std::vector<LoopAxis> lanes;
  for (const Level& level : levels_) {
    lanes.insert(lanes.end(), level.lanes.begin(), level.lanes.end());
  }
  p_.contexts_.emplace_back(lanes);
  wide_ids_.emplace_back();
  for (const LoopAxis& axis : lanes) wide_ids_[0].push_back(axis.id);
  level_scopes_.push_back(add_scope(0, false, true, false, 0));
  for (const Level& level : levels_) {
    uint32_t scope = add_scope(level_scopes_.back(), true, true, false, 0);
    level_scopes_.push_back(scope);
    for (const LoopAxis& axis : level.uniform) {
      binders_[axis.id] = scope;
      Reg reg = new_reg(kInt64, 0, false);
      p_.index_regs_.emplace_back(axis.id, reg);
    }
    for (const LoopAxis& axis : level.lanes) binders_[axis.id] = scope;
    for (const ScalarRef& var : level.vars) {
      uint32_t id = var->id | kVarFlag;
      binders_[id] = scope;
      if (!lanes.empty()) wide_ids_[0].push_back(id);
      p_.var_regs_.emplace_back(var->id, new_reg(var->dtype, 0, !lanes.empty()));
    }
  }
  std::sort(wide_ids_[0].begin(), wide_ids_[0].end());
}

void ProgramCompiler::find_risks() {
  risky_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const ScalarNode& node = *nodes_[i];
    bool risky = node.kind == ScalarKind::kFail;
    if (node.kind == ScalarKind::kLoad) risky = node.bounds != Bounds::kFill;
    if (node.kind == ScalarKind::kBinary && divides(node.binary) && node.dtype.is_integer()) {
      std::optional<int64_t> divisor = known_integer(*node.args[1]);
      risky = !divisor || *divisor == 0;
    }
    if (node.kind == ScalarKind::kFold && node.combiner->needs_element) {
      risky = fold_total(node) == 0;
    }
    for (const ScalarRef& arg : node.args) risky |= risky_[numbers_.at(arg.get())];
    risky_[i] = risky;
  }
}

std::optional<int64_t> ProgramCompiler::known_integer(const ScalarNode& node) const {
  if (node.kind == ScalarKind::kConst && node.dtype.is_integer()) return node.value.i;
  if (node.kind == ScalarKind::kFromDim) return env_.dim(node.dim);
  return std::nullopt;
}

int64_t ProgramCompiler::fold_total(const ScalarNode& node) const {
  int64_t total = 1;
  for (const Axis& axis : node.axes) total *= env_.dim(axis.extent);
  return total;
}

void ProgramCompiler::use(const ScalarNode* node, uint32_t scope) {
  std::vector<uint32_t>& uses = places_[numbers_.at(node)].uses;
  if (std::find(uses.begin(), uses.end(), scope) == uses.end()) uses.push_back(scope);
}

uint32_t ProgramCompiler::common(uint32_t a, uint32_t b) const {
  while (a != b) {
    if (scopes_[a].depth < scopes_[b].depth) std::swap(a, b);
    a = scopes_[a].parent;
  }
  return a;
}

uint32_t ProgramCompiler::binder(size_t i) const {
  uint32_t best = level_scopes_[0];
  for (uint32_t id : free_[i]) {
    uint32_t scope = binders_.at(id);
    if (scopes_[scope].depth > scopes_[best].depth) best = scope;
  }
  return best;
}

bool ProgramCompiler::is_wide(size_t i, uint32_t context) const {
  const std::vector<uint32_t>& ids = wide_ids_[context];
  for (uint32_t id : free_[i]) {
    if (std::binary_search(ids.begin(), ids.end(), id)) return true;
  }
  return false;
}

bool ProgramCompiler::certain(uint32_t inner, uint32_t outer) const {
  for (uint32_t s = inner; s != outer; s = scopes_[s].parent) {
    if (scopes_[s].conditional || (scopes_[s].loop && !scopes_[s].trips)) return false;
  }
  return true;
}

void ProgramCompiler::choose_scope(size_t i) {
  Place& place = places_[i];
  const ScalarNode& node = *nodes_[i];
  uint32_t bound = binder(i);
  bool leaf = node.kind == ScalarKind::kConst || node.kind == ScalarKind::kIndex ||
              node.kind == ScalarKind::kFromDim || node.kind == ScalarKind::kVar;
  if (leaf) {
    place.scope = bound;
    return;
  }
  uint32_t scope = place.uses[0];
  for (uint32_t other : place.uses) scope = common(scope, other);
  if (!risky_[i]) {
    // Out of all loops that it does not depend on; else it stays where it is needed.
    bool crosses = false;
    for (uint32_t s = scope; s != bound; s = scopes_[s].parent) crosses |= scopes_[s].loop;
    place.scope = crosses ? bound : scope;
    return;
  }
  bool always = false;
  for (uint32_t user : place.uses) always |= certain(user, scope);
  if (!always) {
    place.home = scope;
    place.scope = add_scope(scope, false, true, true, scopes_[scope].context);
    return;
  }
  while (scope != bound && scopes_[scope].loop && scopes_[scope].trips) {
    scope = scopes_[scope].parent;
  }
  place.scope = scope;
}

void ProgramCompiler::place(size_t i) {
  if (places_[i].uses.empty()) return;
  choose_scope(i);
  const ScalarNode& node = *nodes_[i];
  uint32_t scope = places_[i].scope;
  uint32_t context = scopes_[scope].context;
  switch (node.kind) {
    case ScalarKind::kLoad:
      places_[i].plan = plan_load(node, scope, context);
      return;
    case ScalarKind::kSelect: {
      SelectInfo info;
      uint32_t then_scope = add_scope(scope, false, true, true, context);
      uint32_t else_scope = add_scope(scope, false, true, true, context);
      info.then_block = scopes_[then_scope].block;
      info.else_block = scopes_[else_scope].block;
      use(node.args[0].get(), scope);
      use(node.args[1].get(), then_scope);
      use(node.args[2].get(), else_scope);
      places_[i].plan = static_cast<uint32_t>(p_.selects_.size());
      p_.selects_.push_back(std::move(info));
      arm_scopes_.push_back({then_scope, else_scope});
      return;
    }
    case ScalarKind::kFail: {
      uint32_t value_scope = add_scope(scope, false, true, true, context);
      use(node.args[0].get(), scope);
      use(node.args[1].get(), value_scope);
      places_[i].plan = static_cast<uint32_t>(p_.fails_.size());
      p_.fails_.push_back({node.message, scopes_[value_scope].block});
      return;
    }
    case ScalarKind::kFold:
      return place_fold(i, scope, context);
    default:
      for (const ScalarRef& arg : node.args) use(arg.get(), scope);
  }
}

void ProgramCompiler::place_fold(size_t i, uint32_t scope, uint32_t context) {
  const ScalarNode& node = *nodes_[i];
  FoldInfo fold;
  fold.node = &node;
  fold.rows = !is_wide(i, context);
  for (const Axis& axis : node.axes) {
    fold.axes.push_back({axis.id, env_.dim(axis.extent)});
    fold.total *= fold.axes.back().extent;
  }
  fold.context = context;
  if (fold.rows) {
    fold.context = static_cast<uint32_t>(p_.contexts_.size());
    p_.contexts_.emplace_back(fold.axes);
    wide_ids_.emplace_back();
    for (const LoopAxis& axis : fold.axes) wide_ids_.back().push_back(axis.id);
    std::sort(wide_ids_.back().begin(), wide_ids_.back().end());
    prologues_.resize(p_.contexts_.size(), kNone);
    fold.prologue = static_cast<uint32_t>(p_.blocks_.size());
    prologues_.back() = fold.prologue;
    p_.blocks_.push_back({fold.context, {}});
  }
  uint32_t body = add_scope(scope, true, fold.total > 0, false, fold.context);
  fold.body = scopes_[body].block;
  for (const LoopAxis& axis : fold.axes) {
    binders_[axis.id] = body;
    if (fold.rows) continue;
    fold.indices.push_back(new_reg(kInt64, context, false));
    p_.index_regs_.emplace_back(axis.id, fold.indices.back());
  }
  size_t k = accumulators_of(node);
  uint32_t value_scope = body;
  fold.has_where = node.args.size() > k;
  if (fold.has_where) {
    value_scope = add_scope(body, false, true, true, fold.context);
    fold.where_block = scopes_[value_scope].block;
    use(node.args[k].get(), body);
  }
  for (size_t j = 0; j < k; ++j) use(node.args[j].get(), value_scope);
  places_[i].plan = static_cast<uint32_t>(p_.folds_.size());
  p_.folds_.push_back(std::move(fold));
  body_scopes_.push_back(body);
  value_scopes_.push_back(value_scope);
}

uint32_t ProgramCompiler::plan_load(const ScalarNode& node, uint32_t scope, uint32_t context) {
  LoadPlan plan;
  const std::vector<LoopAxis>& lane_axes = p_.contexts_[context].axes;
  for (const ScalarRef& arg : node.args) {
    LoadPlan::Axis axis;
    std::vector<IndexTerm> work{{1, arg.get()}};
    auto times = [](int64_t a, int64_t b) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    };
    while (!work.empty()) {
      IndexTerm term = work.back();
      work.pop_back();
      const ScalarNode& n = *term.node;
      if (n.kind == ScalarKind::kConst || n.kind == ScalarKind::kFromDim) {
        int64_t value = n.kind == ScalarKind::kConst ? n.value.i : env_.dim(n.dim);
        axis.constant = static_cast<int64_t>(static_cast<uint64_t>(axis.constant) +
                                             static_cast<uint64_t>(times(term.coefficient, value)));
        continue;
      }
      // An expression shared with others is computed anyway; a sum of a thousand terms is not
      // worth taking apart.
      if (n.kind == ScalarKind::kBinary && work.size() < 16) {
        if (n.binary == BinaryOp::kAdd || n.binary == BinaryOp::kSub) {
          int64_t sign = n.binary == BinaryOp::kAdd ? 1 : -1;
          work.push_back({term.coefficient, n.args[0].get()});
          work.push_back({times(sign, term.coefficient), n.args[1].get()});
          continue;
        }
        if (n.binary == BinaryOp::kMul) {
          if (std::optional<int64_t> right = known_integer(*n.args[1])) {
            work.push_back({times(term.coefficient, *right), n.args[0].get()});
            continue;
          }
          if (std::optional<int64_t> left = known_integer(*n.args[0])) {
            work.push_back({times(term.coefficient, *left), n.args[1].get()});
            continue;
          }
        }
      }
      if (n.kind == ScalarKind::kIndex) {
        auto lane = std::find_if(lane_axes.begin(), lane_axes.end(),
                                 [&](const LoopAxis& a) { return a.id == n.axis; });
        if (lane != lane_axes.end()) {
          axis.lanes.resize(lane_axes.size());
          int64_t& total = axis.lanes[static_cast<size_t>(lane - lane_axes.begin())];
          total = static_cast<int64_t>(static_cast<uint64_t>(total) +
                                       static_cast<uint64_t>(term.coefficient));
          continue;
        }
      }
      bool wide = is_wide(numbers_.at(&n), context);
      (wide ? axis.wide : axis.uniform).push_back(term);
      use(&n, scope);
    }
    plan.axes.push_back(std::move(axis));
  }
  plans_.push_back(std::move(plan));
  return static_cast<uint32_t>(plans_.size() - 1);
}
}  // namespace relay::te
