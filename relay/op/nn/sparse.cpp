// Products with sparse matrices in compressed rows. The kernels are in
// relay/runtime/kernels/sparse.cpp.
#include <relay/op/nn/sparse_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>

namespace relay {
namespace {

constexpr const char* kIndptrDoc =
    "Beginning of each row: 0 first, none below the one before; last the number of elements.";

/// The sparse matrix of inputs `first` (data), `first` + 1 (columns) and `first` + 2 (row
/// pointers).
struct Matrix {
  Dim rows;          // of numbers
  Dim block_height;  // 1 without blocks
  Dim block_width;
};

Matrix sparse_matrix(const RelationCall& call, size_t first, bool blocks) {
  te::TensorInfo data = call.tensor(first), indices = call.tensor(first + 1),
                 indptr = call.tensor(first + 2);
  call.require(data.rank() == 1 || (blocks && data.rank() == 3),
               std::string("sparse_data must be a vector of elements") +
                   (blocks ? ", or blocks (number, height, width)" : "") + ", found " +
                   call.input(first)->str());
  call.require_equal(data.dims[0], indices.dims[0],
                     "sparse_data and sparse_indices must be of one length, found " +
                         call.input(first)->str() + " and " + call.input(first + 1)->str());
  call.require_at_most(1, indptr.dims[0],
                       "sparse_indptr must not be empty: it holds where each row begins, and the "
                       "end of the last");
  Dim height = data.rank() == 1 ? Dim(1) : data.dims[1];
  Dim width = data.rank() == 1 ? Dim(1) : data.dims[2];
  return {(indptr.dims[0] - 1) * height, height, width};
}

/// `columns` must be whole blocks.
void require_blocks(const RelationCall& call, const Matrix& matrix, Dim columns) {
  if (matrix.block_width.is_int(1)) return;
  call.require_multiple(columns, matrix.block_width,
                        "blocks of width " + matrix.block_width.str() + " do not fit " +
                            columns.str() + " columns: dense_data " + call.input(0)->str() +
                            ", sparse_data " + call.input(1)->str());
}

TypeRef infer_sparse_dense(const RelationCall& call) {
  te::TensorInfo dense = call.tensor(0);
  Matrix matrix = sparse_matrix(call, 1, true);
  require_blocks(call, matrix, dense.dims[1]);
  Dim dims[] = {dense.dims[0], matrix.rows};
  if (call.attrs<SparseDenseAttrs>().sparse_lhs) std::swap(dims[0], dims[1]);
  return TensorType::make(dims, dense.dtype);
}

TypeRef infer_sparse_add(const RelationCall& call) {
  te::TensorInfo dense = call.tensor(0);
  Matrix matrix = sparse_matrix(call, 1, false);
  call.require_equal(
      matrix.rows, dense.dims[0],
      "the sparse matrix has " + matrix.rows.str() + " rows, dense_data " + dense.dims[0].str());
  return call.input(0);
}

TypeRef infer_sparse_transpose(const RelationCall& call) {
  sparse_matrix(call, 0, false);
  return TupleType::make({call.input(0), call.input(1), call.input(2)});
}

TypeRef infer_sparse_conv2d(const RelationCall& call) {
  te::TensorInfo dense = call.tensor(0);
  const auto& attrs = call.attrs<SparseConv2DAttrs>();
  bool last = attrs.layout == "NHWC";
  call.require(last || attrs.layout == "NCHW",
               "layout must be NHWC or NCHW, found " + std::string(attrs.layout));
  call.require(attrs.kernel_size.size() == 2, "kernel_size must be two extents");
  Dim columns = dense.dims[last ? 3 : 1];
  for (int64_t extent : attrs.kernel_size) {
    call.require(extent > 0 && extent % 2 == 1,
                 "kernel_size must be of odd extents, found " + std::to_string(extent));
    call.require(extent < (int64_t{1} << 20),
                 "an extent of kernel_size must be below 2^20, found " + std::to_string(extent));
    columns = columns * extent;
  }
  Matrix matrix = sparse_matrix(call, 1, true);
  require_blocks(call, matrix, columns);
  std::vector<Dim> dims = dense.dims;
  dims[last ? 3 : 1] = matrix.rows;
  return TensorType::make(dims, dense.dtype);
}

/// A multiply-add for each element of the matrix and each of `places`.
Cost cost_of_products(const OpCall& call, Dim places) {
  Cost cost = kernel_cost(call, 2 * elements_of(call, 1) * places);
  cost.macs = elements_of(call, 1) * places;
  return cost;
}

RELAY_OP("nn.sparse_dense")
    .doc(
        "The product of a dense matrix and a sparse one turned round. The sparse one is given by "
        "rows: the elements (or blocks), their columns (of blocks), and where each row begins. "
        "Elements at one place add up.")
    .input("dense_data", "Matrix (m, k).", tensor('T', kFloats).rank(2))
    .input("sparse_data", "Elements, or blocks (number, height, width).", tensor('T').rank(1, 3))
    .input("sparse_indices", "The column of each.", tensor(kIndices).rank(1))
    .input("sparse_indptr", kIndptrDoc, tensor(kIndices).rank(1))
    .output("result", "(m, n); with sparse_lhs (n, m).", tensor('T').rank(2))
    .example(
        "fn (%x: Tensor[(1, 3), float32], %d: Tensor[(3), float32], %i: Tensor[(3), int32], "
        "%p: Tensor[(3), int32]) { nn.sparse_dense(%x, %d, %i, %p) }",
        "[[1, 2, 3]]", "[10, 1, 5]", "[1, 0, 2]", "[0, 1, 3]")
    .attrs<SparseDenseAttrs>()
    .relation(infer_sparse_dense)
    .level(1)
    .column(costs(),
            [](const OpCall& call) { return cost_of_products(call, call.tensor(0).dims[0]); })
    .kernel("sparse_dense", [](const OpCall& call) -> KernelParams {
      return {{"sparse_lhs", call.attrs<SparseDenseAttrs>().sparse_lhs}};
    });

RELAY_OP("nn.sparse_add")
    .doc("The sum of a dense matrix and a sparse one, given by rows as for nn.sparse_dense.")
    .input("dense_data", "Matrix.", tensor('T', kNumbers).rank(2))
    .input("sparse_data", "Elements.", tensor('T').rank(1))
    .input("sparse_indices", "The column of each.", tensor(kIndices).rank(1))
    .input("sparse_indptr", kIndptrDoc, tensor(kIndices).rank(1))
    .output("result", "Matrix.", tensor('T').rank(2))
    .example(
        "fn (%x: Tensor[(2, 3), float32], %d: Tensor[(2), float32], %i: Tensor[(2), int32], "
        "%p: Tensor[(3), int32]) { nn.sparse_add(%x, %d, %i, %p) }",
        "[[1, 2, 3], [4, 5, 6]]", "[10, 20]", "[1, 0]", "[0, 1, 2]")
    .relation(infer_sparse_add)
    .level(1)
    .column(costs(), [](const OpCall& call) { return kernel_cost(call, elements_of(call, 1)); })
    .kernel("sparse_add", [](const OpCall&) { return KernelParams(); });

RELAY_OP("nn.sparse_transpose")
    .doc(
        "A square sparse matrix turned round, given by rows as for nn.sparse_dense: elements, "
        "columns, where each row begins.")
    .input("sparse_data", "Elements.", tensor('T').rank(1))
    .input("sparse_indices", "The column of each.", tensor('I', kIndices).rank(1))
    .input("sparse_indptr", kIndptrDoc, tensor('P', kIndices).rank(1))
    .output("data", "Elements.", tensor('T').rank(1))
    .output("indices", "The column of each.", tensor('I').rank(1))
    .output("indptr", "Beginning of each row; last the end.", tensor('P').rank(1))
    .example(
        "fn (%d: Tensor[(3), float32], %i: Tensor[(3), int32], %p: Tensor[(3), int32]) { "
        "nn.sparse_transpose(%d, %i, %p) }",
        "[10, 1, 5]", "[1, 0, 1]", "[0, 1, 3]")
    .relation(infer_sparse_transpose)
    .level(1)
    .column(costs(), cost_of_moving)
    .kernel("sparse_transpose", [](const OpCall&) { return KernelParams(); });

RELAY_OP("nn.sparse_conv2d")
    .doc(
        "A convolution of stride 1 whose result is as large as the data, with weights that are a "
        "sparse matrix: a row for each output channel, columns by kernel row, kernel column and "
        "input channel, given as for nn.sparse_dense.")
    .input("dense_data", "Images.", tensor('T', kFloats).rank(4))
    .input("sparse_data", "Elements, or blocks (number, height, width).", tensor('T').rank(1, 3))
    .input("sparse_indices", "The column of each.", tensor(kIndices).rank(1))
    .input("sparse_indptr", kIndptrDoc, tensor(kIndices).rank(1))
    .output("result", "Images of as many channels as the matrix has rows.", tensor('T').rank(4))
    .example(
        "fn (%x: Tensor[(1, 1, 2, 2), float32], %d: Tensor[(2), float32], %i: Tensor[(2), "
        "int32], %p: Tensor[(2), int32]) { nn.sparse_conv2d(%x, %d, %i, %p) }",
        "[[[[1, 2], [3, 4]]]]", "[10, 1]", "[0, 1]", "[0, 2]")
    .attrs<SparseConv2DAttrs>()
    .relation(infer_sparse_conv2d)
    .level(1)
    .column(costs(),
            [](const OpCall& call) {
              bool last = call.attrs<SparseConv2DAttrs>().layout == "NHWC";
              const std::vector<Dim>& dims = call.tensor(0).dims;
              return cost_of_products(call, dims[0] * dims[last ? 1 : 2] * dims[last ? 2 : 3]);
            })
    .kernel("sparse_conv2d", [](const OpCall& call) -> KernelParams {
      const auto& attrs = call.attrs<SparseConv2DAttrs>();
      return {{"layout", std::string(attrs.layout)},
              {"kernel_size", std::vector<int64_t>(attrs.kernel_size)}};
    });

}  // namespace
}  // namespace relay
