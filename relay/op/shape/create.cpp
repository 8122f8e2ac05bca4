// Operators that create tensors or spread one over a shape.
#include <cmath>

#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/precision_rules.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

std::vector<Dim> shape_attr(const RelationCall& call,
                            const std::optional<std::vector<int64_t>>& shape) {
  call.require(shape.has_value(), "the shape is missing");
  std::vector<Dim> dims;
  for (int64_t extent : *shape) {
    call.require(extent >= 0 && extent <= kLargestExtent,
                 "an extent of the shape is out of range: " + std::to_string(extent));
    dims.emplace_back(extent);
  }
  return dims;
}

TypeRef infer_init(const RelationCall& call) {
  const auto& attrs = call.attrs<InitOpAttrs>();
  return TensorType::make(shape_attr(call, attrs.shape), attrs.dtype.value_or(kFloat32));
}

TypeRef infer_full(const RelationCall& call) {
  te::TensorInfo fill = call.tensor(0);
  const auto& attrs = call.attrs<InitOpAttrs>();
  return TensorType::make(shape_attr(call, attrs.shape), attrs.dtype.value_or(fill.dtype));
}

TypeRef infer_broadcast_to(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<InitOpAttrs>();
  std::vector<Dim> dims = shape_attr(call, attrs.shape);
  auto joined = broadcast_shapes(data.dims, dims);
  std::string message =
      "shape " + shape_str(data.dims) + " does not broadcast to " + shape_str(dims);
  call.require(joined && *joined == dims, message);
  call.require_broadcasts(data.dims, dims, message);
  return TensorType::make(dims, data.dtype);
}

TypeRef infer_broadcast_to_like(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo like = call.tensor(1);
  auto joined = broadcast_shapes(data.dims, like.dims);
  std::string message =
      "shape " + shape_str(data.dims) + " does not broadcast to " + shape_str(like.dims);
  call.require(joined && joined->size() == like.rank(), message);
  for (size_t i = 0; i < like.rank(); ++i) {
    call.explain((*joined)[i], message);
    call.require_equal((*joined)[i], like.dims[i], message);
  }
  call.require_broadcasts(data.dims, like.dims, message);
  return call.input(1);
}

void compute_broadcast(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  b.output(b.map(call.result().dims, [&](Indices i) { return data.broadcast(i); }));
}

void compute_constant(const OpCall& call, te::Builder& b, int value) {
  te::TensorInfo result = call.result();
  b.output(b.map(result.dims, [&](Indices) {
    return result.dtype.is_float() ? te::constant(static_cast<double>(value), result.dtype)
                                   : te::constant(value, result.dtype);
  }));
}

void compute_full(const OpCall& call, te::Builder& b, size_t fill_input) {
  te::Tensor fill = b.input(fill_input);
  te::TensorInfo result = call.result();
  b.output(b.map(result.dims, [&](Indices) { return te::cast(fill({}), result.dtype); }));
}

TypeRef infer_full_like(const RelationCall& call) { return call.input(0); }

double scalar_value(const NDArray& array) {
  return dispatch(array.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return static_cast<double>(static_cast<ComputeType<T>>(array.template data<T>()[0]));
  });
}

constexpr int64_t kLongestRange = 1'000'000'000'000'000;  // exclusive

// The number of integers from start before stop.
int64_t count_integers(int64_t start, int64_t stop, int64_t step) {
  __int128 distance = static_cast<__int128>(stop) - start;
  __int128 by = step;
  if (by < 0) {
    distance = -distance;
    by = -by;
  }
  __int128 count = distance <= 0 ? 0 : (distance + by - 1) / by;
  return count < kLongestRange ? static_cast<int64_t>(count) : kLongestRange;
}

TypeRef infer_arange(const RelationCall& call) {
  DType dtype = call.tensor(0).dtype;
  DType result = call.attrs<ArangeAttrs>().dtype.value_or(dtype);
  std::optional<NDArray> start = call.value(0);
  std::optional<NDArray> stop = call.value(1);
  std::optional<NDArray> step = call.value(2);
  const char* too_many = "the range has too many elements";
  if (step) call.require(scalar_value(*step) != 0, "step must not be 0");
  Dim extent = Dim::any();
  if (start && stop && step && dtype.is_integer()) {
    int64_t count = count_integers(start->element_as_int64(0), stop->element_as_int64(0),
                                   step->element_as_int64(0));
    call.require(count < kLongestRange, too_many);
    extent = Dim(count);
  } else if (start && stop && step) {
    double count = std::ceil((scalar_value(*stop) - scalar_value(*start)) / scalar_value(*step));
    call.require(count < static_cast<double>(kLongestRange), too_many);
    extent = Dim(count > 0 ? static_cast<int64_t>(count) : 0);
  } else if (dtype.is_integer()) {
    for (const auto& known : {start, stop, step}) {
      bool far = known && std::abs(scalar_value(*known)) > static_cast<double>(kLargestExtent);
      call.require(!far, "start, stop and step must lie within 2^60 if one of them is not known");
    }
    Dim from = call.value_dim(0, 0), to = call.value_dim(1, 0), by = call.value_dim(2, 0);
    bool down = by.is_int() && by.as_int() < 0;
    Dim distance = down ? from - to : to - from;
    Dim count = ceil_div(distance, down ? Dim(0) - by : by);
    call.explain(distance, too_many);
    call.explain(count, "step must not be 0", /*division=*/true);
    call.explain(count, too_many);
    extent = max(count, Dim(0));
    call.require_at_most(extent, Dim(kLongestRange - 1), too_many);
  }
  Dim dims[] = {extent};
  return TensorType::make(dims, result);
}

