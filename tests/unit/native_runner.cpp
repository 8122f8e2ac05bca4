#include <tests/unit/native_runner.h>

#include <cstring>

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::testing {

struct NativeGroup::State {
  struct Bound {
    const lower::LibraryLaunch* library = nullptr;
    size_t kernel = 0;
    std::vector<void*> buffers;
    std::vector<int64_t> dims;
    std::vector<NDArray> scratch;  // of each worker
  };

  lower::Lowered lowered;
  std::vector<codegen::CompiledKernel> compiled;
  std::shared_ptr<const CodeMemory> memory;
  int workers = 1;
  std::vector<std::optional<NDArray>> places;
  std::vector<Bound> bound;

  NDArray place(size_t k, const std::function<int64_t(Dim)>& dims) {
    if (places[k]) return *places[k];
    const lower::Place& p = lowered.places[k];
    std::vector<int64_t> shape;
    for (Dim dim : p.info.dims) shape.push_back(dims(dim));
    if (p.alias >= 0) {
      places[k] = place(static_cast<size_t>(p.alias), dims).reshape(shape);
    } else {
      places[k] = NDArray::empty(shape, p.info.dtype);
      std::memset(places[k]->raw(), 0xa5, places[k]->byte_size());
    }
    return *places[k];
  }
};

NativeGroup::NativeGroup(lower::Lowered lowered, const codegen::Target& target)
    : state_(std::make_unique<State>()) {
  state_->lowered = std::move(lowered);
  codegen::CompileOptions options;
  options.threads = 1;
  state_->compiled = codegen::compile(state_->lowered.kernels, target, options);
  std::vector<const KernelBlob*> blobs;
  for (const auto& kernel : state_->compiled) blobs.push_back(kernel.blob.get());
  if (!blobs.empty()) state_->memory = CodeMemory::map(blobs);
}
NativeGroup::~NativeGroup() = default;

void NativeGroup::bind(std::span<const NDArray> inputs,
                       const std::function<int64_t(const TypeVar*)>& symbols, int workers) {
  State& s = *state_;
  s.workers = workers;
  s.places.assign(s.lowered.places.size(), std::nullopt);
  s.bound.clear();
  std::vector<NDArray> given;
  for (const NDArray& input : inputs) given.push_back(input.contiguous());
  auto dims = [&](Dim dim) { return te::evaluate_dim(dim, given, symbols); };
  for (size_t k = 0; k < given.size(); ++k) s.places[k] = given[k];
  for (size_t k = 0; k < s.places.size(); ++k) s.place(k, dims);
  for (const auto& launch : s.lowered.launches) {
    State::Bound bound;
    bound.library = std::get_if<lower::LibraryLaunch>(&launch);
    if (const auto* run = std::get_if<lower::Launch>(&launch)) {
      bound.kernel = run->kernel;
      for (int32_t k : run->buffers) {
        bound.buffers.push_back(s.places[static_cast<size_t>(k)]->raw());
      }
      for (Dim dim : s.lowered.kernels[run->kernel]->dim_args) bound.dims.push_back(dims(dim));
      int64_t bytes = dims(s.compiled[run->kernel].scratch_bytes);
      for (int w = 0; w < workers; ++w) {
        bound.scratch.push_back(NDArray::empty({bytes + 64}, kInt8));
      }
    }
    s.bound.push_back(std::move(bound));
  }
}

size_t NativeGroup::num_launches() const { return state_->bound.size(); }

std::string NativeGroup::describe(size_t at) const {
  const State::Bound& bound = state_->bound[at];
  if (bound.library != nullptr) return bound.library->name;
  return state_->lowered.kernels[bound.kernel]->implementation;
}

int32_t NativeGroup::run_launch(size_t at, int worker) const {
  const State& s = *state_;
  const State::Bound& bound = s.bound[at];
  if (bound.library != nullptr) {
    if (worker != 0) return 0;
    std::vector<NDArray> in, out;
    for (int32_t k : bound.library->inputs) in.push_back(*s.places[static_cast<size_t>(k)]);
    for (int32_t k : bound.library->outputs) out.push_back(*s.places[static_cast<size_t>(k)]);
    struct NothingCounted final : LibraryHost {
      NDArray make(size_t, std::span<const int64_t>) override {
        RELAY_UNREACHABLE("no extent is counted");
      }
    } host;
    LibraryCall call(in, bound.library->params, out, host);
    find_library_kernel(bound.library->name)->run(call);
    return 0;
  }
  if (worker != 0 && !s.compiled[bound.kernel].parallel) return 0;
  FailureDetail detail;
  ShareOfTasks tasks(worker, s.workers);
  KernelArgs args;
  args.buffers = bound.buffers.data();
  args.dims = bound.dims.data();
  args.tasks = &tasks;
  args.first = worker == 0 ? 1 : 0;
  args.scratch = bound.scratch[static_cast<size_t>(worker)].raw();
  args.functions = kernel_functions();
  args.detail = &detail;
  return s.memory->kernel(bound.kernel)(&args);
}

}  // namespace relay::testing
