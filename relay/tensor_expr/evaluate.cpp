#include <relay/tensor_expr/evaluate.h>

#include <algorithm>
#include <cstring>

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/tensor_expr/program.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/uniform.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

thread_local EvaluationLimit* innermost_limit = nullptr;

// Takes the bytes of a tensor and a point for each of its elements.
void take_tensor(ShapeView shape, DType dtype) {
  double points = 1;
  for (int64_t extent : shape) points *= static_cast<double>(extent);
  EvaluationLimit::take(points * static_cast<double>(dtype.size()), points);
}

Shape shape_of(const Environment& env, std::span<const Dim> dims) {
  Shape shape;
  for (Dim dim : dims) shape.push_back(env.dim(dim));
  return shape;
}

std::vector<LoopAxis> loop_axes(const Environment& env, std::span<const Axis> axes) {
  std::vector<LoopAxis> result;
  for (const Axis& axis : axes) result.push_back({axis.id, env.dim(axis.extent)});
  return result;
}

std::vector<NDArray> allocate(const Environment& env, const Stage& stage) {
  std::vector<NDArray> arrays;
  for (const TensorInfo& info : stage.outputs) {
    Shape shape = shape_of(env, info.dims);
    take_tensor(shape, info.dtype);
    arrays.push_back(NDArray::empty(shape, info.dtype, env.device));
  }
  return arrays;
}

std::byte* element(const NDArray& array, int64_t position) {
  return static_cast<std::byte*>(array.raw()) +
         position * static_cast<int64_t>(array.dtype().size());
}

/// Calls `f` for each point of a box with the program's indices set.
template <class F>
void for_each_point(Program& program, std::span<const LoopAxis> axes, F&& f) {
  int64_t total = 1;
  for (const LoopAxis& axis : axes) {
    total *= axis.extent;
    program.set_index(axis.id, 0);
  }
  std::vector<int64_t> index(axes.size());
  for (int64_t point = 0; point < total; ++point) {
    stop_if_asked();
    f(std::span<const int64_t>(index));
    for (size_t a = axes.size(); a-- > 0;) {
      if (++index[a] == axes[a].extent) index[a] = 0;
      program.set_index(axes[a].id, index[a]);
      if (index[a] != 0) break;
    }
  }
}

// ---- Map ----------------------------------------------------------------------------------------

/// Whether rows should run along the fold's axes instead of the domain's: if the domain has few
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

// Powers with one exponent throughout are what they are where that is a constant: the same steps.
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
  if (innermost_limit != nullptr && !empty) EvaluationLimit::take(0, points_of(env, map, axes));
  std::vector<NDArray> outputs;
  if (NDArray view = uniform || empty ? NDArray() : moved(env, map, axes)) {
    take_tensor(shape, view.dtype());
    outputs.push_back(view.copy());
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

// ---- Scan ---------------------------------------------------------------------------------------

/// A scan whose step joins the carry and a value that does not depend on it, by a simple combiner.
struct PrefixScan {
  Combiner::Kind kind;
  ScalarRef value;
};

std::optional<PrefixScan> as_prefix(const Scan& scan) {
  if (scan.carries.size() != 1) return std::nullopt;
  const ScalarNode& step = *scan.step[0];
  if (step.kind != ScalarKind::kBinary) return std::nullopt;
  Combiner::Kind kind;
  switch (step.binary) {
    case BinaryOp::kAdd:
      kind = Combiner::Kind::kSum;
      break;
    case BinaryOp::kMul:
      kind = Combiner::Kind::kProd;
      break;
    case BinaryOp::kMax:
      kind = Combiner::Kind::kMax;
      break;
    case BinaryOp::kMin:
      kind = Combiner::Kind::kMin;
      break;
    default:
      return std::nullopt;
  }
  uint32_t carry = scan.carries[0]->id;
  auto is_carry = [&](const ScalarRef& x) { return x->kind == ScalarKind::kVar && x->id == carry; };
  for (int side = 0; side < 2; ++side) {
    const ScalarRef& value = step.args[static_cast<size_t>(1 - side)];
    if (!is_carry(step.args[static_cast<size_t>(side)])) continue;
    std::vector<const ScalarNode*> nodes = post_order(std::span(&value, 1));
    std::vector<FreeSet> free = free_sets(nodes, number_nodes(nodes));
    if (!free.back().empty() && free.back().back() >= kVarFlag) return std::nullopt;
    return PrefixScan{kind, value};
  }
  return std::nullopt;
}

struct ScanLayout {
  std::vector<LoopAxis> others;
  std::vector<int64_t> strides;  // of the others, in the outputs
  LoopAxis along{};
  int64_t stride = 1;  // of `along`
  int64_t points = 1;  // of the others
};

ScanLayout scan_layout(const Environment& env, const Scan& scan) {
  std::vector<LoopAxis> axes = loop_axes(env, scan.axes);
  ScanLayout layout;
  int64_t step = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    if (a == scan.along) {
      layout.along = axes[a];
      layout.stride = step;
    } else {
      layout.others.insert(layout.others.begin(), axes[a]);
      layout.strides.insert(layout.strides.begin(), step);
      layout.points *= axes[a].extent;
    }
    step *= axes[a].extent;
  }
  return layout;
}

