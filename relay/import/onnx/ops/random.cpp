// Random numbers. They follow from the seed of the node: two runs give the same ones. A node
// without a seed gets one from the name of its output, so that nodes differ.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

uint64_t seed_of(NodeContext& node) {
  if (node.has_attr("seed")) {
    auto seed = static_cast<float>(node.attr_float("seed"));
    uint32_t bits;
    std::memcpy(&bits, &seed, sizeof bits);
    return bits;
  }
  // FNV-1a.
  uint64_t hash = 14695981039346656037u;
  for (char c : node.node().outputs.empty() ? std::string_view() : node.node().outputs[0]) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return hash;
}

GraphValue key_of(NodeContext& node) {
  std::vector<uint64_t> words{seed_of(node), 0, 0, 0, 0, 0, 0, 0, uint64_t{1} << 63, 0};
  return node.constant_value(NDArray::from<uint64_t>(Shape{10}, words));
}

// The extents, if all are numbers.
std::optional<std::vector<int64_t>> extents_of(std::span<const Dim> dims) {
  std::vector<int64_t> shape;
  for (Dim dim : dims) {
    if (!dim.is_int()) return std::nullopt;
    shape.push_back(dim.as_int());
  }
  return shape;
}

// ---- Extents that a run decides -----------------------------------------------------------------

// The numbers from 0 to 1, without 1, of one stream at each place: SplitMix64 of the place, so that
// they do not depend on how many there are.
GraphValue uniform_at(NodeContext& node, const GraphValue& places, uint64_t stream, DType dtype) {
  auto number = [&](uint64_t value) {
    return node.constant_value(NDArray::from<uint64_t>(Shape{}, std::vector<uint64_t>{value}));
  };
  auto times = [&](const GraphValue& x, uint64_t factor) {
    return node.emit("multiply", {x, number(factor)});
  };
  auto folded = [&](const GraphValue& x, uint64_t shift) {
    return node.emit("bitwise_xor", {x, node.emit("right_shift", {x, number(shift)})});
  };
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  const uint64_t start = (seed_of(node) ^ (stream << 63)) * 0xd1342543de82ef95 + kStep;
  GraphValue bits = node.emit("add", {times(node.cast(places, kUInt64), kStep), number(start)});
  bits = times(folded(bits, 30), 0xbf58476d1ce4e5b9);
  bits = folded(times(folded(bits, 27), 0x94d049bb133111eb), 31);
  const int kept = dtype == kFloat64 ? 53 : 24;
  bits = node.emit("right_shift", {bits, number(static_cast<uint64_t>(64 - kept))});
  return Arithmetic(node, dtype).multiply(node.cast(bits, dtype), std::ldexp(1.0, -kept));
}

// Numbers for the shape of `like`.
GraphValue drawn_like(NodeContext& node, bool is_normal, DType dtype, const GraphValue& like,
                      double first, double second) {
  node.require(dtype.is_float(), "dtype is " + std::string(dtype.name()));
  DType wide = dtype == kFloat64 ? kFloat64 : kFloat32;
  GraphValue shape = shape_value(node, like);
  GraphValue count = known_or(node, {product(like.dims())}, {}, kInt64,
                              [&] { return node.emit("prod", {shape}); });
  GraphValue places = counted(node, count);
  Arithmetic with(node, wide);
  GraphValue draws = uniform_at(node, places, 0, wide);
  if (is_normal) {
    // Box and Muller's way.
    GraphValue far = node.emit("log", {with.subtract(1.0, draws)});
    far = node.emit("sqrt", {with.multiply(far, -2.0)});
    GraphValue turn = with.multiply(uniform_at(node, places, 1, wide), 2 * std::numbers::pi);
    draws = with.multiply(far, node.emit("cos", {turn}));
    draws = with.add(with.multiply(draws, second), first);
  } else {
    draws = with.add(with.multiply(draws, second - first), first);
  }
  draws = any_unknown(like.dims()) ? node.emit("dyn.reshape", {draws, shape}, {{"allowzero", true}})
                                   : node.reshape(draws, like.dims());
  return node.cast(draws, dtype);
}

// ---- Distributions ------------------------------------------------------------------------------

