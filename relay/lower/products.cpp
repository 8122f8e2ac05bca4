// Rewrites stages around folds: a stage that follows a fold in another shape is written over the
// fold's axes, and a sum of products beside other folds becomes a stage of its own.
#include <algorithm>
#include <optional>

#include <relay/lower/contraction.h>
#include <relay/lower/index_math.h>
#include <relay/lower/prepare.h>
#include <relay/lower/stage_copier.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Computation;
using te::Map;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

const Map* map_of(const Computation& c, int32_t stage) {
  return std::get_if<Map>(&c.stages[static_cast<size_t>(stage)].body);
}

bool has_fold(const Map& map) {
  for (const ScalarNode* node : te::post_order(map.values)) {
    if (node->kind == ScalarKind::kFold) return true;
  }
  return false;
}

/// The place of an element of a tensor, in row-major order of the tensor that views lead to.
struct Element {
  TensorId tensor;
  Dim place;
};

Element element_of(const Computation& c, const ScalarNode& load, IndexMath& math) {
  Element at{load.tensor, 0};
  std::vector<Dim> index;
  for (const ScalarRef& arg : load.args) index.push_back(math.poly(arg));
  at.place = math.recombine(IndexMath::linearise(index, c.info(load.tensor).dims));
  while (!at.tensor.is_input()) {
    const auto* view = std::get_if<te::View>(&c.stages[static_cast<size_t>(at.tensor.stage)].body);
    // Rows of a view that lie one after the other: then its order is that of the source.
    if (view == nullptr || view->strides != dense_strides(view->extents)) break;
    at.place = at.place + view->offset;
    at.tensor = view->source;
  }
  return at;
}

/// For each stage with a fold and one result: the one elementwise stage that reads it, where that
/// reads nothing but the element at its own place, in another shape.
class Followers {
 public:
  explicit Followers(const Computation& c) : c_(c), readers_(c.stages.size()) {
    for (size_t s = 0; s < c.stages.size(); ++s) {
      for (TensorId id : te::stage_reads(c.stages[s])) read(id, static_cast<int32_t>(s));
    }
    for (const te::Output& output : c.outputs) read(output.tensor, kOutside);
  }

  /// The stage whose shape `user` takes over; nothing if it stays as it is.
  std::optional<TensorId> leader(int32_t user) const {
    const Map* map = map_of(c_, user);
    if (map == nullptr || map->values.size() != 1 || has_fold(*map)) return std::nullopt;
    IndexMath math(map->axes);
    std::vector<Dim> point;
    for (const Axis& axis : map->axes) point.push_back(IndexMath::axis(axis.id));
    const std::vector<Dim>& dims = c_.stages[static_cast<size_t>(user)].outputs[0].dims;
    Dim place = math.recombine(IndexMath::linearise(point, dims));
    std::optional<TensorId> found;
    for (const ScalarNode* load : te::post_order(map->values)) {
      if (load->kind != ScalarKind::kLoad || load->tensor.is_input()) continue;
      Element at = element_of(c_, *load, math);
      if (at.tensor.is_input() || !leads(at.tensor, user)) continue;
      const std::vector<Dim>& source = c_.info(at.tensor).dims;
      bool same = load->bounds == te::Bounds::kProven && at.place == place && source != dims &&
                  dims_equal(product(source), product(dims)) == Truth::kYes;
      if (!same || (found && !(*found == at.tensor))) return std::nullopt;
      found = at.tensor;
    }
    return found;
  }

 private:
  static constexpr int32_t kOutside = -1;

  void read(TensorId id, int32_t by) {
    if (!id.is_input()) readers_[static_cast<size_t>(id.stage)].push_back(by);
  }

  /// True if `id` is a folded stage that `user` alone reads, through views perhaps.
  bool leads(TensorId id, int32_t user) const {
    const Map* map = map_of(c_, id.stage);
    if (map == nullptr || map->values.size() != 1 || !has_fold(*map)) return false;
    std::vector<int32_t> waiting{id.stage};
    while (!waiting.empty()) {
      int32_t at = waiting.back();
      waiting.pop_back();
      for (int32_t reader : readers_[static_cast<size_t>(at)]) {
        if (reader == user) continue;
        if (reader == kOutside) return false;
        const te::Stage& stage = c_.stages[static_cast<size_t>(reader)];
        if (!std::holds_alternative<te::View>(stage.body)) return false;
        waiting.push_back(reader);
      }
    }
    return true;
  }

  const Computation& c_;
  std::vector<std::vector<int32_t>> readers_;
};

/// A load whose indices are found again from the place of its element; by that place itself where
/// they would be divisions.
ScalarRef by_place(const ScalarNode& load, StageCopier& out, IndexMath& math) {
  if (load.bounds != te::Bounds::kProven) return {};
  std::vector<Dim> index;
  for (const ScalarRef& arg : load.args) index.push_back(math.poly(arg));
  const te::TensorInfo info = out.info(load.tensor);
  Dim place = math.recombine(IndexMath::linearise(index, info.dims));
  if (!math.is_polynomial(place)) return {};
  std::vector<Dim> at = math.delinearise(place, info.dims);
  if (std::all_of(at.begin(), at.end(), [&](Dim d) { return math.is_polynomial(d); })) {
    Ref<ScalarNode> copy = te::copy_node(load);
    for (size_t d = 0; d < at.size(); ++d) copy->args[d] = math.scalar(at[d]);
    return copy;
  }
  te::Stage flat;
  Dim count = product(info.dims);
  flat.outputs.push_back({{count}, info.dtype});
  flat.body = te::View{load.tensor, Dim(0), {count}, {Dim(1)}};
  Ref<ScalarNode> copy = te::copy_node(load);
  copy->tensor = out.add(std::move(flat));
  copy->args = {math.scalar(place)};
  return copy;
}

