// Models that ask for too much, say too little or contradict themselves: no converter takes them
// for something else.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_mends_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

std::string refusal(const Proto& model, const OnnxOptions& options = {}) {
  try {
    Module module = from_onnx(model.span(), options, "m.onnx").module;
    infer_types_or_throw(module);
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

// The results of a model, as one text; "fails" where the run does.
std::string result(const Proto& model, std::vector<Value> arguments) {
  OnnxModel made = from_onnx(model.span(), {}, "m.onnx");
  infer_types_or_throw(made.module);
  for (const auto& [name, array] : made.params) arguments.emplace_back(array);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(made.module, "main", types);
  try {
    Value value = evaluate_function(special, "main", arguments);
    std::string text;
    std::vector<NDArray> arrays;
    if (value.is_tensor()) {
      arrays.push_back(value.array());
    } else {
      for (const Value& field : value.fields()) arrays.push_back(field.array());
    }
    for (const NDArray& array : arrays) {
      text += text.empty() ? "" : " |";
      for (int64_t k = 0; k < array.size(); ++k) {
        text += " " + std::to_string(array.dtype().is_float()
                                         ? static_cast<int64_t>(array.element_as_double(k))
                                         : array.element_as_int64(k));
      }
    }
    return text;
  } catch (const Error&) {
    return "fails";
  }
}

Proto input(std::string_view name, const std::vector<OnnxDim>& dims, int dtype = kOnnxFloat) {
  return onnx_value(name, dtype, dims);
}
Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attr = Proto().text(1, name);
  for (int64_t value : values) attr.number(8, value);
  return attr.number(20, 7);
}
Proto one_node(const Proto& node, const std::vector<Proto>& inputs,
               const std::vector<Proto>& initializers = {}, int64_t opset = 17,
               const std::vector<std::string>& outputs = {"y"}) {
  std::vector<Proto> results;
  for (const std::string& output : outputs) results.push_back(input(output, {}));
  return onnx_model(onnx_graph({node}, inputs, results, initializers), opset);
}
Value floats(const Shape& shape, const std::vector<float>& values) {
  return Value(NDArray::from<float>(shape, values));
}
Value ints(const std::vector<int64_t>& values) {
  return Value(NDArray::from<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

TEST(ImportOnnxMends, InputCounts) {
  for (const char* op : {"Range", "Where", "ScatterND"}) {
    EXPECT_EQ(refusal(one_node(onnx_node(op, {}, {"y"}), {}, {}, 18)),
              std::string(op) + " of \"y\": 3 inputs are needed, given are 0");
  }
  EXPECT_EQ(refusal(one_node(onnx_node("BitwiseAnd", {"x"}, {"y"}), {input("x", {}, kOnnxInt64)},
                             {}, 18)),
            "BitwiseAnd of \"y\": 2 inputs are needed, given are 1");
}

TEST(ImportOnnxMends, FarSteps) {
  int64_t far = std::numeric_limits<int64_t>::max();
  Proto graph =
      onnx_graph({onnx_node("Shape", {"x"}, {"s"}),
                  onnx_node("Slice", {"s", "begin", "end", "axis", "step"}, {"y"})},
                 {input("x", {int64_t{2}, int64_t{3}, int64_t{4}})}, {input("y", {}, kOnnxInt64)},
                 {onnx_ints("begin", {1}), onnx_ints("end", {3}), onnx_ints("axis", {0}),
                  onnx_ints("step", {far})});
  EXPECT_EQ(result(onnx_model(graph), {floats({2, 3, 4}, std::vector<float>(24))}), " 3");
}

TEST(ImportOnnxMends, EmptyCondition) {
  Proto branch = onnx_graph({onnx_node("Abs", {"x"}, {"r"})}, {}, {input("r", {})});
  Proto node =
      onnx_node("If", {"c"}, {"y"},
                {onnx_graph_attr("then_branch", branch), onnx_graph_attr("else_branch", branch)});
  EXPECT_EQ(refusal(one_node(node, {input("x", {int64_t{2}})},
                             {onnx_tensor<uint8_t>("c", kOnnxBool, {0}, {})})),
            "If of \"y\": the condition has 0 elements, not 1");
}

TEST(ImportOnnxMends, NegativeExtents) {
  EXPECT_EQ(refusal(one_node(onnx_node("Expand", {"k", "to"}, {"y"}), {},
                             {onnx_ints("k", {3}), onnx_ints("to", {-1})})),
            "Expand of \"y\": the shape has the negative extent -1");
}

TEST(ImportOnnxMends, NamedExtents) {
  std::string n = "n";
  // A named extent has to be what the parts are in all.
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3}, std::vector<int64_t>{1, 2}}) {
    std::vector<std::string> outputs{"y", "z"};
    outputs.resize(sizes.size());
    Proto model = one_node(onnx_node("Split", {"x", "sizes"}, outputs), {input("x", {n})},
                           {onnx_ints("sizes", sizes)}, 17, outputs);
    OnnxModel made = from_onnx(model.span(), {}, "m.onnx");
    infer_types_or_throw(made.module);
    std::string type = function_signature(made.module, "main")->str();
    EXPECT_EQ(type.find("fn (Tensor[(3), float32]"), 0U) << type;
  }
  EXPECT_EQ(refusal(one_node(onnx_node("Split", {"x"}, {"y", "z"}), {input("x", {int64_t{7}})}, {},
                             17, {"y", "z"})),
            "Split of \"y\": an axis of the extent 7 does not divide into 2 equal parts");
}

