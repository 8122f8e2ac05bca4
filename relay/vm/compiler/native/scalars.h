// The kernel under construction: its buffers, registers and statements, and tensors element by
// element.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/vm/compiler/native/value.h>

namespace relay::vm::native {

class Scalars {
 public:
  /// The operators of a computation in the kernel.
  struct Operators {
    /// Their origins in the kernel, by those in the computation; of 0, that of all of them.
    std::function<uint32_t(uint32_t origin)> origin;
    bool may_fail = true;
  };

  /// Where statements go.
  lower::Block* block = nullptr;

  /// A register with that value; the value itself if it is a constant or a register.
  te::ScalarRef let(const te::ScalarRef& value);
  void check(te::ScalarRef condition, std::string message, uint32_t origin);
  uint32_t fresh_var() { return num_vars_++; }
  uint32_t fresh_axis() { return num_axes_++; }
  int32_t add_buffer(lower::Buffer::Role role, DType dtype, int64_t size);

  /// The same tensor with its elements in registers; throws NotNative if there are too many.
  ValueRef in_registers(const ValueRef& tensor);
  /// A load from a place that is in range.
  static te::ScalarRef load_at(int32_t buffer, DType dtype, const te::Scalar& flat);
  /// Stores a tensor to an output.
  void store(int32_t buffer, const Value& tensor);
  static te::ScalarRef zero(DType dtype);

  /// The results of a computation on these tensors. Throws NotNative if it is too large, has loops
  /// or shapes that are not known, or may fail where it must not.
  std::vector<ValueRef> evaluate(const te::Computation& computation,
                                 std::span<const ValueRef> inputs, const Operators& operators);

  lower::Nest finish(lower::Block body);

  /// How much has been written; what is thrown away again does not count.
  size_t written() const { return statements_; }
  void forget_to(size_t written) { statements_ = written; }
  /// Throws NotNative if the kernel becomes too large.
  void count(size_t more);

 private:
  struct Run;  // of a computation
  te::ScalarRef element(const Run& run, const te::ScalarRef& root);
  te::ScalarRef unrolled(const te::ScalarRef& root);
  te::ScalarRef load(const Run& run, const te::ScalarNode& node, std::vector<te::ScalarRef> index);
  te::ScalarRef at(const Value& tensor, const te::Scalar& flat);
  std::vector<ValueRef> map(const Run& run, const te::Map& map);
  std::vector<ValueRef> scan(const Run& run, const te::Scan& scan);
  ValueRef update(const Run& run, const te::Update& update);
  ValueRef view(const Run& run, const te::View& view);

  std::vector<lower::Buffer> buffers_;
  uint32_t num_vars_ = 0;
  uint32_t num_axes_ = 0;
  size_t statements_ = 0;
};

}  // namespace relay::vm::native
