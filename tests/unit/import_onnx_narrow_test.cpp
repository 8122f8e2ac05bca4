// Element types that a wider dtype carries. Those of 2 to 8 bits: how their bits are read, and what
// they say of zero points. Float16: where its numbers are rounded.
#include <cmath>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/ir/module.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_narrow_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

constexpr int kE4M3FN = 17, kE4M3FNUZ = 18, kE5M2 = 19, kE5M2FNUZ = 20, kUInt4 = 21, kInt4 = 22,
              kE2M1 = 23, kE8M0 = 24, kUInt2 = 25, kInt2 = 26, kHalf = 10;

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

NDArray result(const Proto& model, std::vector<Value> arguments = {}, OnnxOptions options = {}) {
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

// ---- Float16 ------------------------------------------------------------------------------------

// A value between 1 and the next number of float16, by half a step; added up, it is lost in each
// sum that is rounded.
constexpr float kSmall = 0x1p-11F;

Proto half_model(const std::vector<Proto>& nodes, const std::vector<Proto>& inputs, int out,
                 const std::vector<Proto>& initializers = {}, int64_t opset = 17) {
  return onnx_model(onnx_graph(nodes, inputs, {onnx_value("y", out, {})}, initializers), opset);
}

NDArray halves(const std::vector<float>& numbers) {
  return NDArray::from<float>(Shape{static_cast<int64_t>(numbers.size())}, numbers).cast(kFloat16);
}

double first(const NDArray& array) { return array.element_as_double(0); }

const Proto kX = onnx_value("x", kHalf, {OnnxDim(int64_t{1})});
const Proto kSum = onnx_node("Add", {"x", "d"}, {"s"});
const Proto kSumAgain = onnx_node("Add", {"s", "d"}, {"y"});
const Proto kStep = onnx_tensor<uint16_t>("d", kHalf, {1}, {0x1000});  // 2^-11

TEST(ImportOnnxNarrowHalves, RoundsAtTheEnd) {
  Proto model = half_model({kSum, kSumAgain}, {kX}, kHalf, {kStep});
  NDArray found = result(model, {Value(halves({1}))});
  EXPECT_EQ(found.dtype(), kFloat16);
  EXPECT_EQ(first(found), 1 + 2 * kSmall);
  OnnxOptions each;
  each.round_halves = true;
  EXPECT_EQ(first(result(model, {Value(halves({1}))}, each)), 1);
}

// A Cast of the model rounds, as it says; one of small integers has nothing to round.
TEST(ImportOnnxNarrowHalves, CastsRound) {
  Proto cast = onnx_node("Cast", {"s"}, {"r"}, {onnx_int_attr("to", kHalf)});
  Proto back = onnx_node("Cast", {"r"}, {"y"}, {onnx_int_attr("to", kOnnxFloat)});
  Proto input = onnx_value("x", kOnnxFloat, {OnnxDim(int64_t{1})});
  Proto identity = onnx_node("Identity", {"x"}, {"s"});
  Proto model = half_model({identity, cast, back}, {input}, kOnnxFloat);
  NDArray found = result(model, {Value(NDArray::from<float>({1}, {1 + kSmall}))});
  EXPECT_EQ(found.dtype(), kFloat32);
  EXPECT_EQ(first(found), 1);
  Proto bytes = onnx_value("x", 3, {OnnxDim(int64_t{1})});
  NDArray whole = NDArray::from<float>({1}, {-128}).cast(kInt8);
  EXPECT_EQ(first(result(half_model({identity, cast, back}, {bytes}, kOnnxFloat), {Value(whole)})),
            -128);
}

TEST(ImportOnnxNarrowHalves, Attributes) {
  Proto filled =
      onnx_node("ConstantOfShape", {"n"}, {"x"},
                {onnx_tensor_attr("value", onnx_tensor<uint16_t>("v", kHalf, {1}, {0x3c00}))});
  Proto twos =
      onnx_node("Constant", {}, {"c"},
                {onnx_tensor_attr("value", onnx_tensor<uint16_t>("v", kHalf, {1}, {0x4000}))});
  Proto product = onnx_node("Mul", {"x", "c"}, {"y"});
  NDArray found = result(half_model({filled, twos, product}, {}, kHalf, {onnx_ints("n", {3})}), {});
  EXPECT_EQ(found.dtype(), kFloat16);
  EXPECT_EQ(found.size(), 3);
  EXPECT_EQ(first(found), 2);
}

// Weights that are parameters keep their dtype: they are what the file has.
TEST(ImportOnnxNarrowHalves, Parameters) {
  Proto weights = onnx_tensor<uint16_t>("w", kHalf, {2}, {0x3c00, 0x4000});
  Proto product = onnx_node("Mul", {"x", "w"}, {"y"});
  OnnxModel made = from_onnx(half_model({product}, {kX}, kHalf, {weights}).span(), {}, "m.onnx");
  ASSERT_EQ(made.params.size(), 1U);
  EXPECT_EQ(made.params.front().second.dtype(), kFloat16);
  infer_types_or_throw(made.module);
  std::vector<Value> arguments{Value(halves({3})), Value(made.params.front().second)};
  NDArray found = evaluate_function(made.module, "main", arguments).array();
  EXPECT_EQ(found.dtype(), kFloat16);
  EXPECT_EQ(found.element_as_double(1), 6);
}

// A parameter stays one behind a Cast: who runs the program may give it another value.
TEST(ImportOnnxNarrowHalves, CastParameters) {
  Proto weights = onnx_tensor<float>("w", kOnnxFloat, {2}, {1, 2});
  Proto cast = onnx_node("Cast", {"w"}, {"s"}, {onnx_int_attr("to", kHalf)});
  Proto product = onnx_node("Mul", {"x", "s"}, {"y"});
  Proto model = half_model({cast, product}, {kX}, kHalf, {weights});
  EXPECT_EQ(from_onnx(model.span(), {}, "m.onnx").params.size(), 1U);
}

// The bits that BitCast reads are those of numbers that were rounded.
TEST(ImportOnnxNarrowHalves, BitCast) {
  Proto bits = onnx_node("BitCast", {"s"}, {"y"}, {onnx_int_attr("to", 5)});
  NDArray found = result(half_model({kSum, bits}, {kX}, 5, {kStep}, 26), {Value(halves({2}))});
  EXPECT_EQ(found.dtype(), kInt16);
  EXPECT_EQ(first(found), 0x4000);
}

// Numbers of 8 bits that float16 carries, and float16 that they become.
TEST(ImportOnnxNarrowHalves, BesideNarrowTypes) {
  Proto scale = onnx_tensor<uint16_t>("k", kHalf, {}, {0x3800});  // 0.5
  Proto dequantise = onnx_node("DequantizeLinear", {"x", "k"}, {"s"});
  Proto product = onnx_node("Mul", {"s", "s"}, {"y"});
  Proto input = onnx_value("x", 17, {OnnxDim(int64_t{1})});
  NDArray found = result(half_model({dequantise, product}, {input}, kHalf, {scale}, 21),
                         {Value(halves({1.5F}))});
  EXPECT_EQ(found.dtype(), kFloat16);
  EXPECT_EQ(first(found), 0.5625);
  Proto cast = onnx_node("Cast", {"x"}, {"s"}, {onnx_int_attr("to", kHalf)});
  found = result(half_model({cast, product}, {input}, kHalf, {}, 21), {Value(halves({1.5F}))});
  EXPECT_EQ(first(found), 2.25);
}

}  // namespace
}  // namespace relay::import_onnx_narrow_test