// One row of states is not repeated for a larger batch, as ONNX Runtime does not either.
TEST(ImportOnnxMends, StatesOfAnotherBatch) {
  auto message = [](const OnnxDim& batch, const OnnxDim& rows, const std::string& op = "GRU") {
    int64_t gates = op == "RNN" ? 1 : op == "GRU" ? 3 : 4;
    std::vector<std::string> inputs{"x", "w", "r", "", "", "h"};
    std::vector<Proto> given{input("x", {int64_t{5}, batch, int64_t{2}}),
                             input("w", {int64_t{1}, 4 * gates, int64_t{2}}),
                             input("r", {int64_t{1}, 4 * gates, int64_t{4}}),
                             input("h", {int64_t{1}, rows, int64_t{4}})};
    return refusal(
        one_node(onnx_node(op, inputs, {"y"}, {onnx_int_attr("hidden_size", 4)}), given));
  };
  int64_t one = 1, three = 3;
  EXPECT_EQ(message(three, three), "");
  for (std::string op : {"GRU", "LSTM", "RNN"}) {
    EXPECT_EQ(message(three, one, op),
              op + " of \"y\": initial_h is Tensor[(1, 1, 4), float32], X, hidden_size and "
                   "direction make it (1, 3, 4)");
  }
  // Names that differ have to be one number then.
  EXPECT_EQ(message("n", "n"), "");
  EXPECT_EQ(message("n", "m"), "");
  Proto lengths =
      onnx_node("RNN", {"x", "w", "r", "", "l"}, {"y"}, {onnx_int_attr("hidden_size", 4)});
  EXPECT_EQ(refusal(one_node(lengths, {input("x", {int64_t{5}, three, int64_t{2}}),
                                       input("w", {one, int64_t{4}, int64_t{2}}),
                                       input("r", {one, int64_t{4}, int64_t{4}}),
                                       input("l", {one}, kOnnxInt32)})),
            "RNN of \"y\": sequence_lens is Tensor[(1), int32], a list of 3 lengths is needed");
}

// A rank that was declared as it was in a run of one row does not hold for others.
TEST(ImportOnnxMends, SqueezeDeclaredForOneRow) {
  Proto squeeze = onnx_node("Squeeze", {"x"}, {"y"}, {}, "s");
  Proto graph = onnx_graph({squeeze}, {input("x", {std::string("n"), int64_t{3}, int64_t{1}})},
                           {input("y", {std::string("d")})});
  OnnxModel made = from_onnx(onnx_model(graph).span(), {}, "m.onnx");
  infer_types_or_throw(made.module);
  EXPECT_EQ(function_signature(made.module, "main")->str(),
            "fn (Tensor[(n, 3, 1), float32]) -> Tensor[(n, 3), float32]");
}

