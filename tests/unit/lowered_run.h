// The tensors of one run of a lowered group, whatever runs its kernels.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <relay/lower/lower.h>
#include <relay/runtime/ndarray.h>

namespace relay::testing {

/// Values of named dimensions.
using SymbolValues = std::function<int64_t(const TypeVar*)>;

class LoweredRun {
 public:
  LoweredRun(const lower::Lowered& lowered, std::vector<NDArray> inputs, SymbolValues symbols);
  int64_t dim(Dim dim) const;
  Shape shape(const std::vector<Dim>& dims) const;
  /// A tensor of the group; outputs and temporaries begin as garbage. Empty if its extents are to
  /// be counted.
  NDArray place(int32_t k);
  void run_library(const lower::LibraryLaunch& launch);
  /// The results of the group.
  std::vector<NDArray> results();

 private:
  const lower::Lowered& lowered_;
  std::vector<NDArray> inputs_;
  SymbolValues symbols_;
  std::vector<std::optional<NDArray>> places_;
};

/// An array whose elements are no sensible numbers.
NDArray garbage(const Shape& shape, DType dtype);

}  // namespace relay::testing
