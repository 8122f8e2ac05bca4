#include <relay/lower/prepare.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include <relay/lower/index_math.h>
#include <relay/lower/remainders.h>
#include <relay/lower/scalars.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Bounds;
using te::Computation;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

// The cost that repeating an expression may have (operations) before it is worth memory.
constexpr int kCheap = 4;

/// True if a view is the same memory: all elements in the same order.
bool is_free(const Computation& c, const te::View& view) {
  if (!view.offset.is_int(0) || view.strides != dense_strides(view.extents)) return false;
  return dims_equal(product(view.extents), product(c.info(view.source).dims)) == Truth::kYes;
}

bool has_fold(std::span<const ScalarRef> roots) {
  for (const ScalarNode* node : te::post_order(roots)) {
    if (node->kind == ScalarKind::kFold) return true;
  }
  return false;
}

int steps_of(ScalarCost cost) {
  switch (cost) {
    case ScalarCost::kStep:
      return 1;
    case ScalarCost::kDivide:
    case ScalarCost::kRemainder:
      return 3;
    case ScalarCost::kRoot:
      return 4;
    case ScalarCost::kFunction:
      return 10;
  }
  RELAY_UNREACHABLE("unknown cost");
}

/// Operations of one evaluation apart from index arithmetic.
int cost_of(std::span<const ScalarRef> roots) {
  std::vector<const ScalarNode*> stack;
  std::unordered_set<const ScalarNode*> seen;
  for (const ScalarRef& root : roots) stack.push_back(root.get());
  int cost = 0;
  while (!stack.empty()) {
    const ScalarNode* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    switch (node->kind) {
      case ScalarKind::kUnary:
        cost += steps_of(scalar_op(node->unary).cost);
        break;
      case ScalarKind::kBinary:
        cost += steps_of(scalar_op(node->binary).cost);
        break;
      case ScalarKind::kSelect:
      case ScalarKind::kFail:
        cost += 1;
        break;
      case ScalarKind::kFold:
        cost += 1000;
        break;
      case ScalarKind::kLoad:
        for (const ScalarRef& arg : node->args) {
          std::vector<ScalarRef> one{arg};
          for (const ScalarNode* inner : te::post_order(one)) {
            if (inner->kind == ScalarKind::kLoad) cost += 2;
          }
        }
        continue;
      default:
        break;
    }
    for (const ScalarRef& arg : node->args) stack.push_back(arg.get());
  }
  return cost;
}

/// One load of a tensor by a stage.
struct Use {
  size_t stage;
  const ScalarNode* load;
  bool repeated;  // some axis around it does not take part, so elements are read again
  bool in_fold;
};

class Preparer {
 public:
  explicit Preparer(Computation computation) : in_(std::move(computation)) {}

  Computation run() {
    out_.inputs = in_.inputs;
    out_.num_axes = in_.num_axes;
    out_.num_vars = in_.num_vars;
    expand_views();
    for (const te::Stage& stage : in_.stages) {
      math_.add_axes(te::stage_axes(stage));
      math_.add_folds(te::stage_roots(stage));
    }
    find_uses();
    const std::vector<bool> written_out = choices_of_tables(in_);
    states_.resize(in_.stages.size());
    for (size_t s = 0; s < in_.stages.size(); ++s) {
      if (needed_[s]) stage(s, written_out[s]);
    }
    for (const te::Output& output : in_.outputs) {
      out_.outputs.push_back({kept(output.tensor), output.dims});
    }
    return std::move(out_);
  }

 private:
  struct State {
    enum class Kind { kDead, kKept, kInlined, kView } kind = Kind::kDead;
    int32_t stage = -1;              // kKept
    std::vector<ScalarRef> values;   // kInlined: over the axes of the old stage
    std::optional<TensorId> tensor;  // kView: the view as a tensor, if something wants one
  };