// The reason why an axis goes is said in the model's terms.
TEST(ImportOnnxMends, SqueezeToADeclaredRank) {
  Proto squeeze = onnx_node("Squeeze", {"z"}, {"y"}, {}, "s");
  Proto graph = onnx_graph({onnx_node("NonZero", {"x"}, {"z"}), squeeze},
                           {input("x", {int64_t{2}})}, {input("y", {}, kOnnxInt64)});
  OnnxModel made = from_onnx(onnx_model(graph).span(), {}, "m.onnx");
  infer_types_or_throw(made.module);
  auto run = [&](float first) {
    std::vector<Value> arguments{NDArray::from<float>({2}, {first, 1.0F})};
    return evaluate_function(made.module, "main", arguments);
  };
  EXPECT_EQ(run(0).array().element_as_int64(0), 1);
  try {
    run(1);
    FAIL() << "two numbers were taken for one";
  } catch (const Error& error) {
    EXPECT_EQ(with_onnx_nodes(error.diagnostics()).front().message,
              "Squeeze \"s\": dyn.squeeze: the model declares \"y\" as a tensor of 0 axes: cannot "
              "squeeze axis 1 of (1, 2): its extent is 2");
  }
}

TEST(ImportOnnxMends, UnsignedNumbers) {
  // 1 - 2 in uint64 is no -1.
  constexpr int kUInt64 = 13;
  Proto graph =
      onnx_graph({onnx_node("Sub", {"one", "two"}, {"d"}), onnx_node("Div", {"d", "two"}, {"q"}),
                  onnx_node("Cast", {"q"}, {"y"}, {onnx_int_attr("to", kOnnxInt64)})},
                 {}, {input("y", {}, kOnnxInt64)},
                 {onnx_tensor<uint64_t>("one", kUInt64, {1}, {1}),
                  onnx_tensor<uint64_t>("two", kUInt64, {1}, {2})});
  EXPECT_EQ(result(onnx_model(graph), {}), " 9223372036854775807");
  Proto greatest =
      onnx_graph({onnx_node("Max", {"one", "far"}, {"m"}), onnx_node("Div", {"m", "far"}, {"q"}),
                  onnx_node("Cast", {"q"}, {"y"}, {onnx_int_attr("to", kOnnxInt64)})},
                 {}, {input("y", {}, kOnnxInt64)},
                 {onnx_tensor<uint64_t>("one", kUInt64, {1}, {1}),
                  onnx_tensor<uint64_t>("far", kUInt64, {1}, {~uint64_t{0}})});
  EXPECT_EQ(result(onnx_model(greatest), {}), " 1");
}

TEST(ImportOnnxMends, Lists) {
  int64_t far = int64_t{1} << 40;
  EXPECT_EQ(
      refusal(one_node(onnx_node("MaxPool", {"x"}, {"y", "i"}, {ints_attr("kernel_shape", {2})}),
                       {input("x", {int64_t{1}, int64_t{1}, far})}, {}, 17, {"y", "i"})),
      "MaxPool of \"y\": windows on an axis are 1099511627775, more than 16777216");
  EXPECT_EQ(refusal(one_node(onnx_node("Unsqueeze", {"x", "axes"}, {"y"}),
                             {input("x", {int64_t{1}}), input("axes", {far}, kOnnxInt64)})),
            "Unsqueeze of \"y\": the entries of axes are 1099511627776, more than 16777216");
  EXPECT_EQ(refusal(one_node(onnx_node("Slice", {"x", "s", "s"}, {"y"}),
                             {input("x", {int64_t{1}}), input("s", {far}, kOnnxInt64)})),
            "Slice of \"y\": starts has 1099511627776 entries for rank 1");
}

