// Converters that choose by what is known when the model is read: each form, and what they refuse.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_ops_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

Proto text_attr(std::string_view name, std::string_view value) {
  return Proto().text(1, name).text(4, value).number(20, 3);
}
Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attribute = Proto().text(1, name);
  for (int64_t value : values) attribute.number(8, value);
  return attribute.number(20, 7);
}

// One node with inputs "x", "a", "b", "c" as far as they are declared or initializers.
struct Case {
  const char* op;
  int64_t opset = 18;
  std::vector<Proto> attributes;
  std::vector<Proto> inputs;
  std::vector<Proto> constants;
  std::vector<std::string> names = {"x", "a"};
  std::vector<std::string> results = {"y"};
};
OnnxModel model_of(const Case& of) {
  std::vector<Proto> outputs;
  for (const std::string& name : of.results) outputs.push_back(onnx_value(name, kOnnxFloat, {}));
  Proto graph = onnx_graph({onnx_node(of.op, of.names, of.results, of.attributes)}, of.inputs,
                           outputs, of.constants);
  OnnxOptions options;
  options.freeze = true;
  return from_onnx(onnx_model(graph, of.opset).span(), options, "m.onnx");
}
std::string refusal(const Case& of) {
  try {
    model_of(of);
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}
NDArray run(const Case& of, const std::vector<Value>& arguments) {
  OnnxModel model = model_of(of);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(model.module, "main", types);
  return evaluate_function(special, "main", arguments).array();
}
template <class T>
Value tensor(const Shape& shape, std::vector<T> values) {
  return Value(NDArray::from<T>(shape, values));
}
Shape shape_of(const NDArray& array) { return Shape(array.shape().begin(), array.shape().end()); }
template <class T>
std::vector<T> elements(const NDArray& array) {
  NDArray dense = array.copy();
  return {dense.data<T>(), dense.data<T>() + dense.size()};
}

Proto x_of(const std::vector<OnnxDim>& dims) { return onnx_value("x", kOnnxFloat, dims); }
Proto a_of(int64_t count) { return onnx_value("a", kOnnxInt64, {count}); }
Value list(std::vector<int64_t> values) {
  return Value(NDArray::from<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}
Value matrix() { return tensor<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(ImportOnnxOps, AxesThatARunKnows) {
  Case sum{"ReduceSum", 13, {onnx_int_attr("keepdims", 0)}, {x_of({2, 3}), a_of(1)}, {}};
  EXPECT_EQ(elements<float>(run(sum, {matrix(), list({1})})), (std::vector<float>{6, 15}));
  EXPECT_EQ(elements<float>(run(sum, {matrix(), list({-2})})), (std::vector<float>{5, 7, 9}));
  Case squeeze{"Squeeze", 13, {}, {x_of({1, 2, 1}), a_of(1)}, {}};
  Value pair = tensor<float>(Shape{1, 2, 1}, {1, 2});
  EXPECT_EQ(shape_of(run(squeeze, {pair, list({-1})})), (Shape{1, 2}));
  Case unsqueeze{"Unsqueeze", 13, {}, {x_of({2, 3}), a_of(2)}, {}};
  EXPECT_EQ(shape_of(run(unsqueeze, {matrix(), list({-1, 0})})), (Shape{1, 2, 3, 1}));
  Case running{"CumSum", 14, {onnx_int_attr("reverse", 1)}, {x_of({2, 3}), a_of(1)}, {}};
  EXPECT_EQ(elements<float>(run(running, {matrix(), list({-1})})),
            (std::vector<float>{6, 5, 3, 15, 11, 6}));
}

TEST(ImportOnnxOps, MeansOfIntegersTruncateOnce) {
  Case mean{"ReduceMean", 18, {}, {onnx_value("x", kOnnxInt32, {2, 2}), a_of(2)}, {}};
  Value x = tensor<int32_t>(Shape{2, 2}, {1, 2, 2, 3});
  EXPECT_EQ(elements<int32_t>(run(mean, {x, list({0, 1})})), (std::vector<int32_t>{2}));
}

TEST(ImportOnnxOps, MaximaPutBackIntoTooSmallAResult) {
  Case back{"MaxUnpool",
            11,
            {ints_attr("kernel_shape", {2, 2}), ints_attr("strides", {2, 2})},
            {x_of({1, 1, 2, 2}), onnx_value("a", kOnnxInt64, {1, 1, 2, 2}),
             onnx_value("b", kOnnxInt64, {4})},
            {},
            {"x", "a", "b"}};
  const Value x = tensor<float>(Shape{1, 1, 2, 2}, {1, 2, 3, 4});
  const Value places = tensor<int64_t>(Shape{1, 1, 2, 2}, {0, 3, 8, 15});
  EXPECT_EQ(shape_of(run(back, {x, places, list({1, 1, 5, 4})})), (Shape{1, 1, 5, 4}));
  try {
    run(back, {x, places, list({1, 1, 3, 3})});
    FAIL() << "maxima were lost";
  } catch (const Error& error) {
    EXPECT_NE(error.diagnostics().front().message.find(
                  "output_shape is smaller than what the windows reach"),
              std::string::npos);
  }
}

TEST(ImportOnnxOps, NothingHasAGreatest) {
  Case max{"ReduceMax", 20, {}, {x_of({0, 2})}, {onnx_ints("a", {0})}};
  Value none(NDArray::from<float>(Shape{0, 2}, std::vector<float>{}));
  for (float each : elements<float>(run(max, {none}))) EXPECT_EQ(each, -INFINITY);
}

TEST(ImportOnnxOps, Padding) {
  auto pad = [](const std::string& mode, bool run_time, std::vector<int64_t> amounts) {
    Case of{"Pad", 19, {text_attr("mode", mode)}, {x_of({3})}, {}};
    std::vector<Value> arguments{tensor<float>(Shape{3}, {1, 2, 3})};
    if (run_time) {
      of.inputs.push_back(a_of(2));
      arguments.push_back(list(amounts));
    } else {
      of.constants.push_back(onnx_ints("a", amounts));
    }
    return elements<float>(run(of, arguments));
  };
  using Floats = std::vector<float>;
  for (bool run_time : {false, true}) {
    EXPECT_EQ(pad("constant", run_time, {1, 2}), (Floats{0, 1, 2, 3, 0, 0}));
    EXPECT_EQ(pad("constant", run_time, {-1, 1}), (Floats{2, 3, 0}));
    // More than there is, as long as what is added makes up for it.
    EXPECT_EQ(pad("constant", run_time, {-4, 2}), (Floats{0}));
    EXPECT_EQ(pad("constant", run_time, {-5, 5}), (Floats{0, 0, 0}));
    EXPECT_EQ(pad("constant", run_time, {2, -4}), (Floats{0}));
    EXPECT_EQ(pad("constant", run_time, {1, -4}), (Floats{}));
    EXPECT_EQ(pad("constant", run_time, {-2, -1}), (Floats{}));
    for (std::vector<int64_t> amounts : {std::vector<int64_t>{-2, -2}, {-4, 0}, {2, -6}}) {
      std::string listed = std::to_string(amounts[0]) + ", " + std::to_string(amounts[1]);
      try {
        pad("constant", run_time, amounts);
        ADD_FAILURE() << listed;
      } catch (const Error& error) {
        EXPECT_NE(error.diagnostics().front().message.find(
                      "nn.pad: pad_width of axis 0 is [" + listed +
                      "], which takes more than the 3 elements of data (3) away"),
                  std::string::npos)
            << error.diagnostics().front().message;
      }
    }
    EXPECT_EQ(pad("edge", run_time, {2, 1}), (Floats{1, 1, 1, 2, 3, 3}));
    EXPECT_EQ(pad("reflect", run_time, {2, 1}), (Floats{3, 2, 1, 2, 3, 2}));
    EXPECT_EQ(pad("reflect", run_time, {5, 0}), (Floats{2, 1, 2, 3, 2, 1, 2, 3}));
    EXPECT_EQ(pad("wrap", run_time, {4, 1}), (Floats{3, 1, 2, 3, 1, 2, 3, 1}));
  }
}

TEST(ImportOnnxOps, SlicesAsFarAsNumbersGo) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Case slice{"Slice", 13, {}, {x_of({2, 3}), a_of(1)}, {}, {"x", "a", "b", "c"}};
  slice.inputs.push_back(onnx_value("b", kOnnxInt64, {1}));
  slice.inputs.push_back(onnx_value("c", kOnnxInt64, {1}));
  auto of = [&](int64_t begin, int64_t end, int64_t axis) {
    return elements<float>(run(slice, {matrix(), list({begin}), list({end}), list({axis})}));
  };
  EXPECT_EQ(of(1, kMost, 1), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(of(-kMost - 1, -1, 0), (std::vector<float>{1, 2, 3}));
}

TEST(ImportOnnxOps, HalvesGoToTheEvenNumber) {
  Case round{"Round", 11, {}, {x_of({7})}, {}, {"x"}};
  Value x = tensor<float>(Shape{7}, {-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.4f, INFINITY});
  EXPECT_EQ(elements<float>(run(round, {x})), (std::vector<float>{-2, -2, 0, 0, 2, 2, INFINITY}));
}

TEST(ImportOnnxOps, RowsThatDiffer) {
  Case unique{"Unique", 11, {onnx_int_attr("axis", 0)}, {x_of({4, 3})}, {}, {"x"}};
  Value x = tensor<float>(Shape{4, 3}, {2, 0, 1, 1, 5, 0, 2, 0, 1, 1, 4, 9});
  NDArray rows = run(unique, {x});
  EXPECT_EQ(shape_of(rows), (Shape{3, 3}));
  EXPECT_EQ(elements<float>(rows), (std::vector<float>{1, 4, 9, 1, 5, 0, 2, 0, 1}));
}

TEST(ImportOnnxOps, Determinants) {
  Case det{"Det", 11, {}, {x_of({2, 3, 3})}, {}, {"x"}};
  Value x = tensor<float>(Shape{2, 3, 3}, {0, 2, 1, 3, 0, 0, 1, 1, 1, 1, 2, 3, 2, 4, 6, 0, 1, 5});
  EXPECT_EQ(elements<float>(run(det, {x})), (std::vector<float>{-3, 0}));
}

TEST(ImportOnnxOps, RandomNumbersFollowFromTheSeed) {
  Case normal{"RandomNormal", 18, {ints_attr("shape", {64})}, {}, {}, {}};
  std::vector<float> unseeded = elements<float>(run(normal, {}));
  EXPECT_EQ(elements<float>(run(normal, {})), unseeded);
  normal.attributes.push_back(onnx_float_attr("seed", 1));
  std::vector<float> seeded = elements<float>(run(normal, {}));
  EXPECT_NE(seeded, unseeded);
  normal.attributes.back() = onnx_float_attr("seed", 2);
  EXPECT_NE(elements<float>(run(normal, {})), seeded);
}

// Of extents that a run decides: the first numbers are the same however many there are.
TEST(ImportOnnxOps, RandomNumbersOfOpenExtents) {
  auto drawn = [](const char* op, int64_t rows, const std::vector<Proto>& attributes) {
    Case of{op, 18, attributes, {x_of({std::string("n"), int64_t{2}})}, {}, {"x"}};
    return elements<float>(run(of, {Value(NDArray::zeros({{rows, 2}}, kFloat32))}));
  };
  auto moments = [](const std::vector<float>& numbers) {
    double sum = 0, squares = 0;
    for (float x : numbers) sum += x, squares += static_cast<double>(x) * x;
    const double mean = sum / static_cast<double>(numbers.size());
    return std::pair(mean, squares / static_cast<double>(numbers.size()) - mean * mean);
  };
  std::vector<float> normal = drawn("RandomNormalLike", 5000, {});
  ASSERT_EQ(normal.size(), 10000u);
  EXPECT_NEAR(moments(normal).first, 0, 0.04);
  EXPECT_NEAR(moments(normal).second, 1, 0.06);
  std::vector<float> less = drawn("RandomNormalLike", 3, {});
  EXPECT_EQ(less, std::vector<float>(normal.begin(), normal.begin() + 6));
  EXPECT_NE(drawn("RandomNormalLike", 3, {onnx_float_attr("seed", 1)}), less);
  EXPECT_TRUE(drawn("RandomNormalLike", 0, {}).empty());
  std::vector<float> uniform =
      drawn("RandomUniformLike", 5000, {onnx_float_attr("low", 2), onnx_float_attr("high", 4)});
  EXPECT_NEAR(moments(uniform).first, 3, 0.03);
  EXPECT_NEAR(moments(uniform).second, 1.0 / 3, 0.02);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), 2);
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 4);
}

