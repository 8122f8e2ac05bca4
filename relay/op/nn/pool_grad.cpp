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

/// One of the windows that hold an element: its index in the result, and the element's place in it.
struct Holder {
  std::vector<Scalar> index;
  std::vector<Scalar> place;  // on each dimension of space
  Scalar inside;              // false for a window that only begins near the element; null: always
};

/// Σ `value(holder)` over the windows that hold element i of the data. Windows that begin every s
/// elements and have n are at most ⌈n / s⌉ on a dimension; side by side they are one, without any
/// sum. Outside of the result `value` reads what its loads are filled with.
Scalar sum_of_holders(te::Builder& b, const PoolWindow& window, Indices i,
                      const std::function<Scalar(const Holder&)>& value) {
  std::vector<Dim> counts;
  bool one = true;
  for (size_t d = 0; d < 2; ++d) {
    // Elements that lie apart may be of any window that is near.
    const bool apart = window.dilation[d] > 1;
    counts.emplace_back(apart ? window.size[d]
                              : (window.size[d] + window.strides[d] - 1) / window.strides[d]);
    one = one && counts[d].is_int(1);
  }
  auto holder = [&](Indices t) {
    Holder found;
    std::vector<Scalar> at;
    auto require = [&](const Scalar& condition) {
      found.inside = found.inside.node() == nullptr ? condition : found.inside && condition;
    };
    for (size_t d = 0; d < 2; ++d) {
      const int64_t size = window.size[d], stride = window.strides[d];
      Scalar row = window.data.coordinate(i, window.space[d]).whole + window.padding.before[d];
      Scalar step = te::index_constant(stride);
      if (window.dilation[d] > 1) {
        Scalar from = row - t[d] * window.dilation[d];
        if (stride > 1) require(te::floor_mod(from, step) == 0);
        at.push_back(te::floor_div(from, step));
        found.place.push_back(t[d]);
        continue;
      }
      at.push_back(counts[d].is_int(1) ? te::floor_div(row, step)
                                       : te::floor_div(row, step) - t[d]);
      found.place.push_back(row - at[d] * step);
      if (size % stride != 0) require(found.place[d] < size);
    }
    found.index = window.out.index([&](char axis) -> Coordinate {
      return window.is_space(axis) ? Coordinate(at[window.dimension(axis)])
                                   : window.data.coordinate(i, axis);
    });
    return found;
  };
  auto term = [&](Indices t) {
    const Holder found = holder(t);
    Scalar part = value(found);
    if (found.inside.node() == nullptr) return part;
    return te::select(found.inside, part, te::constant(0, part.dtype()));
  };
  const Scalar none[] = {te::index_constant(0), te::index_constant(0)};
  return one ? term(none) : b.sum(counts, term);
}

// Each window's gradient goes to its first greatest element; a not-a-number counts as greatest.
void compute_max_grad(const OpCall& call, te::Builder& b) {
  te::Tensor grad = b.input(0);
  te::Tensor data = b.input(1);
  PoolWindow window(call.attrs<MaxPool2DAttrs>(), 2);
  const DType dtype = data.dtype(), sum = te::wide_float(dtype);
  std::vector<Dim> size(window.size.begin(), window.size.end());
  auto element = [&](Indices i, Indices k) {
    std::vector<Scalar> rows;
    for (size_t d = 0; d < 2; ++d)
      rows.push_back(window.row(d, window.out.coordinate(i, window.space[d]).whole, k[d]));
    std::vector<Scalar> at = window.data_index(i, rows);
    return window.inside() ? data(at) : data.load_or(at, te::lowest(dtype));
  };
  auto nan = [](const Scalar& x) { return te::unary(te::UnaryOp::kIsNan, x); };
  auto place_of = [&](const Scalar& y, const Scalar& x) {
    return te::cast(y * window.size[1] + x, kInt32);
  };
  te::Tensor best = b.map(grad.dims(), [&](Indices i) {
    return b.max(size, [&](Indices k) { return element(i, k); });
  });
  // The place of the first element that attains it. Padding has the least number and may attain
  // it, too, but takes no gradient.
  Scalar beyond = te::constant(window.size[0] * window.size[1], kInt32);
  te::Tensor first = b.map(grad.dims(), [&](Indices i) {
    return b.min(size, [&](Indices k) {
      Scalar x = element(i, k);
      Scalar attains = x == best(i) || nan(x);
      if (!window.inside()) {
        for (size_t d = 0; d < 2; ++d) {
          Scalar row = window.row(d, window.out.coordinate(i, window.space[d]).whole, k[d]);
          Scalar extent = te::from_dim(window.data.extent(data.dims(), window.space[d]));
          attains = attains && row >= 0 && row < extent;
        }
      }
      return te::select(attains, place_of(k[0], k[1]), beyond);
    });
  });
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar total = sum_of_holders(b, window, i, [&](const Holder& holder) {
      Scalar own =
          first.load_or(holder.index, beyond) == place_of(holder.place[0], holder.place[1]);
      Scalar given = te::cast(grad.load_or(holder.index, te::constant(0, dtype)), sum);
      return te::select(own, given, te::constant(0, sum));
    });
    return te::cast(total, dtype);
  }));
}

// Each element gathers its share of the windows that it is in.
void compute_avg_grad(const OpCall& call, te::Builder& b) {
  te::Tensor grad = b.input(0);
  te::Tensor data = b.input(1);
  PoolWindow window(call.attrs<AvgPool2DAttrs>(), 2);
  const DType dtype = data.dtype(), sum = te::wide_float(dtype);
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar total = sum_of_holders(b, window, i, [&](const Holder& holder) {
      Scalar given = te::cast(grad.load_or(holder.index, te::constant(0, dtype)), sum);
      return given / te::cast(window.count(holder.index, data), sum);
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
