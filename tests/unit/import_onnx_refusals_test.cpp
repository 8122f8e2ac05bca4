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
            "the scale has Tensor[(4), float32], neither one number nor one for each column of "
            "the weights");
  EXPECT_EQ(message(kScale, {kInt8, {n(4)}}, b, a),
            "the zero point has Tensor[(4), int32], neither one number nor one for each column of "
            "the weights");
  EXPECT_EQ(message({kFloat, {n(1), n(5)}}, kNone, b, a), "the scale has 2 axes");
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

}  // namespace
}  // namespace relay::import_onnx_refusals_test