void run_prefix(const Environment& env, const Scan& scan, const PrefixScan& prefix,
                const ScanLayout& layout, const NDArray& output) {
  Level points, along;
  points.uniform = layout.others;
  along.lanes = {layout.along};
  Program program(env, {points, along}, {{scan.init[0], 1}, {prefix.value, 2}});
  Lanes& lanes = program.lanes();
  DType dtype = output.dtype();
  auto capacity = static_cast<size_t>(lanes.capacity);
  std::vector<std::byte> row(capacity * rows::lane_size(dtype));
  std::vector<int64_t> offsets(capacity);
  alignas(8) std::byte carry[8];
  program.run(0);
  for_each_point(program, layout.others, [&](std::span<const int64_t> index) {
    int64_t base = 0;
    for (size_t a = 0; a < index.size(); ++a) base += index[a] * layout.strides[a];
    program.run(1);
    std::memcpy(carry, program.root(0), rows::lane_size(dtype));
    for (int64_t done = 0; done < layout.along.extent;) {
      int64_t n = std::min(layout.along.extent - done, lanes.capacity);
      int64_t begin = scan.reverse ? layout.along.extent - done - n : done;
      lanes.move_to(begin, n);
      program.run(2);
      rows::prefix(prefix.kind, dtype, carry, row.data(), program.root(1), n, scan.reverse,
                   scan.exclusive);
      if (layout.stride == 1) {
        rows::store(dtype, element(output, base + begin), row.data(), n);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          offsets[static_cast<size_t>(i)] = base + (begin + i) * layout.stride;
        }
        rows::store_scattered(dtype, output.raw(), offsets.data(), row.data(), n);
      }
      done += n;
    }
  });
}

void run_steps(const Environment& env, const Scan& scan, const ScanLayout& layout,
               std::span<const NDArray> outputs) {
  size_t k = scan.carries.size();
  Level points, along;
  points.lanes = layout.others;
  along.uniform = {layout.along};
  along.vars = scan.carries;
  std::vector<Root> roots;
  for (const ScalarRef& init : scan.init) roots.push_back({init, 1});
  for (const ScalarRef& step : scan.step) roots.push_back({step, 2});
  Program program(env, {points, along}, std::move(roots));
  Lanes& lanes = program.lanes();
  auto capacity = static_cast<size_t>(lanes.capacity);
  std::vector<int64_t> offsets(capacity);
  std::vector<std::vector<std::byte>> next(k);
  for (size_t j = 0; j < k; ++j) next[j].resize(capacity * rows::lane_size(outputs[j].dtype()));
  program.run(0);
  for (int64_t begin = 0; begin < layout.points;) {
    int64_t n = std::min(layout.points - begin, lanes.capacity);
    lanes.move_to(begin, n);
    lanes.linear(layout.strides, 0, offsets.data());
    auto bytes = [&](size_t j) {
      return static_cast<size_t>(n) * rows::lane_size(outputs[j].dtype());
    };
    auto store = [&](int64_t at) {
      for (size_t j = 0; j < k; ++j) {
        rows::store_scattered(outputs[j].dtype(), element(outputs[j], at * layout.stride),
                              offsets.data(), program.var(scan.carries[j]->id), n);
      }
    };
    program.run(1);
    for (size_t j = 0; j < k; ++j) {
      std::memcpy(program.var(scan.carries[j]->id), program.root(j), bytes(j));
    }
    for (int64_t t = 0; t < layout.along.extent; ++t) {
      stop_if_asked();
      int64_t at = scan.reverse ? layout.along.extent - 1 - t : t;
      program.set_index(layout.along.id, at);
      if (scan.exclusive) store(at);
      program.run(2);
      // A carry may be another one's step: all results are saved before any is overwritten.
      for (size_t j = 0; j < k; ++j) std::memcpy(next[j].data(), program.root(k + j), bytes(j));
      for (size_t j = 0; j < k; ++j) {
        std::memcpy(program.var(scan.carries[j]->id), next[j].data(), bytes(j));
      }
      if (!scan.exclusive) store(at);
    }
    begin += n;
  }
}

