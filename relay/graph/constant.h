// Tensors that are known while a program is compiled.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <relay/runtime/strided.h>
#include <relay/runtime/value.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// The bytes of a tensor with known extents; 0 if one is not known.
double bytes_of(const te::TensorInfo& info);
/// The shape of such a tensor.
Shape shape_of(const te::TensorInfo& info);

class Constant;
using ConstantRef = std::shared_ptr<const Constant>;

/// Computes the result of a computation with one input faster than evaluation, and puts it at its
/// places.
using Shortcut = std::function<void(const NDArray& input, void* to, const Places& places)>;

/// A constant: given, or computed from others when somebody first asks for its value. So it can be
/// passed on at once, and all constants of a program can be computed in parallel.
class Constant {
 public:
  static ConstantRef given(Value value);
  /// The one output of a computation on fixed extents that cannot fail.
  static ConstantRef computed(std::shared_ptr<const te::Computation> computation,
                              std::vector<ConstantRef> inputs, Device device,
                              Shortcut shortcut = {});

  /// Any thread may call it.
  Value value() const;
  /// Frees a computed value: the next call computes it again.
  void release() const;
  /// The computation of its value; null if it was given.
  const te::Computation* computation() const { return computation_.get(); }
  std::shared_ptr<const te::Computation> shared_computation() const { return computation_; }
  const std::vector<ConstantRef>& inputs() const { return inputs_; }
  /// For a computed constant: the type of the tensor.
  const te::TensorInfo& info() const { return computation_->info(computation_->outputs[0].tensor); }
  Device device() const { return device_; }

 private:
  Value compute() const;
  bool has_value() const;

  mutable std::mutex mutex_;
  mutable Value value_;  // none if it is not computed yet
  std::shared_ptr<const te::Computation> computation_;
  std::vector<ConstantRef> inputs_;
  Device device_;
  Shortcut shortcut_;
};

}  // namespace relay::graph
