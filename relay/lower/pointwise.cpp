// Maps: point by point.
#include <algorithm>

#include <relay/lower/templates.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

OuterLoops::OuterLoops(Draft& draft, std::vector<Axis> axes, double work_inside)
    : draft_(draft), axes_(std::move(axes)) {
  double points = 1;
  bool symbolic = false;
  for (const Axis& axis : axes_) {
    points *= guess(axis.extent);
    symbolic |= !axis.extent.is_int();
  }
  if (axes_.empty() || (!symbolic && points * work_inside < kWorthSharing)) return;
  // As many axes as it takes for pieces of any number of workers.
  double pieces = 1;
  Dim total = 1;
  do {
    pieces *= axes_[joined_].extent.is_int() ? guess(axes_[joined_].extent) : 1;
    total = total * axes_[joined_].extent;
    ++joined_;
  } while (joined_ < axes_.size() && pieces < 512);
  if (joined_ == 1) {
    shared_ = axes_[0];
    return;
  }
  shared_ = draft_.new_axis(total);
  Scalar rest = te::index_of(shared_);
  Dim below = total;
  for (size_t i = 0; i < joined_; ++i) {
    // From the inside out: axis = rest mod extent, rest = rest div extent.
    const Axis& axis = axes_[joined_ - 1 - i];
    uint32_t var = draft_.new_var();
    Scalar value = i + 1 == joined_ ? rest : te::floor_mod(rest, te::from_dim(axis.extent));
    lets_.push_back(let(var, value.ref()));
    names.emplace(axis.id, te::placeholder(var, kInt64).ref());
    if (i + 1 < joined_) {
      uint32_t quotient = draft_.new_var();
      lets_.push_back(let(quotient, te::floor_div(rest, te::from_dim(axis.extent)).ref()));
      rest = te::placeholder(quotient, kInt64);
    }
  }
  (void)below;
}

void OuterLoops::close(Block body) {
  for (size_t i = axes_.size(); i-- > joined_;) {
    For one = loop(LoopKind::kSerial, axes_[i]);
    one.body = std::move(body);
    body.clear();
    body.push_back({std::move(one)});
  }
  if (joined_ > 0) {
    For one = loop(LoopKind::kParallel, shared_);
    one.body = std::move(lets_);
    for (Stmt& stmt : body) one.body.push_back(std::move(stmt));
    body.clear();
    body.push_back({std::move(one)});
  }
  for (Stmt& stmt : body) draft_.body().push_back(std::move(stmt));
}

namespace {

int lanes_of(const Space& space, const LowerOptions& options) {
  size_t widest = 1;
  for (const Access& access : space.accesses) widest = std::max(widest, access.dtype.size());
  return static_cast<int>(
      std::max<int64_t>(options.vector_bytes / static_cast<int64_t>(widest), 1));
}

/// Values that several roots share and that are worth a register, given names in `block`.
void name_shared(Draft& draft, std::vector<ScalarRef>& roots, Block& block) {
  if (roots.size() < 2) return;
  std::unordered_map<const ScalarNode*, int> users;
  for (const ScalarRef& root : roots) {
    std::vector<ScalarRef> one{root};
    // Only what is evaluated whatever the selects decide.
    std::vector<const ScalarNode*> stack{root.get()}, seen;
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
      seen.push_back(node);
      ++users[node];
      if (node->kind == ScalarKind::kLoad) continue;
      size_t strict = node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail
                          ? 1
                          : node->args.size();
      for (size_t i = 0; i < strict; ++i) stack.push_back(node->args[i].get());
    }
  }
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        bool worth = node->kind == ScalarKind::kUnary || node->kind == ScalarKind::kBinary ||
                     node->kind == ScalarKind::kLoad || node->kind == ScalarKind::kCast;
        auto found = users.find(node.get());
        if (!worth || found == users.end() || found->second < 2) return {};
        ScalarRef value;
        if (node->kind == ScalarKind::kLoad) {
          Ref<ScalarNode> copy = copy_node(*node);
          copy->args = args;
          value = copy;
        } else {
          value = with_args(node, args);
        }
        uint32_t var = draft.new_var();
        block.push_back(let(var, value));
        return te::placeholder(var, node->dtype).ref();
      });
  for (ScalarRef& root : roots) root = rewrite(root);
}

}  // namespace

