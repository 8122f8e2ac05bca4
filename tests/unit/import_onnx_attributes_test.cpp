// Attributes and inputs of operators that have no meaning: each is refused by name.
#include <gtest/gtest.h>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_attributes_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

constexpr int kOnnxUInt8 = 2;

Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attribute = Proto().text(1, name);
  for (int64_t value : values) attribute.number(8, value);
  return attribute.number(20, 7);
}
Proto floats_attr(std::string_view name, const std::vector<float>& values) {
  Proto attribute = Proto().text(1, name);
  for (float value : values) attribute.float32(7, value);
  return attribute.number(20, 6);
}
Proto text_attr(std::string_view name, std::string_view value) {
  return Proto().text(1, name).text(4, value).number(20, 3);
}

using Dims = std::vector<OnnxDim>;

OnnxDim n(int64_t value) { return value; }

/// A model of one node: float inputs of these shapes, named a, b, …; those without are left out.
struct OneNode {
  std::string op;
  std::vector<Dims> inputs;
  std::vector<Proto> attributes = {};
  std::string domain = {};
  int64_t opset = 25;
  size_t outputs = 1;
  int dtype = kOnnxFloat;
};

std::string problem(const OneNode& one) {
  std::vector<std::string> names, results{"y"};
  std::vector<Proto> given;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    bool missing = one.inputs[i] == Dims{n(-1)};
    names.push_back(missing ? "" : std::string(1, static_cast<char>('a' + i)));
    if (!missing) given.push_back(onnx_value(names.back(), one.dtype, one.inputs[i]));
  }
  for (size_t k = 1; k < one.outputs; ++k) results.push_back("y" + std::to_string(k));
  Proto node = onnx_node(one.op, names, results, one.attributes, "", one.domain);
  Proto graph = onnx_graph({node}, given, {onnx_value("y", one.dtype, {})});
  Proto model = Proto().number(1, 8).message(8, onnx_opset("", one.opset));
  if (!one.domain.empty()) model.message(8, onnx_opset(one.domain, 1));
  model.message(7, graph);
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    std::string message = error.diagnostics().front().message;
    std::string head = (one.domain.empty() ? "" : one.domain + ".") + one.op + " of \"y\": ";
    EXPECT_EQ(message.substr(0, head.size()), head);
    return message.substr(std::min(head.size(), message.size()));
  }
  return "";
}

const Dims kImage{n(1), n(4), n(6), n(6)}, kRow{n(4)}, kNone{n(-1)}, kRank3{n(2), n(5), n(12)};
const Dims kHeads{n(2), n(3), n(5), n(4)};

TEST(ImportOnnxAttributes, Windows) {
  auto pool = [](std::vector<Proto> attributes) {
    return problem({"MaxPool", {kImage}, std::move(attributes)});
  };
  EXPECT_EQ(pool({}), "the attribute kernel_shape is missing");
  EXPECT_EQ(pool({ints_attr("kernel_shape", {2})}), "kernel_shape has 1 entries, not 2");
  EXPECT_EQ(pool({ints_attr("kernel_shape", {2, 0})}), "kernel_shape has 0");
  EXPECT_EQ(pool({ints_attr("kernel_shape", {2, 9})}),
            "a window of 9 elements does not fit into 6");
  EXPECT_EQ(pool({ints_attr("kernel_shape", {2, 2}), onnx_int_attr("storage_order", 2)}),
            "storage_order is 2");
  EXPECT_EQ(
      problem({"LpPool", {kImage}, {ints_attr("kernel_shape", {2, 2}), onnx_int_attr("p", 0)}}),
      "p is 0");
  Dims open{n(1), n(4), OnnxDim(std::string("h")), n(6)};
  EXPECT_EQ(problem({"MaxPool",
                     {open},
                     {ints_attr("kernel_shape", {2, 2}), ints_attr("pads", {0, 0, 1, 1}),
                      ints_attr("strides", {2, 2}), onnx_int_attr("ceil_mode", 1)}}),
            "ceil_mode with that much padding needs the extents of the data");
  EXPECT_EQ(problem({"MaxUnpool", {kImage, kRow}, {ints_attr("kernel_shape", {2, 2})}}),
            "the places have 1 axes, the data 4");
}

