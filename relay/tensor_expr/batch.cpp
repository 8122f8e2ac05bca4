// Every tensor gets a leading axis, of extent 1 where all lanes are the same.
#include <relay/tensor_expr/batch.h>

#include <algorithm>
#include <optional>

#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

class Batcher {
 public:
  Batcher(const Computation& one, Dim lanes, const std::vector<Dim>& extents)
      : one_(one), lanes_(std::move(lanes)) {
    out_.num_axes = one.num_axes;
    out_.num_vars = one.num_vars;
    for (size_t i = 0; i < one.inputs.size(); ++i)
      out_.inputs.push_back(with_lanes(one.inputs[i], extents[i]));
  }

  Computation run() {
    for (const Stage& stage : one_.stages) {
      extent_ = differs(stage) ? lanes_ : Dim(1);
      axis_ = {out_.num_axes++, extent_};
      rewrite_.emplace([this](const ScalarRef& node, const std::vector<ScalarRef>& args) {
        return load(node, args);
      });
      std::visit([&](const auto& body) { place(stage, body); }, stage.body);
    }
    extent_ = lanes_;
    for (const Output& output : one_.outputs) {
      if (output.counted()) throw NoBatch("it counts its results while it runs");
      const TensorId tensor = spread(moved(output.tensor));
      std::vector<Dim> dims = output.dims;
      dims.insert(dims.begin(), lanes_);
      out_.outputs.push_back({tensor, std::move(dims)});
    }
    return std::move(out_);
  }

 private:
  static TensorInfo with_lanes(TensorInfo info, const Dim& extent) {
    info.dims.insert(info.dims.begin(), extent);
    return info;
  }
  static bool is_one(const Dim& dim) { return dim.is_int(1); }
  TensorId moved(TensorId id) const {
    return id.is_input() ? id
                         : names_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }
  bool has_lanes(TensorId old) const { return !is_one(out_.info(moved(old)).dims[0]); }

  /// True if lanes give different results.
  bool differs(const Stage& stage) const {
    const std::vector<TensorId> reads = stage_reads(stage);
    return std::any_of(reads.begin(), reads.end(), [&](TensorId id) { return has_lanes(id); });
  }

  ScalarRef lane_of(TensorId now) const {
    return is_one(out_.info(now).dims[0]) ? index_constant(0).ref() : index_of(axis_).ref();
  }

  ScalarRef load(const ScalarRef& node, const std::vector<ScalarRef>& args) {
    if (node->kind != ScalarKind::kLoad) return {};
    Ref<ScalarNode> copy = copy_node(*node);
    copy->tensor = moved(node->tensor);
    copy->args = args;
    copy->args.insert(copy->args.begin(), lane_of(copy->tensor));
    return copy;
  }
  ScalarRef rewritten(const ScalarRef& root) { return (*rewrite_)(root); }
  std::vector<ScalarRef> rewritten(const std::vector<ScalarRef>& roots) {
    return (*rewrite_)(roots);
  }
  std::vector<Axis> with_axis(const std::vector<Axis>& axes) const {
    std::vector<Axis> result{axis_};
    result.insert(result.end(), axes.begin(), axes.end());
    return result;
  }

  std::vector<TensorId> add(Stage stage) {
    std::vector<TensorId> outputs;
    for (size_t k = 0; k < stage.outputs.size(); ++k) {
      outputs.push_back({static_cast<int32_t>(out_.stages.size()), static_cast<int32_t>(k)});
    }
    out_.stages.push_back(std::move(stage));
    return outputs;
  }
  void finish(const Stage& old, std::variant<Map, Scan, Update, View, Library> body) {
    Stage stage{std::move(body), {}};
    for (const TensorInfo& info : old.outputs) stage.outputs.push_back(with_lanes(info, extent_));
    names_.push_back(add(std::move(stage)));
  }

  /// The tensor with a leading extent of `extent_`: copied for each lane if it has only one.
  TensorId spread(TensorId now) {
    const TensorInfo info = out_.info(now);
    if (info.dims[0] == extent_ || is_one(extent_)) return now;
    Map map;
    std::vector<ScalarRef> index{index_constant(0).ref()};
    map.axes.push_back({out_.num_axes++, extent_});
    for (size_t d = 1; d < info.dims.size(); ++d) {
      map.axes.push_back({out_.num_axes++, info.dims[d]});
      index.push_back(index_of(map.axes.back()).ref());
    }
    auto node = new_node(ScalarKind::kLoad, info.dtype);
    node->tensor = now;
    node->bounds = Bounds::kProven;
    node->args = std::move(index);
    map.values.push_back(node);
    TensorInfo wide = info;
    wide.dims[0] = extent_;
    return add({std::move(map), {wide}})[0];
  }

