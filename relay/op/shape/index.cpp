// Operators that read or write at positions given by a tensor.
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Bounds;
using te::Indices;
using te::Scalar;

Scalar position(const te::Tensor& indices, Indices at) { return te::cast(indices(at), kInt64); }

// A negative index counts from the end.
Scalar wrap_negative(Scalar index, Dim extent) {
  return te::select(index < 0, index + te::from_dim(extent), index);
}

TypeRef infer_take(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo indices = call.tensor(1);
  const auto& attrs = call.attrs<TakeAttrs>();
  if (!attrs.axis) {
    call.require(attrs.batch_dims == 0, "batch_dims needs an axis");
    return TensorType::make(indices.dims, data.dtype);
  }
  auto axis = static_cast<size_t>(normalize_axis(call, *attrs.axis, data.rank()));
  auto limit = static_cast<int64_t>(indices.rank());
  int64_t batch = attrs.batch_dims < 0 ? attrs.batch_dims + limit : attrs.batch_dims;
  call.require(0 <= batch && batch <= limit && batch <= static_cast<int64_t>(axis),
               "batch_dims " + std::to_string(attrs.batch_dims) +
                   " exceeds the axis or the rank of the indices");
  for (int64_t i = 0; i < batch; ++i) {
    call.require_equal(data.dims[i], indices.dims[i],
                       "data " + shape_str(data.dims) + " and indices " + shape_str(indices.dims) +
                           " differ in a batch axis");
  }
  std::vector<Dim> dims(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin() + batch, indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
              data.dims.end());
  return TensorType::make(dims, data.dtype);
}

void compute_take(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<TakeAttrs>();
  te::Tensor data = b.input(0);
  te::Tensor indices = b.input(1);
  if (!attrs.axis) {
    Dim flat[] = {product(data.dims())};
    data = b.reshape(data, flat);
  }
  size_t axis = axis_position(attrs.axis.value_or(0), data.rank());
  size_t batch = axis_position(attrs.batch_dims, indices.rank());
  Bounds bounds = attrs.mode == IndexMode::kClip   ? Bounds::kClamp
                  : attrs.mode == IndexMode::kWrap ? Bounds::kWrap
                                                   : Bounds::kFail;
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
    size_t inner = indices.rank() - batch;
    at.insert(at.end(), i.begin() + static_cast<std::ptrdiff_t>(axis),
              i.begin() + static_cast<std::ptrdiff_t>(axis + inner));
    std::vector<Scalar> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    index.push_back(position(indices, at));
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(axis + inner), i.end());
    return data.load(index, bounds);
  }));
}

TypeRef infer_gather(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo indices = call.tensor(1);
  auto axis =
      static_cast<size_t>(normalize_axis(call, *call.attrs<GatherAttrs>().axis, data.rank()));
  call.require(indices.rank() == data.rank(), "data and indices must have one rank, found " +
                                                  std::to_string(data.rank()) + " and " +
                                                  std::to_string(indices.rank()));
  for (size_t i = 0; i < data.rank(); ++i) {
    if (i == axis) continue;
    call.require_at_most(indices.dims[i], data.dims[i],
                         "indices " + shape_str(indices.dims) + " are longer than data " +
                             shape_str(data.dims) + " on axis " + std::to_string(i));
  }
  return TensorType::make(indices.dims, data.dtype);
}

void compute_gather(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor indices = b.input(1);
  size_t axis = axis_position(*call.attrs<GatherAttrs>().axis, data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar at = wrap_negative(position(indices, i), data.dim(axis));
    return data.load(te::replace(i, axis, at), Bounds::kFail);
  }));
}

// Number of coordinates in the first axis of an index tensor, which must be an integer.
size_t coordinates(const RelationCall& call, Dim extent, std::optional<int64_t> given) {
  if (extent.is_int()) return static_cast<size_t>(extent.as_int());
  call.require(given.has_value(),
               "the first extent of the indices, the number of coordinates, must be known");
  return static_cast<size_t>(*given);
}

