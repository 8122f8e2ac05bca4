#include <relay/vm/machine/dataflow_runner.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <relay/runtime/failure_text.h>
#include <relay/runtime/team.h>
#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>
#include <relay/vm/machine/section_run.h>
#include <relay/vm/machine/workspace.h>

namespace relay::vm {

namespace {

constexpr size_t kMostPlans = 8;

}  // namespace

struct DataflowState {
  DataflowState(const Graph& of, const Executable& owner)
      : executable(owner), graph(of), shape(of, owner) {}

  const Executable& executable;
  const Graph& graph;
  const DataflowShape shape;
  std::vector<std::unique_ptr<DataflowPlan>> plans;  // the last one used first
  Workspace cells;                                   // of numbers
  std::vector<uint32_t> cell;                        // of each place, or kNone
  std::vector<NDArray> constants;                    // of each root that is a constant tensor
  // Data of the run.
  std::vector<int64_t> leaves;
  std::vector<std::byte*> arenas;       // of each of the plan's
  std::vector<std::byte*> addresses;    // of each root
  std::vector<void*> buffers;           // arguments of all launches
  std::vector<NDArray> inputs;          // of each that was made dense or became a result
  std::vector<NDArray> fresh;           // of each place that is a result
  const DataflowPlan* bound = nullptr;  // the plan whose temporaries have their addresses

  /// `dense` are the elements of uniform constants that graphs have asked for.
  void prepare(std::vector<NDArray>& dense);

 private:
  std::optional<uint32_t> reader_of_bytes(uint32_t root) const;
};

struct DataflowRunner::Shared {
  std::vector<NDArray> dense;  // of each constant of the executable
  std::vector<std::pair<Device, std::unique_ptr<Workspace>>> arenas;
  Workspace scratch;

  Workspace& arena(Device device) {
    for (const auto& [known, workspace] : arenas) {
      if (known == device) return *workspace;
    }
    arenas.emplace_back(device, std::make_unique<Workspace>());
    return *arenas.back().second;
  }
  std::vector<WorkerState> workers;
};

// ---- Preparing ----------------------------------------------------------------------------------

// The position of a launch that needs the elements of a root as bytes. Library kernels take any
// strides.
std::optional<uint32_t> DataflowState::reader_of_bytes(uint32_t root) const {
  for (const Launch& launch : graph.launches) {
    bool library = !executable.kernels[launch.kernel].library.empty();
    for (const Launch::Argument& argument : launch.arguments) {
      if (shape.root[argument.place] != root) continue;
      if (!library || argument.place != root) return launch.position;
    }
  }
  for (uint32_t output : graph.outputs) {
    if (shape.root[output] == root && output != root) return graph.places[output].position;
  }
  return std::nullopt;
}

void DataflowState::prepare(std::vector<NDArray>& dense) {
  using Home = DataflowShape::Home;
  size_t num_places = graph.places.size();
  cell.assign(num_places, kNone);
  uint32_t num_cells = 0;
  for (uint32_t i = 0; i < num_places; ++i) {
    if (shape.root[i] == i && graph.places[i].extents.empty()) cell[i] = num_cells++;
  }
  std::byte* lines = cells.get(std::max<size_t>(num_cells, 1) * kLine, "a graph");
  addresses.assign(num_places, nullptr);
  constants.resize(num_places);
  for (uint32_t i = 0; i < num_places; ++i) {
    if (shape.root[i] != i) continue;
    if (cell[i] != kNone) addresses[i] = lines + cell[i] * kLine;
    if (shape.home[i] != Home::kConstant) continue;
    const Value& value = executable.constants[graph.places[i].constant];
    if (value.is_scalar()) {
      std::memcpy(addresses[i], value.scalar_data(), value.dtype().size());
      continue;
    }
    constants[i] = value.array();
    if (constants[i].is_uniform()) {
      std::optional<uint32_t> reader = reader_of_bytes(i);
      if (!reader) continue;
      NDArray& elements = dense[graph.places[i].constant];
      try {
        if (!elements) elements = constants[i].copy();
      } catch (const Error& error) {
        throw DataflowFailure{error.what(), *reader, {}};
      }
      constants[i] = elements;
    }
    addresses[i] = static_cast<std::byte*>(constants[i].raw());
  }
  buffers.resize(shape.num_buffers);
  inputs.resize(graph.num_inputs);
  fresh.resize(num_places);
  arenas.resize(shape.arenas.size());
}

DataflowRunner::DataflowRunner(const Image& image, std::shared_ptr<Workers> workers,
                               const std::atomic<bool>* interrupt)
    : image_(image),
      workers_(std::move(workers)),
      interrupt_(interrupt),
      shared_(std::make_unique<Shared>()) {
  graphs_.resize(image.executable->graphs.size());
  shared_->workers.resize(static_cast<size_t>(workers_->count()));
  shared_->dense.resize(image.executable->constants.size());
}
DataflowRunner::~DataflowRunner() = default;

// ---- Running ------------------------------------------------------------------------------------

namespace {

// The plan for these inputs, moved to the front.
const DataflowPlan& find_plan(DataflowState& state, const Executable& executable,
                              std::span<const Value> inputs) {
  read_leaves(state.graph, state.shape, inputs, state.leaves);
  auto& plans = state.plans;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i]->key == state.leaves) {
      std::rotate(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(i),
                  plans.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return *plans.front();
    }
  }
  std::unique_ptr<DataflowPlan> plan;
  try {
    plan = make_plan(state.graph, state.shape, executable, state.leaves);
  } catch (DataflowFailure& failure) {
    if (failure.sizes != nullptr) failure.message = size_text(state.graph, *failure.sizes, inputs);
    throw;
  }
  if (plans.size() == kMostPlans) plans.pop_back();
  state.bound = nullptr;
  plans.insert(plans.begin(), std::move(plan));
  return *plans.front();
}

