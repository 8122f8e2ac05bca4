// Matrix products.
#include <relay/op/nn/combine.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// Dtype of a product: the given one, or the operands' common one. Operands of two integer dtypes
// need it given.
DType product_dtype(const RelationCall& call, DType a, DType b, std::optional<DType> out) {
  bool integers = a.is_integer() && b.is_integer();
  call.require(a == b || (integers && out), "dtypes " + std::string(a.name()) + " and " +
                                                std::string(b.name()) + " of the operands differ" +
                                                (integers ? "; give out_dtype" : ""));
  return out.value_or(a);
}

TypeRef infer_dense(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo weight = call.tensor(1);
  const auto& attrs = call.attrs<DenseAttrs>();
  call.require_equal(data.dims.back(), weight.dims[1],
                     "the inner extents of data " + shape_str(data.dims) + " and weight " +
                         shape_str(weight.dims) + " differ");
  if (attrs.units) {
    call.require_equal(weight.dims[0], Dim(*attrs.units),
                       "units is " + std::to_string(*attrs.units) + ", the weight " +
                           shape_str(weight.dims) + " has " + weight.dims[0].str() + " rows");
  }
  DType dtype = product_dtype(call, data.dtype, weight.dtype, attrs.out_dtype);
  data.dims.back() = weight.dims[0];
  return TensorType::make(data.dims, dtype);
}

// The weight's type, if units determines it.
TypeRef expect_dense_weight(const RelationCall& call, size_t i) {
  const auto& attrs = call.attrs<DenseAttrs>();
  if (i != 1 || !call.input(0) || !attrs.units) return {};
  te::TensorInfo data = call.tensor(0);
  if (data.rank() == 0 || (data.dtype.is_integer() && attrs.out_dtype)) return {};
  Dim dims[] = {*attrs.units, data.dims.back()};
  return TensorType::make(dims, data.dtype);
}

void compute_dense(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor weight = b.input(1);
  te::TensorInfo result = call.result();
  DType sum_dtype = te::wide_float(result.dtype);
  std::vector<Dim> inner{weight.dim(1)};
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar total = b.sum(inner, [&](Indices k) {
      std::vector<Scalar> at(i.begin(), i.end());
      at.back() = k[0];
      return te::cast(data(at), sum_dtype) * te::cast(weight({i.back(), k[0]}), sum_dtype);
    });
    return te::cast(total, result.dtype);
  }));
}

// Products over the last two axes, shared by matmul and batch_matmul.
TypeRef infer_product(const RelationCall& call, std::vector<Dim> batch, bool transpose_a,
                      bool transpose_b, std::optional<int64_t> units, std::optional<DType> out) {
  te::TensorInfo a = call.tensor(0);
  te::TensorInfo b = call.tensor(1);
  Dim rows = a.dims[a.rank() - (transpose_a ? 1 : 2)];
  Dim inner_a = a.dims[a.rank() - (transpose_a ? 2 : 1)];
  Dim inner_b = b.dims[b.rank() - (transpose_b ? 1 : 2)];
  Dim columns = b.dims[b.rank() - (transpose_b ? 2 : 1)];
  std::string message = "the inner extents of " + shape_str(a.dims) + " and " + shape_str(b.dims) +
                        " differ: " + inner_a.str() + " and " + inner_b.str();
  if (inner_a == columns) {
    message += std::string("; transpose_b=") + (transpose_b ? "False" : "True") +
               " takes the second one the other way round";
  }
  call.require_equal(inner_a, inner_b, message);
  if (units) {
    call.require_equal(columns, Dim(*units),
                       "units is " + std::to_string(*units) + ", the operand " + shape_str(b.dims) +
                           " gives " + columns.str());
  }
  DType dtype = product_dtype(call, a.dtype, b.dtype, out);
  batch.push_back(rows);
  batch.push_back(columns);
  return TensorType::make(batch, dtype);
}

TypeRef infer_matmul(const RelationCall& call) {
  te::TensorInfo a = call.tensor(0);
  const auto& attrs = call.attrs<MatmulAttrs>();
  call.require(a.rank() == 2 || !attrs.transpose_a,
               "transpose_a needs tensor_a of rank 2, found " + call.input(0)->str());
  std::vector<Dim> batch(a.dims.begin(), a.dims.end() - 2);
  return infer_product(call, batch, attrs.transpose_a, attrs.transpose_b, attrs.units,
                       attrs.out_dtype);
}

