// Operators on positions: of a permutation, of a flat index, of parts that are written.
#include <relay/op/dyn/dyn.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Bounds;
using te::Indices;
using te::Scalar;

// One that is too far in front stays as it was given, for the message.
Scalar from_front(const Scalar& index, Dim extent) {
  Scalar behind = index + te::from_dim(extent);
  return te::select(index < 0 && behind >= 0, behind, index);
}

// A position that nothing names is left at -1: then another one is named twice.
void compute_invert_permutation(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::TensorInfo result = call.result();
  te::Tensor unnamed = b.map(result.dims, [&](Indices) { return te::constant(-1, result.dtype); });
  te::Tensor inverse = b.update(
      unnamed, result.dims,
      [&](Indices i) { return std::vector<Scalar>{te::cast(data(i), kInt64)}; },
      [&](Indices i) { return te::cast(i[0], result.dtype); }, te::Builder::UpdateOp::kAssign);
  b.output(b.map(result.dims, [&](Indices i) {
    return te::fail_unless(inverse(i) >= 0, inverse(i),
                           "the data is not a permutation: a position occurs twice");
  }));
}

TypeRef infer_unravel_index(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  std::optional<size_t> count = entries(call, 1, "shape");
  if (!count) return {};
  std::vector<Dim> dims = data.dims;
  dims.insert(dims.begin(), static_cast<int64_t>(*count));
  return TensorType::make(dims, data.dtype);
}

void compute_unravel_index(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0), shape = b.input(1);
  te::TensorInfo result = call.result();
  auto rank = static_cast<size_t>(result.dims[0].as_int());
  std::vector<Scalar> inner(rank + 1, te::index_constant(1));  // elements of one step on an axis
  std::vector<Scalar> extents;
  for (size_t k = 0; k < rank; ++k)
    extents.push_back(te::cast(shape({te::index_constant(static_cast<int64_t>(k))}), kInt64));
  for (size_t k = rank; k-- > 0;) inner[k] = inner[k + 1] * extents[k];
  std::vector<Dim> ones(rank, Dim(1));
  b.output(b.map(result.dims, [&](Indices i) {
    if (rank == 0) return te::constant(0, result.dtype);
    Scalar flat = te::cast(data(i.subspan(1)), kInt64);
    flat = te::fail_unless(flat >= 0 && flat < inner[0], flat,
                           "an index is negative or exceeds the elements of the shape");
    return te::piecewise(i[0], ones, [&](size_t k, const Scalar&) {
      Scalar within = te::floor_mod(te::floor_div(flat, inner[k + 1]), extents[k]);
      return te::cast(within, result.dtype);
    });
  }));
}

// ---- Elements at indices ------------------------------------------------------------------------

TypeRef infer_adv_index(const RelationCall& call) {
  std::vector<te::TensorInfo> inputs = call.tensors(0);
  call.require(inputs.size() >= 2,
               "the tuple must hold the data and at least one tensor of indices");
  const te::TensorInfo& data = inputs[0];
  size_t count = inputs.size() - 1;
  call.require(count <= data.rank(), std::to_string(count) + " tensors of indices for the " +
                                         std::to_string(data.rank()) + " axes of data " +
                                         shape_str(data.dims));
  std::vector<Dim> dims = inputs[1].dims;
  std::string shapes;
  for (size_t k = 1; k <= count; ++k) {
    call.require(inputs[k].dtype.is_integer(),
                 "indices must be integers, found " + std::string(inputs[k].dtype.name()));
    shapes += (k == 1 ? "" : k == count ? " and " : ", ") + shape_str(inputs[k].dims);
  }
  std::string message = "the indices' shapes " + shapes + " do not broadcast";
  for (size_t k = 2; k <= count; ++k) {
    auto joined = broadcast_shapes(dims, inputs[k].dims);
    call.require(joined.has_value(), message);
    dims = *joined;
  }
  for (size_t k = 1; k <= count; ++k) call.require_broadcasts(inputs[k].dims, dims, message);
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(count), data.dims.end());
  return TensorType::make(dims, data.dtype);
}

void compute_adv_index(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  size_t count = b.num_inputs() - 1;
  size_t shared = call.result().rank() - (data.rank() - count);
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    for (size_t k = 0; k < count; ++k) {
      Scalar at = te::cast(b.input(k + 1).broadcast(i.first(shared)), kInt64);
      index.push_back(from_front(at, data.dim(k)));
    }
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(shared), i.end());
    return data.load(index, Bounds::kFail);
  }));
}

RELAY_OP("invert_permutation")
    .doc("Inverse of a permutation: result[data[i]] = i. An error if data is not a permutation.")
    .input("data", "The numbers from 0 on, in some order.", tensor('T', kIndices).rank(1))
    .output("result", "The permutation that undoes it.", tensor('T'))
    .relation([](const RelationCall& call) { return call.input(0); })
    .example("fn (%x: Tensor[(4), int32]) { invert_permutation(%x) }", "[2, 0, 3, 1]")
    .level(1)
    .compute(compute_invert_permutation);

RELAY_OP("unravel_index")
    .doc("The position on each axis of elements that are counted in row-major order.")
    .input("data", "Numbers of elements.", tensor('T', kIndices))
    .input("shape", "Extents of the tensor that they are elements of.", list_spec())
    .output("result", "The positions, those on one axis of the shape beside each other.",
            tensor('T'))
    .relation(infer_unravel_index)
    .example("fn (%x: Tensor[(3), int32], %s: Tensor[(2), int32]) { unravel_index(%x, %s) }",
             "[0, 5, 11]", "[3, 4]")
    .level(3)
    .compute(compute_unravel_index);

RELAY_OP("adv_index")
    .doc(
        "Elements at positions on the first axes, as data[indices…] in NumPy. Negative ones count "
        "from the end; those outside are an error.")
    .input("data", "Tuple of the data and a tensor of indices for each of its first axes.",
           tuple_of(tensor()))
    .output("result", "In the shape that the indices broadcast to, then the data's other axes.",
            tensor())
    .relation(infer_adv_index)
    .example(
        "fn (%x: Tensor[(2, 3), float32], %i: Tensor[(2, 1), int32], %j: Tensor[(2), int32]) { "
        "adv_index((%x, %i, %j)) }",
        "[[1, 2, 3], [4, 5, 6]]", "[[0], [1]]", "[2, -3]")
    .level(3)
    .compute(compute_adv_index);

}  // namespace
}  // namespace relay