TEST(ImportOnnxMends, Weights) {
  auto layer = [](int64_t directions, int64_t biases) {
    return one_node(
        onnx_node("LSTM", {"x", "w", "r", "b"}, {"y"}, {onnx_int_attr("hidden_size", 2)}),
        {input("x", {int64_t{5}, int64_t{3}, int64_t{4}}),
         input("w", {int64_t{1}, std::string("gates"), int64_t{4}}),
         input("r", {directions, int64_t{8}, std::string("hidden")}),
         input("b", {int64_t{1}, biases})});
  };
  EXPECT_EQ(refusal(layer(1, 16)), "");  // names are what they have to be
  EXPECT_EQ(refusal(layer(3, 16)).substr(0, 15), "LSTM of \"y\": R ");
  EXPECT_EQ(refusal(layer(1, 18)).substr(0, 15), "LSTM of \"y\": B ");
}

TEST(ImportOnnxMends, Dtypes) {
  EXPECT_EQ(refusal(one_node(onnx_node("Where", {"c", "a", "b"}, {"y"}), {},
                             {onnx_tensor<uint8_t>("c", kOnnxBool, {1}, {1}), onnx_ints("a", {1}),
                              onnx_tensor<int32_t>("b", kOnnxInt32, {1}, {2})})),
            "Where of \"y\": X is int64 and Y is int32");
  EXPECT_EQ(
      refusal(one_node(onnx_node("Max", {"a", "b"}, {"y"}), {},
                       {onnx_ints("a", {1}), onnx_tensor<int32_t>("b", kOnnxInt32, {1}, {2})})),
      "Max of \"y\": the inputs differ in dtype");
  EXPECT_EQ(refusal(one_node(onnx_node("Gather", {"x", "i"}, {"y"}),
                             {input("x", {int64_t{3}}), input("i", {int64_t{1}})})),
            "Gather of \"y\": the indices are float32");
}

TEST(ImportOnnxMends, AtRunTime) {
  Value x = floats({3}, {5, 6, 7});
  Proto gather = one_node(onnx_node("Gather", {"x", "i"}, {"y"}),
                          {input("x", {int64_t{3}}), input("i", {int64_t{2}}, kOnnxInt64)});
  EXPECT_EQ(result(gather, {x, ints({-3, 2})}), " 5 7");
  EXPECT_EQ(result(gather, {x, ints({0, 3})}), "fails");
  EXPECT_EQ(result(gather, {x, ints({-4, 0})}), "fails");

  Proto split = one_node(onnx_node("Split", {"x", "s"}, {"y", "z"}),
                         {input("x", {int64_t{3}}), input("s", {int64_t{2}}, kOnnxInt64)}, {}, 17,
                         {"y", "z"});
  EXPECT_EQ(result(split, {x, ints({1, 2})}), " 5 | 6 7");
  EXPECT_EQ(result(split, {x, ints({1, 1})}), "fails");
  EXPECT_EQ(result(split, {x, ints({-1, 4})}), "fails");

  Proto top = one_node(onnx_node("TopK", {"x", "k"}, {"y", "i"}),
                       {input("x", {int64_t{3}}), input("k", {int64_t{1}}, kOnnxInt64)}, {}, 17,
                       {"y", "i"});
  EXPECT_EQ(result(top, {x, ints({2})}), " 7 6 | 2 1");
  EXPECT_EQ(result(top, {x, ints({-1})}), "fails");
  EXPECT_EQ(result(top, {x, ints({4})}), "fails");

  Value two = floats({1, 3}, {5, 6, 7});
  for (const char* op : {"ReduceSum", "CumSum"}) {
    Proto model =
        one_node(onnx_node(op, {"x", "a"}, {"y"}),
                 {input("x", {int64_t{1}, int64_t{3}}), input("a", {int64_t{1}}, kOnnxInt64)});
    EXPECT_NE(result(model, {two, ints({-1})}), "fails") << op;
    EXPECT_EQ(result(model, {two, ints({2})}), "fails") << op;
    EXPECT_EQ(result(model, {two, ints({-3})}), "fails") << op;
  }
}