[[noreturn]] void refuse_input(const Graph& graph, uint32_t index, ShapeView expected,
                               const Value& found) {
  throw DataflowFailure{"input " + std::to_string(index) + " of " + graph.name + ": expected " +
                            std::string(graph.places[index].dtype.name()) + " of shape " +
                            shape_text(expected) + ", found " + value_type_text(found),
                        0,
                        {}};
}

// Kinds and ranks, which sizes are read from.
void check_kinds(const Graph& graph, std::span<const Value> inputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const Place& place = graph.places[i];
    const Value& input = inputs[i];
    const size_t rank = place.extents.size();
    bool fits = input.is_scalar() && rank == 0 && input.dtype() == place.dtype;
    if (input.kind() == Value::Kind::kTensor) {
      const Borrowed tensor(input);
      fits = tensor->rank() == rank && tensor->dtype() == place.dtype;
    }
    if (!fits) {
      std::vector<int64_t> unknown(rank, -1);
      refuse_input(graph, i, unknown, input);
    }
    if (rank == 0 || input.device() == place.device) continue;
    throw DataflowFailure{wrong_device_text(input.device(), place.device), place.position, {}};
  }
}

void bind_inputs(DataflowState& state, const DataflowPlan& plan, std::span<const Value> inputs,
                 std::vector<std::pair<uint32_t, NDArray>>& made_dense) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const Value& input = inputs[i];
    ShapeView expected = plan.shape(state.graph, i);
    if (input.is_scalar()) {
      std::memcpy(state.addresses[i], input.scalar_data(), input.dtype().size());
      continue;
    }
    const Borrowed array(input);
    if (!same_shape(expected, array->shape())) refuse_input(state.graph, i, expected, input);
    if (!array->is_contiguous()) {
      state.inputs[i] = array->copy();
      made_dense.emplace_back(i, state.inputs[i]);
      state.addresses[i] = static_cast<std::byte*>(state.inputs[i].raw());
    } else {
      state.addresses[i] = static_cast<std::byte*>(array->raw());
    }
  }
}

// The memory of an input that the program has no use for any more, for a result of its size.
NDArray take_over(DataflowState& state, const DataflowPlan& plan, std::span<Value> inputs,
                  uint32_t result) {
  for (const uint32_t input : state.shape.predecessors[result]) {
    if (plan.bytes[input] != plan.bytes[result]) continue;
    if (inputs[input].is_scalar() || state.inputs[input]) continue;
    {
      const Borrowed array(inputs[input]);
      // A part would keep the whole.
      if (!array->unique() || array->memory_bytes() != plan.bytes[result]) continue;
    }
    NDArray array = inputs[input].array();
    state.inputs[input] = array;  // launches before may read it
    ShapeView shape = plan.shape(state.graph, result);
    return same_shape(shape, array.shape()) ? array : array.reshape(shape);
  }
  return {};
}

