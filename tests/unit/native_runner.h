// Lowered groups compiled and bound to arrays, for measurements.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <relay/codegen/codegen.h>
#include <relay/lower/lower.h>
#include <relay/runtime/ndarray.h>

namespace relay::testing {

class NativeGroup {
 public:
  NativeGroup(lower::Lowered lowered, const codegen::Target& target);
  ~NativeGroup();
  /// Everything is bound once, then run again and again.
  void bind(std::span<const NDArray> inputs,
            const std::function<int64_t(const TypeVar*)>& symbols = {}, int workers = 1);
  size_t num_launches() const;
  /// Launch `at` as one of the workers; a failure code or 0.
  int32_t run_launch(size_t at, int worker) const;
  std::string describe(size_t at) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace relay::testing