TEST(ImportOnnxAttributes, Convolutions) {
  Dims weight{n(4), n(2), n(3), n(3)};
  auto transpose = [&](std::vector<Proto> attributes) {
    return problem({"ConvTranspose", {kImage, weight}, std::move(attributes)});
  };
  EXPECT_EQ(transpose({onnx_int_attr("group", 0)}), "group is 0");
  EXPECT_EQ(transpose({ints_attr("output_padding", {1})}), "output_padding has 1 entries, not 2");
  EXPECT_EQ(transpose({ints_attr("output_padding", {-1, 0})}), "output_padding has -1");
  EXPECT_EQ(transpose({ints_attr("output_shape", {5})}), "output_shape has 1 entries, not 2");
  EXPECT_EQ(transpose({ints_attr("output_shape", {5, 0})}), "output_shape has 0");
  EXPECT_EQ(problem({"ConvTranspose", {kImage, kRow}}), "the weights have 1 axes, the data 4");
  Dims deformed{n(2), n(4), n(3), n(3)};
  EXPECT_EQ(problem({"DeformConv", {kImage, deformed, {n(1), n(17), n(4), n(4)}}}),
            "the offsets have 17 channels, not 18");
  EXPECT_EQ(problem({"DeformConv",
                     {kImage, deformed, {n(1), n(18), n(4), n(4)}},
                     {onnx_int_attr("offset_group", 3)}}),
            "offset_group is 3");
}

TEST(ImportOnnxAttributes, Norms) {
  EXPECT_EQ(problem({"GroupNormalization", {kImage, kRow, kRow}, {onnx_int_attr("num_groups", 3)}}),
            "num_groups is 3 for 4 channels");
  EXPECT_EQ(problem({"RMSNormalization", {kImage, kRow}, {onnx_int_attr("stash_type", 7)}}),
            "stash_type is 7");
  EXPECT_EQ(problem({"RMSNormalization", {kImage, kRow}, {onnx_int_attr("axis", 4)}}),
            "axis 4 is out of range for rank 4");
  EXPECT_EQ(problem({"InstanceNormalization", {kRow, kRow, kRow}}), "the data have 1 axes");
  EXPECT_EQ(problem({"SkipLayerNormalization", {kRank3, kRank3, kRow}, {}, "com.microsoft"}),
            "gamma is no vector along the last axis");
}

TEST(ImportOnnxAttributes, Resize) {
  Dims sizes{n(4)};
  auto resize = [&](std::vector<Proto> attributes, Dims scales) {
    return problem({"Resize", {kImage, kNone, std::move(scales)}, std::move(attributes)});
  };
  EXPECT_EQ(resize({text_attr("mode", "area")}, sizes), "mode is \"area\"");
  EXPECT_EQ(resize({text_attr("nearest_mode", "up")}, sizes), "nearest_mode is \"up\"");
  EXPECT_EQ(resize({text_attr("coordinate_transformation_mode", "x")}, sizes),
            "coordinate_transformation_mode is \"x\"");
  EXPECT_EQ(resize({text_attr("keep_aspect_ratio_policy", "x")}, sizes),
            "keep_aspect_ratio_policy is \"x\"");
  EXPECT_EQ(resize({ints_attr("axes", {2, -2})}, {n(2)}), "axes names an axis twice");
  EXPECT_EQ(resize({ints_attr("axes", {4})}, {n(1)}), "axes entry 4 is out of range for rank 4");
  EXPECT_EQ(resize({}, {n(3)}), "scales is no list of 4 entries");
  EXPECT_EQ(resize({text_attr("coordinate_transformation_mode", "tf_crop_and_resize")}, sizes),
            "tf_crop_and_resize needs a roi");
  EXPECT_EQ(problem({"Resize", {kImage}}), "scales or sizes are needed");
  EXPECT_EQ(problem({"Resize", {kImage, kNone, sizes, sizes}}), "scales and sizes are given");
  EXPECT_EQ(problem({"Upsample", {kImage}, {floats_attr("scales", {1, 1, 2})}, "", 7}),
            "scales has 3 entries, not 4");
  EXPECT_EQ(problem({"Upsample", {kImage}, {floats_attr("scales", {1, 1, 0, 2})}, "", 7}),
            "a scale is 0.000000");
}

TEST(ImportOnnxAttributes, Places) {
  EXPECT_EQ(problem({"GridSample", {kImage, {n(1), n(2), n(2), n(3)}}}),
            "the last extent of the grid is not the number of spatial axes");
  EXPECT_EQ(problem({"GridSample", {kImage, {n(1), n(2), n(2), n(2)}}, {text_attr("mode", "x")}}),
            "mode is \"x\"");
  EXPECT_EQ(
      problem({"GridSample", {kImage, {n(1), n(2), n(2), n(2)}}, {text_attr("padding_mode", "x")}}),
      "padding_mode is \"x\"");
  EXPECT_EQ(problem({"AffineGrid", {{n(1), n(2), n(2)}, kRow}}),
            "theta is no list of matrices of n by n + 1");
  EXPECT_EQ(problem({"AffineGrid", {{n(1), n(2), n(3)}, {n(3)}}}), "size is no list of 4 entries");
  EXPECT_EQ(
      problem({"RoiAlign", {kImage, {n(3), n(4)}, {n(3)}}, {onnx_int_attr("output_width", 0)}}),
      "an extent of the result is 0");
  EXPECT_EQ(problem({"RoiAlign", {kImage, {n(3), n(4)}, {n(3)}}, {text_attr("mode", "max")}}),
            "mode max needs a sampling_ratio above 0");
  EXPECT_EQ(problem({"NonMaxSuppression",
                     {{n(1), n(5), n(4)}, {n(1), n(2), n(5)}},
                     {onnx_int_attr("center_point_box", 2)}}),
            "center_point_box is 2");
}

