#include <relay/tensor_expr/evaluate.h>

#include <algorithm>

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate_stages.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

thread_local EvaluationLimit* innermost_limit = nullptr;

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

bool EvaluationLimit::is_set() { return innermost_limit != nullptr; }

void EvaluationLimit::take(double bytes, double points) {
  EvaluationLimit* limit = innermost_limit;
  if (limit == nullptr) return;
  limit->bytes_ -= bytes;
  limit->points_ -= points;
  if (limit->bytes_ < 0) throw Error("the tensors take more memory than is allowed here");
  if (limit->points_ < 0) throw Error("the computation takes longer than is allowed here");
}

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