void compute_arange(const OpCall& call, te::Builder& b) {
  te::Tensor start = b.input(0);
  te::Tensor step = b.input(2);
  te::TensorInfo result = call.result();
  b.output(b.map(result.dims, [&](Indices i) {
    return te::cast(start({}) + step({}) * te::cast(i[0], start.dtype()), result.dtype);
  }));
}

// The length of a range of floats is no term over integers. So it is computed as a number, and a
// range of integers counts. If there is no such number, the integers make the range fail as the
// floats would: with a step of 0, or with more elements than any range has.
ExprRef counted_arange(const OpCall& call, std::span<const ExprRef> args) {
  DType dtype = call.tensor(0).dtype;
  if (!dtype.is_float()) return {};
  bool constant = true;
  for (const ExprRef& arg : args) constant &= arg->is<Constant>();
  if (constant) return {};
  auto cast = [](const ExprRef& expr, DType to) {
    CastAttrs attrs;
    attrs.dtype.value = to;
    return call_op("cast", {expr}, Attrs::make(attrs));
  };
  ExprRef start = cast(args[0], kFloat64), stop = cast(args[1], kFloat64),
          step = cast(args[2], kFloat64);
  ExprRef distance = call_op("subtract", {stop, start});
  ExprRef count = call_op("ceil", {call_op("divide", {distance, step})});
  auto number = [](int64_t value) { return make_constant(NDArray::scalar_int(kInt64, value)); };
  auto real = [](double value) { return make_constant(NDArray::scalar(kFloat64, value)); };
  constexpr double kMost = 0x1p60;
  ExprRef fits = call_op("less", {count, real(kMost)});  // false for nan
  ExprRef whole = cast(call_op("maximum", {count, real(0)}), kInt64);
  ExprRef length = call_op("where", {fits, whole, number(static_cast<int64_t>(kMost))});
  ExprRef is_zero = call_op("equal", {step, real(0)});
  ExprRef by = call_op("where", {is_zero, number(0), number(1)});
  ExprRef index = call_op("arange", {number(0), length, by});
  ExprRef scaled = call_op("multiply", {args[2], cast(index, dtype)});
  return cast(call_op("add", {args[0], scaled}), call.result().dtype);
}

RELAY_OP("zeros")
    .doc("A tensor of zeros.")
    .output("result", "Tensor of the given shape and dtype.", tensor())
    .attrs<InitOpAttrs>()
    .example("fn () { zeros(shape=[2, 2], dtype=\"int32\") }")
    .relation(infer_init)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_constant(call, b, 0); });

RELAY_OP("ones")
    .doc("A tensor of ones.")
    .output("result", "Tensor of the given shape and dtype.", tensor())
    .attrs<InitOpAttrs>()
    .example("fn () { ones(shape=[3], dtype=\"float32\") }")
    .relation(infer_init)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_constant(call, b, 1); });

RELAY_OP("zeros_like")
    .doc("Zeros in the shape and dtype of another tensor.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .example("fn (%x: Tensor[(3), float32]) { zeros_like(%x) }", "[1, 2, 3]")
    .relation(identity_relation())
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_constant(call, b, 0); });

RELAY_OP("ones_like")
    .doc("Ones in the shape and dtype of another tensor.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .example("fn (%x: Tensor[(3), float32]) { ones_like(%x) }", "[1, 2, 3]")
    .relation(identity_relation())
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_constant(call, b, 1); });

RELAY_OP("full")
    .doc("A tensor of one value.")
    .input("fill_value", "Scalar.", tensor().rank(0))
    .output("result", "Tensor of the given shape and dtype.", tensor())
    .attrs<InitOpAttrs>()
    .example("fn () { full(7, shape=[2, 2], dtype=\"int32\") }")
    .relation(infer_full)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_full(call, b, 0); });

RELAY_OP("full_like")
    .doc("One value in the shape and dtype of another tensor.")
    .input("data", "Tensor.", tensor('T'))
    .input("fill_value", "Scalar.", tensor().rank(0))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .example("fn (%x: Tensor[(3), float32]) { full_like(%x, 7f) }", "[1, 2, 3]")
    .relation(infer_full_like)
    .level(3)
    .compute([](const OpCall& call, te::Builder& b) { compute_full(call, b, 1); });

RELAY_OP("arange")
    .doc("start, start + step, … before stop.")
    .input("start", "Scalar.", tensor('T', kNumbers).rank(0))
    .input("stop", "Scalar.", tensor('T').rank(0))
    .input("step", "Scalar other than 0.", tensor('T').rank(0))
    .output("result", "Vector of the given dtype.", tensor())
    .attrs<ArangeAttrs>()
    .example("fn () { arange(1, 10, 3) }")
    .relation(infer_arange)
    .level(3)
    .compute(compute_arange)
    .column(counted_form(), counted_arange)
    // Narrow floats cannot count far.
    .column(precision_rules(), PrecisionRule::kNever);

RELAY_OP("broadcast_to")
    .doc("The tensor repeated along axes of extent 1 and new leading axes.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the given shape.", tensor('T'))
    .attrs<InitOpAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { broadcast_to(%x, shape=[2, 3]) }", "[1, 2, 3]")
    .relation(infer_broadcast_to)
    .level(4)
    .compute(compute_broadcast);

RELAY_OP("broadcast_to_like")
    .doc("The tensor broadcast to the shape of another one.")
    .input("data", "Tensor.", tensor('T'))
    .input("broadcast_type", "Tensor whose shape counts.", tensor('T'))
    .output("result", "Tensor of the shape of broadcast_type.", tensor('T'))
    .example("fn (%x: float32, %y: Tensor[(3), float32]) { broadcast_to_like(%x, %y) }", "1",
             "[1, 2, 3]")
    .relation(infer_broadcast_to_like)
    .level(10)
    .compute(compute_broadcast);

}  // namespace
}  // namespace relay
