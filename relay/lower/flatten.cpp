// Folds inside of expressions become loops.
#include <algorithm>

#include <relay/lower/draft.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Combiner;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {
// Sums of floats are formed in blocks of about this many terms.
constexpr int64_t kBlock = 256;
constexpr int64_t kMaxUnrolled = 32;
/// A vector loop so short is run for one vector or two: joining its lanes costs more than the loop.
constexpr int64_t kShortLanes = 32;
constexpr int64_t kShortSteps = 4;

bool is_long(Dim extent, int64_t limit) { return !extent.is_int() || extent.as_int() > limit; }

bool is_float_sum(const ScalarNode& fold) {
  return fold.combiner->kind == Combiner::Kind::kSum && fold.dtype.is_float();
}

/// True if the vector loop, the innermost of several, is short: outside of the others each lane
/// keeps its sum to the end, as for weights in blocks of 16 or 32 that share a scale.
bool has_short_lanes(const ScalarNode& fold, const std::vector<Axis>& axes,
                     const FoldLoops& loops) {
  if (axes.size() < 2 || loops.vector_axis != static_cast<int>(axes.size()) - 1) return false;
  const bool any_order = fold.combiner->kind == Combiner::Kind::kSum && num_accumulators(fold) == 1;
  return any_order && !is_long(axes.back().extent, kShortLanes);
}

/// The same with the last axis cut into steps that are written out: its body is a few instructions,
/// of which counting would be a third.
ScalarRef with_short_steps(Draft& draft, const ScalarRef& fold, std::vector<Axis>& axes) {
  const Axis last = axes.back();
  for (int64_t steps = kShortSteps; steps > 1; --steps) {
    if (!last.extent.is_int() || last.extent.as_int() % steps != 0) continue;
    const Axis outer = draft.new_axis(floor_div(last.extent, Dim(steps)));
    const Axis inner = draft.new_axis(Dim(steps));
    axes.back() = outer;
    axes.push_back(inner);
    std::unordered_map<uint32_t, ScalarRef> place;
    place.emplace(last.id, (te::index_of(outer) * steps + te::index_of(inner)).ref());
    Ref<ScalarNode> copy = copy_node(*fold);
    for (ScalarRef& arg : copy->args) arg = substitute(arg, place);
    return copy;
  }
  return fold;
}
}  // namespace

Stmt let(uint32_t var, ScalarRef value) { return {Let{var, std::move(value)}}; }
Stmt store(int32_t buffer, std::vector<ScalarRef> indices, ScalarRef value) {
  return {Store{buffer, std::move(indices), std::move(value)}};
}
For loop(LoopKind kind, const Axis& axis) {
  For result;
  result.kind = kind;
  result.axis = axis.id;
  result.begin = te::index_constant(0).ref();
  result.end = te::from_dim(axis.extent).ref();
  return result;
}
void enclose(Block& block, For loop) {
  loop.body = std::move(block);
  block.clear();
  block.push_back({std::move(loop)});
}
ScalarRef zero(DType dtype) {
  return dtype.is_float() ? te::constant(0.0, dtype).ref() : te::constant(0, dtype).ref();
}

bool Flattener::has_fold(const ScalarRef& root) {
  if (auto found = has_fold_.find(root.get()); found != has_fold_.end()) return found->second;
  alive_.push_back(root);
  std::vector<ScalarRef> roots{root};
  for (const ScalarNode* node : te::post_order(roots)) {
    if (has_fold_.contains(node)) continue;
    bool folds = node->kind == ScalarKind::kFold;
    for (const ScalarRef& arg : node->args) folds |= has_fold_.at(arg.get());
    has_fold_.emplace(node, folds);
  }
  return has_fold_.at(root.get());
}

void Flattener::remember(const ScalarRef& node, ScalarRef value) {
  if (done_.emplace(node.get(), std::move(value)).second) order_.push_back(node);
}

void Flattener::forget(size_t mark) {
  while (order_.size() > mark) {
    done_.erase(order_.back().get());
    registers_.erase(order_.back().get());
    order_.pop_back();
  }
}

