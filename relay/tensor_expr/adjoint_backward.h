// The walk over the stages of a computation backwards.
#pragma once

#include <map>

#include <relay/tensor_expr/adjoint_parts.h>

namespace relay::te {

/// A contribution to a gradient, as a function of the element.
struct Gathered {
  std::vector<Axis> target;  // stand for the element's indices
  std::vector<Axis> free;    // to add up over
  Scalar value;              // over both
  Scalar condition;          // over the target; null: always
  /// True if it is a sum of products, which is best alone in its stage.
  bool is_contraction() const {
    const ScalarNode& node = *value.node();
    return !free.empty() && node.kind == ScalarKind::kBinary && node.binary == BinaryOp::kMul;
  }
};

/// A contribution to an element whose index is read from data.
struct Scattered {
  std::vector<Axis> axes;
  std::vector<ScalarRef> at;
  ScalarRef value;
  Bounds bounds = Bounds::kFail;
};

/// The gradient of a tensor, as far as it is known.
struct Gradient {
  std::vector<Tensor> whole;  // of its shape
  std::vector<Gathered> gathered;
  std::vector<Scattered> scattered;
  bool empty() const { return whole.empty() && gathered.empty() && scattered.empty(); }
};

/// Moves the gradients of a computation's results to its inputs, the last stage first.
class Backward {
 public:
  explicit Backward(const Computation& forward);
  Computation run();

 private:
  // Each moves the gradients of the current stage's results to the tensors that it reads.
  void pull(const Map& map);
  void pull(const Scan& scan);
  void pull(const Update& update);
  void pull(const View& view);
  void pull(const Library& library);

  std::vector<Tensor> carried_to(const Scan& scan);
  void pull_init(const Scan& scan, const std::function<std::vector<Tensor>()>& through);
  void keep_base(const Update& update, const Tensor& gradient, const Tensor& writer);
  Tensor alike(const Update& update, const Tensor& base, const Scalar& value, Builder::UpdateOp op);
  Tensor last_writer(const Update& update, Dims dims);
  Tensor first_extreme(const Update& update, Dims dims);
  Scalar product_seed(const Update& update, const Tensor& gradient, const Scalar& there);

  void find_active();
  bool is_active(TensorId id) const {
    return active_[id.is_input() ? 0 : static_cast<size_t>(id.stage) + 1]
                  [static_cast<size_t>(id.index)] != 0;
  }
  IsActive loads_active() const;
  /// The same, and the carries of a scan.
  IsActive leaves_active() const;

  Gradient& of(TensorId id) {
    return gradients_[id.is_input() ? 0 : static_cast<size_t>(id.stage) + 1]
                     [static_cast<size_t>(id.index)];
  }
  TensorId current(size_t k) const {
    return {static_cast<int32_t>(stage_), static_cast<int32_t>(k)};
  }
  /// The gradients of the current stage's results at the points of its domain; null for none.
  std::vector<Scalar> gradients_at(std::span<const Axis> axes);

  /// Adds the contributions of the loads in expressions over a scope.
  void contribute(std::span<const LeafAdjoint> leaves, std::span<const Axis> scope);
  void contribute(const LeafAdjoint& leaf, std::span<const Axis> scope);
  /// A contribution to element `at` of a tensor at each point, by the points of each element;
  /// nothing if these cannot be determined.
  std::optional<Gathered> gather(std::span<const ScalarRef> at, std::span<const Dim> dims,
                                 const Scalar& value, std::span<const Axis> scope);
  Scalar element(const Gathered& gathered, Indices target, DType dtype);
  /// The gradient of a tensor, all contributions together.
  Tensor tensor_of(TensorId id);

  Computation forward_;
  Builder b_;
  size_t stage_ = 0;                              // the current one
  std::vector<std::vector<char>> active_;         // of the inputs, then of each stage
  std::vector<std::vector<Gradient>> gradients_;  // likewise
  std::map<std::pair<int32_t, int32_t>, TensorInfo> infos_;
};

}  // namespace relay::te
