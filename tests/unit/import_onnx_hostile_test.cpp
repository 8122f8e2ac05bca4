// Models that only a fuzzer writes: ranks and numbers that no exporter gives.
#include <gtest/gtest.h>

#include <limits>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>

#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_hostile_test {
namespace {

using namespace testing;

struct Tensor {
  std::string name;
  std::vector<OnnxDim> dims;
  int dtype = kOnnxFloat;
};

// The message about a model of one node, of operators of a domain.
std::string problem(const Proto& node, const std::vector<Tensor>& inputs, int64_t opset = 21,
                    const std::vector<Proto>& initializers = {}) {
  std::vector<Proto> values;
  for (const Tensor& each : inputs) values.push_back(onnx_value(each.name, each.dtype, each.dims));
  Proto graph =
      onnx_graph({node}, values, {Proto().text(1, "y").message(2, Proto())}, initializers);
  Proto model = onnx_model(graph, opset).message(8, onnx_opset("com.microsoft", 1));
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(ImportOnnxHostile, Ranks) {
  Tensor q{"q", {1, 4, 8}};
  EXPECT_EQ(problem(onnx_node("MultiHeadAttention", {"q", "q", "q", "", "", "", "p", "p"}, {"y"},
                              {onnx_int_attr("num_heads", 2)}, "", "com.microsoft"),
                    {q, {"p", {3}}}),
            "com.microsoft.MultiHeadAttention of \"y\": a tensor of shape (3) has too few axes");
  EXPECT_EQ(problem(onnx_node("SkipSimplifiedLayerNormalization", {"s", "s", "w"}, {"y"}, {}, "",
                              "com.microsoft"),
                    {{"s", {}}, {"w", {4}}}),
            "com.microsoft.SkipSimplifiedLayerNormalization of \"y\": a tensor of shape () has too "
            "few axes");
}

TEST(ImportOnnxHostile, Products) {
  Tensor x{"x", {1, 2, 5, 5}}, w{"w", {2, 3, 2, 2}}, o{"o", {1, 8, 4, 4}};
  EXPECT_EQ(problem(onnx_node("ConvTranspose", {"x", "w"}, {"y"}, {onnx_int_attr("group", kHuge)}),
                    {x, w}),
            "ConvTranspose of \"y\": a dimension is out of range (2^61)");
  EXPECT_EQ(problem(onnx_node("DeformConv", {"x", "w", "o"}, {"y"},
                              {onnx_int_attr("offset_group", kHuge)}),
                    {x, w, o}),
            "DeformConv of \"y\": offset_group is 4611686018427387904");
}

TEST(ImportOnnxHostile, EmptyAndHuge) {
  Proto w = Proto().number(1, 0).number(1, kHuge).number(2, kOnnxFloat).text(8, "w");
  EXPECT_EQ(problem(onnx_node("Abs", {"w"}, {"y"}), {}, 21, {w}),
            "m.onnx: the initializer \"w\": a dimension is out of range (2^61)");
  // Beyond what an extent can be, not one that a run decides.
  EXPECT_EQ(problem(onnx_node("Reshape", {"x", "s"}, {"y"}), {{"x", {2}}}, 21,
                    {onnx_ints("s", {std::numeric_limits<int64_t>::min()})}),
            "Reshape of \"y\": the shape has an entry beyond 2^60");
}

// Also where the elements are known, which then are taken from other places.
TEST(ImportOnnxHostile, Permutations) {
  auto transposed = [](const std::vector<int64_t>& perm) {
    return problem(onnx_node("Transpose", {"s"}, {"y"}, {onnx_ints_attr("perm", perm)}), {}, 21,
                   {onnx_ints("s", {5, 6, 7, 8})});
  };
  EXPECT_EQ(transposed({0, 1}), "Transpose of \"y\": transpose: axes has 2 entries for rank 1");
  EXPECT_EQ(transposed({}), "Transpose of \"y\": transpose: axes has 0 entries for rank 1");
  EXPECT_EQ(transposed({1}), "Transpose of \"y\": perm entry 1 is out of range for rank 1");
  EXPECT_EQ(transposed({-1}), "");
  EXPECT_EQ(problem(onnx_node("Transpose", {"x"}, {"y"}, {onnx_ints_attr("perm", {1, 1})}),
                    {{"x", {2, 3}}}),
            "Transpose of \"y\": perm names an axis twice");
}

}  // namespace
}  // namespace relay::import_onnx_hostile_test