ScalarRef Flattener::value(const ScalarRef& root, Block& block) {
  if (!has_fold(root)) return root;
  struct Frame {
    ScalarRef node;
    size_t next = 0;
  };
  std::vector<Frame> stack{{root, 0}};
  auto done = [&](const ScalarRef& node) { return has_fold(node) ? done_.at(node.get()) : node; };
  while (!stack.empty()) {
    ScalarRef node = stack.back().node;
    if (done_.contains(node.get())) {
      stack.pop_back();
      continue;
    }
    if (node->kind == ScalarKind::kFold) {
      std::vector<ScalarRef> registers = fold(node, block);
      stack.pop_back();
      continue;
    }
    bool lazy = (node->kind == ScalarKind::kSelect &&
                 (has_fold(node->args[1]) || has_fold(node->args[2]))) ||
                (node->kind == ScalarKind::kFail && has_fold(node->args[1]));
    size_t& next = stack.back().next;
    size_t operands = lazy ? 1 : node->args.size();
    if (next < operands) {
      const ScalarRef& arg = node->args[next++];
      if (has_fold(arg) && !done_.contains(arg.get())) stack.push_back({arg, 0});
      continue;
    }
    stack.pop_back();
    if (lazy) {
      remember(node, choice(*node, done(node->args[0]), block));
    } else if (node->kind == ScalarKind::kGet) {
      remember(node, registers_.at(node->args[0].get())[node->id]);
    } else {
      std::vector<ScalarRef> args;
      for (const ScalarRef& arg : node->args) args.push_back(done(arg));
      remember(node, with_args(node, std::move(args)));
    }
  }
  return done_.at(root.get());
}

ScalarRef Flattener::choice(const ScalarNode& select, ScalarRef condition, Block& block) {
  const te::OriginScope scope(select.origin);
  // A kernel that has failed goes on, so what must not be evaluated still stands under a condition.
  bool fails = select.kind == ScalarKind::kFail;
  if (fails) {
    Check check{condition, select.message, select.origin, {}, {}};
    if (select.args.size() == 4) {
      check.index = value(select.args[2], block);
      check.extent = value(select.args[3], block);
    }
    block.push_back({std::move(check)});
  }
  uint32_t var = draft_.new_var();
  block.push_back(let(var, zero(select.dtype)));
  If branch;
  branch.condition = std::move(condition);
  for (size_t arm = 1; arm < (fails ? 2 : select.args.size()); ++arm) {
    Block& inside = arm == 1 ? branch.then_block : branch.else_block;
    size_t before = mark();
    ScalarRef result = value(select.args[arm], inside);
    inside.push_back({Set{var, std::move(result)}});
    forget(before);
  }
  block.push_back({std::move(branch)});
  return te::placeholder(var, select.dtype).ref();
}

std::vector<ScalarRef> Flattener::fold(const ScalarRef& fold, Block& block) {
  if (auto found = registers_.find(fold.get()); found != registers_.end()) return found->second;
  const te::OriginScope scope(fold->origin);
  hoist(fold, block);
  size_t count = num_accumulators(*fold);
  std::vector<uint32_t> vars;
  std::vector<ScalarRef> registers;
  if (fold->combiner->needs_element) {
    Dim points = 1;
    for (const Axis& axis : fold->axes) points = points * axis.extent;
    if (!points.is_int() || points.as_int() == 0) {
      std::string message = fold->message.empty() ? std::string(te::kEmptyFold) : fold->message;
      block.push_back(
          {Check{(te::from_dim(points) > 0).ref(), std::move(message), fold->origin, {}, {}}});
    }
  }
  for (size_t k = 0; k < count; ++k) {
    DType dtype = fold->args[k]->dtype;
    vars.push_back(draft_.new_var());
    block.push_back(let(vars.back(), combiner_identity(*fold->combiner, k, dtype)));
    registers.push_back(te::placeholder(vars.back(), dtype).ref());
  }
  std::vector<Axis> axes;
  std::unordered_map<uint32_t, ScalarRef> single;
  for (const Axis& axis : fold->axes) {
    if (axis.extent.is_int(1)) {
      single.emplace(axis.id, te::index_constant(0).ref());
    } else {
      axes.push_back(axis);
    }
  }
  ScalarRef plain = fold;
  FoldLoops loops;
  if (!in_lanes_ && choose) loops = choose(*fold);
  if (!single.empty()) {
    // Positions change with the axes that are left out.
    if (loops.vector_axis >= 0) {
      uint32_t id = fold->axes[static_cast<size_t>(loops.vector_axis)].id;
      loops.vector_axis = -1;
      for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].id == id) loops.vector_axis = static_cast<int>(i);
      }
    }
    Ref<ScalarNode> copy = copy_node(*fold);
    for (ScalarRef& arg : copy->args) arg = substitute(arg, single);
    plain = copy;
  }
  if (clips.empty() && has_short_lanes(*plain, axes, loops)) {
    std::rotate(axes.begin(), axes.end() - 1, axes.end());
    loops = {0, 1};
    plain = with_short_steps(draft_, plain, axes);
  }
  size_t before = mark();
  fold_loops(plain, axes, 0, vars, loops, block);
  forget(before);
  registers_.emplace(fold.get(), registers);
  remember(fold, registers[0]);
  return registers;
}