TEST(ImportOnnxAttributes, Attention) {
  auto attention = [](std::vector<Proto> attributes) {
    return problem({"Attention", {kHeads, kHeads, kHeads}, std::move(attributes)});
  };
  EXPECT_EQ(attention({onnx_float_attr("softcap", -1)}), "softcap is -1.000000");
  EXPECT_EQ(attention({onnx_int_attr("qk_matmul_output_mode", 4)}), "qk_matmul_output_mode is 4");
  EXPECT_EQ(attention({onnx_int_attr("left_window_size", -2)}), "left_window_size is -2");
  EXPECT_EQ(attention({onnx_int_attr("softmax_precision", 7)}),
            "softmax_precision is no type of floats");
  EXPECT_EQ(problem({"Attention", {kRank3, kRank3, kRank3}}),
            "q_num_heads and kv_num_heads are needed with 3 axes");
  EXPECT_EQ(problem({"Attention",
                     {kRank3, kRank3, kRank3},
                     {onnx_int_attr("q_num_heads", 5), onnx_int_attr("kv_num_heads", 5)}}),
            "the last extent of the query, 12, does not divide into 5 heads");
  EXPECT_EQ(problem({"Attention",
                     {kRank3, kRank3, kRank3},
                     {onnx_int_attr("q_num_heads", 3), onnx_int_attr("kv_num_heads", 2)}}),
            "the query has 3 heads, no multiple of the 2 of the key");
  EXPECT_EQ(problem({"Attention", {kHeads, kHeads, kHeads, kNone, kHeads}}),
            "past_key and past_value come together");
  EXPECT_EQ(problem({"Attention", {kHeads, kHeads, kHeads, {n(5), n(7)}}}),
            "the mask has 7 columns for 5 keys");
  EXPECT_EQ(problem({"RotaryEmbedding",
                     {kHeads, {n(2), n(5), n(2)}, {n(2), n(5), n(2)}},
                     {onnx_int_attr("rotary_embedding_dim", 6)}}),
            "rotary_embedding_dim is 6 of 4");
  EXPECT_EQ(problem({"LinearAttention",
                     {kRank3, kRank3, kRank3},
                     {onnx_int_attr("q_num_heads", 3), onnx_int_attr("kv_num_heads", 3),
                      text_attr("update_rule", "x")},
                     "",
                     27}),
            "update_rule is \"x\"");
  EXPECT_EQ(problem({"LinearAttention",
                     {kRank3, kRank3, kRank3},
                     {onnx_int_attr("q_num_heads", 3), onnx_int_attr("kv_num_heads", 3)},
                     "",
                     27}),
            "decay is of the rules gated and gated_delta, update_rule is \"gated_delta\"");
  EXPECT_EQ(problem({"CausalConvWithState",
                     {{n(1), n(2), n(5)}, {n(2), n(1), n(3)}},
                     {text_attr("activation", "gelu")},
                     "",
                     27}),
            "activation is \"gelu\"");
  EXPECT_EQ(problem({"Attention",
                     {kRank3, {n(12), n(36)}, {n(36)}},
                     {onnx_int_attr("num_heads", 3), ints_attr("qkv_hidden_sizes", {12, 12})},
                     "com.microsoft"}),
            "qkv_hidden_sizes do not divide the 36 columns of the weights");
}

TEST(ImportOnnxAttributes, Quantised) {
  Dims one{n(1)};
  EXPECT_EQ(problem({"DequantizeLinear", {kImage, one}, {}, "", 25, 1, kOnnxFloat}),
            "numbers as float32 are not supported");
  EXPECT_EQ(problem({"QuantizeLinear", {kImage, kRow}, {onnx_int_attr("axis", 4)}}),
            "axis 4 is out of range for rank 4");
  EXPECT_EQ(
      problem(
          {"QuantizeLinear", {kImage, {n(1), n(3), n(6), n(6)}}, {onnx_int_attr("block_size", 2)}}),
      "block_size is 2 for 3 blocks of 4 elements");
  EXPECT_EQ(problem({"DynamicQuantizeLinear", {kRow}, {}, "", 25, 3, kOnnxUInt8}),
            "the data are no float32");
  EXPECT_EQ(
      problem({"QLinearConcat", {one, one, kRow}, {onnx_int_attr("axis", 0)}, "com.microsoft"}),
      "there are 3 inputs");
}

}  // namespace
}  // namespace relay::import_onnx_attributes_test
