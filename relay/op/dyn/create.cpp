// Operators that create tensors of a shape that is an argument, or spread one over it.
#include <relay/op/dyn/dyn.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

TypeRef infer_filled(const RelationCall& call) {
  auto dims = extents(call, 0, "shape");
  if (!dims) return {};
  return TensorType::make(*dims, call.attrs<InitOpAttrs>().dtype.value_or(kFloat32));
}

ComputeFn filled(int value) {
  return [value](const OpCall& call, te::Builder& b) {
    te::TensorInfo result = call.result();
    b.output(b.map(result.dims,
                   [&](Indices) { return te::cast(te::index_constant(value), result.dtype); }));
  };
}

TypeRef infer_full(const RelationCall& call) {
  auto dims = extents(call, 1, "shape");
  if (!dims) return {};
  DType dtype = call.tensor(0).dtype;
  return TensorType::make(*dims, call.attrs<InitOpAttrs>().dtype.value_or(dtype));
}

TypeRef infer_broadcast_to(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  auto dims = extents(call, 1, "shape");
  if (!dims) return {};
  std::string message =
      "shape " + shape_str(data.dims) + " does not broadcast to " + shape_str(*dims);
  call.require(data.rank() <= dims->size(), "data " + shape_str(data.dims) +
                                                " has more axes than the " +
                                                std::to_string(dims->size()) + " entries of shape");
  call.require_broadcasts(data.dims, *dims, message);
  return TensorType::make(*dims, data.dtype);
}

TypeRef infer_one_hot(const RelationCall& call) {
  te::TensorInfo indices = call.tensor(0);
  const auto& attrs = call.attrs<OneHotAttrs>();
  Dim depth = call.value_dim(3, 0);
  call.require_at_most(1, depth, "depth must be positive, found " + depth.str());
  call.require_at_most(depth, kLargestExtent - 1, "depth is beyond 2^60");
  int64_t axis = normalize_axis(call, attrs.axis, indices.rank() + 1);
  indices.dims.insert(indices.dims.begin() + axis, depth);
  return TensorType::make(indices.dims, attrs.dtype.value_or(call.tensor(1).dtype));
}

void compute_one_hot(const OpCall& call, te::Builder& b) {
  te::Tensor indices = b.input(0), on = b.input(1), off = b.input(2), depth = b.input(3);
  bool from_end = call.attrs<OneHotAttrs>().from_end;
  te::TensorInfo result = call.result();
  size_t axis = axis_position(call.attrs<OneHotAttrs>().axis, result.rank());
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar index = te::cast(indices(te::without(i, axis)), kInt64);
    Scalar hot = index == i[axis];
    if (from_end) hot = hot || index + te::cast(depth({}), kInt64) == i[axis];
    return te::cast(te::select(hot, on({}), off({})), result.dtype);
  }));
}

RELAY_OP("dyn.zeros")
    .doc("A tensor of zeros whose shape is an argument.")
    .input("shape", "Extents of the result.", list_spec())
    .output("result", "Zeros of the attribute's dtype, float32 by default.", tensor())
    .attrs<InitOpAttrs>()
    .relation(infer_filled)
    .example("fn (%shape: Tensor[(2), int64]) { dyn.zeros(%shape, dtype=\"int8\") }", "[2, 3]")
    .level(3)
    .compute(filled(0));

RELAY_OP("dyn.ones")
    .doc("A tensor of ones whose shape is an argument.")
    .input("shape", "Extents of the result.", list_spec())
    .output("result", "Ones of the attribute's dtype, float32 by default.", tensor())
    .attrs<InitOpAttrs>()
    .relation(infer_filled)
    .example("fn (%shape: Tensor[(2), int64]) { dyn.ones(%shape) }", "[2, 3]")
    .level(3)
    .compute(filled(1));

RELAY_OP("dyn.full")
    .doc("A tensor of one value whose shape is an argument.")
    .input("fill_value", "Scalar.", tensor().rank(0))
    .input("shape", "Extents of the result.", list_spec())
    .output("result", "The value in the attribute's dtype, its own by default.", tensor())
    .attrs<InitOpAttrs>()
    .relation(infer_full)
    .example("fn (%shape: Tensor[(2), int64]) { dyn.full(2.5f, %shape) }", "[2, 3]")
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) {
      te::Tensor fill = b.input(0);
      te::TensorInfo result = call.result();
      b.output(b.map(result.dims, [&](Indices) { return te::cast(fill({}), result.dtype); }));
    });

RELAY_OP("dyn.broadcast_to")
    .doc(
        "The tensor repeated along axes of extent 1 and new leading axes to a shape that is an "
        "argument.")
    .input("data", "Tensor.", tensor('T'))
    .input("shape", "Extents of the result.", list_spec())
    .output("result", "The repeated tensor.", tensor('T'))
    .attrs<InitOpAttrs>()
    .relation(infer_broadcast_to)
    .example(
        "fn (%x: Tensor[(3, 1), float32], %shape: Tensor[(2), int64]) { dyn.broadcast_to(%x, "
        "%shape) }",
        "[[1], [2], [3]]", "[3, 2]")
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) {
      te::Tensor data = b.input(0);
      b.output(b.map(call.result().dims, [&](Indices i) { return data.broadcast(i); }));
    });

RELAY_OP("dyn.one_hot")
    .doc(
        "on_value where the position on the class axis is the index, else off_value; how many "
        "classes there are is an argument.")
    .input("indices", "Classes.", tensor(kIntegers))
    .input("on_value", "Scalar.", tensor('T').rank(0))
    .input("off_value", "Scalar.", tensor('T').rank(0))
    .input("depth", "Number of classes: a scalar.", tensor(kIndices).rank(0))
    .output("result", "Of the attribute's dtype, by default that of on_value.", tensor())
    .attrs<OneHotAttrs>()
    .relation(infer_one_hot)
    .example("fn (%i: Tensor[(3), int32], %depth: int32) { dyn.one_hot(%i, 5, -2, %depth) }",
             "[0, 5, -1]", "3")
    .level(10)
    .compute(compute_one_hot);

}  // namespace
}  // namespace relay