  /// Views that are read as tensors and are not free become copies.
  void expand_views() {
    std::unordered_set<int64_t> wanted;
    auto want = [&](TensorId id) {
      if (!id.is_input()) wanted.insert(id.stage);
    };
    for (const te::Output& output : in_.outputs) want(output.tensor);
    for (const te::Stage& stage : in_.stages) {
      if (const auto* library = std::get_if<te::Library>(&stage.body)) {
        for (TensorId id : library->inputs) want(id);
      } else if (const auto* update = std::get_if<te::Update>(&stage.body)) {
        want(update->base);
      }
    }
    for (size_t s = in_.stages.size(); s-- > 0;) {
      const auto* view = std::get_if<te::View>(&in_.stages[s].body);
      if (view == nullptr || !wanted.contains(static_cast<int64_t>(s))) continue;
      if (is_free(in_, *view)) {
        want(view->source);
        continue;
      }
      te::Map map;
      Dim flat = view->offset;
      for (size_t d = 0; d < view->extents.size(); ++d) {
        map.axes.push_back({out_.num_axes++, view->extents[d]});
        flat = flat + view->strides[d] * IndexMath::axis(map.axes.back().id);
      }
      math_.add_axes(map.axes);
      map.values.push_back(flat_load(view->source, flat, in_.info(view->source)));
      in_.stages[s].body = std::move(map);
    }
    must_keep_ = std::move(wanted);
  }

  /// An element by its position, as indices.
  ScalarRef flat_load(TensorId id, Dim flat, const te::TensorInfo& info) {
    auto load = new_node(ScalarKind::kLoad, info.dtype);
    load->tensor = id;
    load->bounds = Bounds::kProven;
    for (Dim index : math_.delinearise(flat, info.dims)) load->args.push_back(math_.scalar(index));
    return load;
  }

  void find_uses() {
    needed_.assign(in_.stages.size(), false);
    uses_.resize(in_.stages.size());
    auto need = [&](TensorId id) {
      if (!id.is_input()) needed_[static_cast<size_t>(id.stage)] = true;
    };
    for (const te::Output& output : in_.outputs) need(output.tensor);
    for (size_t s = in_.stages.size(); s-- > 0;) {
      if (!needed_[s]) continue;
      const te::Stage& stage = in_.stages[s];
      for (TensorId id : te::stage_reads(stage)) need(id);
      std::vector<ScalarRef> roots = te::stage_roots(stage);
      std::vector<const ScalarNode*> order = te::post_order(roots);
      te::NodeNumbers numbers = te::number_nodes(order);
      std::vector<te::FreeSet> free = te::free_sets(order, numbers);
      // Axes of the folds around each node.
      std::vector<std::vector<Axis>> around(order.size());
      std::vector<bool> reached(order.size());
      for (const ScalarRef& root : roots) reached[numbers.at(root.get())] = true;
      for (size_t i = order.size(); i-- > 0;) {
        std::vector<Axis> inside = around[i];
        if (order[i]->kind == ScalarKind::kFold) {
          inside.insert(inside.end(), order[i]->axes.begin(), order[i]->axes.end());
        }
        for (const ScalarRef& arg : order[i]->args) {
          uint32_t n = numbers.at(arg.get());
          if (around[n].size() < inside.size()) around[n] = inside;
        }
      }
      for (size_t i = 0; i < order.size(); ++i) {
        const ScalarNode* node = order[i];
        if (node->kind != ScalarKind::kLoad || node->tensor.is_input()) continue;
        Use use{s, node, false, !around[i].empty()};
        auto takes_part = [&](const Axis& axis) {
          return axis.extent.is_int(1) ||
                 std::binary_search(free[i].begin(), free[i].end(), axis.id);
        };
        for (const Axis& axis : te::stage_axes(stage)) use.repeated |= !takes_part(axis);
        for (const Axis& axis : around[i]) use.repeated |= !takes_part(axis);
        uses_[static_cast<size_t>(node->tensor.stage)].push_back(use);
      }
    }
    // A reader of a view reads its source.
    for (size_t s = in_.stages.size(); s-- > 0;) {
      const auto* view = std::get_if<te::View>(&in_.stages[s].body);
      if (view == nullptr || view->source.is_input()) continue;
      auto& into = uses_[static_cast<size_t>(view->source.stage)];
      into.insert(into.end(), uses_[s].begin(), uses_[s].end());
    }
  }

