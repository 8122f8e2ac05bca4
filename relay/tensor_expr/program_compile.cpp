// Placement: which block each node of an expression is computed in. Then emission, operands first.
#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/program.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

constexpr int64_t kChunk = 1024;
constexpr int kMaxNesting = 200;
constexpr uint32_t kNone = 0xffffffffu;

bool divides(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kMod || op == BinaryOp::kFloorDiv ||
         op == BinaryOp::kFloorMod;
}

size_t accumulators_of(const ScalarNode& fold) {
  return fold.combiner->kind == Combiner::Kind::kCustom ? fold.combiner->lhs.size() : 1;
}

}  // namespace

class ProgramCompiler {
 public:
  ProgramCompiler(Program& program, const Environment& env, std::vector<Level> levels,
                  std::vector<Root> roots)
      : p_(program), env_(env), levels_(std::move(levels)), roots_(std::move(roots)) {}

  void run() {
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
      p_.roots_.push_back(operand(root.node.get(), 0, !p_.contexts_[0].axes.empty()));
    }
    for (uint32_t scope : level_scopes_) p_.level_blocks_.push_back(scopes_[scope].block);
    allocate();
  }

 private:
  // A scope is a place where values can live: one block each.
  struct Scope {
    uint32_t parent = 0;
    int depth = 0;
    bool loop = false;
    bool trips = true;  // of a loop: runs at least once
    bool conditional = false;
    uint32_t context = 0;
    uint32_t block = 0;
  };
  struct IndexTerm {
    int64_t coefficient;
    const ScalarNode* node;
  };
  struct LoadPlan {
    struct Axis {
      int64_t constant = 0;
      std::vector<int64_t> lanes;
      std::vector<IndexTerm> uniform, wide;
    };
    std::vector<Axis> axes;
  };
  struct Place {
    std::vector<uint32_t> uses;  // scopes
    uint32_t scope = 0;
    uint32_t home = kNone;  // of a thunk
    bool risky = false;
    uint32_t plan = kNone;  // load plan, fold or select index
    Reg reg = kNone;
  };

  uint32_t add_scope(uint32_t parent, bool loop, bool trips, bool conditional, uint32_t context) {
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

  void make_levels() {
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

  /// Whether evaluating a node may fail; then it must not happen where nobody asks.
  void find_risks() {
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

  std::optional<int64_t> known_integer(const ScalarNode& node) const {
    if (node.kind == ScalarKind::kConst && node.dtype.is_integer()) return node.value.i;
    if (node.kind == ScalarKind::kFromDim) return env_.dim(node.dim);
    return std::nullopt;
  }

  int64_t fold_total(const ScalarNode& node) const {
    int64_t total = 1;
    for (const Axis& axis : node.axes) total *= env_.dim(axis.extent);
    return total;
  }

  // ---- Placement ----

  void use(const ScalarNode* node, uint32_t scope) {
    std::vector<uint32_t>& uses = places_[numbers_.at(node)].uses;
    if (std::find(uses.begin(), uses.end(), scope) == uses.end()) uses.push_back(scope);
  }

  uint32_t common(uint32_t a, uint32_t b) const {
    while (a != b) {
      if (scopes_[a].depth < scopes_[b].depth) std::swap(a, b);
      a = scopes_[a].parent;
    }
    return a;
  }

  /// The innermost scope that binds what a node depends on.
  uint32_t binder(size_t i) const {
    uint32_t best = level_scopes_[0];
    for (uint32_t id : free_[i]) {
      uint32_t scope = binders_.at(id);
      if (scopes_[scope].depth > scopes_[best].depth) best = scope;
    }
    return best;
  }

  bool is_wide(size_t i, uint32_t context) const {
    const std::vector<uint32_t>& ids = wide_ids_[context];
    for (uint32_t id : free_[i]) {
      if (std::binary_search(ids.begin(), ids.end(), id)) return true;
    }
    return false;
  }

  /// Whether being in `outer` implies that `inner` runs too.
  bool certain(uint32_t inner, uint32_t outer) const {
    for (uint32_t s = inner; s != outer; s = scopes_[s].parent) {
      if (scopes_[s].conditional || (scopes_[s].loop && !scopes_[s].trips)) return false;
    }
    return true;
  }

  void choose_scope(size_t i) {
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

  void place(size_t i) {
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

  void place_fold(size_t i, uint32_t scope, uint32_t context) {
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
  }

  /// Splits each index into constant, multiples of lane axes, and terms.
  uint32_t plan_load(const ScalarNode& node, uint32_t scope, uint32_t context) {
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
          axis.constant =
              static_cast<int64_t>(static_cast<uint64_t>(axis.constant) +
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

  // ---- Emission ----

  Reg new_reg(DType dtype, uint32_t context, bool wide) {
    Register reg;
    reg.dtype = dtype;
    reg.context = context;
    reg.wide = wide;
    p_.registers_.push_back(reg);
    return static_cast<Reg>(p_.registers_.size() - 1);
  }

  Block& block_of(uint32_t scope) { return p_.blocks_[scopes_[scope].block]; }

  /// A node's register as a row of `context` if `wide`, else as it is.
  Reg operand(const ScalarNode* node, uint32_t context, bool wide) {
    uint32_t number = numbers_.at(node);
    const Place& place = places_[number];
    Reg reg = place.reg;
    if (!wide || p_.registers_[reg].wide) return reg;
    // Keyed by node, not by register: a fail node and its value share one, but not the place.
    auto [entry, added] = splats_.try_emplace((uint64_t{context} << 32) | number, 0);
    if (!added) return entry->second;
    Instr instr;
    instr.code = Instr::Code::kSplat;
    instr.wide = true;
    instr.a = reg;
    instr.out = new_reg(p_.registers_[reg].dtype, context, true);
    entry->second = instr.out;
    bool same = scopes_[place.scope].context == context;
    Block& block = same ? block_of(place.scope) : p_.blocks_[prologues_.at(context)];
    block.code.push_back(instr);
    return instr.out;
  }

  void emit(size_t i) {
    Place& place = places_[i];
    const ScalarNode& node = *nodes_[i];
    uint32_t context = scopes_[place.scope].context;
    bool wide = is_wide(i, context);
    Instr instr;
    instr.wide = wide;
    switch (node.kind) {
      case ScalarKind::kConst:
        place.reg = new_reg(node.dtype, context, false);
        constants_.emplace_back(place.reg, node.value);
        return;
      case ScalarKind::kFromDim: {
        place.reg = new_reg(node.dtype, context, false);
        Immediate value{};
        value.i = env_.dim(node.dim);
        constants_.emplace_back(place.reg, value);
        return;
      }
      case ScalarKind::kVar:
        place.reg = p_.var_reg(node.id);
        return;
      case ScalarKind::kIndex: {
        if (!wide) {
          place.reg = index_reg(node.axis);
          return;
        }
        instr.code = Instr::Code::kIndexRow;
        const std::vector<LoopAxis>& axes = p_.contexts_[context].axes;
        while (axes[instr.extra].id != node.axis) ++instr.extra;
        break;
      }
      case ScalarKind::kUnary:
      case ScalarKind::kCast:
      case ScalarKind::kBitcast: {
        DType from = node.args[0]->dtype;
        instr.code = Instr::Code::kUnary;
        instr.a = operand(node.args[0].get(), context, wide);
        if (node.kind == ScalarKind::kUnary) {
          instr.unary = rows::unary_fn(node.unary, from);
          instr.round = rows::round_fn(node.dtype);
        } else if (node.kind == ScalarKind::kCast) {
          instr.unary = rows::cast_fn(from, node.dtype);
        } else {
          instr.unary = rows::bitcast_fn(from, node.dtype);
        }
        break;
      }
      case ScalarKind::kBinary: {
        DType from = node.args[0]->dtype;
        instr.a = operand(node.args[0].get(), context, wide);
        instr.b = operand(node.args[1].get(), context, wide);
        if (divides(node.binary) && from.is_integer()) {
          instr.code = Instr::Code::kDivide;
          instr.divide = rows::divide_fn(node.binary, from);
        } else {
          instr.code = Instr::Code::kBinary;
          instr.binary = rows::binary_fn(node.binary, from);
          instr.round = rows::round_fn(node.dtype);
        }
        break;
      }
      case ScalarKind::kLoad:
        instr.code = Instr::Code::kLoad;
        instr.extra = emit_load(node, plans_[place.plan], context);
        break;
      case ScalarKind::kSelect: {
        instr.code = Instr::Code::kSelect;
        instr.extra = place.plan;
        instr.c = operand(node.args[0].get(), context, false);
        instr.a = operand(node.args[1].get(), context, wide);
        instr.b = operand(node.args[2].get(), context, wide);
        if (p_.registers_[instr.c].wide) {
          SelectInfo& info = p_.selects_[place.plan];
          info.then_mask.resize(static_cast<size_t>(p_.contexts_[context].capacity));
          info.else_mask.resize(info.then_mask.size());
        }
        break;
      }
      case ScalarKind::kFail:
        instr.code = Instr::Code::kFail;
        instr.extra = place.plan;
        instr.c = operand(node.args[0].get(), context, false);
        place.reg = places_[numbers_.at(node.args[1].get())].reg;
        instr.out = place.reg;
        finish(i, instr, context);
        return;
      case ScalarKind::kGet:
        place.reg = p_.folds_[places_[numbers_.at(node.args[0].get())].plan].accumulators[node.id];
        if (place.home != kNone) emit_thunk(i, context);
        return;
      case ScalarKind::kFold:
        instr.code = Instr::Code::kFold;
        instr.extra = place.plan;
        instr.out = place.reg =
            emit_fold(p_.folds_[place.plan], scopes_[place.scope].context, wide);
        finish(i, instr, context);
        return;
    }
    instr.out = place.reg = new_reg(node.dtype, context, wide);
    finish(i, instr, context);
  }

  void finish(size_t i, const Instr& instr, uint32_t context) {
    block_of(places_[i].scope).code.push_back(instr);
    if (places_[i].home != kNone) emit_thunk(i, context);
  }

  void emit_thunk(size_t i, uint32_t context) {
    const Place& place = places_[i];
    ThunkInfo thunk;
    thunk.block = scopes_[place.scope].block;
    thunk.wide = is_wide(i, context);
    if (thunk.wide) thunk.valid.resize(static_cast<size_t>(p_.contexts_[context].capacity));
    Instr instr;
    instr.wide = thunk.wide;
    instr.extra = static_cast<uint32_t>(p_.thunks_.size());
    p_.thunks_.push_back(std::move(thunk));
    instr.code = Instr::Code::kReset;
    block_of(place.home).code.push_back(instr);
    instr.code = Instr::Code::kForce;
    for (uint32_t scope : place.uses) block_of(scope).code.push_back(instr);
  }

  Reg index_reg(uint32_t axis) const {
    for (const auto& [id, reg] : p_.index_regs_) {
      if (id == axis) return reg;
    }
    RELAY_UNREACHABLE("an axis without register");
  }

  uint32_t emit_load(const ScalarNode& node, const LoadPlan& plan, uint32_t context) {
    LoadInfo load;
    load.array = env_.tensor(node.tensor);
    load.dtype = node.dtype;
    load.bounds = node.bounds;
    load.context = context;
    if (node.fill) rows::write_constant(node.dtype, load.fill, node.fill->value);
    size_t lanes = p_.contexts_[context].axes.size();
    load.coefficients.resize(lanes);
    for (size_t d = 0; d < plan.axes.size(); ++d) {
      LoadInfo::Axis axis;
      axis.extent = load.array.extent(d);
      axis.stride = load.array.stride(d);
      axis.constant = plan.axes[d].constant;
      axis.lanes = plan.axes[d].lanes;
      for (const IndexTerm& term : plan.axes[d].uniform) {
        axis.uniform.push_back({term.coefficient, operand(term.node, context, false)});
      }
      for (const IndexTerm& term : plan.axes[d].wide) {
        axis.wide.push_back({term.coefficient, operand(term.node, context, true)});
        load.affine = false;
      }
      for (size_t a = 0; a < axis.lanes.size(); ++a) {
        load.coefficients[a] = static_cast<int64_t>(static_cast<uint64_t>(load.coefficients[a]) +
                                                    static_cast<uint64_t>(axis.lanes[a]) *
                                                        static_cast<uint64_t>(axis.stride));
      }
      load.axes.push_back(std::move(axis));
    }
    const Lanes& box = p_.contexts_[context];
    bool found = false;
    for (size_t a = lanes; a-- > 0;) {
      if (box.axes[a].extent == 1) continue;
      if (!found) {
        found = true;
        load.step = load.coefficients[a];  // steps of the innermost axis are 1
      } else {
        load.stepped &= load.coefficients[a] == load.step * box.steps[a];
      }
    }
    p_.loads_.push_back(std::move(load));
    return static_cast<uint32_t>(p_.loads_.size() - 1);
  }

  Reg emit_fold(FoldInfo& fold, uint32_t outer, bool wide) {
    const ScalarNode& node = *fold.node;
    const Combiner& combiner = *node.combiner;
    size_t k = accumulators_of(node);
    for (size_t j = 0; j < k; ++j) {
      DType dtype = node.args[j]->dtype;
      fold.dtypes.push_back(dtype);
      fold.values.push_back(operand(node.args[j].get(), fold.context, true));
      fold.accumulators.push_back(new_reg(dtype, outer, wide));
    }
    if (fold.has_where) fold.where = operand(node.args[k].get(), fold.context, false);
    auto capacity = static_cast<size_t>(p_.contexts_[fold.context].capacity);
    if (combiner.kind != Combiner::Kind::kCustom) {
      rows::write_identity(combiner.kind, node.dtype, fold.identity);
      fold.combine = rows::combine_fn(combiner.kind, node.dtype);
      fold.round = rows::round_fn(node.dtype);
      fold.blocked = combiner.kind == Combiner::Kind::kSum && node.dtype.is_float();
      if (fold.blocked) fold.partial = new_reg(node.dtype, outer, wide);
    } else {
      std::vector<Root> identities, results;
      for (const ScalarRef& identity : combiner.identity) identities.push_back({identity, 0});
      fold.identities =
          std::make_unique<Program>(env_, std::vector<Level>(), std::move(identities));
      fold.identities->run(0);
      Level level;
      level.lanes.push_back({kNoAxis, static_cast<int64_t>(capacity)});
      level.vars = combiner.lhs;
      level.vars.insert(level.vars.end(), combiner.rhs.begin(), combiner.rhs.end());
      for (const ScalarRef& result : combiner.result) results.push_back({result, 1});
      fold.combiner =
          std::make_unique<Program>(env_, std::vector<Level>{level}, std::move(results));
      fold.combiner->run(0);
      for (DType dtype : fold.dtypes) {
        fold.lhs.emplace_back(capacity * rows::lane_size(dtype));
        fold.rhs.emplace_back(capacity * rows::lane_size(dtype));
        fold.row.emplace_back(capacity * rows::lane_size(dtype));
      }
    }
    if (fold.has_where) {
      fold.mask.resize(capacity);
      for (DType dtype : fold.dtypes) fold.kept.emplace_back(capacity * rows::lane_size(dtype));
      if (fold.row.empty()) fold.row = fold.kept;
    }
    return fold.accumulators[0];
  }

  void allocate() {
    size_t total = 0;
    for (Register& reg : p_.registers_) {
      size_t lanes = reg.wide ? static_cast<size_t>(p_.contexts_[reg.context].capacity) : 1;
      size_t align = reg.wide ? 64 : 8;
      total = (total + align - 1) / align * align;
      reg.offset = total;
      total += lanes * std::max<size_t>(rows::lane_size(reg.dtype), 1);
    }
    p_.arena_ = std::make_unique<std::byte[]>(total + 64);
    auto address = reinterpret_cast<uintptr_t>(p_.arena_.get());
    std::byte* base = p_.arena_.get() + (64 - address % 64) % 64;
    for (Register& reg : p_.registers_) reg.data = base + reg.offset;
    for (const auto& [reg, value] : constants_) {
      rows::write_constant(p_.registers_[reg].dtype, p_.registers_[reg].data, value);
    }
  }

  static constexpr uint32_t kNoAxis = 0x7fffffffu;

  Program& p_;
  const Environment& env_;
  std::vector<Level> levels_;
  std::vector<Root> roots_;
  std::vector<const ScalarNode*> nodes_;
  NodeNumbers numbers_;
  std::vector<FreeSet> free_;
  std::vector<char> risky_;
  std::vector<Place> places_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> level_scopes_;
  std::unordered_map<uint32_t, uint32_t> binders_;
  std::vector<std::vector<uint32_t>> wide_ids_;  // of each context
  std::vector<uint32_t> prologues_;
  std::vector<LoadPlan> plans_;
  std::unordered_map<uint64_t, Reg> splats_;
  std::vector<std::pair<Reg, Immediate>> constants_;
};

Lanes::Lanes(std::vector<LoopAxis> lane_axes)
    : axes(std::move(lane_axes)),
      steps(axes.size()),
      first(axes.size()),
      low(axes.size()),
      high(axes.size()) {
  for (size_t a = axes.size(); a-- > 0;) {
    steps[a] = total;
    total *= axes[a].extent;
  }
  capacity = std::clamp<int64_t>(total, 1, kChunk);
}

void Lanes::move_to(int64_t new_begin, int64_t count) {
  begin = new_begin;
  n = count;
  ++serial;
  int64_t last = begin + n - 1;
  bool same = true;  // whether all axes so far have one index throughout
  for (size_t a = 0; a < axes.size(); ++a) {
    int64_t from = begin / steps[a] % axes[a].extent;
    int64_t to = last / steps[a] % axes[a].extent;
    first[a] = from;
    low[a] = same ? from : 0;
    high[a] = same ? to : axes[a].extent - 1;
    same &= from == to;
  }
}

void Lanes::linear(std::span<const int64_t> coefficients, int64_t constant, int64_t* out) const {
  if (axes.empty()) {
    out[0] = constant;
    return;
  }
  size_t inner = axes.size() - 1;
  std::vector<int64_t> index = first;
  int64_t done = 0;
  while (done < n) {
    auto value = static_cast<uint64_t>(constant);
    for (size_t a = 0; a <= inner; ++a) {
      value += static_cast<uint64_t>(coefficients[a]) * static_cast<uint64_t>(index[a]);
    }
    int64_t run = std::min(n - done, axes[inner].extent - index[inner]);
    auto step = static_cast<uint64_t>(coefficients[inner]);
    for (int64_t i = 0; i < run; ++i) {
      out[done + i] = static_cast<int64_t>(value + step * static_cast<uint64_t>(i));
    }
    done += run;
    index[inner] += run;
    for (size_t a = inner; a > 0 && index[a] == axes[a].extent; --a) {
      index[a] = 0;
      ++index[a - 1];
    }
  }
}

Program::Program(const Environment& env, std::vector<Level> levels, std::vector<Root> roots) {
  ProgramCompiler(*this, env, std::move(levels), std::move(roots)).run();
}

Program::~Program() = default;

Reg Program::var_reg(uint32_t id) const {
  for (const auto& [var, reg] : var_regs_) {
    if (var == id) return reg;
  }
  RELAY_UNREACHABLE("a placeholder without register");
}

void Program::set_index(uint32_t axis, int64_t value) {
  for (const auto& [id, reg] : index_regs_) {
    if (id == axis) {
      *data<int64_t>(reg) = value;
      return;
    }
  }
}

}  // namespace relay::te