DraftKernel lower_map(const Job& job) {
  const te::Computation& c = job.computation;
  const te::Stage& stage = c.stages[job.stage];
  const auto& map = std::get<te::Map>(stage.body);
  Space space(c, map);
  int lanes = lanes_of(space, job.options);

  // Lanes along an axis of the domain, or along the folds.
  int along = -1;
  double best = 0;
  for (size_t a = space.axes.size(); a-- > 0;) {
    double cost = space.lane_cost(space.axes[a], lanes);
    if (along < 0 || cost < best) {
      along = static_cast<int>(a);
      best = cost;
    }
  }
  std::vector<int> fold_axis;
  bool in_folds = false;
  if (space.has_folds()) {
    std::optional<double> cost = space.fold_lane_cost(lanes, fold_axis);
    if (cost && (along < 0 || *cost < best)) in_folds = true;
  }
  if (in_folds) along = -1;

  Draft draft(c);
  std::vector<Axis> outer;
  for (size_t a = 0; a < space.axes.size(); ++a) {
    if (static_cast<int>(a) != along) outer.push_back(space.axes[a]);
  }
  double work = space.work();
  For vector;
  std::optional<Axis> pieces;
  if (along >= 0) {
    Axis axis = space.axes[static_cast<size_t>(along)];
    vector = loop(LoopKind::kVector, axis);
    // A long row is cut, by its length alone, so that there is something to share.
    double rows = 1;
    for (const Axis& one : outer) rows *= one.extent.is_int() ? guess(one.extent) : 1;
    int64_t piece = 64 * std::max<int64_t>(16, static_cast<int64_t>(65536 / work) / 64);
    bool is_long = axis.extent.is_int() ? axis.extent.as_int() >= 2 * piece : outer.empty();
    if (rows < 64 && is_long) {
      pieces = draft.new_axis(ceil_div(axis.extent, Dim(piece)));
      outer.push_back(*pieces);
      work *= static_cast<double>(piece);
    } else {
      work *= guess(axis.extent);
    }
    OuterLoops loops(draft, outer, work);
    if (pieces) {
      ScalarRef name = te::index_of(*pieces).ref();
      if (auto found = loops.names.find(pieces->id); found != loops.names.end()) {
        name = found->second;
      }
      Scalar begin = Scalar(name) * piece;
      vector.begin = begin.ref();
      vector.end = te::min(begin + piece, te::from_dim(axis.extent)).ref();
    }
    Flattener flatten(draft, true);
    std::vector<ScalarRef> bound = draft.bind(space.roots, space.math(), loops.names);
    std::vector<ScalarRef> values;
    for (const ScalarRef& root : bound) values.push_back(flatten.value(root, vector.body));
    name_shared(draft, values, vector.body);
    std::vector<Dim> index, dims;
    for (const Axis& one : space.axes) {
      auto found = loops.names.find(one.id);
      ScalarRef name = found == loops.names.end() ? te::index_of(one).ref() : found->second;
      index.push_back(space.math().poly(name));
      dims.push_back(one.extent);
    }
    ScalarRef position = space.math().scalar(IndexMath::linearise(index, dims));
    for (size_t k = 0; k < values.size(); ++k) {
      int32_t out = draft.buffer({static_cast<int32_t>(job.stage), static_cast<int32_t>(k)},
                                 Buffer::Role::kOutput, true);
      vector.body.push_back(store(out, {position}, values[k]));
    }
    Block body;
    body.push_back({std::move(vector)});
    loops.close(std::move(body));
  } else {
    OuterLoops loops(draft, outer, work);
    Flattener flatten(draft, false);
    std::vector<ScalarRef> bound = draft.bind(space.roots, space.math(), loops.names);
    std::unordered_map<uint32_t, int> chosen;  // by a fold's first axis
    for (size_t f = 0; f < fold_axis.size() && in_folds; ++f) {
      if (!space.folds[f]->axes.empty()) {
        chosen.emplace(space.folds[f]->axes[0].id, fold_axis[f]);
      }
    }
    flatten.choose = [&](const ScalarNode& fold) -> FoldLoops {
      if (fold.axes.empty()) return {};
      auto found = chosen.find(fold.axes[0].id);
      if (found == chosen.end()) return {};
      return {found->second, 4};
    };
    Block body;
    std::vector<ScalarRef> values;
    for (const ScalarRef& root : bound) values.push_back(flatten.value(root, body));
    name_shared(draft, values, body);
    std::vector<Dim> index, dims;
    for (const Axis& one : space.axes) {
      auto found = loops.names.find(one.id);
      ScalarRef name = found == loops.names.end() ? te::index_of(one).ref() : found->second;
      index.push_back(space.math().poly(name));
      dims.push_back(one.extent);
    }
    ScalarRef position = space.math().scalar(IndexMath::linearise(index, dims));
    for (size_t k = 0; k < values.size(); ++k) {
      int32_t out = draft.buffer({static_cast<int32_t>(job.stage), static_cast<int32_t>(k)},
                                 Buffer::Role::kOutput, true);
      body.push_back(store(out, {position}, values[k]));
    }
    loops.close(std::move(body));
  }
  Dim points = 1;
  for (const Axis& axis : map.axes) points = points * axis.extent;
  return draft.finish(job.name, space.has_folds() ? "reduce" : "pointwise",
                      points * flops_of(map.values));
}

}  // namespace relay::lower