  void place(const Stage& old, const Map& map) {
    finish(old, Map{with_axis(map.axes), rewritten(map.values)});
  }
  void place(const Stage& old, const Scan& scan) {
    Scan now = scan;
    now.axes = with_axis(scan.axes);
    ++now.along;
    now.init = rewritten(scan.init);
    now.step = rewritten(scan.step);
    finish(old, std::move(now));
  }
  void place(const Stage& old, const Update& update) {
    Update now = update;
    now.base = spread(moved(update.base));
    now.axes = with_axis(update.axes);
    now.at = rewritten(update.at);
    now.at.insert(now.at.begin(), index_of(axis_).ref());
    now.value = rewritten(update.value);
    finish(old, std::move(now));
  }
  void place(const Stage& old, const View& view) {
    View now = view;
    now.source = moved(view.source);
    const std::vector<Dim>& dims = one_.info(view.source).dims;
    now.extents.insert(now.extents.begin(), extent_);
    now.strides.insert(now.strides.begin(), is_one(extent_) ? Dim(0) : product(dims));
    finish(old, std::move(now));
  }

  /// Lane `lane` of a tensor, as a tensor of the kernel's rank.
  TensorId lane_view(TensorId old, int64_t lane) {
    const TensorInfo& info = one_.info(old);
    View view;
    view.source = moved(old);
    view.offset = has_lanes(old) ? product(info.dims) * Dim(lane) : Dim(0);
    view.extents = info.dims;
    view.strides.assign(info.dims.size(), Dim(1));
    for (size_t d = info.dims.size(); d-- > 1;)
      view.strides[d - 1] = view.strides[d] * info.dims[d];
    return add({std::move(view), {info}})[0];
  }
  void place(const Stage& old, const Library& library) {
    for (const TensorInfo& info : old.outputs) {
      for (const Dim& dim : info.dims) {
        if (dim.is_any()) throw NoBatch("it counts its results while it runs");
      }
    }
    if (!extent_.is_int())
      throw NoBatch("its library kernel runs once for each lane, and their number is not known");
    const int64_t count = extent_.as_int();
    if (count > kMaxUnrolledLanes)
      throw NoBatch("its library kernel runs once for each lane, of which at most " +
                    std::to_string(kMaxUnrolledLanes) + " are possible; these are " +
                    std::to_string(count));
    std::vector<std::vector<TensorId>> lanes;
    for (int64_t lane = 0; lane < count; ++lane) {
      Library now = library;
      for (TensorId& id : now.inputs) id = lane_view(id, lane);
      lanes.push_back(add({std::move(now), old.outputs}));
    }
    std::vector<TensorId> together;
    for (size_t k = 0; k < old.outputs.size(); ++k)
      together.push_back(stack(old.outputs[k], lanes, k));
    names_.push_back(std::move(together));
  }
  TensorId stack(const TensorInfo& info, const std::vector<std::vector<TensorId>>& lanes,
                 size_t k) {
    Map map;
    map.axes.push_back({out_.num_axes++, extent_});
    std::vector<Scalar> index;
    for (const Dim& dim : info.dims) {
      map.axes.push_back({out_.num_axes++, dim});
      index.push_back(index_of(map.axes.back()));
    }
    const std::vector<Dim> ones(lanes.size(), Dim(1));
    if (lanes.empty()) {
      map.values.push_back(constant(0, info.dtype).ref());
    } else {
      map.values.push_back(piecewise(index_of(map.axes[0]), ones, [&](size_t lane, const Scalar&) {
                             return Tensor(lanes[lane][k], info)(index);
                           }).ref());
    }
    return add({std::move(map), {with_lanes(info, extent_)}})[0];
  }

  const Computation& one_;
  Dim lanes_;
  Computation out_;
  std::vector<std::vector<TensorId>> names_;  // of outputs of old stages
  Dim extent_;                                // of the stage that is being placed
  Axis axis_;
  std::optional<ScalarRewriter> rewrite_;
};

}  // namespace

Computation batched(const Computation& one, Dim lanes, const std::vector<Dim>& extents) {
  RELAY_CHECK(extents.size() == one.inputs.size(), "an extent for each input");
  Computation result = Batcher(one, std::move(lanes), extents).run();
  result.verify();
  return result;
}

}  // namespace relay::te
