// Rules for the operands of library kernels. Compiled programs come from files, so each kernel has
// a rule that the machine checks before a call; the kernel can rely on it.
#pragma once

#include <relay/runtime/library_kernel.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

/// A tensor for a kernel.
struct LibraryOperand {
  DType dtype;
  /// `LibraryOperands::kCounted` for extents that the kernel counts.
  ShapeView shape;

  int64_t extent(size_t axis) const { return shape[axis]; }
  /// The number of elements of a tensor without counted extents.
  int64_t size() const;
};

/// The operands and parameters of a call, whose number and kinds fit the kernel's signature. Each
/// function throws Error, which names kernel and operand, if its demand is not met.
class LibraryOperands {
 public:
  static constexpr int64_t kCounted = -1;

  LibraryOperands(std::string_view kernel, std::span<const LibraryOperand> inputs,
                  std::span<const LibraryOperand> outputs, std::span<const KernelParam> params)
      : inputs(inputs), outputs(outputs), kernel_(kernel), params_(params) {}

  const std::span<const LibraryOperand> inputs;
  const std::span<const LibraryOperand> outputs;

  /// The number of elements of the largest possible tensor.
  static constexpr int64_t kMost = int64_t{1} << 57;

  template <class T>
  const T& param(std::string_view name) const {
    return std::get<T>(value_of(name));
  }

  // Demands on one of the operands.

  void rank(const LibraryOperand& operand, size_t rank) const;
  void dtype(const LibraryOperand& operand, std::initializer_list<DType> any_of) const;
  /// float16, bfloat16, float32 or float64.
  void floating(const LibraryOperand& operand) const;
  void shape(const LibraryOperand& operand, ShapeView shape) const;
  void shape(const LibraryOperand& operand, std::initializer_list<int64_t> extents) const {
    shape(operand, ShapeView(extents.begin(), extents.size()));
  }
  /// Demands so many elements, in any shape.
  void elements(const LibraryOperand& operand, int64_t count) const;
  void same_dtype(const LibraryOperand& operand, const LibraryOperand& other) const {
    dtype(operand, {other.dtype});
  }
  void same(const LibraryOperand& operand, const LibraryOperand& other) const {
    same_dtype(operand, other);
    shape(operand, other.shape);
  }

  /// A product of extents; demands that such a tensor can exist.
  int64_t product(int64_t a, int64_t b) const;

  /// Any other demand; `what` completes "wants WHAT".
  void want(bool met, std::string_view what) const;
  /// The parameter "axis" as an axis of an operand.
  size_t axis_of(const LibraryOperand& operand) const;

 private:
  [[noreturn]] void refuse(const LibraryOperand& operand, const std::string& wanted) const;
  const KernelParam::Value& value_of(std::string_view name) const;

  const std::string_view kernel_;
  const std::span<const KernelParam> params_;
};

/// Refuses operands that a kernel cannot work on. It sees nothing but the operands.
using LibraryRule = void (*)(const LibraryOperands& operands);

/// Throws Error unless the kernel's rule, if it has one, is met. In empty tensors too, the other
/// extents are such that kernels can calculate with them.
void check_library_call(const LibraryOperands& operands, LibraryRule rule);

/// The rule of a kernel, or null. A kernel without a rule is for programs of this process, and no
/// file may name it.
LibraryRule find_library_rule(std::string_view kernel);
bool register_library_rule(std::string_view kernel, LibraryRule rule);

/// The names of all kernels, in order.
std::vector<std::string> library_kernel_names();

}  // namespace relay

/// Beside RELAY_LIBRARY_KERNEL: `RELAY_LIBRARY_RULE("sort", sort_rule);`
#define RELAY_LIBRARY_RULE(name, rule)                           \
  [[maybe_unused]] static const bool relay_library_rule_##rule = \
      ::relay::register_library_rule(name, rule)
