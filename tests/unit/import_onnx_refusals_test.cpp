// Nodes that are refused, each with its message: a node is its operator, the types of its inputs
// and its attributes.
#include <gtest/gtest.h>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_refusals_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

constexpr int kUInt8 = 2, kInt8 = 3, kFloat = kOnnxFloat;

/// The type of an input, none of no element type; or the entries of a list that is an initializer.
struct In {
  int dtype = 0;
  std::vector<OnnxDim> dims;
  std::vector<int64_t> entries = {};
};
In list(std::vector<int64_t> entries) { return {kOnnxInt64, {}, std::move(entries)}; }
OnnxDim n(int64_t value) { return value; }
const In kNone{};
const In kScale{kFloat, {}};

/// The message that refuses a node of com.microsoft, after its operator and name; empty where it is
/// taken.
std::string refusal(const std::string& op, const std::vector<In>& inputs,
                    const std::vector<Proto>& attributes = {}, size_t outputs = 1) {
  std::vector<std::string> names, results;
  std::vector<Proto> given, made, stored;
  for (const In& in : inputs) {
    names.push_back(in.dtype == 0 ? "" : "x" + std::to_string(names.size()));
    if (!in.entries.empty()) {
      stored.push_back(onnx_ints(names.back(), in.entries));
    } else if (in.dtype != 0) {
      given.push_back(onnx_value(names.back(), in.dtype, in.dims));
    }
  }
  for (size_t k = 0; k < outputs; ++k) {
    results.push_back("y" + std::to_string(k));
    made.push_back(onnx_value(results.back(), kFloat, {}));
  }
  Proto node = onnx_node(op, names, results, attributes, "a", "com.microsoft");
  Proto model = onnx_model(onnx_graph({node}, given, made, stored), 21);
  model.message(8, onnx_opset("com.microsoft", 1));
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    std::string head = "com.microsoft." + op + " \"a\": ";
    std::string message = error.diagnostics().front().message;
    EXPECT_TRUE(message.starts_with(head)) << message;
    return message.substr(std::min(head.size(), message.size()));
  }
  return "";
}

TEST(ImportOnnxRefusals, DynamicQuantizeMatMul) {
  const In a{kFloat, {n(3), n(4)}}, b{kInt8, {n(4), n(5)}};
  auto message = [&](const In& scale, const In& zero, const In& weight, const In& data) {
    return refusal("DynamicQuantizeMatMul", {data, weight, scale, zero});
  };
  EXPECT_EQ(message(kScale, {kInt8, {n(5)}}, b, a), "");
  EXPECT_EQ(message({kFloat, {n(4)}}, kNone, b, a),
            "the scale is Tensor[(4), float32], neither one number nor one for each column of "
            "the weights");
  EXPECT_EQ(message(kScale, {kInt8, {n(4)}}, b, a),
            "the zero point is Tensor[(4), int8], neither one number nor one for each column of "
            "the weights");
  EXPECT_EQ(message({kFloat, {n(1), n(5)}}, kNone, b, a), "");
  EXPECT_EQ(message({kFloat, {n(2), n(5)}}, kNone, b, a),
            "the scale is Tensor[(2, 5), float32], neither one number nor one for each column of "
            "the weights");
  EXPECT_EQ(message(kScale, kNone, {kInt8, {n(4)}}, a), "the weights have 1 axes; 2 are needed");
  EXPECT_EQ(message(kScale, kNone, b, {kUInt8, {n(3), n(4)}}), "the data are no float32");
}