  void stage(size_t s, bool written_out) {
    const te::Stage& stage = in_.stages[s];
    State& state = states_[s];
    if (std::holds_alternative<te::View>(stage.body)) {
      state.kind = State::Kind::kView;
      return;
    }
    te::Stage copy = stage;
    if (!std::holds_alternative<te::Library>(stage.body)) {
      shared_.clear();
      ScalarRewriter rewrite(
          [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
            if (node->kind != ScalarKind::kLoad) return {};
            return load(*node, node->tensor, args, node->bounds, node->fill);
          });
      rewrite_roots(copy, [&](const ScalarRef& root) { return rewrite(root); });
      // Substitution leaves indices to be simplified.
      ScalarRewriter tidy(
          [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
            if (node->kind != ScalarKind::kLoad) return {};
            return simplified(*node, args);
          });
      rewrite_roots(copy, [&](const ScalarRef& root) { return tidy(root); });
    }
    if (auto* map = std::get_if<te::Map>(&copy.body)) {
      // Another stage may have come into it meanwhile.
      const ScalarRef choice = written_out ? lower::written_out(map->values[0]) : ScalarRef();
      if (choice || may_inline(s, *map)) {
        state.kind = State::Kind::kInlined;
        state.values = choice ? std::vector<ScalarRef>{choice} : map->values;
        return;
      }
    } else if (auto* update = std::get_if<te::Update>(&copy.body)) {
      update->base = kept(update->base);
    } else if (auto* library = std::get_if<te::Library>(&copy.body)) {
      for (TensorId& id : library->inputs) id = kept(id);
    }
    state.kind = State::Kind::kKept;
    state.stage = static_cast<int32_t>(out_.stages.size());
    out_.stages.push_back(std::move(copy));
  }

  ScalarRef simplified(const ScalarNode& load, const std::vector<ScalarRef>& args) {
    const te::TensorInfo& info = out_.info(load.tensor);
    Ref<ScalarNode> copy = copy_node(load);
    bool inside = true;
    std::vector<Dim> index;
    for (const ScalarRef& arg : args) index.push_back(math_.poly(arg));
    // An index that is moved inside is in range afterwards: loops see how the load goes through
    // memory.
    Inside moved;
    if (load.bounds == Bounds::kClamp) moved = make_valid(index, info.dims, Bounds::kClamp);
    for (size_t d = 0; d < args.size(); ++d) {
      copy->args[d] = math_.scalar(index[d]);
      inside &= load.bounds == Bounds::kProven || load.bounds == Bounds::kClamp ||
                math_.in_range(index[d], info.dims[d]);
    }
    if (load.bounds == Bounds::kClamp) {
      copy->bounds = Bounds::kProven;
      return guarded(moved, copy, load, Bounds::kClamp, {});
    }
    if (inside) {
      copy->bounds = Bounds::kProven;
      copy->fill = {};
    }
    return copy;
  }

  /// True if the users of a Map take its expression instead of its values.
  bool may_inline(size_t s, const te::Map& map) {
    if (must_keep_.contains(static_cast<int64_t>(s))) return false;
    const std::vector<Use>& uses = uses_[s];
    if (uses.empty()) return false;
    if (has_fold(map.values)) return takes_epilogue(s, map);
    int cost = cost_of(map.values);
    if (cost == 0) return true;
    bool repeated = false, repeated_in_fold = false;
    for (const Use& use : uses) {
      repeated |= use.repeated;
      repeated_in_fold |= use.repeated && use.in_fold;
    }
    if (repeated_in_fold) return false;
    if (uses.size() == 1 && !repeated) return true;
    return cost <= (repeated ? kCheap / 2 : kCheap);
  }