void bind_buffer(DataflowState& state, const DataflowPlan& plan, DataflowShape::Buffer buffer) {
  state.buffers[buffer.number] =
      state.addresses[state.shape.root[buffer.place]] + plan.begins[buffer.place];
}

void bind_temporaries(DataflowState& state, const DataflowPlan& plan) {
  for (uint32_t i : state.shape.temporaries) {
    state.addresses[i] = state.arenas[state.shape.arena[i]] + plan.offsets[i];
  }
  for (DataflowShape::Buffer buffer : state.shape.resting) bind_buffer(state, plan, buffer);
  state.bound = &plan;
}

void bind_results(DataflowState& state, const DataflowPlan& plan, std::span<Value> inputs) {
  const Graph& graph = state.graph;
  for (uint32_t i : state.shape.results) {
    const Place& place = graph.places[i];
    try {
      state.fresh[i] = take_over(state, plan, inputs, i);
      if (!state.fresh[i])
        state.fresh[i] = NDArray::empty(plan.shape(graph, i), place.dtype, place.device);
    } catch (const Error& error) {
      throw DataflowFailure{error.what(), place.position, {}};
    }
    state.addresses[i] = static_cast<std::byte*>(state.fresh[i].raw());
  }
  for (DataflowShape::Buffer buffer : state.shape.moving) bind_buffer(state, plan, buffer);
}

// A dense part of a dense tensor, which keeps that.
NDArray part_of(const NDArray& whole, ShapeView shape, size_t byte) {
  const int64_t strides[] = {1}, count[] = {element_count(shape)}, all[] = {whole.size()};
  const auto first = static_cast<int64_t>(byte / whole.dtype().size());
  return whole.reshape(all).view(count, strides, first).reshape(shape);
}

// The tensor at a place during a run.
NDArray tensor_at(DataflowState& state, const DataflowPlan& plan, std::span<const Value> inputs,
                  uint32_t place) {
  if (state.shape.counted[place] != 0) return state.fresh[place];  // empty until it is made
  const Graph& graph = state.graph;
  uint32_t root = state.shape.root[place];
  ShapeView shape = plan.shape(graph, place);
  NDArray whole = state.fresh[root];
  if (!whole && root < graph.num_inputs) {
    whole = state.inputs[root];
    if (!whole && inputs[root].kind() == Value::Kind::kTensor) whole = inputs[root].array();
  }
  if (!whole) whole = state.constants[root];
  if (whole && graph.places[place].dtype == whole.dtype()) {
    ShapeView own = whole.shape();
    if (std::equal(shape.begin(), shape.end(), own.begin(), own.end())) return whole;
    if (plan.bytes[place] == whole.byte_size()) return whole.reshape(shape);
    if (whole.is_contiguous()) return part_of(whole, shape, plan.begins[place]);
  }
  // Elements of another type, which keep the tensor that they lie in; or memory of the graph's.
  void (*release)(void*) = nullptr;
  NDArray* kept = nullptr;
  if (whole) {
    kept = new NDArray(whole);
    release = [](void* held) { delete static_cast<NDArray*>(held); };
  }
  return NDArray::wrap(state.addresses[root] + plan.begins[place], shape, nullptr,
                       graph.places[place].dtype, release, kept, graph.places[place].device);
}

// Tasks of a library kernel: each is worth a turn at the counter.
class LibraryTasks final : public TeamWork {
 public:
  LibraryTasks(int64_t count, void (*body)(void* context, int64_t task), void* context,
               const std::atomic<bool>& interrupt)
      : count_(count), body_(body), context_(context), interrupt_(interrupt) {}

  Stage stage(uint32_t number) override {
    if (number > 0) return Stage::kNone;
    return count_ > 1 ? Stage::kShared : Stage::kAlone;
  }
  void work(const TeamTurn&) override {
    while (!interrupt_.load(std::memory_order_relaxed)) {
      int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= count_) return;
      body_(context_, task);
    }
  }

 private:
  const int64_t count_;
  void (*const body_)(void* context, int64_t task);
  void* const context_;
  const std::atomic<bool>& interrupt_;
  std::atomic<int64_t> next_{0};
};