TypeRef infer_gather_nd(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo indices = call.tensor(1);
  const auto& attrs = call.attrs<GatherNDAttrs>();
  if (indices.dims[0].is_variable()) return {};
  size_t count = coordinates(call, indices.dims[0], attrs.index_rank);
  call.require(attrs.batch_dims >= 0 && attrs.batch_dims + count <= data.rank() &&
                   attrs.batch_dims < static_cast<int64_t>(indices.rank()),
               std::to_string(count) + " coordinates after " + std::to_string(attrs.batch_dims) +
                   " batch axes do not address data " + shape_str(data.dims));
  for (int64_t i = 0; i < attrs.batch_dims; ++i) {
    call.require_equal(data.dims[i], indices.dims[i + 1],
                       "data " + shape_str(data.dims) + " and indices " + shape_str(indices.dims) +
                           " differ in a batch axis");
  }
  std::vector<Dim> dims(indices.dims.begin() + 1, indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + attrs.batch_dims + static_cast<std::ptrdiff_t>(count),
              data.dims.end());
  return TensorType::make(dims, data.dtype);
}

// The coordinates stored for output position `i`, as an index into `data`.
std::vector<Scalar> coordinates_at(const te::Tensor& indices, const te::Tensor& data, Indices i,
                                   size_t count, size_t batch) {
  std::vector<Scalar> index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
  for (size_t k = 0; k < count; ++k) {
    std::vector<Scalar> at{te::index_constant(static_cast<int64_t>(k))};
    at.insert(at.end(), i.begin(), i.begin() + static_cast<std::ptrdiff_t>(indices.rank() - 1));
    index.push_back(wrap_negative(position(indices, at), data.dim(batch + k)));
  }
  return index;
}

void compute_gather_nd(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor indices = b.input(1);
  const auto& attrs = call.attrs<GatherNDAttrs>();
  te::TensorInfo result = call.result();
  auto batch = static_cast<size_t>(attrs.batch_dims);
  // rank(result) = rank(indices) - 1 + rank(data) - batch - count
  size_t count = indices.rank() - 1 + data.rank() - batch - result.rank();
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Scalar> index = coordinates_at(indices, data, i, count, batch);
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(indices.rank() - 1), i.end());
    return data.load(index, Bounds::kFail);
  }));
}

// Not for the mean.
template <class Mode>
te::Builder::UpdateOp update_op(Mode mode) {
  using Op = te::Builder::UpdateOp;
  if (mode == Mode::kAdd) return Op::kSum;
  if (mode == Mode::kMul) return Op::kProd;
  if (mode == Mode::kMin) return Op::kMin;
  if (mode == Mode::kMax) return Op::kMax;
  return Op::kAssign;
}

TypeRef infer_scatter_nd(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo indices = call.tensor(1);
  te::TensorInfo updates = call.tensor(2);
  if (indices.dims[0].is_variable()) return {};
  size_t count = coordinates(call, indices.dims[0], std::nullopt);
  call.require(count <= data.rank(),
               std::to_string(count) + " coordinates do not address data " + shape_str(data.dims));
  std::vector<Dim> wanted(indices.dims.begin() + 1, indices.dims.end());
  wanted.insert(wanted.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(count),
                data.dims.end());
  std::string message =
      "updates must have shape " + shape_str(wanted) + ", found " + shape_str(updates.dims);
  call.require(updates.rank() == wanted.size(), message);
  for (size_t i = 0; i < wanted.size(); ++i)
    call.require_equal(wanted[i], updates.dims[i], message);
  return call.input(0);
}

void compute_scatter_nd(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor indices = b.input(1);
  te::Tensor updates = b.input(2);
  size_t count = indices.rank() - 1 + data.rank() - updates.rank();
  b.output(b.update(
      data, updates.dims(),
      [&](Indices i) {
        std::vector<Scalar> index = coordinates_at(indices, data, i, count, 0);
        index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(indices.rank() - 1),
                     i.end());
        return index;
      },
      [&](Indices i) { return updates(i); }, update_op(call.attrs<ScatterNDAttrs>().mode)));
}

