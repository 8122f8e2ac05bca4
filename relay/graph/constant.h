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

/// Of a tensor whose extents are known; 0 where one is not.
double bytes_of(const te::TensorInfo& info);
/// The shape of such a tensor.
Shape shape_of(const te::TensorInfo& info);

class Constant;
using ConstantRef = std::shared_ptr<const Constant>;

/// Computes what a computation of one input gives, faster than by evaluating it, and puts it where
/// it is wanted.
using Shortcut = std::function<void(const NDArray& input, void* to, const Places& places)>;

/// A constant: given, or computed from others when somebody first asks for its value. So it can be
/// passed on at once, and all of a program be computed side by side.
class Constant {
 public:
  static ConstantRef given(Value value);
  /// The one output of a computation on fixed extents that cannot fail.
  static ConstantRef computed(std::shared_ptr<const te::Computation> computation,
                              std::vector<ConstantRef> inputs, Device device,
                              Shortcut shortcut = {});

  /// Any thread may ask.
  Value value() const;
  /// Lets go of a value that was computed: whoever asks again waits for it again.
  void release() const;
  /// How it is computed; null if it was given.
  const te::Computation* computation() const { return computation_.get(); }
  std::shared_ptr<const te::Computation> shared_computation() const { return computation_; }
  const std::vector<ConstantRef>& inputs() const { return inputs_; }
  /// Of one that is computed: what tensor it is, and where.
  const te::TensorInfo& info() const { return computation_->info(computation_->outputs[0].tensor); }
  Device device() const { return device_; }

 private:
  Value compute() const;
  bool has_value() const;

  mutable std::mutex mutex_;
  mutable Value value_;  // none where it is not computed yet
  std::shared_ptr<const te::Computation> computation_;
  std::vector<ConstantRef> inputs_;
  Device device_;
  Shortcut shortcut_;
};

}  // namespace relay::graph