std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Scan& scan) {
  std::vector<NDArray> outputs = allocate(env, stage);
  if (outputs[0].size() == 0) return outputs;
  ScanLayout layout = scan_layout(env, scan);
  std::optional<PrefixScan> prefix = as_prefix(scan);
  if (prefix && layout.along.extent > 4 * layout.points) {
    run_prefix(env, scan, *prefix, layout, outputs[0]);
  } else {
    run_steps(env, scan, layout, outputs);
  }
  return outputs;
}

// ---- The others ---------------------------------------------------------------------------------

std::vector<NDArray> run_stage(const Environment& env, const Stage&, const Update& update) {
  const NDArray& base = env.tensor(update.base);
  take_tensor(base.shape(), base.dtype());
  NDArray result = base.copy();
  Level level;
  level.lanes = loop_axes(env, update.axes);
  std::vector<Root> roots;
  for (const ScalarRef& index : update.at) roots.push_back({index, 1});
  roots.push_back({update.value, 1});
  int64_t total = 1;
  for (const LoopAxis& axis : level.lanes) total *= axis.extent;
  if (total == 0) return {result};
  EvaluationLimit::take(0, static_cast<double>(total));
  Program program(env, {level}, std::move(roots));
  Lanes& lanes = program.lanes();
  std::vector<int64_t> offsets(static_cast<size_t>(lanes.capacity));
  const Combiner::Kind* kind = update.combiner ? &update.combiner->kind : nullptr;
  size_t rank = result.rank();
  program.run(0);
  for (int64_t begin = 0; begin < total;) {
    stop_if_asked();
    int64_t n = std::min(total - begin, lanes.capacity);
    lanes.move_to(begin, n);
    program.run(1);
    std::fill(offsets.begin(), offsets.end(), 0);
    for (size_t d = 0; d < rank; ++d) {
      const auto* index = static_cast<const int64_t*>(program.root(d));
      int64_t extent = result.extent(d), stride = result.stride(d);
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        if (offsets[i] < 0) continue;
        bool inside = index[i] >= 0 && index[i] < extent;
        if (!inside && update.bounds == Bounds::kFail) {
          throw RuntimeError(with_index(kOutOfRange, index[i], extent));
        }
        offsets[i] = inside ? offsets[i] + index[i] * stride : -1;
      }
    }
    rows::update(kind, result.dtype(), result.raw(), offsets.data(), program.root(rank), n);
    begin += n;
  }
  return {result};
}

std::vector<NDArray> run_stage(const Environment& env, const Stage&, const View& view) {
  NDArray source = env.tensor(view.source);
  if (source.rank() == 0) source = source.on(env.device);  // numbers are on none
  Shape extents = shape_of(env, view.extents);
  Shape strides = shape_of(env, view.strides);
  int64_t offset = env.dim(view.offset);
  if (element_count(extents) == 0) return {NDArray::empty(extents, source.dtype(), env.device)};
  int64_t low = offset, high = offset;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t reach = (extents[i] - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (low < 0 || high >= source.size()) throw RuntimeError("view outside of its tensor");
  if (source.is_uniform()) return {NDArray::uniform(source, extents)};
  return {source.contiguous().view(extents, strides, offset)};
}

/// Makes counted outputs; everything on one thread.
class EvaluationHost final : public LibraryHost {
 public:
  EvaluationHost(const Environment& env, const Stage& stage) : env_(env), stage_(stage) {}
  NDArray make(size_t output, std::span<const int64_t> counts) override {
    const TensorInfo& info = stage_.outputs[output];
    Shape shape;
    for (Dim dim : info.dims) {
      if (!dim.is_any()) {
        shape.push_back(env_.dim(dim));
        continue;
      }
      RELAY_CHECK(!counts.empty(), "a count for each counted extent");
      shape.push_back(counts[0]);
      counts = counts.subspan(1);
    }
    RELAY_CHECK(counts.empty(), "a count for each counted extent");
    return NDArray::empty(shape, info.dtype, env_.device);
  }

  void run(int64_t tasks, void (*body)(void* context, int64_t task), void* context) override {
    stop_if_asked();
    for (int64_t task = 0; task < tasks; ++task) {
      body(context, task);
      stop_if_asked();
    }
  }

 private:
  const Environment& env_;
  const Stage& stage_;
};

std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Library& library) {
  std::vector<NDArray> inputs;
  for (TensorId id : library.inputs) {
    inputs.push_back(env.tensor(id));
    take_tensor(inputs.back().shape(), inputs.back().dtype());
  }
  std::vector<NDArray> outputs;
  for (const TensorInfo& info : stage.outputs) {
    bool counted =
        std::any_of(info.dims.begin(), info.dims.end(), [](Dim d) { return d.is_any(); });
    if (counted) {
      outputs.emplace_back();
      continue;
    }
    Shape shape = shape_of(env, info.dims);
    take_tensor(shape, info.dtype);
    outputs.push_back(NDArray::empty(shape, info.dtype, env.device));
  }
  EvaluationHost host(env, stage);
  LibraryCall call(inputs, library.params, outputs, host);
  // Whatever goes wrong there, memory that runs out too, is a failure of the operator.
  try {
    find_library_kernel(library.kernel)->run(call);
  } catch (const RuntimeError&) {
    throw;
  } catch (const Error& error) {
    throw RuntimeError(error.diagnostics());
  }
  for (const NDArray& output : outputs) {
    RELAY_CHECK(static_cast<bool>(output), "kernel " + library.kernel + " left out a result");
  }
  return outputs;
}