TypeRef infer_scatter_elements(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo indices = call.tensor(1);
  te::TensorInfo updates = call.tensor(2);
  const auto& attrs = call.attrs<ScatterElementsAttrs>();
  normalize_axis(call, attrs.axis, data.rank());
  std::string message = "data " + shape_str(data.dims) + ", indices " + shape_str(indices.dims) +
                        " and updates " + shape_str(updates.dims) +
                        " must have one rank, indices and " + "updates one shape";
  call.require(indices.rank() == data.rank() && updates.rank() == data.rank(), message);
  for (size_t i = 0; i < data.rank(); ++i)
    call.require_equal(indices.dims[i], updates.dims[i], message);
  return call.input(0);
}

void compute_scatter_elements(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor indices = b.input(1);
  te::Tensor updates = b.input(2);
  const auto& attrs = call.attrs<ScatterElementsAttrs>();
  size_t axis = axis_position(attrs.axis, data.rank());
  auto at = [&](Indices i) {
    return te::replace(i, axis, wrap_negative(position(indices, i), data.dim(axis)));
  };
  if (attrs.reduction != ScatterReduction::kMean) {
    b.output(b.update(
        data, updates.dims(), at, [&](Indices i) { return updates(i); },
        update_op(attrs.reduction)));
    return;
  }
  // The mean over the element itself and all its updates.
  using Op = te::Builder::UpdateOp;
  te::Tensor total = b.update(
      data, updates.dims(), at, [&](Indices i) { return updates(i); }, Op::kSum);
  te::Tensor one =
      b.map(data.dims(), [&](Indices) { return te::cast(te::index_constant(1), data.dtype()); });
  te::Tensor counts = b.update(
      one, updates.dims(), at,
      [&](Indices) { return te::cast(te::index_constant(1), data.dtype()); }, Op::kSum);
  b.output(b.map(data.dims(), [&](Indices i) { return total(i) / counts(i); }));
}

TypeRef infer_one_hot(const RelationCall& call) {
  te::TensorInfo indices = call.tensor(0);
  const auto& attrs = call.attrs<OneHotAttrs>();
  te::TensorInfo on = call.tensor(1);
  te::TensorInfo off = call.tensor(2);
  call.require(
      attrs.depth > 0 && attrs.depth <= kLargestExtent,
      "depth must be positive and not more than 2^60, found " + std::to_string(attrs.depth));
  int64_t axis = normalize_axis(call, attrs.axis, indices.rank() + 1);
  indices.dims.insert(indices.dims.begin() + axis, Dim(attrs.depth));
  return TensorType::make(indices.dims, attrs.dtype.value_or(on.dtype));
}

void compute_one_hot(const OpCall& call, te::Builder& b) {
  te::Tensor indices = b.input(0);
  te::Tensor on = b.input(1);
  te::Tensor off = b.input(2);
  te::TensorInfo result = call.result();
  const auto& attrs = call.attrs<OneHotAttrs>();
  size_t axis = axis_position(attrs.axis, result.rank());
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar index = position(indices, te::without(i, axis));
    Scalar hot = index == i[axis];
    if (attrs.from_end) hot = hot || index + attrs.depth == i[axis];
    return te::cast(te::select(hot, on({}), off({})), result.dtype);
  }));
}

ExprRef transposed(const ExprRef& x, std::vector<int64_t> axes) {
  TransposeAttrs attrs;
  attrs.axes = std::move(axes);
  return call_op("transpose", {x}, Attrs::make(attrs));
}

