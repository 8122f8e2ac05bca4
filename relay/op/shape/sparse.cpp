// Sparse tensors as indices and values. Kernels are in relay/runtime/kernels/sparse_indices.cpp.
#include <relay/op/dyn/dyn.h>
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/op/shape/sparse_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

TypeRef dense_type(const RelationCall& call, std::vector<Dim> shape) {
  te::TensorInfo indices = call.tensor(0), values = call.tensor(1);
  Dim columns = indices.rank() == 2 ? indices.dims[1] : Dim(1);
  call.require_equal(columns, static_cast<int64_t>(shape.size()),
                     "sparse_indices must have an index for each of the " +
                         std::to_string(shape.size()) + " axes of output_shape, found " +
                         call.input(0)->str());
  if (values.rank() == 1) {
    Dim count = indices.rank() == 0 ? Dim(1) : indices.dims[0];
    call.require_equal(values.dims[0], count,
                       "sparse_values must be one number or one for each index, found " +
                           call.input(1)->str() + " for " + call.input(0)->str());
  }
  return TensorType::make(std::move(shape), values.dtype);
}

TypeRef infer_sparse_to_dense(const RelationCall& call) {
  const attr::Shape& shape = *call.attrs<SparseToDenseAttrs>().output_shape;
  for (int64_t extent : shape) {
    call.require(extent >= 0, "output_shape must not be negative, found " + std::to_string(extent));
  }
  return dense_type(call, std::vector<Dim>(shape.begin(), shape.end()));
}

TypeRef infer_dyn_sparse_to_dense(const RelationCall& call) {
  auto shape = extents(call, 3, "output_shape");
  return shape ? dense_type(call, std::move(*shape)) : TypeRef();
}

void compute_sparse_to_dense(const OpCall& call, te::Builder& b) {
  te::Tensor indices = b.input(0), values = b.input(1), filler = b.input(2);
  te::TensorInfo result = call.result();
  te::Tensor base = b.map(result.dims, [&](Indices) { return filler({}); });
  Dim count = indices.rank() == 0 ? Dim(1) : indices.dim(0);
  b.output(b.update(
      base, {count},
      [&](Indices i) {
        std::vector<Scalar> at;
        for (size_t d = 0; d < result.rank(); ++d) {
          std::vector<Scalar> place(i.begin(), i.end());
          if (indices.rank() == 0) place.clear();
          if (indices.rank() == 2) place.push_back(te::index_constant(static_cast<int64_t>(d)));
          at.push_back(te::cast(indices(place), kInt64));
        }
        return at;
      },
      [&](Indices i) { return values.rank() == 0 ? values({}) : values({i[0]}); },
      te::Builder::UpdateOp::kAssign));
}

TypeRef infer_sparse_reshape(const RelationCall& call) {
  te::TensorInfo indices = call.tensor(0), from = call.tensor(1), to = call.tensor(2);
  call.require_equal(indices.dims[1], from.dims[0],
                     "prev_shape must have an extent for each column of sparse_indices, found " +
                         call.input(1)->str() + " for " + call.input(0)->str());
  Dim dims[] = {indices.dims[0], to.dims[0]};
  return TupleType::make({TensorType::make(dims, indices.dtype), call.input(2)});
}

TypeRef infer_sparse_fill_empty_rows(const RelationCall& call) {
  te::TensorInfo indices = call.tensor(0), values = call.tensor(1), shape = call.tensor(2);
  call.require_equal(indices.dims[0], values.dims[0],
                     "there must be a value for each index, found " + call.input(1)->str() +
                         " for " + call.input(0)->str());
  call.require_equal(indices.dims[1], shape.dims[0],
                     "dense_shape must have an extent for each column of sparse_indices, found " +
                         call.input(2)->str() + " for " + call.input(0)->str());
  call.require_at_most(1, shape.dims[0], "a scalar has no rows");
  Dim rows = call.value_dim(2, 0);
  call.require_at_most(0, rows, "dense_shape has a negative extent");
  call.require_at_most(rows, kLargestExtent - 1, "an entry of dense_shape is beyond 2^60");
  Dim filled[] = {Dim::any(), indices.dims[1]}, count[] = {Dim::any()}, all[] = {rows};
  return TupleType::make({TensorType::make(filled, indices.dtype),
                          TensorType::make(count, values.dtype), TensorType::make(all, kBool)});
}

