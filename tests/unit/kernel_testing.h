// Kernels compiled and run, workers one after the other.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/lower/lower.h>
#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>

#include <tests/unit/lowered_run.h>

namespace relay::testing {

/// The instruction sets that this machine runs.
std::vector<codegen::Target> targets_here();

struct KernelResult {
  int32_t code = 0;
  std::string message;  // of the code
  FailureDetail detail;
};

/// A compiled kernel.
class RunnableKernel {
 public:
  RunnableKernel(std::shared_ptr<const lower::Kernel> kernel, const codegen::Target& target);
  /// Runs it as each of `workers` in turn, tasks in pieces, back to front; the failure of the
  /// earliest task counts.
  KernelResult run(const std::vector<void*>& buffers, const std::vector<int64_t>& dims = {},
                   int workers = 1) const;
  bool parallel() const { return compiled_.parallel; }

 private:
  std::shared_ptr<const lower::Kernel> kernel_;
  codegen::CompiledKernel compiled_;
  std::shared_ptr<const CodeMemory> memory_;
};

/// Lowered groups, their kernels compiled together.
class RunnableGroups {
 public:
  RunnableGroups(std::vector<lower::Lowered> groups, const codegen::Target& target);
  /// Runs one: its launches in order, the workers of each one after the other. Throws RuntimeError
  /// where a kernel fails. `symbols` gives values to named dimensions.
  std::vector<NDArray> run(size_t group, std::span<const NDArray> inputs, int workers,
                           const SymbolValues& symbols = {}) const;
  const std::vector<lower::Lowered>& groups() const { return groups_; }

 private:
  std::vector<lower::Lowered> groups_;
  std::vector<size_t> first_;  // of a group's kernels
  std::vector<std::shared_ptr<const lower::Kernel>> kernels_;
  std::vector<codegen::CompiledKernel> compiled_;
  std::shared_ptr<const CodeMemory> memory_;
};

/// A kernel of one nest. `symbols` are its dimension arguments.
std::shared_ptr<lower::Kernel> nest_kernel(lower::Nest nest, std::vector<Dim> symbols = {});
/// A point-wise computation without folds as a nest: loops over the axes, the last one of a kind.
lower::Nest nest_of_map(const te::Computation& computation, lower::LoopKind last,
                        lower::LoopKind first = lower::LoopKind::kSerial);

/// How far apart two numbers are, in units of the last place of the wanted one's type; 0 for equal
/// ones (zeros of both signs, not-a-numbers).
double ulps(DType dtype, double got, double want);
/// Fails the test where arrays differ by more than `tolerance` ulps; `what` explains.
void expect_close(const NDArray& got, const NDArray& want, double tolerance,
                  const std::string& what);

}  // namespace relay::testing
