// Primitive functions, composed and lowered: equal ones once.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/lower/lower.h>
#include <relay/vm/compiler/compile.h>

namespace relay::vm {

/// A primitive function on tensors of certain types. Dimensions that are not known are the symbols
/// of `canonical_symbol`, so that equal work has equal terms wherever it stands.
struct CompiledGroup {
  relay::FunctionRef function;
  std::vector<TypeRef> inputs;  // of the parameters
  std::string name;             // "fused_add_tanh"
  lower::Group group;
  /// Symbols that stand for an element of an input, which the shape of a result depends on.
  struct Element {
    Dim symbol;
    uint32_t input;
    uint32_t index;
  };
  std::vector<Element> elements;
  bool numbers = false;   // nothing but numbers in and out, without loops
  bool may_fail = false;  // while it computes
  bool counted = false;   // an extent of a result is known after it has run
  bool acts = false;      // has an effect beside its results

  // Once lowered.
  bool is_lowered = false;
  lower::Lowered lowered;
  std::vector<uint32_t> kernels;  // of `lowered`, in the executable
};

/// Number k of the symbols that stand for unknown dimensions of a group. They live for ever.
Dim canonical_symbol(size_t k);
/// Number k of the symbols that stand for sizes of a graph.
Dim graph_symbol(size_t k);

class GroupCache {
 public:
  GroupCache(Executable& executable, const CompileOptions& options);

  /// The group of a primitive function on inputs of these types (canonical, no `?`).
  CompiledGroup& find(const relay::FunctionRef& function, std::span<const TypeRef> inputs);
  /// Makes the kernels of a group, if that has not been done.
  void lower(CompiledGroup& group);

  /// All kernels that have to be compiled, with their numbers in the executable.
  const std::vector<std::shared_ptr<const lower::Kernel>>& kernels() const { return kernels_; }
  const std::vector<uint32_t>& kernel_numbers() const { return numbers_; }
  /// The number of a library kernel in the executable, as an operator uses it.
  uint32_t library(const lower::LibraryLaunch& launch, const CompiledGroup& group);

 private:
  std::unique_ptr<CompiledGroup> make(const relay::FunctionRef& function,
                                      std::span<const TypeRef> inputs);
  void lower_directly(CompiledGroup& group);

  Executable& executable_;
  const CompileOptions& options_;
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<CompiledGroup>>> groups_;
  std::vector<std::shared_ptr<const lower::Kernel>> kernels_;
  std::vector<uint32_t> numbers_;
  std::map<std::pair<std::string, std::string>, uint32_t> libraries_;
};

}  // namespace relay::vm
