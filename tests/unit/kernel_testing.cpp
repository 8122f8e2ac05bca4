#include <tests/unit/kernel_testing.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <relay/runtime/target_names.h>
#include <relay/support/error.h>

namespace relay::testing {

using lower::For;
using lower::LoopKind;
using lower::Stmt;

std::vector<codegen::Target> targets_here() {
  std::vector<codegen::Target> targets;
  for (std::string_view name : kTargetNames) {
    codegen::Target target = codegen::Target::parse(name);
    if (target.runs_here()) targets.push_back(target);
  }
  return targets;
}

namespace {

/// A worker's share in pieces of up to three tasks, back to front: as others take them from it.
class PiecesBackwards final : public TaskSource {
 public:
  PiecesBackwards(int worker, int workers)
      : TaskSource{&take}, worker_(worker), workers_(workers) {}

 private:
  static int32_t take(TaskSource* self, int64_t count, int64_t* range) {
    auto& pieces = *static_cast<PiecesBackwards*>(self);
    const int64_t begin = count * pieces.worker_ / pieces.workers_;
    if (pieces.end_ < 0) pieces.end_ = count * (pieces.worker_ + 1) / pieces.workers_;
    range[0] = INT64_MAX;
    if (pieces.end_ <= begin) return 0;
    range[1] = pieces.end_;
    range[0] = pieces.end_ = std::max(begin, pieces.end_ - 3);
    return 1;
  }
  int worker_;
  int workers_;
  int64_t end_ = -1;
};

}  // namespace

RunnableKernel::RunnableKernel(std::shared_ptr<const lower::Kernel> kernel,
                               const codegen::Target& target)
    : kernel_(std::move(kernel)) {
  codegen::CompileOptions options;
  options.threads = 1;
  compiled_ = codegen::compile({&kernel_, 1}, target, options)[0];
  const KernelBlob* blob = compiled_.blob.get();
  memory_ = CodeMemory::map({&blob, 1});
}

KernelResult RunnableKernel::run(const std::vector<void*>& buffers,
                                 const std::vector<int64_t>& dims, int workers) const {
  KernelResult result;
  Dim bytes = substitute(compiled_.scratch_bytes, [&](Dim atom) {
    for (size_t k = 0; k < kernel_->dim_args.size(); ++k) {
      if (kernel_->dim_args[k] == atom) return Dim(dims[k]);
    }
    return atom;
  });
  NDArray scratch = NDArray::empty({std::max<int64_t>(bytes.as_int(), 1)}, kUInt8);
  for (int worker = 0; worker < (compiled_.parallel ? workers : 1); ++worker) {
    FailureDetail detail;
    PiecesBackwards tasks(worker, workers);
    KernelArgs args{buffers.data(), dims.data(),        &tasks, scratch.raw(), kernel_functions(),
                    &detail,        worker == 0 ? 1 : 0};
    int32_t code = memory_->kernel(0)(&args);
    if (code != 0 && (result.code == 0 || detail.task < result.detail.task)) {
      result.code = code;
      result.message = compiled_.messages.at(static_cast<size_t>(code) - 1);
      result.detail = detail;
    }
  }
  return result;
}

RunnableGroups::RunnableGroups(std::vector<lower::Lowered> groups, const codegen::Target& target)
    : groups_(std::move(groups)) {
  for (const lower::Lowered& group : groups_) {
    first_.push_back(kernels_.size());
    kernels_.insert(kernels_.end(), group.kernels.begin(), group.kernels.end());
  }
  compiled_ = codegen::compile(kernels_, target, {});
  std::vector<const KernelBlob*> blobs;
  for (const codegen::CompiledKernel& kernel : compiled_) blobs.push_back(kernel.blob.get());
  if (!blobs.empty()) memory_ = CodeMemory::map(blobs);
}

std::vector<NDArray> RunnableGroups::run(size_t group, std::span<const NDArray> inputs, int workers,
                                         const SymbolValues& symbols) const {
  const lower::Lowered& lowered = groups_[group];
  std::vector<NDArray> given;
  for (const NDArray& input : inputs) {
    // Aligned, and apart from what others own.
    NDArray copy = NDArray::empty(input.shape(), input.dtype());
    std::memcpy(copy.raw(), input.contiguous().raw(), copy.byte_size());
    given.push_back(copy);
  }
  LoweredRun run(lowered, std::move(given), symbols);
  for (const auto& launch : lowered.launches) {
    if (const auto* library = std::get_if<lower::LibraryLaunch>(&launch)) {
      run.run_library(*library);
      continue;
    }
    const auto& native = std::get<lower::Launch>(launch);
    size_t number = first_[group] + native.kernel;
    const codegen::CompiledKernel& kernel = compiled_[number];
    std::vector<void*> buffers;
    for (int32_t k : native.buffers) {
      NDArray array = run.place(k);
      buffers.push_back(array.size() == 0 ? nullptr : array.raw());
    }
    // A buffer that a kernel writes is none of its other buffers: its code relies on it.
    size_t position = 0;
    for (const lower::Buffer& buffer : kernels_[number]->buffers()) {
      if (buffer.role == lower::Buffer::Role::kScratch) continue;
      void* memory = buffers.at(position++);
      if (buffer.role == lower::Buffer::Role::kOutput && memory != nullptr) {
        EXPECT_EQ(std::count(buffers.begin(), buffers.end(), memory), 1) << kernels_[number]->str();
      }
    }
    std::vector<int64_t> arguments;
    for (Dim dim : kernels_[number]->dim_args) arguments.push_back(run.dim(dim));
    NDArray scratch = NDArray::empty({std::max<int64_t>(run.dim(kernel.scratch_bytes), 1)}, kUInt8);
    int32_t code = 0;
    for (int worker = 0; worker < (kernel.parallel ? workers : 1); ++worker) {
      FailureDetail detail;
      PiecesBackwards tasks(worker, workers);
      std::memset(scratch.raw(), 0x5a, static_cast<size_t>(scratch.size()));
      KernelArgs args{buffers.data(), arguments.data(),   &tasks, scratch.raw(), kernel_functions(),
                      &detail,        worker == 0 ? 1 : 0};
      int32_t one = memory_->kernel(number)(&args);
      if (one != 0 && (code == 0 || one < code)) code = one;
    }
    if (code != 0) throw RuntimeError(kernel.messages.at(static_cast<size_t>(code) - 1));
  }
  return run.results();
}

std::shared_ptr<lower::Kernel> nest_kernel(lower::Nest nest, std::vector<Dim> symbols) {
  auto kernel = std::make_shared<lower::Kernel>();
  kernel->name = "test";
  kernel->implementation = "pointwise";
  kernel->body = std::move(nest);
  kernel->dim_args = std::move(symbols);
  return kernel;
}

lower::Nest nest_of_map(const te::Computation& computation, LoopKind last, LoopKind first) {
  lower::Nest nest;
  nest.num_axes = computation.num_axes;
  nest.num_vars = computation.num_vars;
  for (const te::TensorInfo& info : computation.inputs) {
    nest.buffers.push_back({lower::Buffer::Role::kInput, "in", info.dtype, info.dims});
  }
  const auto& map = std::get<te::Map>(computation.stages.at(0).body);
  std::vector<te::ScalarRef> indices;
  for (const te::Axis& axis : map.axes) indices.push_back(te::index_of(axis).ref());
  lower::Block block;
  for (size_t k = 0; k < map.values.size(); ++k) {
    const te::TensorInfo& info = computation.stages[0].outputs[k];
    block.push_back(
        Stmt{lower::Store{static_cast<int32_t>(nest.buffers.size()), indices, map.values[k]}});
    nest.buffers.push_back({lower::Buffer::Role::kOutput, "out", info.dtype, info.dims});
  }
  for (size_t a = map.axes.size(); a-- > 0;) {
    For loop;
    loop.kind = a + 1 == map.axes.size() ? last : a == 0 ? first : LoopKind::kSerial;
    loop.axis = map.axes[a].id;
    loop.begin = te::index_constant(0).ref();
    loop.end = te::from_dim(map.axes[a].extent).ref();
    loop.body = std::move(block);
    block = {};
    block.push_back(Stmt{std::move(loop)});
  }
  nest.body = std::move(block);
  return nest;
}

double ulps(DType dtype, double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) {
    // Overflow to infinity is one step beyond the greatest number.
    double limit = dtype.bits == 64 ? 1.7976931348623157e308 : dtype == kFloat16 ? 65504 : 3.38e38;
    double a = std::isfinite(got) ? got : want;
    double b = std::isfinite(got) ? want : got;
    if (!std::isnan(b) && std::abs(a) >= limit && (a < 0) == (b < 0)) return 1;
    return std::numeric_limits<double>::infinity();
  }
  int digits = dtype == kFloat16 ? 11 : dtype == kBFloat16 ? 8 : dtype == kFloat32 ? 24 : 53;
  int least = dtype == kFloat16 ? -13 : dtype.bits == 64 ? -1021 : -125;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent, least) - digits);
}

void expect_close(const NDArray& got, const NDArray& want, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(shape_text(got.shape()), shape_text(want.shape())) << what;
  for (int64_t i = 0; i < want.size(); ++i) {
    if (want.dtype().is_float()) {
      double x = got.element_as_double(i);
      double y = want.element_as_double(i);
      ASSERT_LE(ulps(want.dtype(), x, y), tolerance)
          << x << " instead of " << y << " at " << i << ": " << what;
    } else {
      ASSERT_EQ(got.element_as_int64(i), want.element_as_int64(i)) << "at " << i << ": " << what;
    }
  }
}

}  // namespace relay::testing