TEST(ImportOnnxOps, Refusals) {
  auto says = [](const Case& of, const std::string& message) {
    EXPECT_EQ(refusal(of), of.op + std::string(" of \"y\": ") + message);
  };
  Proto x = x_of({2, 3}), open = onnx_value("a", kOnnxInt64, {std::string("n")});
  says({"ReduceSum", 13, {}, {x}, {onnx_ints("a", {2})}},
       "axes entry 2 is out of range for rank 2");
  says({"ReduceSum", 13, {}, {x}, {onnx_ints("a", {1, -1})}}, "axes names an axis twice");
  says({"ReduceSum", 13, {onnx_int_attr("keepdims", 0)}, {x, open}, {}},
       "how many entries axes has is not known, which decides the rank");
  says({"Pad", 18, {text_attr("mode", "wrap")}, {x}, {onnx_ints("a", {0, 0, 1, 1})}},
       "mode is \"wrap\"");
  says({"Pad", 18, {}, {x}, {onnx_ints("a", {0, 0, 1})}}, "pads has 3 entries for 2 axes");
  says({"TopK", 11, {}, {x}, {onnx_ints("a", {4})}}, "K is 4, the axis has the extent 3");
  says({"TopK", 11, {}, {x}, {onnx_ints("a", {-1})}}, "K is -1");
  says({"Tile", 13, {}, {x}, {onnx_ints("a", {1})}}, "repeats has 1 entries for rank 2");
  says({"Compress", 11, {onnx_int_attr("axis", 0)}, {x, onnx_value("a", kOnnxBool, {3})}, {}},
       "the condition has 3 elements, the axis 2");
  says({"Det", 11, {}, {x}, {}, {"x"}}, "the matrices have the shape (2, 3)");
  says({"GatherND", 13, {}, {x}, {onnx_tensor<int64_t>("a", kOnnxInt64, {1, 3}, {0, 0, 0})}},
       "3 coordinates for rank 2");
  says({"EyeLike", 9, {}, {x_of({2})}, {}, {"x"}}, "the data have 1 axes, not 2");
  says({"DFT", 17, {}, {x}, {}, {"x"}}, "the last axis has the extent 3, neither 1 nor 2");
  says({"BitShift", 11, {text_attr("direction", "UP")}, {x, onnx_value("a", kOnnxInt64, {3})}, {}},
       "direction is \"UP\"");
  says({"LpNormalization", 6, {onnx_int_attr("p", 3)}, {x}, {}, {"x"}}, "p is 3");
  says({"RandomUniformLike", 6, {onnx_int_attr("dtype", 7)}, {x_of({std::string("n")})}, {}, {"x"}},
       "dtype is int64");
  says({"SpaceToDepth", 13, {onnx_int_attr("blocksize", 0)}, {x_of({1, 1, 2, 2})}, {}, {"x"}},
       "blocksize is 0");
  says({"ReverseSequence", 10, {onnx_int_attr("batch_axis", 0)}, {x, a_of(2)}, {}},
       "batch_axis and time_axis must be 0 and 1 or 1 and 0");
}

}  // namespace
}  // namespace relay::import_onnx_ops_test