  /// A folded stage that one other reads, each element once and outside of folds.
  bool takes_epilogue(size_t s, const te::Map& map) {
    const std::vector<Use>& uses = uses_[s];
    if (map.values.size() != 1) return false;
    const te::Stage& user = in_.stages[uses[0].stage];
    const auto* user_map = std::get_if<te::Map>(&user.body);
    if (user_map == nullptr) return false;
    std::vector<Dim> first;
    for (const Use& use : uses) {
      if (use.stage != uses[0].stage || use.repeated || use.in_fold) return false;
      std::optional<std::vector<Dim>> at = position(use, s);
      if (!at) return false;
      if (first.empty()) first = *at;
      if (first != *at) return false;
      // One axis each, all of them.
      std::vector<uint32_t> seen;
      for (size_t d = 0; d < at->size(); ++d) {
        Dim extent = map.axes[d].extent;
        if ((*at)[d].is_int(0) && extent.is_int(1)) continue;
        if (!(*at)[d].is_variable()) return false;
        uint32_t id = (*at)[d].variable_id();
        auto axis = std::find_if(user_map->axes.begin(), user_map->axes.end(),
                                 [&](const Axis& a) { return a.id == id; });
        if (axis == user_map->axes.end() || axis->extent != extent) return false;
        if (std::find(seen.begin(), seen.end(), id) != seen.end()) return false;
        seen.push_back(id);
      }
    }
    return true;
  }

  /// The element of stage `s` that a use reads, through views; nothing if it may be none.
  std::optional<std::vector<Dim>> position(const Use& use, size_t s) {
    TensorId id = use.load->tensor;
    std::vector<Dim> index;
    const te::TensorInfo* info = &in_.info(id);
    for (size_t d = 0; d < use.load->args.size(); ++d) {
      index.push_back(math_.poly(use.load->args[d]));
      if (use.load->bounds != Bounds::kProven && !math_.in_range(index[d], info->dims[d])) {
        return std::nullopt;
      }
    }
    while (id.stage != static_cast<int32_t>(s)) {
      const auto* view = std::get_if<te::View>(&in_.stages[static_cast<size_t>(id.stage)].body);
      if (view == nullptr || view->source.is_input()) return std::nullopt;
      Dim flat = view->offset;
      for (size_t d = 0; d < index.size(); ++d) flat = flat + view->strides[d] * index[d];
      id = view->source;
      info = &in_.info(id);
      index = math_.delinearise(math_.recombine(flat), info->dims);
    }
    return index;
  }

  /// The new name of a tensor that exists as one.
  TensorId kept(TensorId id) {
    if (id.is_input()) return id;
    State& state = states_[static_cast<size_t>(id.stage)];
    if (state.kind == State::Kind::kKept) return {state.stage, id.index};
    RELAY_CHECK(state.kind == State::Kind::kView, "a stage that is wanted as a tensor");
    if (!state.tensor) {
      te::Stage stage = in_.stages[static_cast<size_t>(id.stage)];
      auto& view = std::get<te::View>(stage.body);
      view.source = kept(view.source);
      state.tensor = TensorId{static_cast<int32_t>(out_.stages.size()), 0};
      out_.stages.push_back(std::move(stage));
    }
    return *state.tensor;
  }

  /// A tensor as one row of all its elements.
  TensorId flat(TensorId id) {
    const te::TensorInfo& info = out_.info(id);
    if (info.rank() == 1) return id;
    auto key = std::pair(id.stage, id.index);
    if (auto found = flat_.find(key); found != flat_.end()) return found->second;
    te::Stage stage;
    Dim total = product(info.dims);
    stage.outputs.push_back({{total}, info.dtype});
    stage.body = te::View{id, Dim(0), {total}, {Dim(1)}};
    TensorId result{static_cast<int32_t>(out_.stages.size()), 0};
    out_.stages.push_back(std::move(stage));
    flat_.emplace(key, result);
    return result;
  }