TEST(ImportOnnxMends, PositionsOutsideOfNamedExtents) {
  Value x = floats({4}, {5, 6, 7, 8}), matrix = floats({2, 2}, {5, 6, 7, 8});
  auto taken = [&](const char* op, const std::vector<int64_t>& shape,
                   const std::vector<int64_t>& at) {
    bool list = std::string(op) == "Gather";
    std::vector<OnnxDim> dims(list ? 1 : 2, std::string("n"));
    Proto places = onnx_tensor<int64_t>("i", kOnnxInt64, shape, at);
    return result(one_node(onnx_node(op, {"x", "i"}, {"y"}), {input("x", dims)}, {places}),
                  {list ? x : matrix});
  };
  EXPECT_EQ(taken("Gather", {2}, {3, -4}), " 8 5");
  EXPECT_EQ(taken("Gather", {}, {-1}), " 8");
  EXPECT_EQ(taken("Gather", {2}, {0, 4}), "fails");
  EXPECT_EQ(taken("Gather", {}, {-5}), "fails");
  EXPECT_EQ(taken("GatherElements", {1, 2}, {1, -2}), " 7 6");
  EXPECT_EQ(taken("GatherElements", {1, 2}, {1, 2}), "fails");
  EXPECT_EQ(taken("GatherElements", {1, 2}, {1, -3}), "fails");
  EXPECT_EQ(taken("GatherND", {1, 2}, {-1, -2}), " 7");
  EXPECT_EQ(taken("GatherND", {1, 2}, {2, 0}), "fails");
  EXPECT_EQ(taken("GatherND", {1, 2}, {0, -3}), "fails");
  auto put = [&](const char* op, int64_t at) {
    Proto places = onnx_tensor<int64_t>("i", kOnnxInt64, {1, 1}, {at});
    Proto nine = onnx_tensor<float>("u", kOnnxFloat, {1, 1}, {9});
    if (std::string(op) == "ScatterND") {
      nine = onnx_tensor<float>("u", kOnnxFloat, {1, 2}, {9, 10});
    }
    return result(one_node(onnx_node(op, {"x", "i", "u"}, {"y"}),
                           {input("x", {std::string("n"), int64_t{2}})}, {places, nine}),
                  {matrix});
  };
  EXPECT_EQ(put("ScatterElements", -1), " 5 6 9 8");
  EXPECT_EQ(put("ScatterElements", 2), "fails");
  EXPECT_EQ(put("ScatterElements", -3), "fails");
  EXPECT_EQ(put("ScatterND", -2), " 9 10 7 8");
  EXPECT_EQ(put("ScatterND", 2), "fails");
  EXPECT_EQ(put("ScatterND", -3), "fails");

  Proto sum = one_node(onnx_node("CumSum", {"x", "a"}, {"y"}),
                       {input("x", {std::string("n")}), input("a", {int64_t{1}}, kOnnxInt64)});
  EXPECT_EQ(result(sum, {x, ints({0})}), " 5 11 18 26");
  EXPECT_EQ(result(sum, {x, ints({-1})}), " 5 11 18 26");
  EXPECT_EQ(result(sum, {x, ints({1})}), "fails");
  EXPECT_EQ(result(sum, {x, ints({-2})}), "fails");
}