/// Named dimensions that an input has as an extent.
void check_inputs(const Computation& computation, std::span<const NDArray> inputs,
                  std::vector<std::pair<const TypeVar*, int64_t>>& symbols) {
  RELAY_CHECK(inputs.size() == computation.inputs.size(), "number of inputs of a computation");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = computation.inputs[i];
    RELAY_CHECK(inputs[i].dtype() == info.dtype && inputs[i].rank() == info.rank(),
                "input " + std::to_string(i) + " of a computation is " +
                    std::string(inputs[i].dtype().name()) + shape_text(inputs[i].shape()));
    for (size_t d = 0; d < info.rank(); ++d) {
      int64_t extent = inputs[i].extent(d);
      RELAY_CHECK(!info.dims[d].is_int() || info.dims[d].as_int() == extent,
                  "input " + std::to_string(i) + " of a computation has shape " +
                      shape_text(inputs[i].shape()));
      if (const TypeVar* symbol = info.dims[d].as_symbol()) symbols.emplace_back(symbol, extent);
    }
  }
}

}  // namespace

EvaluationLimit::EvaluationLimit(double bytes, double points)
    : bytes_(bytes), points_(points), outer_(innermost_limit) {
  innermost_limit = this;
}

EvaluationLimit::~EvaluationLimit() { innermost_limit = outer_; }

void EvaluationLimit::take(double bytes, double points) {
  EvaluationLimit* limit = innermost_limit;
  if (limit == nullptr) return;
  limit->bytes_ -= bytes;
  limit->points_ -= points;
  if (limit->bytes_ < 0) throw Error("the tensors take more memory than is allowed here");
  if (limit->points_ < 0) throw Error("the computation takes longer than is allowed here");
}

std::vector<NDArray> evaluate(const Computation& computation, std::span<const NDArray> inputs,
                              const SymbolValue& symbols, Device device) {
  std::vector<std::pair<const TypeVar*, int64_t>> bound;
  check_inputs(computation, inputs, bound);
  SymbolValue symbol_value = [&](const TypeVar* symbol) {
    for (const auto& [known, extent] : bound) {
      if (known == symbol) return extent;
    }
    RELAY_CHECK(static_cast<bool>(symbols), "a named dimension without value");
    return symbols(symbol);
  };
  Environment env;
  env.computation = &computation;
  env.inputs = inputs;
  env.device = device;
  env.dim = [&](Dim dim) {
    return dim.is_int() ? dim.as_int() : evaluate_dim(dim, inputs, symbol_value);
  };

  // Stages that no output needs do not run; results live until their last reader has run.
  size_t count = computation.stages.size();
  std::vector<size_t> last_use(count, 0);
  std::vector<char> needed(count, 0);
  for (const Output& output : computation.outputs) {
    if (output.tensor.is_input()) continue;
    needed[static_cast<size_t>(output.tensor.stage)] = 1;
    last_use[static_cast<size_t>(output.tensor.stage)] = count;
  }
  if (count > 1) {
    for (size_t s = count; s-- > 0;) {
      if (needed[s] == 0) continue;
      for (TensorId id : stage_reads(computation.stages[s])) {
        if (id.is_input()) continue;
        auto stage = static_cast<size_t>(id.stage);
        needed[stage] = 1;
        last_use[stage] = std::max(last_use[stage], s);
      }
    }
  }
  env.results.resize(count);
  for (size_t s = 0; s < count; ++s) {
    if (needed[s] == 0) continue;
    const Stage& stage = computation.stages[s];
    env.results[s] =
        std::visit([&](const auto& body) { return run_stage(env, stage, body); }, stage.body);
    for (size_t earlier = 0; earlier < s; ++earlier) {
      if (last_use[earlier] == s) env.results[earlier].clear();
    }
  }
  std::vector<NDArray> outputs;
  for (const Output& output : computation.outputs) outputs.push_back(env.tensor(output.tensor));
  return outputs;
}

}  // namespace relay::te
