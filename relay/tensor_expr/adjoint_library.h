// Library kernels run backwards.
#pragma once

#include <span>
#include <vector>

#include <relay/tensor_expr/builder.h>

namespace relay::te {

/// A library kernel in the forward computation, and the gradients of its outputs. Those of outputs
/// that nothing flows to, and of outputs that are no floats, have no tensor.
struct KernelRun {
  Builder& b;
  const Library& library;
  std::vector<Tensor> inputs, outputs, gradients;

  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  const KernelParam& param(std::string_view name) const;
  /// A gradient, or zeros in its place.
  Tensor gradient(size_t output) const;
};

/// Adds stages to `b` that compute the gradients of the kernel's inputs, one for each, empty for
/// those that are no floats. Throws NoAdjoint for kernels that have none.
std::vector<Tensor> adjoint_of(const KernelRun& run);

}  // namespace relay::te