// Gradients of elements that are read at one index add up: the axis first, by scatter_nd.
std::vector<ExprRef> take_gradient(const GradientCall& call) {
  const auto& attrs = call.attrs<TakeAttrs>();
  te::TensorInfo data = call.call.tensor(0);
  te::TensorInfo indices = call.call.tensor(1);
  if (!data.dtype.is_float()) return {ExprRef(), ExprRef()};
  size_t axis = axis_position(attrs.axis.value_or(0), data.rank());
  Dim extent = attrs.axis ? data.dims[axis] : product(data.dims);
  if (attrs.batch_dims != 0 || (attrs.mode != IndexMode::kFast && !extent.is_int())) {
    return derived_gradients(call);
  }
  ExprRef at = call.args[1];
  if (attrs.mode == IndexMode::kClip) {
    ClipAttrs range;
    range.a_min.value = 0;
    range.a_max.value = static_cast<double>(extent.as_int() - 1);
    at = call_op("clip", {at}, Attrs::make(range));
  } else if (attrs.mode == IndexMode::kWrap) {
    at = call_op("floor_mod", {at, make_constant(NDArray::scalar(indices.dtype, extent.as_int()))});
  }
  ExpandDimsAttrs first;
  first.axis.value = 0;
  at = call_op("expand_dims", {at}, Attrs::make(first));
  ExprRef zeros = call_op("zeros_like", {call.args[0]});
  ExprRef updates = call.gradient();
  std::vector<int64_t> there, back(data.rank());
  if (!attrs.axis) {
    ReshapeAttrs flat;
    flat.newshape.value = {-1};
    zeros = call_op("reshape", {zeros}, Attrs::make(flat));
  } else if (axis > 0) {
    // The axis and those of the indices come first.
    std::vector<int64_t> order;
    for (size_t i = 0; i < indices.rank(); ++i) order.push_back(static_cast<int64_t>(axis + i));
    for (size_t i = 0; i < axis; ++i) order.push_back(static_cast<int64_t>(i));
    for (size_t i = axis + 1; i < data.rank(); ++i) {
      order.push_back(static_cast<int64_t>(i + indices.rank() - 1));
    }
    updates = transposed(updates, order);
    there.push_back(static_cast<int64_t>(axis));
    for (size_t i = 0; i < data.rank(); ++i) {
      if (i != axis) there.push_back(static_cast<int64_t>(i));
    }
    zeros = transposed(zeros, there);
  }
  ScatterNDAttrs add;
  add.mode = ScatterMode::kAdd;
  ExprRef sum = call_op("scatter_nd", {zeros, at, updates}, Attrs::make(add));
  if (!attrs.axis) {
    sum = call_op("reshape_like", {sum, call.args[0]});
  } else if (axis > 0) {
    for (size_t i = 0; i < there.size(); ++i) {
      back[static_cast<size_t>(there[i])] = static_cast<int64_t>(i);
    }
    sum = transposed(sum, back);
  }
  return {sum, ExprRef()};
}

// Elements that are read at one place add up.
std::vector<ExprRef> gather_nd_gradient(const GradientCall& call) {
  const bool batched = call.attrs<GatherNDAttrs>().batch_dims != 0;
  if (!call.call.tensor(0).dtype.is_float()) return {ExprRef(), ExprRef()};
  if (batched || !call.call.tensor(1).dims[0].is_int()) return derived_gradients(call);
  ScatterNDAttrs add;
  add.mode = ScatterMode::kAdd;
  const ExprRef zeros = call_op("zeros_like", {call.args[0]});
  return {call_op("scatter_nd", {zeros, call.args[1], call.gradient()}, Attrs::make(add)),
          ExprRef()};
}

// An added value passes its gradient on; the derivation finds the update that an assignment keeps.
std::vector<ExprRef> scatter_nd_gradient(const GradientCall& call) {
  te::TensorInfo data = call.call.tensor(0);
  bool adds = call.attrs<ScatterNDAttrs>().mode == ScatterMode::kAdd;
  if (!data.dtype.is_float()) return {ExprRef(), ExprRef(), ExprRef()};
  if (!adds || !call.call.tensor(1).dims[0].is_int()) return derived_gradients(call);
  return {call.gradient(), ExprRef(),
          call_op("gather_nd", {call.gradient(), call.args[1]}, Attrs::make(GatherNDAttrs()))};
}

