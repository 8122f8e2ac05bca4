// Building computations: what `compute` functions of operators are written with.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

using Indices = std::span<const Scalar>;

// Index lists for loads: a copy with one place changed, added or left out.
std::vector<Scalar> replace(Indices index, size_t at, Scalar value);
std::vector<Scalar> insert(Indices index, size_t at, Scalar value);
std::vector<Scalar> without(Indices index, size_t at);

/// A value by cases over consecutive ranges of `index`: `body(k, index - begin_k)` in the k-th range, of
/// length `extents[k]`. A balanced tree of selects (concatenate, stack).
Scalar piecewise(const Scalar& index, std::span<const Dim> extents,
                 const std::function<Scalar(size_t part, Scalar local)>& body);

/// A tensor inside a computation under construction.
class Tensor {
 public:
  Tensor() = default;
  Tensor(TensorId id, TensorInfo info) : id_(id), info_(std::move(info)) {}
  TensorId id() const { return id_; }
  const TensorInfo& info() const { return info_; }
  size_t rank() const { return info_.dims.size(); }
  Dim dim(size_t i) const { return info_.dims[i]; }
  const std::vector<Dim>& dims() const { return info_.dims; }
  DType dtype() const { return info_.dtype; }

  /// The element at `index` (int64 scalars, one for each dimension), which is in range.
  Scalar operator()(Indices index) const { return load(index, Bounds::kProven); }
  Scalar operator()(std::initializer_list<Scalar> index) const {
    return (*this)(Indices(index.begin(), index.size()));
  }
  Scalar load(Indices index, Bounds bounds) const;
  /// Outside the tensor: `fill` (a constant of the tensor's dtype).
  Scalar load_or(Indices index, Scalar fill) const;
  /// Element under numpy broadcasting: `index` may have more dimensions; a dimension of extent 1 reads 0.
  /// A dimension that may or may not be 1 is decided at run time.
  Scalar broadcast(Indices index) const;

 private:
  TensorId id_;
  TensorInfo info_;
};

class Builder {
 public:
  explicit Builder(std::vector<TensorInfo> inputs);

  size_t num_inputs() const { return computation_.inputs.size(); }
  Tensor input(size_t i) const;
  Axis axis(Dim extent) { return {computation_.num_axes++, extent}; }

  /// A tensor of shape `dims` whose element at i is `body(i)`.
  Tensor map(std::span<const Dim> dims, const std::function<Scalar(Indices)>& body);
  /// Several tensors on one domain.
  std::vector<Tensor> map_n(std::span<const Dim> dims,
                            const std::function<std::vector<Scalar>(Indices)>& body);

  // Folds: combine `body(k)` for all k in the box `extents`. The accumulator has the body's dtype: cast
  // inside for another one.
  Scalar sum(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body);
  Scalar prod(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body);
  /// Of nothing: a run-time error if `needs_element`, else the lowest (highest) value.
  Scalar max(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body,
             bool needs_element = false);
  Scalar min(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body,
             bool needs_element = false);
  Scalar all(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body);
  Scalar any(std::span<const Dim> extents, const std::function<Scalar(Indices)>& body);
  /// Several accumulators at once: `body(k)` gives one value for each; `combine(lhs, rhs)` joins;
  /// `identity` starts. E.g. argmax: values (x[k], k), identity (lowest, -1).
  std::vector<Scalar> fold(
      std::span<const Dim> extents, const std::function<std::vector<Scalar>(Indices)>& body,
      const std::function<std::vector<Scalar>(std::span<const Scalar>, std::span<const Scalar>)>& combine,
      std::vector<Scalar> identity, bool needs_element = false);

  /// Recurrence along dimension `along` of `dims`: `init(i)` before it, `step(i, carries)` at each.
  std::vector<Tensor> scan(
      std::span<const Dim> dims, uint32_t along,
      const std::function<std::vector<Scalar>(Indices)>& init,
      const std::function<std::vector<Scalar>(Indices, std::span<const Scalar>)>& step,
      bool reverse = false, bool exclusive = false);

  enum class UpdateOp { kAssign, kSum, kProd, kMin, kMax };
  /// `base` with, for each point of `extents` in row-major order, element `at(i)` updated with `value(i)`.
  Tensor update(const Tensor& base, std::span<const Dim> extents,
                const std::function<std::vector<Scalar>(Indices)>& at,
                const std::function<Scalar(Indices)>& value, UpdateOp op,
                Bounds bounds = Bounds::kFail);

  /// The same elements in row-major order under another shape (same number of elements).
  Tensor reshape(const Tensor& source, std::span<const Dim> dims);
  /// Strided view, see `View`.
  Tensor view(const Tensor& source, Dim offset, std::span<const Dim> extents,
              std::span<const Dim> strides);
  /// A library kernel with outputs of the given shapes.
  std::vector<Tensor> library(std::string kernel, std::span<const Tensor> inputs,
                              std::vector<TensorInfo> outputs, std::vector<int64_t> params);

  /// Declares the next output.
  void output(const Tensor& tensor);
  /// An output whose first dimension is counted at run time by its Library stage, at most tensor.dim(0).
  void output_counted(const Tensor& tensor);
  /// The computation, verified.
  Computation finish();

 private:
  Computation computation_;
};

}  // namespace relay::te