TypeRef infer_batch_matmul(const RelationCall& call) {
  te::TensorInfo a = call.tensor(0);
  te::TensorInfo b = call.tensor(1);
  const auto& attrs = call.attrs<BatchMatmulAttrs>();
  std::span<const Dim> batch_a(a.dims.data(), a.rank() - 2);
  std::span<const Dim> batch_b(b.dims.data(), b.rank() - 2);
  auto batch = broadcast_shapes(batch_a, batch_b);
  std::string message =
      "the batches of " + shape_str(a.dims) + " and " + shape_str(b.dims) + " do not broadcast";
  call.require(batch.has_value(), message);
  call.require_broadcasts(batch_a, *batch, message);
  call.require_broadcasts(batch_b, *batch, message);
  return infer_product(call, *batch, attrs.transpose_a, attrs.transpose_b, std::nullopt,
                       attrs.out_dtype);
}

void compute_product(const OpCall& call, te::Builder& b, bool transpose_a, bool transpose_b) {
  te::Tensor lhs = b.input(0);
  te::Tensor rhs = b.input(1);
  te::TensorInfo result = call.result();
  DType sum_dtype = te::wide_float(result.dtype);
  std::vector<Dim> inner{lhs.dim(lhs.rank() - (transpose_a ? 2 : 1))};
  b.output(b.map(result.dims, [&](Indices i) {
    size_t batch = i.size() - 2;
    auto operand = [&](const te::Tensor& tensor, Scalar row, Scalar column, bool transposed) {
      std::vector<Scalar> at;
      for (size_t k = 0; k + 2 < tensor.rank(); ++k)
        at.push_back(i[batch - (tensor.rank() - 2) + k]);
      at.push_back(transposed ? column : row);
      at.push_back(transposed ? row : column);
      return te::cast(tensor.broadcast(at), sum_dtype);
    };
    Scalar total = b.sum(inner, [&](Indices k) {
      return operand(lhs, i[batch], k[0], transpose_a) *
             operand(rhs, k[0], i[batch + 1], transpose_b);
    });
    return te::cast(total, result.dtype);
  }));
}

RELAY_OP("nn.dense")
    .doc("data · weightᵀ over the last axis of data.")
    .input("data", "Tensor (…, inner).", tensor(kNumbers).rank(1, kAnyRank))
    .input("weight", "Tensor (units, inner).", tensor(kNumbers).rank(2))
    .output("result", "Tensor (…, units) of out_dtype or the data's dtype.", tensor(kNumbers))
    .attrs<DenseAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32], %w: Tensor[(1, 3), float32]) { nn.dense(%x, %w) }",
             "[[1, 2, 3], [4, 5, 6]]", "[[1, 0, -1]]")
    .relation(infer_dense, expect_dense_weight)
    .level(1)
    .column(parallel_products(), parallel_dense)
    .compute(compute_dense);

RELAY_OP("nn.matmul")
    .doc("Matrix product, either operand optionally stored transposed.")
    .input("tensor_a", "Tensor (…, rows, inner).", tensor(kNumbers).rank(2, kAnyRank))
    .input("tensor_b", "Tensor (inner, columns).", tensor(kNumbers).rank(2))
    .output("result", "Tensor (…, rows, columns) of out_dtype or the operands' dtype.",
            tensor(kNumbers))
    .attrs<MatmulAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32], %w: Tensor[(3, 1), float32]) { nn.matmul(%x, %w) }",
             "[[1, 2, 3], [4, 5, 6]]", "[[1], [0], [-1]]")
    .relation(infer_matmul)
    .level(1)
    .column(parallel_products(), parallel_matmul)
    .compute([](const OpCall& call, te::Builder& b) {
      const auto& attrs = call.attrs<MatmulAttrs>();
      compute_product(call, b, attrs.transpose_a, attrs.transpose_b);
    });

RELAY_OP("nn.batch_matmul")
    .doc("Matrix product for each element of a batch; batches broadcast.")
    .input("tensor_a", "Tensor (batch …, rows, inner).", tensor(kNumbers).rank(3, kAnyRank))
    .input("tensor_b", "Tensor (batch …, inner, columns).", tensor(kNumbers).rank(3, kAnyRank))
    .output("result", "Tensor (batch …, rows, columns) of out_dtype or the operands' dtype.",
            tensor(kNumbers))
    .attrs<BatchMatmulAttrs>()
    .example("fn (%x: Tensor[(1, 2, 2), float32]) { nn.batch_matmul(%x, %x, transpose_b=False) }",
             "[[[1, 2], [3, 4]]]")
    .relation(infer_batch_matmul)
    .level(10)
    .column(parallel_products(), parallel_batch_matmul)
    .compute([](const OpCall& call, te::Builder& b) {
      const auto& attrs = call.attrs<BatchMatmulAttrs>();
      compute_product(call, b, attrs.transpose_a, attrs.transpose_b);
    });

}  // namespace
}  // namespace relay