RELAY_OP("take")
    .doc("Elements at given positions along an axis.")
    .input("data", "Tensor.", tensor('T'))
    .input("indices", "Integer tensor of positions.", tensor(kIntegers))
    .output("result", "Tensor of the indices' axes in place of the axis.", tensor('T'))
    .attrs<TakeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { take(%x, Constant(1, (2), int32), axis=1) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_take)
    .level(3)
    .compute(compute_take)
    .gradient(take_gradient);

RELAY_OP("gather")
    .doc("result[i…] = data[i… with indices[i…] on the axis]. Negative indices count from the end.")
    .input("data", "Tensor.", tensor('T'))
    .input("indices", "Integer tensor of the data's rank.", tensor(kIntegers))
    .output("result", "Tensor of the indices' shape.", tensor('T'))
    .attrs<GatherAttrs>()
    .example(
        "fn (%x: Tensor[(2, 3), float32], %i: Tensor[(2, 1), int32]) { gather(%x, %i, axis=1) }",
        "[[1, 2, 3], [4, 5, 6]]", "[[2], [0]]")
    .relation(infer_gather)
    .level(3)
    .compute(compute_gather);

RELAY_OP("gather_nd")
    .doc("Elements or slices at coordinates, which are the first axis of the indices.")
    .input("data", "Tensor.", tensor('T'))
    .input("indices", "Integer tensor (coordinates, …).", tensor(kIntegers).rank(1, kAnyRank))
    .output("result", "Tensor of the indices' and the data's remaining axes.", tensor('T'))
    .attrs<GatherNDAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32], %i: Tensor[(2, 2), int32]) { gather_nd(%x, %i) }",
             "[[1, 2, 3], [4, 5, 6]]", "[[0, 1], [2, 0]]")
    .relation(infer_gather_nd)
    .level(3)
    .compute(compute_gather_nd)
    .gradient(gather_nd_gradient);

RELAY_OP("scatter_nd")
    .doc("data with elements or slices at coordinates updated, in row-major order of the updates.")
    .input("data", "Tensor.", tensor('T'))
    .input("indices", "Integer tensor (coordinates, …).", tensor(kIntegers).rank(1, kAnyRank))
    .input("updates", "Tensor of the indices' remaining and the data's remaining axes.",
           tensor('T'))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<ScatterNDAttrs>()
    .example(
        "fn (%x: Tensor[(3), float32], %i: Tensor[(1, 2), int32]) { scatter_nd(%x, %i, "
        "Constant(10, (2), float32), mode=\"add\") }",
        "[1, 2, 3]", "[[2, 2]]")
    .relation(infer_scatter_nd)
    .level(3)
    .compute(compute_scatter_nd)
    .gradient(scatter_nd_gradient);

RELAY_OP("scatter_elements")
    .doc(
        "data with elements at positions along an axis updated, in row-major order of the updates.")
    .input("data", "Tensor.", tensor('T'))
    .input("indices", "Integer tensor of the data's rank.", tensor(kIntegers))
    .input("updates", "Tensor of the indices' shape.", tensor('T'))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<ScatterElementsAttrs>()
    .example(
        "fn (%x: Tensor[(3), float32], %i: Tensor[(2), int32]) { scatter_elements(%x, %i, "
        "Constant(10, (2), float32), axis=0) }",
        "[1, 2, 3]", "[2, 0]")
    .relation(infer_scatter_elements)
    .level(3)
    .compute(compute_scatter_elements);

RELAY_OP("one_hot")
    .doc("on_value where the position on the class axis is the index, else off_value.")
    .input("indices", "Integer tensor.", tensor(kIntegers))
    .input("on_value", "Scalar.", tensor('T').rank(0))
    .input("off_value", "Scalar.", tensor('T').rank(0))
    .output("result", "Tensor of the indices' shape with the axis of classes.", tensor())
    .attrs<OneHotAttrs>()
    .example(
        "fn (%i: Tensor[(2), int32]) { one_hot(%i, 1f, 0f, depth=3, axis=-1, dtype=\"float32\") }",
        "[2, 0]")
    .relation(infer_one_hot)
    .level(10)
    .compute(compute_one_hot);

}  // namespace
}  // namespace relay
