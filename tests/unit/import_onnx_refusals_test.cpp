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

/// The type of an input; none of no element type.
struct In {
  int dtype = 0;
  std::vector<OnnxDim> dims;
};
OnnxDim n(int64_t value) { return value; }
const In kNone{};
const In kScale{kFloat, {}};

/// The message that refuses a node of com.microsoft, after its operator and name; empty where it is
/// taken.
std::string refusal(const std::string& op, const std::vector<In>& inputs,
                    const std::vector<Proto>& attributes = {}, size_t outputs = 1) {
  std::vector<std::string> names, results;
  std::vector<Proto> given, made;
  for (const In& in : inputs) {
    names.push_back(in.dtype == 0 ? "" : "x" + std::to_string(names.size()));
    if (in.dtype != 0) given.push_back(onnx_value(names.back(), in.dtype, in.dims));
  }
  for (size_t k = 0; k < outputs; ++k) {
    results.push_back("y" + std::to_string(k));
    made.push_back(onnx_value(results.back(), kFloat, {}));
  }
  Proto node = onnx_node(op, names, results, attributes, "a", "com.microsoft");
  Proto model = onnx_model(onnx_graph({node}, given, made), 21);
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
