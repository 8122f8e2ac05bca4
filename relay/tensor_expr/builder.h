// Builds computations: the notation for `compute` functions of operators.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

using Indices = std::span<const Scalar>;

/// A list of extents as a parameter: a vector, a span or `{n, 3}`.
class Dims : public std::span<const Dim> {
 public:
  Dims(std::span<const Dim> dims) : span(dims) {}     // NOLINT(google-explicit-constructor)
  Dims(const std::vector<Dim>& dims) : span(dims) {}  // NOLINT(google-explicit-constructor)
  Dims(std::initializer_list<Dim> dims) : span(dims.begin(), dims.size()) {}  // NOLINT
  template <size_t N>
  Dims(const Dim (&dims)[N]) : span(dims) {}  // NOLINT(google-explicit-constructor)
};

// Index lists for loads: a copy with one place changed, added or left out.
std::vector<Scalar> replace(Indices index, size_t at, Scalar value);
std::vector<Scalar> insert(Indices index, size_t at, Scalar value);
std::vector<Scalar> without(Indices index, size_t at);

/// A value by cases over consecutive ranges of `index`: `body(k, index - begin_k)` in the k-th
/// range, of length `extents[k]`. A balanced tree of selects (concatenate, stack).
Scalar piecewise(const Scalar& index, Dims extents,
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
  Scalar load(std::initializer_list<Scalar> index, Bounds bounds) const {
    return load(Indices(index.begin(), index.size()), bounds);
  }
  /// Outside the tensor: `fill` (a constant of the tensor's dtype).
  Scalar load_or(Indices index, Scalar fill) const;
  Scalar load_or(std::initializer_list<Scalar> index, Scalar fill) const {
    return load_or(Indices(index.begin(), index.size()), std::move(fill));
  }
  /// Element under numpy broadcasting: `index` may have more dimensions; a dimension of extent 1
  /// reads 0. The run decides for a dimension that may or may not be 1.
  Scalar broadcast(Indices index) const;

 private:
  TensorId id_;
  TensorInfo info_;
};

/// Facts about a fold with a combiner of its own.
struct FoldFacts {
  bool needs_element = false;  // an empty box is an error instead of the identity
  bool commutes = false;       // combine(a, b) is combine(b, a): elements may come in any order
};

class Builder {
 public:
  explicit Builder(std::vector<TensorInfo> inputs);
  /// Continues a computation.
  explicit Builder(Computation computation) : computation_(std::move(computation)) {}

  size_t num_inputs() const { return computation_.inputs.size(); }
  Tensor input(size_t i) const;
  /// An existing tensor.
  Tensor tensor(TensorId id) const { return Tensor(id, computation_.info(id)); }
  Axis axis(Dim extent) { return {computation_.num_axes++, extent}; }

  /// A tensor of shape `dims` whose element at i is `body(i)`.
  Tensor map(Dims dims, const std::function<Scalar(Indices)>& body);
  /// Several tensors on one domain.
  std::vector<Tensor> map_n(Dims dims, const std::function<std::vector<Scalar>(Indices)>& body);

  // Folds: combine `body(k)` for all k in the box `extents`. The accumulator has the body's dtype:
  // cast inside for another one.
  Scalar sum(Dims extents, const std::function<Scalar(Indices)>& body);
  Scalar prod(Dims extents, const std::function<Scalar(Indices)>& body);
  /// For an empty box: a run-time error if `needs_element`, else the lowest (highest) value.
  Scalar max(Dims extents, const std::function<Scalar(Indices)>& body, bool needs_element = false);
  Scalar min(Dims extents, const std::function<Scalar(Indices)>& body, bool needs_element = false);
  Scalar all(Dims extents, const std::function<Scalar(Indices)>& body);
  Scalar any(Dims extents, const std::function<Scalar(Indices)>& body);
  /// Several accumulators at once: `body(k)` gives one value for each, `combine(lhs, rhs)` joins,
  /// and `identity` starts. E.g. argmax: values (x[k], k), identity (lowest, -1). `combine` must be
  /// associative; elements are joined out of order only if it is declared to commute.
  std::vector<Scalar> fold(
      Dims extents, const std::function<std::vector<Scalar>(Indices)>& body,
      const std::function<std::vector<Scalar>(std::span<const Scalar>, std::span<const Scalar>)>&
          combine,
      std::vector<Scalar> identity, FoldFacts facts = {});

  /// Recurrence along dimension `along` of `dims`: `init(i)` before it, `step(i, carries)` at each.
  std::vector<Tensor> scan(
      Dims dims, uint32_t along, const std::function<std::vector<Scalar>(Indices)>& init,
      const std::function<std::vector<Scalar>(Indices, std::span<const Scalar>)>& step,
      bool reverse = false, bool exclusive = false);

  enum class UpdateOp { kAssign, kSum, kProd, kMin, kMax };
  /// `base` with, for each point of `extents` in row-major order, element `at(i)` updated with
  /// `value(i)`.
  Tensor update(const Tensor& base, Dims extents,
                const std::function<std::vector<Scalar>(Indices)>& at,
                const std::function<Scalar(Indices)>& value, UpdateOp op,
                Bounds bounds = Bounds::kFail);

  /// The same elements in row-major order under another shape (same number of elements).
  Tensor reshape(const Tensor& source, Dims dims);
  /// Strided view, see `View`.
  Tensor view(const Tensor& source, Dim offset, Dims extents, Dims strides);
  /// A library kernel with outputs of the given shapes; `?` is an extent that it counts, and the
  /// output must then be one of the computation.
  std::vector<Tensor> library(std::string kernel, std::span<const Tensor> inputs,
                              std::vector<TensorInfo> outputs, KernelParams params);

  /// Declares the next output.
  void output(const Tensor& tensor);
  /// The computation, verified.
  Computation finish();

 private:
  uint32_t var() { return computation_.num_vars++; }
  std::vector<Axis> axes_of(Dims extents);
  std::vector<Tensor> add_stage(Stage stage);
  std::vector<Scalar> add_fold(std::vector<Axis> axes, std::vector<Scalar> values,
                               Combiner combiner);
  Scalar simple_fold(Dims extents, Combiner::Kind kind, bool needs_element,
                     const std::function<Scalar(Indices)>& body);

  Computation computation_;
};

}  // namespace relay::te
