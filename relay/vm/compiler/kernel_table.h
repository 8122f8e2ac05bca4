// The kernels of a program: works lowered, numbered, compiled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/graph/graph.h>
#include <relay/lower/lower.h>
#include <relay/lower/work.h>
#include <relay/vm/compiler/compile.h>

namespace relay::vm {

/// A work as launches of kernels.
struct LoweredWork {
  lower::Lowered lowered;
  std::vector<uint32_t> kernels;        // of `lowered`, in the executable
  std::vector<lower::KernelWork> work;  // of each of these kernels
  /// The reason why it cannot run: a size that it needs on the way is too large. Empty otherwise.
  std::string refusal;
};

class KernelTable {
 public:
  KernelTable(Executable& executable, const CompileOptions& options)
      : executable_(executable), options_(options) {}

  /// Lowers all works of the graphs' nodes, each once, in parallel on as many threads as the
  /// options allow.
  void lower(std::span<const graph::Graph> graphs);
  /// Adds a kernel that is no work of a graph; its number in the executable.
  uint32_t add(const std::shared_ptr<const lower::Kernel>& kernel, const std::string& source);
  const LoweredWork& of(const graph::WorkRef& work) const { return works_.at(work.get()); }
  /// The number of a library kernel in the executable, for an operator that uses it.
  uint32_t library(const lower::LibraryLaunch& launch, const std::string& work_name);

  const std::vector<std::shared_ptr<const lower::Kernel>>& kernels() const { return kernels_; }
  /// Makes machine code of all kernels, and in parallel the constants of the graphs that have to be
  /// computed. Returns the scratch memory of each kernel, by its number in the executable.
  std::unordered_map<uint32_t, Dim> compile();
  /// The function with which the code that saves the executable computes a constant of the graphs;
  /// nothing if `compile` computes it.
  std::function<NDArray()> late(const graph::ConstantRef& constant) const;

 private:
  lower::Lowered lower_work(const graph::WorkRef& work) const;
  /// Gives contractions the sizes that were measured to be better.
  void take_tuned(lower::Lowered& lowered, const codegen::TunedKernels& tuned) const;
  void number(const graph::Work& work, LoweredWork& lowered);
  bool is_late(const graph::Constant& constant) const;
  std::vector<graph::ConstantRef> between(const graph::Constant& constant) const;

  Executable& executable_;
  const CompileOptions& options_;
  std::unordered_map<const graph::Work*, LoweredWork> works_;
  std::vector<std::shared_ptr<const lower::Kernel>> kernels_;
  std::vector<uint32_t> numbers_;  // of `kernels_`, in the executable
  std::vector<graph::ConstantRef> constants_;
  std::unordered_set<const graph::Constant*> known_;  // `constants_`
  std::map<std::pair<std::string, std::string>, uint32_t> libraries_;
};

}  // namespace relay::vm