// As bounds clamp to the axis, a slice may end before it begins: then it has no elements.
TEST(ImportOnnxMends, SlicesThatEndBeforeTheyBegin) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  auto expected = [](int64_t extent, int64_t start, int64_t end, int64_t step) {
    auto place = [&](int64_t at, int64_t least) {
      int64_t i = at < 0 ? at + extent : at;
      return std::min(std::max(i, least), step > 0 ? extent : extent - 1);
    };
    int64_t stop = place(end, step > 0 ? 0 : -1);
    std::string text;
    for (int64_t i = place(start, 0); step > 0 ? i < stop : i > stop; i += step) {
      text += " " + std::to_string(i);
    }
    return text;
  };
  std::vector<int64_t> bounds{0, 1, 3, 9, -1, -2, -4, -9, kFar, -kFar};
  for (int64_t step : {1, 2, -1, -2}) {
    for (int64_t start : bounds) {
      for (int64_t end : bounds) {
        std::vector<Proto> lists{onnx_ints("s", {start}), onnx_ints("e", {end}),
                                 onnx_ints("a", {0}), onnx_ints("t", {step})};
        Proto node = onnx_node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
        Proto named = one_node(node, {input("x", {std::string("n")})}, lists);
        Proto open = one_node(node,
                              {input("x", {std::string("n")}), input("s", {int64_t{1}}, kOnnxInt64),
                               input("e", {int64_t{1}}, kOnnxInt64)},
                              {lists[2], lists[3]});
        for (int64_t extent : {0, 1, 2, 5}) {
          std::vector<float> numbers;
          for (int64_t k = 0; k < extent; ++k) numbers.push_back(static_cast<float>(k));
          Value x = floats({extent}, numbers);
          std::string text = expected(extent, start, end, step), place = std::to_string(start) +
                                                                         ":" + std::to_string(end) +
                                                                         ":" + std::to_string(step);
          EXPECT_EQ(result(one_node(node, {input("x", {extent})}, lists), {x}), text) << place;
          EXPECT_EQ(result(named, {x}), text) << place << " of " << extent;
          EXPECT_EQ(result(open, {x, ints({start}), ints({end})}), text) << place;
        }
      }
    }
  }
}

TEST(ImportOnnxMends, SignOfNoNumber) {
  OnnxModel made = from_onnx(
      one_node(onnx_node("Sign", {"x"}, {"y"}), {input("x", {int64_t{3}})}).span(), {}, "m.onnx");
  infer_types_or_throw(made.module);
  Value x = floats({3}, {-2, std::numeric_limits<float>::quiet_NaN(), 3});
  std::vector<Value> arguments{x};
  NDArray signs = evaluate_function(made.module, "main", arguments).array();
  EXPECT_EQ(signs.element_as_double(0), -1);
  EXPECT_TRUE(std::isnan(signs.element_as_double(1)));
  EXPECT_EQ(signs.element_as_double(2), 1);
}

TEST(ImportOnnxMends, NothingRepeated) {
  Proto tile = one_node(onnx_node("Tile", {"x", "r"}, {"y"}), {input("x", {std::string("n")})},
                        {onnx_ints("r", {0})});
  EXPECT_EQ(result(tile, {floats({2}, {1, 2})}), "");
  Module module = from_onnx(tile.span(), {}, "m.onnx").module;
  infer_types_or_throw(module);
  EXPECT_EQ(module.function("main")->type()->str(),
            "fn (Tensor[(n), float32]) -> Tensor[(0), float32]");
}