TEST(ImportOnnxRefusals, DynamicQuantizeLSTM) {
  auto message = [&](const In& w, const In& scale) {
    const In one{kFloat, {n(1)}}, zero{kInt8, {n(1)}}, r{kInt8, {n(1), n(2), n(8)}};
    return refusal("DynamicQuantizeLSTM", {{kFloat, {n(4), n(1), n(3)}},
                                           w,
                                           r,
                                           kNone,
                                           kNone,
                                           kNone,
                                           kNone,
                                           kNone,
                                           scale,
                                           zero,
                                           one,
                                           zero});
  };
  const In w{kInt8, {n(1), n(3), n(8)}}, one{kFloat, {n(1)}};
  EXPECT_EQ(message(w, one), "");
  EXPECT_EQ(message(w, {kFloat, {n(1), n(8)}}), "");
  EXPECT_EQ(message({kInt8, {n(1), n(8), n(3)}}, one),
            "W is Tensor[(1, 8, 3), int8], hidden_size and direction make it (1, 3, 8)");
  EXPECT_EQ(message(w, {kFloat, {n(1), n(4)}}),
            "W_scale is Tensor[(1, 4), float32], hidden_size and direction make it (1, 8)");
  EXPECT_EQ(message(w, {kFloat, {n(2)}}),
            "W_scale is Tensor[(2), float32], hidden_size and direction make it (1)");
  EXPECT_EQ(message(w, kNone), "input 8 is not given");
}

Proto text(std::string_view name, std::string_view value) {
  return Proto().text(1, name).text(4, value).number(20, 3);
}

TEST(ImportOnnxRefusals, Products) {
  const In matrix{kFloat, {n(4), n(4)}}, image{kFloat, {n(1), n(4), n(5), n(5)}};
  EXPECT_EQ(refusal("FusedGemm", {matrix, matrix}, {text("activation", "Sine")}),
            "the activation \"sine\" is not known");
  const std::vector<In> conv{image, {kFloat, {n(2), n(4), n(3), n(3)}}};
  EXPECT_EQ(refusal("FusedConv", conv, {text("activation", "Sine")}),
            "the activation \"sine\" is not known");
  EXPECT_EQ(refusal("FusedConv", conv, {text("activation", "Clip")}),
            "activation_params has 0 entries, which is too few for clip");
  auto transposed = [&](const In& pads) {
    return refusal("ConvTransposeWithDynamicPads",
                   {image, {kFloat, {n(4), n(2), n(3), n(3)}}, pads});
  };
  EXPECT_EQ(transposed(list({0, 1, 1, 0})), "");
  EXPECT_EQ(transposed(list({0, 1})), "Pads has not 4 entries from 0 on");
  EXPECT_EQ(transposed(list({0, 1, -1, 0})), "Pads has not 4 entries from 0 on");
  EXPECT_EQ(transposed({kOnnxInt64, {n(4)}}), "Pads (input 2) is no constant list of integers");
}

TEST(ImportOnnxRefusals, Norms) {
  const In x{kFloat, {n(1), n(5), n(6)}}, row{kFloat, {n(6)}}, matrix{kFloat, {n(6), n(6)}};
  auto group = [&](const In& data, int64_t groups) {
    return refusal("GroupNorm", {data, row, row},
                   {onnx_int_attr("groups", groups), onnx_int_attr("activation", 0)});
  };
  EXPECT_EQ(group(x, 3), "");
  EXPECT_EQ(group(x, 4), "groups is 4 for 6 channels");
  EXPECT_EQ(group(x, 0), "groups is 0 for 6 channels");
  EXPECT_EQ(group(matrix, 3), "the data have 2 axes");
  auto skip = [&](const In& data, const In& other, const In& bias) {
    return refusal("SkipGroupNorm", {data, row, row, other, bias},
                   {onnx_int_attr("groups", 2), onnx_int_attr("activation", 0)});
  };
  EXPECT_EQ(skip(x, {kFloat, {n(1), n(6)}}, row), "");
  EXPECT_EQ(skip(matrix, x, row), "the data have 2 axes");
  EXPECT_EQ(skip(x, row, row), "skip has 1 axes");
  EXPECT_EQ(skip(x, x, matrix), "the bias is no vector");
  const In odd{kFloat, {n(1), n(2), n(5)}};
  EXPECT_EQ(refusal("BiasSplitGelu", {odd, {kFloat, {n(5)}}}),
            "the last extent is 5, no known even number");
}

