#include <algorithm>

#include <relay/runtime/strided.h>
#include <relay/support/threads.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/tensor_expr/evaluate_stages.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/uniform.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

/// True if rows should run along the fold's axes instead of the domain's: if the domain has few
/// points, or if more loads are contiguous that way.
bool prefers_fold_rows(const Environment& env, const Map& map, std::span<const LoopAxis> axes,
                       int64_t total) {
  int64_t longest = 0;
  int along_fold = 0, along_domain = 0;
  std::vector<uint32_t> last_axes;
  std::vector<const ScalarNode*> nodes = post_order(map.values);
  for (const ScalarNode* node : nodes) {
    if (node->kind != ScalarKind::kFold || node->axes.empty()) continue;
    int64_t points = 1;
    for (const Axis& axis : node->axes) points *= env.dim(axis.extent);
    longest = std::max(longest, points);
    last_axes.push_back(node->axes.back().id);
  }
  if (longest < 32) return false;
  int64_t lanes_fold = std::min<int64_t>(longest, 1024);
  int64_t lanes_domain = std::min<int64_t>(total, 1024);
  if (lanes_fold > 2 * lanes_domain) return true;
  if (lanes_fold < 128) return false;
  for (const ScalarNode* node : nodes) {
    if (node->kind != ScalarKind::kLoad || node->args.empty()) continue;
    const ScalarNode& last = *node->args.back();
    if (last.kind != ScalarKind::kIndex) continue;
    if (!axes.empty() && last.axis == axes.back().id) ++along_domain;
    along_fold += static_cast<int>(std::count(last_axes.begin(), last_axes.end(), last.axis));
  }
  return along_fold > along_domain;
}

// Visits all points of `axes`, which the outputs have as their shape.
void run_points(const Environment& env, const Map& map, const std::vector<LoopAxis>& axes,
                std::span<const NDArray> outputs) {
  int64_t total = outputs[0].size();
  std::vector<Root> roots;
  for (const ScalarRef& value : map.values) roots.push_back({value, 1});
  auto store = [&](Program& program, int64_t begin, int64_t n) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      rows::store(outputs[k].dtype(), element(outputs[k], begin), program.root(k), n);
    }
  };
  Level level;
  bool fold_rows = prefers_fold_rows(env, map, axes, total);
  (fold_rows ? level.uniform : level.lanes) = axes;
  Program program(env, {level}, std::move(roots));
  program.run(0);
  if (fold_rows) {
    int64_t position = 0;
    for_each_point(program, axes, [&](std::span<const int64_t>) {
      program.run(1);
      store(program, position++, 1);
    });
    return;
  }
  for (int64_t begin = 0; begin < total;) {
    stop_if_asked();
    int64_t n = std::min(total - begin, program.lanes().capacity);
    program.lanes().move_to(begin, n);
    program.run(1);
    store(program, begin, n);
    begin += n;
  }
}

// Computes powers with one exponent throughout like those with a constant one: by the same steps.
Map with_known_exponents(const Environment& env, const Map& map) {
  auto known = [&](const ScalarNode& node) -> const NDArray* {
    if (node.kind != ScalarKind::kLoad || !node.dtype.is_float()) return nullptr;
    if (node.bounds != Bounds::kProven) return nullptr;
    const NDArray& tensor = env.tensor(node.tensor);
    return tensor.size() == 1 || tensor.is_uniform() ? &tensor : nullptr;
  };
  auto is_power = [](const ScalarNode& node) {
    return node.kind == ScalarKind::kBinary && node.binary == BinaryOp::kPow;
  };
  std::vector<const ScalarNode*> nodes = post_order(map.values);
  if (std::none_of(nodes.begin(), nodes.end(), [&](const ScalarNode* node) {
        return is_power(*node) && known(*node->args[1]) != nullptr;
      })) {
    return map;
  }
  ScalarRewriter rewrite([&](const ScalarRef& node,
                             const std::vector<ScalarRef>& args) -> ScalarRef {
    const NDArray* exponent = is_power(*node) ? known(*node->args[1]) : nullptr;
    if (exponent == nullptr) return {};
    return binary(BinaryOp::kPow, args[0], constant(exponent->element_as_double(0), node->dtype))
        .ref();
  });
  Map result = map;
  result.values = rewrite(std::span<const ScalarRef>(map.values));
  return result;
}