// Extents that only a run knows, of more than one axis.
TEST(ImportOnnxMends, SeveralUnknownExtents) {
  std::vector<Proto> pad{onnx_node("Pad", {"x", "p"}, {"w"})};
  auto after = [&](const Proto& node, const std::vector<Proto>& initializers) {
    return onnx_model(
        onnx_graph({pad[0], node},
                   {input("x", {int64_t{1}, int64_t{2}}), input("p", {int64_t{4}}, kOnnxInt64)},
                   {input("y", {})}, initializers),
        17);
  };
  std::vector<Value> arguments{floats({1, 2}, {3, 4}), ints({0, 0, 0, 1})};
  EXPECT_EQ(result(after(onnx_node("Flatten", {"w"}, {"y"}), {}), arguments), " 3 4 0");
  EXPECT_EQ(
      result(after(onnx_node("Expand", {"w", "s"}, {"y"}), {onnx_ints("s", {2, 1})}), arguments),
      " 3 4 0 3 4 0");
  // One axis of the result may be what named extents leave of an extent that only a run knows.
  std::vector<Proto> nodes{onnx_node("Pad", {"x", "p"}, {"w"}), onnx_node("Shape", {"z"}, {"s"}),
                           onnx_node("Concat", {"s", "rest"}, {"t"}, {onnx_int_attr("axis", 0)}),
                           onnx_node("Reshape", {"w", "t"}, {"y"})};
  Proto model = onnx_model(
      onnx_graph(nodes,
                 {input("x", {int64_t{1}, int64_t{2}}), input("p", {int64_t{4}}, kOnnxInt64),
                  input("z", {std::string("m"), std::string("n")})},
                 {input("y", {})}, {onnx_ints("rest", {-1})}),
      17);
  arguments.push_back(Value(NDArray::zeros({{3, 1}}, kFloat32)));
  EXPECT_EQ(result(model, arguments), " 3 4 0");
  Module module = from_onnx(model.span(), {}, "m.onnx").module;
  infer_types_or_throw(module);
  std::string type = module.function("main")->type()->str();
  EXPECT_NE(type.find("-> Tensor[(m, n, ?), float32]"), std::string::npos) << type;
}

// What names leave of an extent is known where one of them is 0, too.
TEST(ImportOnnxMends, ReshapeOfNothing) {
  std::vector<Proto> nodes{
      onnx_node("Shape", {"x"}, {"s"}, {onnx_int_attr("start", 0), onnx_int_attr("end", 2)}),
      onnx_node("Concat", {"s", "rest"}, {"t"}, {onnx_int_attr("axis", 0)}),
      onnx_node("Reshape", {"x", "t"}, {"y"})};
  Proto model = onnx_model(
      onnx_graph(nodes, {input("x", {std::string("m"), std::string("n"), int64_t{2}, int64_t{3}})},
                 {input("y", {})}, {onnx_ints("rest", {-1})}),
      17);
  EXPECT_EQ(result(model, {Value(NDArray::zeros({{0, 2, 2, 3}}, kFloat32))}), "");
  Module module = from_onnx(model.span(), {}, "m.onnx").module;
  infer_types_or_throw(module);
  std::string type = module.function("main")->type()->str();
  EXPECT_NE(type.find("-> Tensor[(m, n, 6), float32]"), std::string::npos) << type;
}

// auto_pad with strides pads by the extent, which a name may stand for.
TEST(ImportOnnxMends, SamePadsOfNamedExtents) {
  auto text = [](std::string_view name, std::string_view value) {
    return Proto().text(1, name).text(4, value).number(20, 3);
  };
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
    for (int64_t stride : {2, 3}) {
      for (int64_t kernel : {2, 3, 4}) {
        for (std::string op : {"Conv", "MaxPool", "AveragePool", "LpPool", "count"}) {
          std::vector<Proto> attrs{text("auto_pad", pad), ints_attr("strides", {stride}),
                                   ints_attr("kernel_shape", {kernel})};
          std::vector<std::string> names{"x"};
          std::vector<Proto> weights;
          if (op == "count") attrs.push_back(onnx_int_attr("count_include_pad", 1));
          if (op == "Conv") {
            std::vector<float> numbers;
            for (int64_t k = 0; k < kernel; ++k) numbers.push_back(static_cast<float>(10 * k + 7));
            weights.push_back(onnx_tensor<float>("w", kOnnxFloat, {1, 1, kernel}, numbers));
            names.push_back("w");
          }
          Proto node = onnx_node(op == "count" ? "AveragePool" : op, names, {"y"}, attrs);
          Proto named =
              one_node(node, {input("x", {int64_t{1}, int64_t{1}, std::string("n")})}, weights);
          for (int64_t extent : {1, 2, 3, 4, 5, 6, 7}) {
            Proto fixed = one_node(node, {input("x", {int64_t{1}, int64_t{1}, extent})}, weights);
            std::vector<float> numbers;
            for (int64_t k = 0; k < extent; ++k) {
              numbers.push_back(-0.37f - 100 * static_cast<float>((k * 5) % 7 + 1));
            }
            Value x = floats({1, 1, extent}, numbers);
            EXPECT_EQ(result(named, {x}), result(fixed, {x}))
                << op << " " << pad << " " << stride << " " << kernel << " " << extent;
          }
        }
      }
    }
  }
}

