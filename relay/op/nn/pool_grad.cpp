// Gradients of two-dimensional pools.
#include <relay/op/nn/pool_window.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

template <class A>
TypeRef infer_grad(const RelationCall& call) {
  te::TensorInfo grad = call.tensor(0);
  te::TensorInfo data = call.tensor(1);
  PoolWindow window(call.attrs<A>(), 2);
  std::vector<Dim> wanted = window.result_dims(call, data.dims);
  std::string message = "out_grad must have the pool's shape " + shape_str(wanted) + ", found " +
                        shape_str(grad.dims) + "; data is " + shape_str(data.dims);
  call.require(grad.rank() == wanted.size(), message);
  for (size_t i = 0; i < wanted.size(); ++i) call.require_equal(grad.dims[i], wanted[i], message);
  return call.input(1);
}

// Each window's gradient goes to its first greatest element; a not-a-number counts as greatest.
void compute_max_grad(const OpCall& call, te::Builder& b) {
  te::Tensor grad = b.input(0);
  te::Tensor data = b.input(1);
  PoolWindow window(call.attrs<MaxPool2DAttrs>(), 2);
  std::vector<Dim> size(window.size.begin(), window.size.end());
  Scalar height = te::from_dim(window.data.extent(data.dims(), 'H'));
  Scalar width = te::from_dim(window.data.extent(data.dims(), 'W'));
  Scalar least = te::lowest(data.dtype());
  auto greater = [](const Scalar& a, const Scalar& b_value) {
    Scalar a_nan = te::unary(te::UnaryOp::kIsNan, a);
    return a > b_value || (a_nan && !te::unary(te::UnaryOp::kIsNan, b_value));
  };
  te::Tensor best = b.map(grad.dims(), [&](Indices i) {
    return b.fold(
        size,
        [&](Indices k) -> std::vector<Scalar> {
          std::vector<Scalar> rows;
          for (size_t d = 0; d < 2; ++d) {
            rows.push_back(window.row(d, window.out.coordinate(i, window.space[d]).whole, k[d]));
          }
          Scalar flat = rows[0] * width + rows[1];
          if (window.inside()) return {data(window.data_index(i, rows)), flat};
          Scalar in_data = rows[0] >= 0 && rows[0] < height && rows[1] >= 0 && rows[1] < width;
          return {data.load_or(window.data_index(i, rows), least),
                  te::select(in_data, flat, te::index_constant(-1))};
        },
        [&](std::span<const Scalar> l, std::span<const Scalar> r) -> std::vector<Scalar> {
          // Position -1 is padding, and the identity.
          Scalar tie = !greater(l[0], r[0]) && !greater(r[0], l[0]);
          Scalar right = r[1] >= 0 && (l[1] < 0 || greater(r[0], l[0]) || (tie && r[1] < l[1]));
          return {te::select(right, r[0], l[0]), te::select(right, r[1], l[1])};
        },
        {least, te::index_constant(-1)}, {.commutes = true})[1];
  });
  te::Tensor zeros = b.map(data.dims(), [&](Indices) { return te::constant(0, data.dtype()); });
  b.output(b.update(
      zeros, grad.dims(),
      [&](Indices i) {
        Scalar flat = best(i);
        std::vector<Scalar> rows{te::floor_div(flat, width), te::floor_mod(flat, width)};
        return window.data_index(i, rows);
      },
      [&](Indices i) { return grad(i); }, te::Builder::UpdateOp::kSum, te::Bounds::kFill));
}

// Each element gathers its share of the windows that it is in.
void compute_avg_grad(const OpCall& call, te::Builder& b) {
  te::Tensor grad = b.input(0);
  te::Tensor data = b.input(1);
  PoolWindow window(call.attrs<AvgPool2DAttrs>(), 2);
  DType dtype = data.dtype();
  DType sum = te::wide_float(dtype);
  std::vector<Dim> size(window.size.begin(), window.size.end());
  Scalar zero = te::constant(0, dtype);
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar total = b.sum(size, [&](Indices k) {
      // Element k of window `at` is here if at · stride + k · dilation is; where none is, Fill
      // applies.
      std::vector<Scalar> at;
      for (size_t d = 0; d < 2; ++d) {
        Scalar from = window.data.coordinate(i, window.space[d]).whole + window.padding.before[d] -
                      k[d] * window.dilation[d];
        Scalar step = te::index_constant(window.strides[d]);
        at.push_back(window.strides[d] == 1
                         ? from
                         : te::select(te::floor_mod(from, step) == 0, te::floor_div(from, step),
                                      te::index_constant(-1)));
      }
      std::vector<Scalar> index = window.out.index([&](char axis) -> Coordinate {
        return window.is_space(axis) ? Coordinate(at[window.dimension(axis)])
                                     : window.data.coordinate(i, axis);
      });
      return te::cast(grad.load_or(index, zero), sum) / te::cast(window.count(index, data), sum);
    });
    return te::cast(total, dtype);
  }));
}

RELAY_OP("nn.max_pool2d_grad")
    .doc(
        "Gradient of nn.max_pool2d: each window's goes to its first greatest element; not-a-number "
        "counts as greatest.")
    .input("out_grad", "Gradient of the pool's result.", tensor('T', kFloats))
    .input("data", "The pool's input.", tensor('T'))
    .output("result", "Gradient of the data, of its shape.", tensor('T'))
    .attrs<MaxPool2DAttrs>()
    .example(
        "fn (%g: Tensor[(1, 1, 1, 1), float32], %x: Tensor[(1, 1, 2, 2), float32]) { "
        "nn.max_pool2d_grad(%g, %x, pool_size=[2, 2], strides=[2, 2]) }",
        "[[[[1]]]]", "[[[[1, 4], [3, 2]]]]")
    .relation(infer_grad<MaxPool2DAttrs>)
    .level(2)
    .compute(compute_max_grad);

RELAY_OP("nn.avg_pool2d_grad")
    .doc("Gradient of nn.avg_pool2d: each window's is shared among the elements that count in it.")
    .input("out_grad", "Gradient of the pool's result.", tensor('T', kFloats))
    .input("data", "The pool's input.", tensor('T'))
    .output("result", "Gradient of the data, of its shape.", tensor('T'))
    .attrs<AvgPool2DAttrs>()
    .example(
        "fn (%g: Tensor[(1, 1, 1, 1), float32], %x: Tensor[(1, 1, 2, 2), float32]) { "
        "nn.avg_pool2d_grad(%g, %x, pool_size=[2, 2], strides=[2, 2]) }",
        "[[[[1]]]]", "[[[[1, 4], [3, 2]]]]")
    .relation(infer_grad<AvgPool2DAttrs>)
    .level(2)
    .compute(compute_avg_grad);

}  // namespace
}  // namespace relay
