// Long folds of few results are cut into blocks, so that several workers can share them.
#include <relay/lower/prepare.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Computation;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

constexpr int64_t kLong = 1 << 17;  // points of a fold
constexpr int64_t kFew = 16;        // results
constexpr int64_t kBlocks = 64;

/// The fold to cut: the only one of the stage, not below a condition; null if there is none.
const ScalarNode* long_fold(const te::Map& map) {
  int64_t results = 1;
  for (const Axis& axis : map.axes) {
    if (!axis.extent.is_int()) return nullptr;
    results *= axis.extent.as_int();
    if (results > kFew) return nullptr;
  }
  const ScalarNode* fold = nullptr;
  for (const ScalarNode* node : te::post_order(map.values)) {
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) return nullptr;
    if (node->kind != ScalarKind::kFold) continue;
    if (fold != nullptr) return nullptr;
    fold = node;
  }
  if (fold == nullptr) return nullptr;
  int64_t points = 1;
  for (const Axis& axis : fold->axes) {
    if (!axis.extent.is_int()) return nullptr;
    points *= axis.extent.as_int();
  }
  return points >= kLong ? fold : nullptr;
}

/// Points of a block along an axis: a divisor of the extent, if one is near.
int64_t block_of(int64_t extent) {
  for (int64_t blocks = kBlocks; blocks >= 8; --blocks) {
    if (extent % blocks == 0) return extent / blocks;
  }
  return (extent + kBlocks - 1) / kBlocks;
}

class Splitter {
 public:
  explicit Splitter(const Computation& computation) : in_(computation) {}

  Computation run() {
    out_ = in_;
    out_.stages.clear();
    for (const te::Stage& stage : in_.stages) {
      te::Stage copy = stage;
      rewrite_roots(copy, [&](const ScalarRef& root) { return renamed(root); });
      if (auto* view = std::get_if<te::View>(&copy.body)) view->source = moved(view->source);
      if (auto* update = std::get_if<te::Update>(&copy.body)) update->base = moved(update->base);
      if (auto* library = std::get_if<te::Library>(&copy.body)) {
        for (TensorId& id : library->inputs) id = moved(id);
      }
      if (auto* map = std::get_if<te::Map>(&copy.body)) {
        if (const ScalarNode* fold = long_fold(*map)) split(*map, *fold);
      }
      places_.push_back(static_cast<int32_t>(out_.stages.size()));
      out_.stages.push_back(std::move(copy));
    }
    for (te::Output& output : out_.outputs) output.tensor = moved(output.tensor);
    return std::move(out_);
  }

 private:
  TensorId moved(TensorId id) const {
    return id.is_input() ? id : TensorId{places_[static_cast<size_t>(id.stage)], id.index};
  }

  ScalarRef renamed(const ScalarRef& root) {
    return moved_loads([this](TensorId id) { return moved(id); })(root);
  }

  /// Adds a stage with the fold of each block; the fold in `map` becomes one of those.
  void split(te::Map& map, const ScalarNode& fold) {
    // The outermost axis, or the longest one if the order does not count.
    size_t along = 0;
    while (along + 1 < fold.axes.size() && fold.axes[along].extent.is_int(1)) ++along;
    if (is_commutative(*fold.combiner)) {
      for (size_t a = 0; a < fold.axes.size(); ++a) {
        if (fold.axes[along].extent.as_int() < 8 &&
            fold.axes[a].extent.as_int() > fold.axes[along].extent.as_int()) {
          along = a;
        }
      }
    }
    Axis whole = fold.axes[along];
    int64_t extent = whole.extent.as_int(), block = block_of(extent);
    int64_t blocks = (extent + block - 1) / block;
    if (blocks < 2) return;
    size_t count = num_accumulators(fold);

    te::Map parts;
    std::unordered_map<uint32_t, ScalarRef> names;
    for (const Axis& axis : map.axes) {
      parts.axes.push_back({out_.num_axes++, axis.extent});
      names.emplace(axis.id, te::index_of(parts.axes.back()).ref());
    }
    Axis number{out_.num_axes++, Dim(blocks)};
    parts.axes.push_back(number);
    Ref<ScalarNode> inner = copy_node(fold);
    inner->axes[along] = {out_.num_axes++, Dim(block)};
    Scalar at = te::index_of(number) * block + te::index_of(inner->axes[along]);
    names.emplace(whole.id, at.ref());
    for (size_t a = 0; a < inner->axes.size(); ++a) {
      if (a == along) continue;
      inner->axes[a].id = out_.num_axes++;
      names.emplace(fold.axes[a].id, te::index_of(inner->axes[a]).ref());
    }
    for (ScalarRef& arg : inner->args) arg = substitute(arg, names);
    if (blocks * block != extent) {
      Scalar inside = at < extent;
      if (inner->args.size() > count) {
        inner->args[count] = (inside && Scalar(inner->args[count])).ref();
      } else {
        inner->args.push_back(inside.ref());
      }
    }
    te::Stage stage;
    ScalarRef shared = inner;
    for (size_t k = 0; k < count; ++k) {
      parts.values.push_back(count == 1 ? shared : accumulator(shared, k));
      te::TensorInfo info{{}, fold.args[k]->dtype};
      for (const Axis& axis : parts.axes) info.dims.push_back(axis.extent);
      stage.outputs.push_back(std::move(info));
    }
    stage.body = std::move(parts);
    auto from = static_cast<int32_t>(out_.stages.size());
    out_.stages.push_back(std::move(stage));

    Ref<ScalarNode> outer = copy_node(fold);
    outer->axes = {{out_.num_axes++, Dim(blocks)}};
    outer->args.clear();
    for (size_t k = 0; k < count; ++k) {
      auto load = new_node(ScalarKind::kLoad, fold.args[k]->dtype);
      load->tensor = {from, static_cast<int32_t>(k)};
      load->bounds = te::Bounds::kProven;
      for (const Axis& axis : map.axes) load->args.push_back(te::index_of(axis).ref());
      load->args.push_back(te::index_of(outer->axes[0]).ref());
      outer->args.push_back(load);
    }
    ScalarRef joined = outer;
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == &fold ? joined : ScalarRef();
    });
    for (ScalarRef& value : map.values) value = replace(value);
  }

  static ScalarRef accumulator(const ScalarRef& fold, size_t k) {
    auto get = new_node(ScalarKind::kGet, fold->args[k]->dtype);
    get->id = static_cast<uint32_t>(k);
    get->args.push_back(fold);
    return get;
  }

  const Computation& in_;
  Computation out_;
  std::vector<int32_t> places_;
};

}  // namespace

Computation split_long_folds(const Computation& computation) { return Splitter(computation).run(); }

}  // namespace relay::lower