TEST(ImportOnnxRefusals, OwnForms) {
  const In matrix{kFloat, {n(3), n(4)}}, row{kFloat, {n(4)}},
      image{kFloat, {n(1), n(2), n(5), n(5)}};
  const In flag{kOnnxBool, {}}, indices{kOnnxInt32, {n(3)}};
  EXPECT_EQ(refusal("Unique", {matrix}, {}, 3), "the data have 2 axes, not 1");
  EXPECT_EQ(refusal("ExpandDims", {matrix, list({0, 1})}), "axis has 2 entries");
  EXPECT_EQ(refusal("ExpandDims", {matrix, list({4})}), "axis 4 is out of range for rank 3");
  auto crop = [&](const In& size, const char* mode) {
    return refusal("CropAndResize", {image, matrix, indices, size}, {text("mode", mode)});
  };
  EXPECT_EQ(crop(list({3, 4}), "bilinear"), "");
  EXPECT_EQ(crop(list({3, 4}), "cubic"), "mode is \"cubic\"");
  EXPECT_EQ(crop(list({3}), "nearest"), "crop_size is no height and width above 0");
  EXPECT_EQ(crop(list({3, 0}), "nearest"), "crop_size is no height and width above 0");
  EXPECT_EQ(refusal("CDist", {matrix, row}), "the operands must be matrices");
  EXPECT_EQ(refusal("CDist", {matrix, matrix}, {text("metric", "cosine")}), "metric is \"cosine\"");
  EXPECT_EQ(refusal("BiasDropout", {matrix, row, kNone, kNone, flag}),
            "training_mode is not supported");
  EXPECT_EQ(refusal("BiasDropout", {matrix, row}, {}, 2),
            "the output of the mask is not supported");
  EXPECT_EQ(refusal("Inverse", {row}), "the data have 1 axes");
  EXPECT_EQ(refusal("Inverse", {matrix}), "the matrices have the shape (3, 4)");
  EXPECT_EQ(refusal("Inverse", {{kFloat, {n(300), n(300)}}}),
            "the matrices have 300 rows, more than 256");
  const In tokens{kOnnxInt64, {n(2), n(5)}};
  EXPECT_EQ(refusal("NGramRepeatBlock", {tokens, {kFloat, {n(2), n(9)}}},
                    {onnx_int_attr("ngram_size", 0)}),
            "ngram_size is 0");
  EXPECT_EQ(refusal("NGramRepeatBlock", {tokens, row}, {onnx_int_attr("ngram_size", 2)}),
            "input_ids and scores need 2 axes");
}

TEST(ImportOnnxRefusals, AttentionMask) {
  const In x{kFloat, {n(1), n(4), n(6)}}, w{kFloat, {n(6), n(18)}};
  EXPECT_EQ(refusal("Attention", {x, w, kNone, {kOnnxInt32, {n(1), n(1), n(1), n(4), n(4)}}},
                    {onnx_int_attr("num_heads", 3)}),
            "the mask has 5 axes; 1 to 4 are supported");
}