// If the map only moves elements, each from where its indices say: a view of the tensor.
NDArray moved(const Environment& env, const Map& map, const std::vector<LoopAxis>& axes) {
  const ScalarNode& load = *map.values[0];
  if (map.values.size() != 1 || load.kind != ScalarKind::kLoad || load.bounds != Bounds::kProven)
    return {};
  const NDArray& source = env.tensor(load.tensor);
  if (source.dtype() != load.dtype || !(source.device() == env.device)) return {};
  Shape shape, strides(axes.size(), 0);
  for (const LoopAxis& axis : axes) shape.push_back(axis.extent);
  for (size_t d = 0; d < load.args.size(); ++d) {
    const ScalarNode& index = *load.args[d];
    auto axis = std::find_if(axes.begin(), axes.end(),
                             [&](const LoopAxis& each) { return each.id == index.axis; });
    if (index.kind != ScalarKind::kIndex || axis == axes.end()) return {};
    if (axis->extent != source.extent(d)) return {};
    strides[static_cast<size_t>(axis - axes.begin())] += source.stride(d);
  }
  return source.view(shape, strides);
}

/// A fresh array with the elements of a view; a large one by several threads, which share the work
/// of getting fresh pages, too.
NDArray copied(const NDArray& view) {
  constexpr size_t kWorthAThread = size_t{1} << 20;  // bytes
  const auto lines = view.rank() == 0 ? size_t{1} : static_cast<size_t>(view.extent(0));
  const size_t count = std::min({kCopyThreads, lines, view.byte_size() / kWorthAThread});
  if (count < 2) return view.copy();
  NDArray result = NDArray::empty(view.shape(), view.dtype(), view.device());
  std::vector<std::pair<NDArray, std::byte*>> parts;  // a handle for each thread
  for (size_t part = 0; part < count; ++part) {
    const size_t from = lines * part / count, to = lines * (part + 1) / count;
    Shape shape(view.shape().begin(), view.shape().end());
    shape[0] = static_cast<int64_t>(to - from);
    parts.emplace_back(
        view.view(shape, view.strides(), static_cast<int64_t>(from) * view.stride(0)),
        static_cast<std::byte*>(result.raw()) + from * (result.byte_size() / lines));
  }
  side_by_side(0, count, [&](size_t i) { copy_row_major(parts[i].first, parts[i].second); });
  return result;
}

}  // namespace

std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Map& written) {
  const Map map = with_known_exponents(env, written);
  std::vector<LoopAxis> axes = loop_axes(env, map.axes);
  Shape shape;
  for (const LoopAxis& axis : axes) shape.push_back(axis.extent);
  bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  bool uniform = !empty && is_uniform(env, map, axes);
  if (uniform) {
    for (LoopAxis& axis : axes) axis.extent = 1;
  }
  if (EvaluationLimit::is_set() && !empty) EvaluationLimit::take(0, points_of(env, map, axes));
  std::vector<NDArray> outputs;
  if (NDArray view = uniform || empty ? NDArray() : moved(env, map, axes)) {
    take_tensor(shape, view.dtype());
    outputs.push_back(copied(view));
    return outputs;
  }
  for (const TensorInfo& info : stage.outputs) {
    Shape own = uniform ? Shape(shape.size(), 1) : shape;
    take_tensor(own, info.dtype);
    outputs.push_back(NDArray::empty(own, info.dtype, env.device));
  }
  if (empty) return outputs;
  run_points(env, map, axes, outputs);
  if (uniform) {
    for (NDArray& output : outputs) output = NDArray::uniform(output, shape);
  }
  return outputs;
}

}  // namespace relay::te