// The machine's services for a library kernel.
class DataflowHost final : public LibraryHost {
 public:
  DataflowHost(const DataflowState& state, const DataflowPlan& plan, const Launch& launch,
               size_t num_inputs, Workers& workers, const std::atomic<bool>& interrupt)
      : state_(state),
        plan_(plan),
        launch_(launch),
        num_inputs_(num_inputs),
        workers_(workers),
        interrupt_(interrupt) {}

  NDArray make(size_t output, std::span<const int64_t> counts) override {
    uint32_t place = launch_.arguments[num_inputs_ + output].place;
    ShapeView known = plan_.shape(state_.graph, place);
    Shape shape(known.begin(), known.end());
    for (int64_t& extent : shape) {
      if (extent >= 0) continue;
      RELAY_CHECK(!counts.empty(), "a count for each counted extent");
      extent = counts[0];
      counts = counts.subspan(1);
    }
    RELAY_CHECK(counts.empty(), "a count for each counted extent");
    return NDArray::empty(shape, state_.graph.places[place].dtype,
                          state_.graph.places[place].device);
  }

  int threads() const override { return workers_.count(); }

  void run(int64_t tasks, void (*body)(void* context, int64_t task), void* context) override {
    LibraryTasks all(tasks, body, context, interrupt_);
    if (tasks > 1) {
      workers_.run(all);
    } else if (tasks > 0) {
      Workers::run_alone(all);
    }
    if (interrupt_.load(std::memory_order_relaxed)) throw Interrupted();
  }

 private:
  const DataflowState& state_;
  const DataflowPlan& plan_;
  const Launch& launch_;
  const size_t num_inputs_;
  Workers& workers_;
  const std::atomic<bool>& interrupt_;
};

void run_library(const Image& image, DataflowState& state, const DataflowPlan& plan,
                 std::span<const Value> inputs, uint32_t index, std::vector<NDArray>& arrays,
                 Workers& workers, const std::atomic<bool>& interrupt) {
  const Launch& launch = state.graph.launches[index];
  arrays.clear();
  size_t num_inputs = 0;
  for (const Launch::Argument& argument : launch.arguments) {
    arrays.push_back(tensor_at(state, plan, inputs, argument.place));
    if (!argument.written) ++num_inputs;
  }
  std::span<NDArray> outputs(arrays.data() + num_inputs, arrays.size() - num_inputs);
  DataflowHost host(state, plan, launch, num_inputs, workers, interrupt);
  LibraryCall call(std::span<const NDArray>(arrays.data(), num_inputs), launch.params, outputs,
                   host);
  try {
    image.library_kernels[launch.kernel](call);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    const std::vector<std::string>& names = image.executable->kernels[launch.kernel].messages;
    throw DataflowFailure{
        names.empty() ? error.what() : failure_text(names[0], error.what()), launch.position, {}};
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    uint32_t place = launch.arguments[num_inputs + k].place;
    if (state.shape.counted[place] == 0) continue;
    RELAY_CHECK(static_cast<bool>(outputs[k]), "a library kernel left out a result");
    state.fresh[place] = std::move(outputs[k]);
  }
  arrays.clear();
}

Value result_at(DataflowState& state, const DataflowPlan& plan, std::span<const Value> inputs,
                uint32_t place) {
  const Graph& graph = state.graph;
  uint32_t root = state.shape.root[place];
  if (graph.places[place].extents.empty()) {
    return Value::scalar_bytes(graph.places[place].dtype,
                               state.addresses[root] + plan.begins[place]);
  }
  if (place < graph.num_inputs) return inputs[place];
  if (state.cell[root] != kNone) {  // one element seen with a shape
    NDArray copy = NDArray::empty(plan.shape(graph, place), graph.places[place].dtype,
                                  graph.places[place].device);
    std::memcpy(copy.raw(), state.addresses[root] + plan.begins[place], plan.bytes[place]);
    return Value(std::move(copy));
  }
  return Value(tensor_at(state, plan, inputs, place));
}

