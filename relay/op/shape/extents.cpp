// Operators that tell extents, and sums that undo a broadcast to them.
#include <relay/op/dyn/dyn.h>
#include <relay/op/registry/columns.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct ShapeOfAttrs {
  std::optional<DType> dtype;
  RELAY_ATTRS(ShapeOfAttrs, (dtype, "Dtype of the result, an integer one; int32 by default."))
};
struct NdarraySizeAttrs {
  std::optional<DType> dtype;
  RELAY_ATTRS(NdarraySizeAttrs, (dtype, "Dtype of the result, a number's; int32 by default."))
};

TypeRef infer_shape_of(const RelationCall& call) {
  DType dtype = call.attrs<ShapeOfAttrs>().dtype.value_or(kInt32);
  call.require(dtype.is_integer(),
               "dtype must be an integer dtype, found " + std::string(dtype.name()));
  Dim dims[] = {static_cast<int64_t>(call.tensor(0).rank())};
  return TensorType::make(dims, dtype);
}

void compute_shape_of(const OpCall& call, te::Builder& b) {
  te::TensorInfo result = call.result();
  std::vector<Dim> dims = b.input(0).dims();
  std::vector<Dim> ones(dims.size(), Dim(1));
  b.output(b.map(result.dims, [&](Indices i) {
    if (dims.empty()) return te::constant(0, result.dtype);
    return te::piecewise(i[0], ones, [&](size_t k, const Scalar&) {
      return te::cast(te::from_dim(dims[k]), result.dtype);
    });
  }));
}

TypeRef infer_ndarray_size(const RelationCall& call) {
  DType dtype = call.attrs<NdarraySizeAttrs>().dtype.value_or(kInt32);
  call.require(dtype.is_numeric(),
               "dtype must be a number dtype, found " + std::string(dtype.name()));
  return TensorType::make(std::span<const Dim>(), dtype);
}

void compute_ndarray_size(const OpCall& call, te::Builder& b) {
  te::TensorInfo result = call.result();
  Scalar size = te::from_dim(product(b.input(0).dims()));
  b.output(b.map(result.dims, [&](Indices) { return te::cast(size, result.dtype); }));
}

// `to` must be what broadcasts to the data: then the sum over all that one element became.
void require_collapsible(const RelationCall& call, const std::vector<Dim>& from,
                         const std::vector<Dim>& to) {
  std::string message =
      "shape " + shape_str(to) + " does not broadcast to " + shape_str(from) + ", the data's";
  call.require(to.size() <= from.size(), message);
  call.require_broadcasts(to, from, message);
}

TypeRef infer_collapse_sum_like(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0), like = call.tensor(1);
  require_collapsible(call, data.dims, like.dims);
  return TensorType::make(like.dims, data.dtype);
}

TypeRef infer_collapse_sum_to(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<InitOpAttrs>();
  std::vector<Dim> dims;
  std::optional<size_t> count = entries(call, 1, "shape");
  if (!count) return {};
  if (attrs.shape && call.value(1)) {
    // Programs of TVM say the shape twice.
    std::string message = "the attribute shape differs from the argument";
    call.require(attrs.shape->size() == *count, message);
    for (size_t k = 0; k < *count; ++k)
      call.require_equal((*attrs.shape)[k], call.value_dim(1, k), message);
  }
  auto wanted = extents(call, 1, "shape");
  require_collapsible(call, data.dims, *wanted);
  return TensorType::make(*wanted, data.dtype);
}

void compute_collapse(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  std::vector<Dim> to = call.result().dims;
  size_t added = data.rank() - to.size();
  // An axis is folded as a whole, not at all, or, where that is not known, as often as the result's
  // extent goes into the data's.
  std::vector<Dim> folded;
  std::vector<size_t> folds_axis;
  for (size_t k = 0; k < data.rank(); ++k) {
    bool kept = k >= added && to[k - added] == data.dim(k);
    if (kept) continue;
    bool whole = k < added || to[k - added].is_int(1);
    folded.push_back(whole ? data.dim(k) : floor_div(data.dim(k), max(to[k - added], Dim(1))));
    folds_axis.push_back(k);
  }
  DType dtype = data.dtype();
  DType sum = dtype.is_float() && dtype.bits < 32 ? kFloat32 : dtype;
  b.output(b.map(to, [&](Indices i) {
    std::vector<Scalar> at(added, te::index_constant(0));
    at.insert(at.end(), i.begin(), i.end());
    if (folded.empty()) return data(at);
    Scalar total = b.sum(folded, [&](Indices k) {
      std::vector<Scalar> index = at;
      for (size_t f = 0; f < folds_axis.size(); ++f) {
        size_t axis = folds_axis[f];
        bool whole = axis < added || to[axis - added].is_int(1);
        index[axis] = whole ? k[f] : at[axis] + k[f];
      }
      return te::cast(data(index), sum);
    });
    return te::cast(total, dtype);
  }));
}

RELAY_OP("shape_of")
    .doc("The extents of a tensor.")
    .input("data", "Tensor.", tensor())
    .output("shape", "A number for each axis.", tensor(kIntegers).rank(1))
    .attrs<ShapeOfAttrs>()
    .relation(infer_shape_of)
    .example("fn (%x: Tensor[(2, ?), float32]) { shape_of(%x, dtype=\"int64\") }",
             "[[1, 2, 3], [4, 5, 6]]")
    .level(10)
    .compute(compute_shape_of);

RELAY_OP("ndarray_size")
    .doc("The number of elements of a tensor.")
    .input("data", "Tensor.", tensor())
    .output("size", "Scalar.", tensor(kNumbers).rank(0))
    .attrs<NdarraySizeAttrs>()
    .relation(infer_ndarray_size)
    .example("fn (%x: Tensor[(2, ?), float32]) { ndarray_size(%x) }", "[[1, 2, 3], [4, 5, 6]]")
    .level(10)
    .compute(compute_ndarray_size);

RELAY_OP("collapse_sum_like")
    .doc(
        "Sums of the elements that a broadcast of another tensor's shape to the data's makes of "
        "one.")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .input("collapse_type", "Tensor whose shape counts.", tensor())
    .output("result", "The sums.", tensor('T'))
    .relation(infer_collapse_sum_like)
    .example(
        "fn (%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { collapse_sum_like(%x, %y) }",
        "[[1, 2, 3], [4, 5, 6]]", "[0, 0, 0]")
    .level(10)
    .compute(compute_collapse);

RELAY_OP("collapse_sum_to")
    .doc("Sums of the elements that a broadcast of a shape to the data's makes of one.")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .input("shape", "Extents of the result.", list_spec())
    .output("result", "The sums.", tensor('T'))
    .attrs<InitOpAttrs>()
    .relation(infer_collapse_sum_to)
    .example("fn (%x: Tensor[(2, 3), float32], %s: Tensor[(2), int64]) { collapse_sum_to(%x, %s) }",
             "[[1, 2, 3], [4, 5, 6]]", "[2, 1]")
    .level(4)
    .compute(compute_collapse);

}  // namespace
}  // namespace relay
