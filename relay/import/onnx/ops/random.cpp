// Random numbers. They follow from the seed of the node: two runs give the same ones. A node
// without a seed gets one from the name of its output, so that nodes differ.
#include <cstring>

#include <relay/import/onnx/context.h>

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

std::vector<int64_t> extents_of(NodeContext& node, std::span<const Dim> dims) {
  std::vector<int64_t> shape;
  for (Dim dim : dims) {
    node.require(dim.is_int(), "the extents of the numbers are not known");
    shape.push_back(dim.as_int());
  }
  return shape;
}

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

struct Shaped {
  DType dtype;
  std::vector<int64_t> shape;
};
Shaped shape_attribute(NodeContext& node) {
  return {node.attr_dtype("dtype", kFloat32), node.attr_ints("shape")};
}
Shaped shape_of_input(NodeContext& node) {
  GraphValue x = node.input(0);
  DType dtype = node.attr_dtype("dtype", x.dtype().is_float() ? x.dtype() : kFloat32);
  return {dtype, extents_of(node, x.dims())};
}

GraphValue normal(NodeContext& node, const Shaped& of) {
  double mean = node.attr_float("mean", 0), scale = node.attr_float("scale", 1);
  return drawn(node, "random.normal", of.dtype, of.shape, mean, scale);
}
GraphValue uniform(NodeContext& node, const Shaped& of) {
  double low = node.attr_float("low", 0), high = node.attr_float("high", 1);
  return drawn(node, "random.uniform", of.dtype, of.shape, low, high);
}

Values convert_normal(NodeContext& node) { return {normal(node, shape_attribute(node))}; }
Values convert_normal_like(NodeContext& node) { return {normal(node, shape_of_input(node))}; }
Values convert_uniform(NodeContext& node) { return {uniform(node, shape_attribute(node))}; }
Values convert_uniform_like(NodeContext& node) { return {uniform(node, shape_of_input(node))}; }
RELAY_ONNX("RandomNormal", 1, convert_normal)
RELAY_ONNX("RandomNormalLike", 1, convert_normal_like)
RELAY_ONNX("RandomUniform", 1, convert_uniform)
RELAY_ONNX("RandomUniformLike", 1, convert_uniform_like)

Values convert_bernoulli(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.dtype().is_float(), "the data are " + std::string(x.dtype().name()));
  DType dtype = node.attr_dtype("dtype", x.dtype());
  DType wide = x.dtype() == kFloat64 ? kFloat64 : kFloat32;
  GraphValue draws = drawn(node, "random.uniform", wide, extents_of(node, x.dims()), 0, 1);
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