RELAY_OP("sparse_to_dense")
    .doc(
        "The tensor of which a sparse one gives some elements: at repeated indices the last one, "
        "where there is none the default value.")
    .input("sparse_indices", "An index, a vector of them, or a row of indices for each.",
           tensor(kIndices).rank(0, 2))
    .input("sparse_values", "The elements, or one for all.", tensor('T').rank(0, 1))
    .input("default_value", "All other elements.", tensor('T').rank(0))
    .output("result", "Tensor of the given shape.", tensor('T'))
    .example(
        "fn (%i: Tensor[(2), int32], %v: Tensor[(2), float32]) { sparse_to_dense(%i, %v, 0f, "
        "output_shape=[4]) }",
        "[3, 1]", "[5, 7]")
    .attrs<SparseToDenseAttrs>()
    .relation(infer_sparse_to_dense)
    .level(3)
    .compute(compute_sparse_to_dense);

RELAY_OP("dyn.sparse_to_dense")
    .doc("sparse_to_dense with the result's shape as an argument.")
    .input("sparse_indices", "An index, a vector of them, or a row of indices for each.",
           tensor(kIndices).rank(0, 2))
    .input("sparse_values", "The elements, or one for all.", tensor('T').rank(0, 1))
    .input("default_value", "All other elements.", tensor('T').rank(0))
    .input("output_shape", "Extents of the result.", list_spec())
    .output("result", "Tensor of the given shape.", tensor('T'))
    .example(
        "fn (%i: Tensor[(2), int32], %v: Tensor[(2), float32], %s: Tensor[(1), int64]) { "
        "dyn.sparse_to_dense(%i, %v, 0f, %s) }",
        "[3, 1]", "[5, 7]", "[4]")
    .relation(infer_dyn_sparse_to_dense)
    .level(3)
    .compute(compute_sparse_to_dense);

RELAY_OP("sparse_reshape")
    .doc(
        "The indices that the elements of a sparse tensor have under another shape with as many "
        "elements, of which one extent may be -1, and that shape.")
    .input("sparse_indices", "A row of indices for each element.", tensor('I', kIndices).rank(2))
    .input("prev_shape", "The tensor's shape.", tensor('I').rank(1))
    .input("new_shape", "The new one.", tensor('I').rank(1))
    .output("indices", "The new indices.", tensor('I').rank(2))
    .output("shape", "The new shape.", tensor('I').rank(1))
    .example(
        "fn (%i: Tensor[(2, 2), int64], %p: Tensor[(2), int64], %n: Tensor[(1), int64]) { "
        "sparse_reshape(%i, %p, %n) }",
        "[[0, 1], [2, 3]]", "[3, 4]", "[-1]")
    .relation(infer_sparse_reshape)
    .level(3)
    .no_gradient("its results are indices")
    .column(costs(), cost_of_moving)
    .kernel("sparse_reshape", [](const OpCall&) { return KernelParams(); });

RELAY_OP("sparse_fill_empty_rows")
    .doc(
        "The elements of a sparse tensor by rows, with one of the default value in the first "
        "column of each row that has none, and which rows these are. It fails if there is such a "
        "row and an extent after the first is 0: it has no place for an element.")
    .input("sparse_indices", "A row of indices for each element.", tensor('I', kIndices).rank(2))
    .input("sparse_values", "The elements.", tensor('T').rank(1))
    .input("dense_shape", "The tensor's shape.", tensor('I').rank(1))
    .input("default_value", "The element of empty rows.", tensor('T').rank(0))
    .output("indices", "The indices of all elements.", tensor('I').rank(2))
    .output("values", "The elements.", tensor('T').rank(1))
    .output("empty", "True for each row that was empty.", tensor(kBool).rank(1))
    .example(
        "fn (%i: Tensor[(2, 2), int64], %v: Tensor[(2), float32], %s: Tensor[(2), int64]) { "
        "sparse_fill_empty_rows(%i, %v, %s, 9f) }",
        "[[0, 1], [2, 0]]", "[1, 2]", "[3, 4]")
    .relation(infer_sparse_fill_empty_rows)
    .level(3)
    .column(costs(), cost_of_moving)
    .kernel("sparse_fill_empty_rows", [](const OpCall&) { return KernelParams(); })
    .no_gradient("only the run knows how many elements there are");

}  // namespace
}  // namespace relay