TEST(ImportOnnxRefusals, MatMulNBits) {
  const In x{kFloat, {n(3), n(40)}}, w{kUInt8, {n(6), n(3), n(8)}}, scale{kFloat, {n(6), n(3)}};
  auto message = [&](const std::vector<In>& inputs, const char* name = "bits", int64_t value = 4) {
    std::vector<Proto> attributes;
    std::vector<std::pair<std::string, int64_t>> all{{"N", 6}, {"K", 40}, {"block_size", 16}};
    bool given = false;
    for (auto& [each, number] : all) {
      if (each == name) number = value, given = true;
      attributes.push_back(onnx_int_attr(each, number));
    }
    if (!given) attributes.push_back(onnx_int_attr(name, value));
    return refusal("MatMulNBits", inputs, attributes);
  };
  EXPECT_EQ(message({x, w, scale}), "");
  EXPECT_EQ(message({x, w, scale}, "bits", 3), "bits is 3");
  EXPECT_EQ(message({x, w, scale}, "N", 0), "N is 0");
  EXPECT_EQ(message({x, w, scale}, "K", int64_t{1} << 40), "K is 1099511627776");
  EXPECT_EQ(message({x, w, scale}, "block_size", 12), "block_size is 12");
  EXPECT_EQ(message({x, w, scale}, "block_size", 32),
            "the tensor of weights is Tensor[(6, 3, 8), uint8], not of 192 elements");
  EXPECT_EQ(message({x, w, scale}, "weight_prepacked", 1), "weight_prepacked is not supported");
  EXPECT_EQ(message({x, {kInt8, {n(6), n(3), n(8)}}, scale}),
            "the data are no floats, or the weights no uint8");
  EXPECT_EQ(message({x, w, {kFloat, {n(6)}}}),
            "scales is Tensor[(6), float32], not of 18 elements");
  EXPECT_EQ(message({x, w, scale, {kUInt8, {n(6), n(3)}}}),
            "zero_points is Tensor[(6, 3), uint8], not of 12 elements");
  EXPECT_EQ(message({x, w, scale, kNone, {kOnnxInt32, {n(39)}}}),
            "g_idx is Tensor[(39), int32], no entry for each column");
}

TEST(ImportOnnxRefusals, GatherBlockQuantized) {
  const In data{kUInt8, {n(6), n(16)}}, places{kOnnxInt64, {n(2)}}, scale{kFloat, {n(6), n(2)}};
  auto message = [&](const std::vector<In>& inputs, const std::vector<Proto>& more = {}) {
    std::vector<Proto> attributes{onnx_int_attr("block_size", 16)};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return refusal("GatherBlockQuantized", inputs, attributes);
  };
  EXPECT_EQ(message({data, places, scale}), "");
  EXPECT_EQ(message({data, places, scale}, {onnx_int_attr("bits", 5)}), "bits is 5");
  EXPECT_EQ(
      refusal("GatherBlockQuantized", {data, places, scale}, {onnx_int_attr("block_size", 9)}),
      "block_size is 9");
  EXPECT_EQ(message({{kOnnxInt32, {n(6), n(16)}}, places, scale}),
            "data of int32 are not supported");
  EXPECT_EQ(message({data, places, scale}, {onnx_int_attr("quantize_axis", 0)}),
            "quantize_axis of packed data is not the last one");
  EXPECT_EQ(message({data, places, scale}, {onnx_int_attr("gather_axis", 1)}),
            "gather_axis is quantize_axis");
  EXPECT_EQ(message({data, places, {kFloat, {n(12)}}}),
            "data, scales and zero points differ in their numbers of axes");
  EXPECT_EQ(message({data, places, {kFloat, {n(6), n(3)}}}),
            "the blocks of Tensor[(2, 3), float32] do not fit Tensor[(2, 32), uint8]");
  EXPECT_EQ(
      message({{kUInt8, {n(6), n(24)}}, places, {kFloat, {n(6), n(3)}}, {kUInt8, {n(6), n(1)}}}),
      "there are fewer zero points than scales");
}

TEST(ImportOnnxRefusals, QuantisedForms) {
  const In zero{kUInt8, {}}, row{kUInt8, {n(4)}};
  EXPECT_EQ(refusal("QGemm", {row, kScale, zero, row, kScale, zero}),
            "the operands must be matrices");
  EXPECT_EQ(refusal("QLinearSoftmax", {row, kScale, zero, kScale, zero}),
            "the attribute opset is missing");
  EXPECT_EQ(refusal("NhwcMaxPool", {row}), "the data have 1 axes");
}

}  // namespace
}  // namespace relay::import_onnx_refusals_test