  /// The expression that stands for a load of an old tensor.
  ScalarRef load(const ScalarNode& like, TensorId id, const std::vector<ScalarRef>& args,
                 Bounds bounds, const ScalarRef& fill) {
    State* state = id.is_input() ? nullptr : &states_[static_cast<size_t>(id.stage)];
    if (state == nullptr || state->kind == State::Kind::kKept) {
      Ref<ScalarNode> copy = copy_node(like);
      copy->tensor = kept(id);
      copy->args = args;
      copy->bounds = bounds;
      copy->fill = bounds == Bounds::kFill ? fill : ScalarRef();
      return copy;
    }
    // The same element is one node, so that it is computed once.
    std::vector<uint64_t> key{static_cast<uint64_t>(id.stage), static_cast<uint64_t>(id.index),
                              static_cast<uint64_t>(bounds)};
    if (bounds == Bounds::kFill) key.push_back(fill->value.u);
    std::vector<Dim> index;
    for (const ScalarRef& arg : args) {
      index.push_back(math_.poly(arg));
      key.push_back(index.back().bits());
    }
    if (auto found = shared_.find(key); found != shared_.end()) return found->second.load;
    ScalarRef result = state->kind == State::Kind::kView
                           ? load_view(like, id, index, bounds, fill)
                           : load_inlined(like, id, index, bounds, fill);
    shared_.emplace(std::move(key), Shared{result, std::move(index)});
    return result;
  }

  /// The condition under which indices are inside, and for the message one that is not.
  struct Inside {
    Scalar condition = te::constant(1, kBool);
    Scalar index, extent;
    /// One more index that may be outside, before the condition says so.
    void wrong(const Scalar& at, const Scalar& size) {
      bool first = index.node() == nullptr;
      index = first ? at : te::select(condition, at, index);
      extent = first ? size : te::select(condition, size, extent);
    }
  };

  /// Makes indices valid; the condition under which they were, if that counts.
  Inside make_valid(std::vector<Dim>& index, std::span<const Dim> dims, Bounds bounds) {
    Inside result;
    if (bounds == Bounds::kProven) return result;
    Scalar& inside = result.condition;
    for (size_t d = 0; d < index.size(); ++d) {
      if (math_.in_range(index[d], dims[d])) continue;
      Scalar at = math_.scalar(index[d]);
      Scalar extent = te::from_dim(dims[d]);
      bool moved = bounds == Bounds::kClamp || bounds == Bounds::kWrap;
      if (moved && !(dims[d] - 1).is_natural()) {  // there may be nothing to move to
        result.wrong(te::index_constant(0), extent);
        inside = inside && extent > 0;
      }
      if (bounds == Bounds::kClamp) {
        index[d] = math_.poly(te::max(te::min(at, extent - 1), te::index_constant(0)).ref());
      } else if (bounds == Bounds::kWrap) {
        index[d] = math_.poly(te::floor_mod(at, extent).ref());
      } else {
        result.wrong(at, extent);
        std::optional<Dim> low = math_.least(index[d]);
        if (!low || !low->is_natural()) inside = inside && at >= 0;
        inside = inside && at < extent;
      }
    }
    return result;
  }

  ScalarRef guarded(const Inside& inside, ScalarRef value, const ScalarNode& like, Bounds bounds,
                    const ScalarRef& fill) {
    if (bounds == Bounds::kFill) return te::select(inside.condition, value, fill).ref();
    if (inside.index.node() == nullptr) return value;
    ScalarRef checked =
        te::fail_unless(inside.condition, value, std::string(te::kOutOfRange)).ref();
    if (checked->kind != ScalarKind::kFail) return checked;
    Ref<ScalarNode> copy = copy_node(*checked);
    if (!like.message.empty()) copy->message = like.message;
    copy->origin = like.origin;
    copy->args.push_back(inside.index.ref());
    copy->args.push_back(inside.extent.ref());
    return copy;
  }

  ScalarRef load_inlined(const ScalarNode& like, TensorId id, std::vector<Dim> index, Bounds bounds,
                         const ScalarRef& fill) {
    const State& state = states_[static_cast<size_t>(id.stage)];
    const auto& map = std::get<te::Map>(in_.stages[static_cast<size_t>(id.stage)].body);
    Inside inside = make_valid(index, in_.info(id).dims, bounds);
    std::unordered_map<uint32_t, ScalarRef> axes;
    for (size_t d = 0; d < index.size(); ++d) axes.emplace(map.axes[d].id, math_.scalar(index[d]));
    ScalarRef value = substitute(state.values[static_cast<size_t>(id.index)], axes);
    return guarded(inside, value, like, bounds, fill);
  }