void Flattener::hoist(const ScalarRef& fold, Block& block) {
  // Folds inside that do not depend on this one's axes, if nothing decides whether they are needed.
  std::vector<ScalarRef> stack;
  if (fold->args.size() == num_accumulators(*fold)) stack = fold->args;
  auto fails = [](const ScalarRef& root) {
    std::vector<ScalarRef> roots{root};
    for (const ScalarNode* node : te::post_order(roots)) {
      if (node->kind == ScalarKind::kFail ||
          (node->kind == ScalarKind::kLoad && node->bounds == te::Bounds::kFail) ||
          (node->kind == ScalarKind::kFold && node->combiner->needs_element)) {
        return true;
      }
    }
    return false;
  };
  std::vector<const ScalarNode*> seen;
  std::vector<Axis> bound = fold->axes;  // of this one, and of those looked into
  while (!stack.empty()) {
    ScalarRef node = std::move(stack.back());
    stack.pop_back();
    if (!has_fold(node) || done_.contains(node.get())) continue;
    if (std::find(seen.begin(), seen.end(), node.get()) != seen.end()) continue;
    seen.push_back(node.get());
    if (node->kind == ScalarKind::kFold) {
      std::vector<ScalarRef> roots{node};
      std::vector<const ScalarNode*> nodes = te::post_order(roots);
      te::NodeNumbers numbers = te::number_nodes(nodes);
      te::FreeSet free = te::free_sets(nodes, numbers).back();
      bool depends = std::any_of(bound.begin(), bound.end(), [&](const Axis& axis) {
        return std::binary_search(free.begin(), free.end(), axis.id);
      });
      if (!depends && !fails(node)) {
        this->fold(node, block);
        continue;
      }
      if (node->args.size() > num_accumulators(*node)) continue;
      bound.insert(bound.end(), node->axes.begin(), node->axes.end());
    }
    if (node->kind == ScalarKind::kSelect) {
      stack.push_back(node->args[0]);
    } else if (node->kind == ScalarKind::kFail) {
      stack.push_back(node->args[0]);
    } else {
      stack.insert(stack.end(), node->args.begin(), node->args.end());
    }
  }
}

