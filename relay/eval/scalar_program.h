// Elementwise operators on plain numbers, without arrays: the same row functions on rows of one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/tensor_expr/computation.h>

namespace relay::eval {

/// A computation over rank-0 tensors that consists of scalar nodes only.
class ScalarProgram {
 public:
  /// Null if the computation is of another form.
  static std::unique_ptr<ScalarProgram> make(const te::Computation& computation);
  Value run(std::span<const Value> arguments) const;

 private:
  struct Step {
    enum class Kind : uint8_t { kUnary, kBinary, kDivide, kSelect, kFail } kind;
    uint32_t dst = 0;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    void (*unary)(void*, const void*, int64_t) = nullptr;
    void (*binary)(void*, const void*, const void*, int64_t) = nullptr;
    bool (*divide)(void*, const void*, const void*, const uint8_t*, int64_t) = nullptr;
    void (*round)(void*, const void*, int64_t) = nullptr;
    DType dtype;
    std::string message;
  };
  static std::optional<Step> step_of(const te::ScalarNode& node);
  bool add(const te::ScalarNode* root);

  size_t num_registers_ = 0;
  std::vector<std::pair<uint32_t, DType>>
      inputs_;  // register of each argument, kUnused if not read
  std::vector<std::pair<uint32_t, uint64_t>> constants_;
  std::vector<Step> steps_;
  uint32_t result_ = 0;
  DType dtype_;
};

}  // namespace relay::eval