// The value of a name decides how much is padded or cut off: refused, with the node.
TEST(ImportOnnxMends, WindowsThatNeedExtents) {
  auto refused = [](const char* op, std::vector<Proto> attrs,
                    const std::vector<Proto>& weights = {}) {
    std::vector<std::string> names{"x"};
    if (weights.empty()) attrs.push_back(ints_attr("kernel_shape", {3}));
    if (!weights.empty()) names.push_back("w");
    return refusal(one_node(onnx_node(op, names, {"y"}, attrs, "the node"),
                            {input("x", {int64_t{1}, int64_t{1}, std::string("n")})}, weights, 19));
  };
  std::vector<Proto> ceiled{onnx_int_attr("ceil_mode", 1), ints_attr("strides", {2}),
                            ints_attr("pads", {1, 2})};
  for (const char* op : {"MaxPool", "AveragePool"}) {
    EXPECT_EQ(refused(op, ceiled),
              std::string(op) +
                  " \"the node\": ceil_mode with that much padding needs the extents of the data");
  }
  ceiled.pop_back();
  EXPECT_EQ(refused("LpPool", ceiled),
            "LpPool \"the node\": ceil_mode needs the extents of the data");
  EXPECT_EQ(refused("ConvTranspose", {ints_attr("output_shape", {9})},
                    {onnx_tensor<float>("w", kOnnxFloat, {1, 1, 2}, {1, 2})}),
            "ConvTranspose \"the node\": output_shape needs the extents of the data");
}

TEST(ImportOnnxMends, Options) {
  Proto model =
      one_node(onnx_node("Abs", {"x"}, {"y"}), {input("x", {std::string("n"), int64_t{4}})});
  OnnxOptions options;
  options.shapes["nope"] = {1};
  EXPECT_EQ(refusal(model, options),
            "m.onnx: there is no input \"nope\", for which a shape is given");
  options.shapes = {{"x", {2, 5}}};
  EXPECT_EQ(refusal(model, options),
            "m.onnx: the input \"x\" has the extent 4 on axis 1, the shape that is given has 5");
}

// The nearest elements under a whole scale are the elements again and again, also where a run
// decides how many there are; other forms of the nearest one are not.
TEST(ImportOnnxMends, WholeScalesOfOpenExtents) {
  auto resized = [](std::string_view places, std::string_view nearest, float scale) {
    auto text = [](std::string_view name, std::string_view value) {
      return Proto().text(1, name).text(4, value).number(20, 3);
    };
    Proto node =
        onnx_node("Resize", {"x", "", "scales"}, {"y"},
                  {text("coordinate_transformation_mode", places), text("nearest_mode", nearest)});
    Proto scales = onnx_tensor<float>("scales", kOnnxFloat, {3}, {1, 1, scale});
    return result(one_node(node, {input("x", {int64_t{1}, int64_t{1}, "w"})}, {scales}),
                  {floats({1, 1, 3}, {1, 2, 3})});
  };
  EXPECT_EQ(resized("asymmetric", "floor", 2), " 1 1 2 2 3 3");
  EXPECT_EQ(resized("asymmetric", "ceil", 2), " 1 2 2 3 3 3");
  EXPECT_EQ(resized("half_pixel", "round_prefer_floor", 3), " 1 1 1 2 2 2 3 3 3");
  EXPECT_EQ(resized("half_pixel", "round_prefer_ceil", 2), " 1 1 2 2 3 3");
  EXPECT_EQ(resized("half_pixel", "floor", 2), " 1 1 1 2 2 3");
  EXPECT_EQ(resized("align_corners", "floor", 2), " 1 1 1 2 2 3");
}

}  // namespace
}  // namespace relay::import_onnx_mends_test