// Without memory for all temporaries: the greatest of them is to blame.
DataflowFailure no_arena(const DataflowState& state, const DataflowPlan& plan, Device device,
                         const Error& error) {
  DataflowFailure failure{error.what(), 0, {}};
  size_t most = 0;
  for (uint32_t i = 0; i < state.graph.places.size(); ++i) {
    if (state.shape.root[i] != i || state.shape.home[i] != DataflowShape::Home::kArena) continue;
    if (plan.bytes[i] <= most || !(state.graph.places[i].device == device)) continue;
    most = plan.bytes[i];
    const Place& place = state.graph.places[i];
    failure.position = place.position;
    if (!(device == kCpu)) continue;  // its own limit, as the error says
    try {
      NDArray::refuse(plan.shape(state.graph, i), place.dtype);
    } catch (const Error& own) {
      failure.message = own.what();
    }
  }
  return failure;
}

}  // namespace

void DataflowRunner::run(uint32_t index, std::span<Value> inputs, std::span<Value> results) {
  const Executable& executable = *image_.executable;
  if (graphs_[index] == nullptr) {
    auto fresh = std::make_unique<DataflowState>(executable.graphs[index], executable);
    fresh->prepare(shared_->dense);
    graphs_[index] = std::move(fresh);
  }
  DataflowState& state = *graphs_[index];
  const Graph& graph = state.graph;
  // Whatever happens, the run's tensors are let go at its end.
  struct Release {
    DataflowState& state;
    ~Release() {
      for (NDArray& array : state.inputs) {
        if (array) array = NDArray();
      }
      for (uint32_t i : state.shape.results) state.fresh[i] = NDArray();
      for (uint32_t i : state.shape.counted_roots) state.fresh[i] = NDArray();
    }
  } release{state};
  made_dense_.clear();
  check_kinds(graph, inputs);
  const DataflowPlan& plan = find_plan(state, executable, inputs);
  bind_inputs(state, plan, inputs, made_dense_);
  for (size_t i = 0; i < plan.arena_bytes.size(); ++i) {
    Device device = state.shape.arenas[i];
    try {
      std::byte* arena =
          shared_->arena(device).get(plan.arena_bytes[i], "the memory of a graph", device);
      if (state.arenas[i] != arena) state.bound = nullptr;
      state.arenas[i] = arena;
    } catch (const Error& error) {
      throw no_arena(state, plan, device, error);
    }
  }
  if (state.bound != &plan) bind_temporaries(state, plan);
  bind_results(state, plan, inputs);
  run_sections(state, plan, inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    const uint32_t output = graph.outputs[i];
    if (state.shape.whole[i] != 0) {
      results[i] = Value(std::move(state.fresh[output]));
    } else {
      results[i] = result_at(state, plan, inputs, output);
    }
  }
}

void DataflowRunner::run_sections(DataflowState& state, const DataflowPlan& plan,
                                  std::span<const Value> inputs) {
  const Graph& graph = state.graph;
  const auto workers = static_cast<size_t>(workers_->count());
  for (uint32_t s = 0; s < state.shape.sections.size(); ++s) {
    const DataflowShape::Section& section = state.shape.sections[s];
    DeviceAccess access(section.device, section.target);
    if (section.library) {
      if (interrupt_->load(std::memory_order_relaxed)) throw Interrupted();
      uint64_t begin = profile_ != nullptr ? profile_clock() : 0;
      run_library(image_, state, plan, inputs, section.begin, arrays_, *workers_, *interrupt_);
      if (profile_ != nullptr) {
        uint64_t duration = profile_clock() - begin;
        uint32_t kernel = graph.launches[section.begin].kernel;
        ++profile_->kernels[kernel].calls;
        profile_->kernels[kernel].nanoseconds += duration;
        if (profile_->trace) profile_->events.push_back({kernel, begin, duration, 0});
      }
      continue;
    }
    const DataflowPlan::Share& share = plan.shares[s];
    std::byte* scratch =
        shared_->scratch.get(plan.scratch_bytes * workers, "the scratch memory of kernels");
    const bool may_share = (share.threaded || share.copying) && workers > 1;
    std::span<WorkerState> states(shared_->workers.data(), may_share ? workers : 1);
    std::fill(states.begin(), states.end(), WorkerState());
    SectionRun run(image_, graph, state.shape, plan, s, {state.buffers.data(), scratch, states},
                   *interrupt_, profile_);
    if (run.threaded() && workers > 1) {
      workers_->run(run, share.waking);
    } else {
      run.run_alone();
    }
    run.throw_if_failed();
  }
}

}  // namespace relay::vm