/// `user` over the axes of the tensor that it follows, and a view of that in its own shape.
void follow(const te::Stage& user, TensorId leader, StageCopier& out) {
  const auto& map = std::get<Map>(user.body);
  const std::vector<Dim> dims = out.info(leader).dims;
  te::Stage stage;
  Map moved;
  std::vector<Dim> point;
  std::vector<ScalarRef> indices;
  for (Dim extent : dims) {
    moved.axes.push_back(out.new_axis(extent));
    point.push_back(IndexMath::axis(moved.axes.back().id));
    indices.push_back(te::index_of(moved.axes.back()).ref());
  }
  IndexMath math(moved.axes);
  std::vector<Dim> at = math.delinearise(IndexMath::linearise(point, dims), user.outputs[0].dims);
  std::unordered_map<uint32_t, ScalarRef> names;
  for (size_t d = 0; d < at.size(); ++d) names.emplace(map.axes[d].id, math.scalar(at[d]));
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
    if (node->kind != ScalarKind::kLoad) return ScalarRef();
    return by_place(*with_args(node, args), out, math);
  });
  moved.values.push_back(rewrite(substitute(map.values[0], names)));
  stage.outputs.push_back({dims, user.outputs[0].dtype});
  stage.body = std::move(moved);
  TensorId result = out.add(std::move(stage));
  te::Stage view;
  view.outputs = user.outputs;
  const std::vector<Dim>& shape = user.outputs[0].dims;
  view.body = te::View{result, Dim(0), shape, dense_strides(shape)};
  out.place(std::move(view));
}

/// Sums of products in a stage that is not a contraction, and on which no condition around them
/// decides.
std::vector<ScalarRef> products_beside(const Computation& c, const Map& map) {
  std::vector<ScalarRef> found;
  if (!has_fold(map) || is_contraction(map, c.num_axes, c.num_vars)) return found;
  std::vector<const ScalarNode*> order = te::post_order(map.values);
  te::NodeNumbers numbers = te::number_nodes(order);
  std::vector<te::FreeSet> free = te::free_sets(order, numbers);
  for (size_t i = 0; i < order.size(); ++i) {
    ScalarRef fold(order[i]);
    if (fold->kind != ScalarKind::kFold) continue;
    bool outer = std::all_of(free[i].begin(), free[i].end(), [&](uint32_t id) {
      return std::any_of(map.axes.begin(), map.axes.end(),
                         [&](const Axis& a) { return a.id == id; });
    });
    std::vector<const ScalarNode*> inside = te::post_order({&fold, 1});
    bool fails = std::any_of(inside.begin(), inside.end(),
                             [](const ScalarNode* node) { return te::can_fail(*node); });
    Map alone{axes_of(fold, map.axes), {fold}};
    if (outer && !fails && is_contraction(alone, c.num_axes, c.num_vars)) found.push_back(fold);
  }
  return found;
}

}  // namespace

Computation along_folds(const Computation& computation) {
  Followers followers(computation);
  StageCopier out(computation);
  for (size_t s = 0; s < computation.stages.size(); ++s) {
    te::Stage stage = out.renamed(computation.stages[s]);
    if (std::optional<TensorId> leader = followers.leader(static_cast<int32_t>(s))) {
      follow(stage, out.moved(*leader), out);
    } else {
      out.place(std::move(stage));
    }
  }
  return out.finish();
}

Computation isolate_products(const Computation& computation) {
  StageCopier out(computation);
  for (const te::Stage& old : computation.stages) {
    te::Stage stage = out.renamed(old);
    auto* map = std::get_if<Map>(&stage.body);
    if (map != nullptr) {
      for (const ScalarRef& fold : products_beside(computation, *map)) {
        Map alone{axes_of(fold, map->axes), {fold}};
        te::Stage product;
        te::TensorInfo info{{}, fold->dtype};
        auto load = new_node(ScalarKind::kLoad, fold->dtype);
        load->bounds = te::Bounds::kProven;
        for (const Axis& axis : alone.axes) {
          info.dims.push_back(axis.extent);
          load->args.push_back(te::index_of(axis).ref());
        }
        // Axes are bound once in a computation.
        std::unordered_map<uint32_t, ScalarRef> names;
        for (Axis& axis : alone.axes) {
          Axis fresh = out.new_axis(axis.extent);
          names.emplace(axis.id, te::index_of(fresh).ref());
          axis = fresh;
        }
        alone.values[0] = substitute(fold, names);
        product.outputs.push_back(std::move(info));
        product.body = std::move(alone);
        load->tensor = out.add(std::move(product));
        ScalarRef sum = load;
        ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
          return node.get() == fold.get() ? sum : ScalarRef();
        });
        for (ScalarRef& value : map->values) value = replace(value);
      }
    }
    out.place(std::move(stage));
  }
  return out.finish();
}

}  // namespace relay::lower