void Flattener::fold_loops(const ScalarRef& fold, const std::vector<Axis>& axes, size_t at,
                           const std::vector<uint32_t>& vars, const FoldLoops& loops,
                           Block& block) {
  if (at == axes.size()) return fold_body(fold, vars, block);
  const Axis& axis = axes[at];
  if (auto clip = clips.find(axis.id); clip != clips.end()) {
    For one = loop(LoopKind::kSerial, axis);
    one.begin = clip->second.first;
    one.end = clip->second.second;
    fold_loops(fold, axes, at + 1, vars, loops, one.body);
    block.push_back({std::move(one)});
    return;
  }
  bool vector = loops.vector_axis == static_cast<int>(at);
  int64_t rest = 1;  // points of the axes from here on; 0 if unknown
  for (size_t i = at; i < axes.size(); ++i) {
    rest = axes[i].extent.is_int() ? rest * axes[i].extent.as_int() : 0;
  }
  // Inside of the vector loop are short steps alone.
  const int64_t most = loops.vector_axis < 0                      ? kMaxUnrolled
                       : loops.vector_axis < static_cast<int>(at) ? kShortSteps
                                                                  : 0;
  bool small = rest > 0 && rest <= most && !has_fold(fold->args[0]);
  // A second accumulator for each block keeps sums accurate.
  int64_t block_size = vector ? kBlock * 64 : kBlock;
  bool last = at + 1 == axes.size();
  if (is_float_sum(*fold) && last && !small && is_long(axis.extent, 2 * block_size)) {
    Axis outer = draft_.new_axis(ceil_div(axis.extent, Dim(block_size)));
    For blocks = loop(LoopKind::kSerial, outer);
    Scalar begin = te::index_of(outer) * block_size;
    For inner = loop(vector ? LoopKind::kVector : LoopKind::kSerial, axis);
    inner.begin = begin.ref();
    inner.end = te::min(begin + block_size, te::from_dim(axis.extent)).ref();
    inner.interleave = vector ? loops.interleave : 1;
    uint32_t part = draft_.new_var();
    blocks.body.push_back(let(part, zero(fold->dtype)));
    fold_body(fold, {part}, inner.body);
    blocks.body.push_back({std::move(inner)});
    blocks.body.push_back({Accumulate{vars,
                                      *fold->combiner,
                                      {te::placeholder(part, fold->dtype).ref()},
                                      ScalarRef(),
                                      fold->origin}});
    block.push_back({std::move(blocks)});
    return;
  }
  For one = loop(vector  ? LoopKind::kVector
                 : small ? LoopKind::kUnrolled
                         : LoopKind::kSerial,
                 axis);
  if (vector) one.interleave = loops.interleave;
  // The rows below an outer axis are such blocks already; short steps have a sum of their own, so
  // that each need not wait for all before it.
  const bool above_steps = loops.vector_axis >= 0 && loops.vector_axis < static_cast<int>(at) &&
                           at + 2 == axes.size() && !is_long(axes.back().extent, kShortSteps);
  const bool above_rows = is_long(axis.extent, 8) && (rest == 0 || rest > 4 * kBlock);
  if (is_float_sum(*fold) && !last && !vector && !small && (above_steps || above_rows)) {
    uint32_t part = draft_.new_var();
    one.body.push_back(let(part, zero(fold->dtype)));
    fold_loops(fold, axes, at + 1, {part}, loops, one.body);
    one.body.push_back({Accumulate{vars,
                                   *fold->combiner,
                                   {te::placeholder(part, fold->dtype).ref()},
                                   ScalarRef(),
                                   fold->origin}});
  } else {
    fold_loops(fold, axes, at + 1, vars, loops, one.body);
  }
  block.push_back({std::move(one)});
}

void Flattener::fold_body(const ScalarRef& fold, const std::vector<uint32_t>& vars, Block& block) {
  size_t count = num_accumulators(*fold);
  size_t before = mark();
  Accumulate accumulate;
  accumulate.vars = vars;
  accumulate.combiner = *fold->combiner;
  accumulate.origin = fold->origin;
  Block* inside = &block;
  If guard;
  if (fold->args.size() > count) {
    ScalarRef where = value(fold->args[count], block);
    bool guarded = std::any_of(fold->args.begin(), fold->args.begin() + static_cast<long>(count),
                               [&](const ScalarRef& arg) { return has_fold(arg); });
    if (guarded) {
      guard.condition = where;
      inside = &guard.then_block;
    } else {
      accumulate.where = where;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    accumulate.values.push_back(value(fold->args[k], *inside));
  }
  inside->push_back({std::move(accumulate)});
  if (inside != &block) block.push_back({std::move(guard)});
  forget(before);
}

}  // namespace relay::lower