  ScalarRef load_view(const ScalarNode& like, TensorId id, std::vector<Dim> index, Bounds bounds,
                      const ScalarRef& fill) {
    const auto& view = std::get<te::View>(in_.stages[static_cast<size_t>(id.stage)].body);
    const te::TensorInfo& source = in_.info(view.source);
    if (bounds != Bounds::kProven) {
      if (auto moved = moved_indices(view, index, source)) {
        std::vector<ScalarRef> args;
        for (Dim at : *moved) args.push_back(math_.scalar(at));
        return load(like, view.source, args, bounds, fill);
      }
    }
    Inside inside = make_valid(index, view.extents, bounds);
    Dim position = view.offset;
    for (size_t d = 0; d < index.size(); ++d) position = position + view.strides[d] * index[d];
    position = math_.recombine(position);
    std::vector<Dim> at = math_.delinearise(position, source.dims);
    bool plain = std::all_of(at.begin(), at.end(), [&](Dim d) { return math_.is_polynomial(d); });
    bool is_tensor = view.source.is_input() ||
                     states_[static_cast<size_t>(view.source.stage)].kind == State::Kind::kKept;
    ScalarRef value;
    if (plain || !is_tensor) {
      std::vector<ScalarRef> args;
      for (Dim d : at) args.push_back(math_.scalar(d));
      value = load(like, view.source, args, Bounds::kProven, {});
    } else {
      Ref<ScalarNode> copy = copy_node(like);
      copy->tensor = flat(kept(view.source));
      copy->args = {math_.scalar(position)};
      copy->bounds = Bounds::kProven;
      copy->fill = {};
      value = copy;
    }
    return guarded(inside, value, like, bounds, fill);
  }

  /// If the view only moves, adds and drops dimensions: the indices moved, in the same bounds.
  std::optional<std::vector<Dim>> moved_indices(const te::View& view, std::span<const Dim> index,
                                                const te::TensorInfo& source) {
    std::vector<Axis> fresh;
    Dim position = view.offset;
    for (size_t d = 0; d < index.size(); ++d) {
      fresh.push_back({out_.num_axes++, view.extents[d]});
      if (!view.extents[d].is_int(1)) {
        position = position + view.strides[d] * IndexMath::axis(fresh.back().id);
      } else if (!index[d].is_int(0)) {
        return std::nullopt;
      }
    }
    math_.add_axes(fresh);
    std::vector<Dim> at = math_.delinearise(position, source.dims);
    std::vector<bool> used(index.size());
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d].is_int(0) && source.dims[d].is_int(1)) continue;
      if (!at[d].is_variable()) return std::nullopt;
      size_t k = at[d].variable_id() - fresh[0].id;
      if (k >= index.size() || used[k] || view.extents[k] != source.dims[d]) return std::nullopt;
      used[k] = true;
      at[d] = index[k];
    }
    for (size_t k = 0; k < index.size(); ++k) {
      if (!used[k] && !view.extents[k].is_int(1)) return std::nullopt;
    }
    return at;
  }

  Computation in_, out_;
  IndexMath math_;
  std::unordered_set<int64_t> must_keep_;
  std::vector<bool> needed_;
  std::vector<std::vector<Use>> uses_;
  std::vector<State> states_;
  struct Shared {
    ScalarRef load;
    std::vector<Dim> index;  // held, since the key has their bits
  };
  std::map<std::vector<uint64_t>, Shared> shared_;
  std::map<std::pair<int32_t, int32_t>, TensorId> flat_;
};

/// Stages that are no views.
size_t num_computed(const Computation& computation) {
  return static_cast<size_t>(std::count_if(
      computation.stages.begin(), computation.stages.end(),
      [](const auto& stage) { return !std::holds_alternative<te::View>(stage.body); }));
}

}  // namespace

Computation prepare(const Computation& computation) {
  Computation result = Preparer(computation).run();
  // Elementwise work that several stages did stands in one now: where only that reads a fold, in
  // whatever shape, it follows the fold directly.
  while (num_computed(result) > 1) {
    Computation next = Preparer(along_folds(result)).run();
    if (num_computed(next) >= num_computed(result)) break;
    result = std::move(next);
  }
  return in_whole_steps(isolate_products(result));
}

}  // namespace relay::lower
