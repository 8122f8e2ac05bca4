// Element types of 2 to 8 bits that a wider dtype carries: how their bits are read, and what they
// say of zero points.
#include <cmath>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_narrow_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

constexpr int kE4M3FN = 17, kE4M3FNUZ = 18, kE5M2 = 19, kE5M2FNUZ = 20, kUInt4 = 21, kInt4 = 22,
              kE2M1 = 23, kE8M0 = 24, kUInt2 = 25, kInt2 = 26;

OnnxDim n(int64_t value) { return value; }

Proto model_of(const std::vector<Proto>& nodes, const std::vector<Proto>& inputs,
               const std::vector<Proto>& initializers, int64_t opset = 25) {
  return onnx_model(onnx_graph(nodes, inputs, {onnx_value("y", kOnnxFloat, {})}, initializers),
                    opset);
}

std::string refusal(const Proto& model) {
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

NDArray result(const Proto& model, std::vector<Value> arguments = {}) {
  OnnxOptions options;
  options.freeze = true;
  OnnxModel made = from_onnx(model.span(), options, "m.onnx");
  infer_types_or_throw(made.module);
  return evaluate_function(made.module, "main", arguments).array();
}

std::vector<double> numbers(const NDArray& array) {
  std::vector<double> all;
  for (int64_t k = 0; k < array.size(); ++k) all.push_back(array.element_as_double(k));
  return all;
}

const Proto kToFloat = onnx_node("Cast", {"x"}, {"y"}, {onnx_int_attr("to", kOnnxFloat)});

// The elements of an initializer with these bytes.
std::vector<double> elements(int type, int64_t count, const std::vector<uint8_t>& bytes) {
  return numbers(
      result(model_of({kToFloat}, {}, {onnx_tensor<uint8_t>("x", type, {count}, bytes)})));
}

using List = std::vector<double>;

TEST(ImportOnnxNarrow, Integers) {
  EXPECT_EQ(elements(kInt4, 3, {0x87, 0x0f}), (List{7, -8, -1}));
  EXPECT_EQ(elements(kUInt4, 3, {0x87, 0x0f}), (List{7, 8, 15}));
  EXPECT_EQ(elements(kInt2, 5, {0b11100100, 0b01}), (List{0, 1, -2, -1, 1}));
  EXPECT_EQ(elements(kUInt2, 4, {0b11100100}), (List{0, 1, 2, 3}));
}

TEST(ImportOnnxNarrow, Floats) {
  EXPECT_EQ(elements(kE4M3FN, 5, {0x00, 0x01, 0x38, 0x7e, 0xb9}),
            (List{0, 0.001953125, 1, 448, -1.125}));
  EXPECT_EQ(elements(kE4M3FNUZ, 4, {0x01, 0x40, 0x7f, 0xff}), (List{0.0009765625, 1, 240, -240}));
  EXPECT_EQ(elements(kE5M2, 4, {0x01, 0x3c, 0x7b, 0xfb}), (List{0x1p-16, 1, 57344, -57344}));
  EXPECT_EQ(elements(kE5M2FNUZ, 3, {0x01, 0x40, 0x7f}), (List{0x1p-17, 1, 57344}));
  EXPECT_EQ(elements(kE2M1, 4, {0x71, 0xf2}), (List{0.5, 6, 1, -6}));
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(elements(kE5M2, 2, {0x7c, 0xfc}), (List{infinity, -infinity}));
  for (auto [type, code] : {std::pair(kE4M3FN, 0x7f),
                            {kE4M3FN, 0xff},
                            {kE4M3FNUZ, 0x80},
                            {kE5M2, 0x7d},
                            {kE5M2, 0xff},
                            {kE5M2FNUZ, 0x80}}) {
    List found = elements(type, 1, {static_cast<uint8_t>(code)});
    EXPECT_TRUE(std::isnan(found[0])) << type << ": " << code;
  }
  EXPECT_TRUE(std::signbit(elements(kE4M3FN, 1, {0x80})[0]));
}

// Rounding to powers of two, as the attributes say.
TEST(ImportOnnxNarrow, Powers) {
  EXPECT_EQ(elements(kE8M0, 4, {0, 126, 127, 254}), (List{0x1p-127, 0.5, 1, 0x1p127}));
  EXPECT_TRUE(std::isnan(elements(kE8M0, 1, {255})[0]));
  auto rounded = [](std::string_view mode, bool saturate) {
    Proto round_mode = Proto().text(1, "round_mode").text(4, mode).number(20, 3);
    Proto cast = onnx_node(
        "Cast", {"x"}, {"y"},
        {onnx_int_attr("to", kE8M0), onnx_int_attr("saturate", saturate ? 1 : 0), round_mode}, "c");
    Proto model = model_of({cast}, {onnx_value("x", kOnnxFloat, {n(6)})}, {});
    std::string refused = refusal(model);
    if (!refused.empty()) throw Error(refused);
    std::vector<float> data{1, 1.25F, 1.5F, 1.75F, -3, 0x1.8p127F};
    return numbers(result(model, {Value(NDArray::from<float>(Shape{6}, data))}));
  };
  EXPECT_EQ(rounded("up", true), (List{1, 2, 2, 2, 4, 0x1p127}));
  EXPECT_EQ(rounded("down", true), (List{1, 1, 1, 1, 2, 0x1p127}));
  EXPECT_EQ(rounded("nearest", true), (List{1, 1, 2, 2, 4, 0x1p127}));
  EXPECT_TRUE(std::isnan(rounded("up", false).back()));
  EXPECT_EQ(rounded("down", false).back(), 0x1p127);
  try {
    rounded("odd", true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Cast \"c\": round_mode is \"odd\"");
  }
}

// Entries of int32_data are bytes.
TEST(ImportOnnxNarrow, Lists) {
  Proto tensor = Proto().number(1, 3).number(2, kInt4).text(8, "x").number(5, 0x87).number(5, 0x0f);
  EXPECT_EQ(numbers(result(model_of({kToFloat}, {}, {tensor}))), (List{7, -8, -1}));
}

TEST(ImportOnnxNarrow, WrongContents) {
  auto with = [](int type, int64_t count, size_t bytes) {
    std::vector<uint8_t> contents(bytes);
    return refusal(model_of({kToFloat}, {}, {onnx_tensor<uint8_t>("x", type, {count}, contents)}));
  };
  EXPECT_EQ(with(kInt4, 3, 2), "");
  EXPECT_EQ(with(kInt4, 3, 3),
            "m.onnx: the initializer \"x\": a tensor of shape (3) and type int4 with contents of 3 "
            "bytes, not 2");
  EXPECT_EQ(with(kE5M2, int64_t{1} << 40, 1),
            "m.onnx: the initializer \"x\": a tensor of shape (1099511627776) and type float8e5m2 "
            "with contents of 1 bytes, not 1099511627776");
}

// An operator that moves a zero point leaves its type to it.
TEST(ImportOnnxNarrow, TypesOfZeroPoints) {
  Proto zero = onnx_tensor<uint8_t>("z", kInt4, {1, 1}, {0x01});
  Proto scale = onnx_tensor<float>("s", kOnnxFloat, {}, {0.5F});
  std::vector<Proto> inputs{onnx_value("x", kOnnxFloat, {n(3)})};
  std::vector<Proto> stored{zero, scale, onnx_ints("shape", {1})};
  Proto reshape = onnx_node("Reshape", {"z", "shape"}, {"flat"});
  Proto quantise = onnx_node("QuantizeLinear", {"x", "s", "flat"}, {"y"});
  Value x = NDArray::from<float>({3}, {-100, 1, 100});
  NDArray found = result(model_of({reshape, quantise}, inputs, stored), {x});
  EXPECT_EQ(found.dtype(), kInt8);
  EXPECT_EQ(numbers(found), (List{-8, 3, 7}));
  Proto stated = onnx_node("QuantizeLinear", {"x", "s", "flat"}, {"y"},
                           {onnx_int_attr("output_dtype", 3)}, "q");
  EXPECT_EQ(refusal(model_of({reshape, stated}, inputs, stored)),
            "QuantizeLinear \"q\": output_dtype is not that of the zero point");
}

TEST(ImportOnnxNarrow, Inputs) {
  Proto input = onnx_value("x", kE4M3FN, {n(2)});
  NDArray found = result(model_of({kToFloat}, {input}, {}),
                         {Value(NDArray::from<float>({2}, {1.5F, -448}).cast(kFloat16))});
  EXPECT_EQ(numbers(found), (List{1.5, -448}));
}

TEST(ImportOnnxNarrow, Refused) {
  Proto bits = onnx_node("BitCast", {"x"}, {"y"}, {onnx_int_attr("to", 2)}, "b");
  EXPECT_EQ(refusal(model_of({bits}, {onnx_value("x", kInt4, {n(2)})}, {}, 26)),
            "BitCast \"b\": bits of int4 are not supported");
  Proto exponents = onnx_node("Cast", {"x"}, {"y"}, {onnx_int_attr("to", 27)}, "c");
  EXPECT_EQ(refusal(model_of({exponents}, {onnx_value("x", kOnnxFloat, {n(2)})}, {})),
            "Cast \"c\": to is float6e2m3, which is not supported");
  Proto gather =
      onnx_node("GatherBlockQuantized", {"x", "i", "s"}, {"y"}, {}, "g", "com.microsoft");
  Proto model =
      model_of({gather},
               {onnx_value("x", kE5M2, {n(2), n(16)}), onnx_value("i", kOnnxInt64, {n(1)}),
                onnx_value("s", kOnnxFloat, {n(2), n(1)})},
               {});
  model.message(8, onnx_opset("com.microsoft", 1));
  EXPECT_EQ(refusal(model),
            "com.microsoft.GatherBlockQuantized \"g\": data of float8e5m2 are not supported");
}

}  // namespace
}  // namespace relay::import_onnx_narrow_test
