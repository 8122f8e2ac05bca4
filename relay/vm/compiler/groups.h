// Composes primitive functions, equal ones once.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/ir/expr.h>

namespace relay::vm {

/// A primitive function on tensors of certain types. Unknown dimensions are symbols of works, so
/// that equal work has equal terms wherever it stands.
struct CompiledGroup {
  relay::FunctionRef function;
  std::vector<TypeRef> inputs;  // of the parameters
  graph::WorkRef work;
  bool numbers = false;   // nothing but numbers in and out, without loops
  bool may_fail = false;  // while it computes
  bool counted = false;   // the extent of a result is known only after it has run
  bool acts = false;      // has an effect beside its results

  const te::Computation& computation() const { return work->computation(); }
  /// May fail while it computes, or because of extents that are known only when it runs.
  bool can_fail() const;
};

class GroupCache {
 public:
  /// The group of a primitive function on inputs of these types (over symbols of works, no `?`).
  const CompiledGroup& find(const relay::FunctionRef& function, std::span<const TypeRef> inputs);

 private:
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<CompiledGroup>>> groups_;
};

}  // namespace relay::vm