// Numbers of a distribution with two parameters; narrow dtypes are rounded from float32.
GraphValue drawn(NodeContext& node, const char* op, DType dtype, const std::vector<int64_t>& shape,
                 double first, double second) {
  node.require(dtype.is_float(), "dtype is " + std::string(dtype.name()));
  node.require_rank(shape.size());
  for (int64_t extent : shape) node.require(extent >= 0, "shape has " + std::to_string(extent));
  DType wide = dtype == kFloat64 ? kFloat64 : kFloat32;
  Values args{key_of(node), node.scalar(wide, first), node.scalar(wide, second)};
  GraphValue both = node.emit(op, args, {{"out_shape", shape}, {"out_dtype", wide}});
  return node.cast(node.field(both, 1), dtype);
}

// Of two parameters: their names. They are 0 and 1 where the node does not say.
struct Distribution {
  bool is_normal;
  const char* op;
  const char* first;
  const char* second;
};
constexpr Distribution kNormal{true, "random.normal", "mean", "scale"};
constexpr Distribution kUniform{false, "random.uniform", "low", "high"};

Values of_shape(NodeContext& node, const Distribution& of) {
  double first = node.attr_float(of.first, 0), second = node.attr_float(of.second, 1);
  DType dtype = node.attr_dtype("dtype", kFloat32);
  return {drawn(node, of.op, dtype, node.attr_ints("shape"), first, second)};
}

Values of_input(NodeContext& node, const Distribution& of) {
  double first = node.attr_float(of.first, 0), second = node.attr_float(of.second, 1);
  GraphValue x = node.input(0);
  DType dtype = node.attr_dtype("dtype", x.dtype().is_float() ? x.dtype() : kFloat32);
  if (auto shape = extents_of(x.dims())) return {drawn(node, of.op, dtype, *shape, first, second)};
  return {drawn_like(node, of.is_normal, dtype, x, first, second)};
}

Values convert_normal(NodeContext& node) { return of_shape(node, kNormal); }
Values convert_normal_like(NodeContext& node) { return of_input(node, kNormal); }
Values convert_uniform(NodeContext& node) { return of_shape(node, kUniform); }
Values convert_uniform_like(NodeContext& node) { return of_input(node, kUniform); }
RELAY_ONNX("RandomNormal", 1, convert_normal)
RELAY_ONNX("RandomNormalLike", 1, convert_normal_like)
RELAY_ONNX("RandomUniform", 1, convert_uniform)
RELAY_ONNX("RandomUniformLike", 1, convert_uniform_like)

Values convert_bernoulli(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.dtype().is_float(), "the data are " + std::string(x.dtype().name()));
  DType dtype = node.attr_dtype("dtype", x.dtype());
  DType wide = x.dtype() == kFloat64 ? kFloat64 : kFloat32;
  auto shape = extents_of(x.dims());
  GraphValue draws =
      shape ? drawn(node, kUniform.op, wide, *shape, 0, 1) : drawn_like(node, false, wide, x, 0, 1);
  return {node.cast(node.emit("less", {draws, node.cast(x, wide)}), dtype)};
}
RELAY_ONNX("Bernoulli", 15, convert_bernoulli)

// The input holds logarithms of what the categories weigh.
Values convert_multinomial(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() == 2, "the data have " + std::to_string(x.rank()) + " axes, not 2");
  DType dtype = node.attr_dtype("dtype", kInt32);
  node.require(dtype == kInt32 || dtype == kInt64, "dtype is " + std::string(dtype.name()));
  int64_t samples = node.attr_int("sample_size", 1);
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(samples > 0 && samples < kMost, "sample_size is " + std::to_string(samples));
  DType wide = x.dtype() == kFloat64 ? kFloat64 : kFloat32;
  GraphValue weights = node.emit("nn.softmax", {node.cast(x, wide)}, {{"axis", 1}});
  GraphValue both =
      node.emit("random.multinomial", {key_of(node), weights}, {{"num_samples", samples}});
  return {node.cast(node.field(both, 1), dtype)};
}
RELAY_ONNX("Multinomial", 7, convert_multinomial)

}  // namespace
}  // namespace relay::onnx
