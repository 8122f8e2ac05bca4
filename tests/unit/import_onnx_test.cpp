// The programs that ONNX models become: names, extents, known elements, functions, branches, loops.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/import/onnx/registry.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

const OnnxDim kN = std::string("n");

// Typed; printed and parsed back it stays itself.
OnnxModel typed(const Proto& model, const OnnxOptions& options = {}) {
  OnnxModel result = from_onnx(model.span(), options, "m.onnx");
  infer_types_or_throw(result.module);
  std::string text = print_module(result.module);
  ParseResult again = parse_text("again", text);
  EXPECT_TRUE(again.ok()) << text;
  if (again.ok()) {
    infer_types_or_throw(again.module);
    EXPECT_EQ(print_module(again.module), text);
  }
  return result;
}
std::string signature(const OnnxModel& model) {
  return function_signature(model.module, "main")->str();
}
std::string text(const OnnxModel& model) { return print_module(model.module); }

// Runs @main on the arguments and then the model's parameters.
Value run(const OnnxModel& model, std::vector<Value> arguments) {
  for (const auto& [name, array] : model.params) arguments.emplace_back(array);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(model.module, "main", types);
  return evaluate_function(special, "main", arguments);
}
Value floats(std::initializer_list<int64_t> shape, std::initializer_list<float> elements) {
  return Value(NDArray::from<float>(shape, elements));
}

TEST(ImportOnnx, NamesAndInitializers) {
  // Weights are parameters, those listed as inputs too; small integers and single numbers stay.
  Proto graph = onnx_graph(
      {onnx_node("Add", {"x.1", "w"}, {"a"}), onnx_node("Mul", {"a", "s"}, {"b c"}),
       onnx_node("Add", {"b c", "unused?"}, {"y"})},
      {onnx_value("x.1", kOnnxFloat, {int64_t{2}}), onnx_value("w", kOnnxFloat, {int64_t{2}})},
      {onnx_value("y", kOnnxFloat, {int64_t{2}})},
      {onnx_tensor<float>("w", kOnnxFloat, {2}, {1, 2}),
       onnx_tensor<float>("s", kOnnxFloat, {}, {3}),
       onnx_tensor<float>("unused?", kOnnxFloat, {2}, {5, 6}),
       onnx_tensor<float>("really unused", kOnnxFloat, {2}, {5, 6})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(model.inputs, std::vector<std::string>{"x.1"});
  EXPECT_EQ(model.outputs, std::vector<std::string>{"y"});
  ASSERT_EQ(model.params.size(), 2u);
  EXPECT_EQ(model.params[0].first, "w");
  EXPECT_EQ(model.params[1].first, "unused?");
  EXPECT_EQ(signature(model),
            "fn (Tensor[(2), float32], Tensor[(2), float32], Tensor[(2), float32]) -> "
            "Tensor[(2), float32]");
  Value y = run(model, {floats({2}, {1, 1})});
  EXPECT_EQ(y.array().element_as_double(0), 11);
  EXPECT_EQ(y.array().element_as_double(1), 15);

  OnnxOptions freeze;
  freeze.freeze = true;
  EXPECT_TRUE(typed(onnx_model(graph), freeze).params.empty());
}

TEST(ImportOnnx, SymbolicExtents) {
  // The same name is the same extent; shape arithmetic leaves nothing but the reshape.
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"shape"}), onnx_node("Gather", {"shape", "zero"}, {"n"}),
       onnx_node("Unsqueeze", {"n", "axes"}, {"n1"}),
       onnx_node("Concat", {"n1", "rest"}, {"wanted"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Reshape", {"x", "wanted"}, {"r"}), onnx_node("Add", {"r", "z"}, {"y"})},
      {onnx_value("x", kOnnxFloat, {kN, int64_t{12}}),
       onnx_value("z", kOnnxFloat, {kN, int64_t{3}, int64_t{4}})},
      {onnx_value("y", kOnnxFloat, {kN, int64_t{3}, int64_t{4}})},
      {onnx_tensor<int64_t>("zero", kOnnxInt64, {}, {0}), onnx_ints("axes", {0}),
       onnx_ints("rest", {3, 4})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(signature(model),
            "fn (Tensor[(n, 12), float32], Tensor[(n, 3, 4), float32]) -> "
            "Tensor[(n, 3, 4), float32]");
  EXPECT_EQ(text(model).find("shape_of"), std::string::npos);
  EXPECT_EQ(text(model).find("let"), std::string::npos);

  OnnxOptions options;
  options.shapes["x"] = {5, -1};
  options.shapes["z"] = {5, 3, 4};
  EXPECT_EQ(signature(typed(onnx_model(graph), options)),
            "fn (Tensor[(5, 12), float32], Tensor[(5, 3, 4), float32]) -> "
            "Tensor[(5, 3, 4), float32]");
}

TEST(ImportOnnx, ExtentsThatOnlyTermsSay) {
  // (n, m) to (m, n): read at run time, its type stated by a let.
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"s"}), onnx_node("Slice", {"s", "one", "two"}, {"m"}),
       onnx_node("Slice", {"s", "zero", "one"}, {"n"}),
       onnx_node("Concat", {"m", "n"}, {"wanted"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Reshape", {"x", "wanted"}, {"y"})},
      {onnx_value("x", kOnnxFloat, {kN, std::string("m")})}, {onnx_value("y", kOnnxFloat, {})},
      {onnx_ints("zero", {0}), onnx_ints("one", {1}), onnx_ints("two", {2})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(signature(model), "fn (Tensor[(n, m), float32]) -> Tensor[(m, n), float32]");
  Value y = run(model, {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(shape_text(y.array().shape()), "(3, 2)");
  EXPECT_EQ(y.array().element_as_double(5), 6);
}

TEST(ImportOnnx, PadsThatAreTurnedAround) {
  // PyTorch lists pairs of pads from the last axis on: its exporter turns the table around.
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"s"}), onnx_node("Slice", {"s", "one", "two"}, {"n"}),
       onnx_node("Concat", {"zero", "n", "one", "zero"}, {"list"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Reshape", {"list", "pairs"}, {"table"}),
       onnx_node("Slice", {"table", "minus", "far", "zero", "minus"}, {"turned"}),
       onnx_node("Transpose", {"turned"}, {"sides"}, {onnx_ints_attr("perm", {1, 0})}),
       onnx_node("Reshape", {"sides", "minus"}, {"pads"}),
       onnx_node("ConstantOfShape", {"pads"}, {"z"}), onnx_node("Pad", {"x", "pads"}, {"y"})},
      {onnx_value("x", kOnnxFloat, {int64_t{3}, kN})},
      {onnx_value("y", kOnnxFloat, {}), onnx_value("z", kOnnxFloat, {})},
      {onnx_ints("zero", {0}), onnx_ints("one", {1}), onnx_ints("two", {2}),
       onnx_ints("pairs", {-1, 2}), onnx_ints("minus", {-1}),
       onnx_ints("far", {-std::numeric_limits<int64_t>::max()})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(signature(model),
            "fn (Tensor[(3, n), float32]) -> "
            "(Tensor[(4, 2 * n), float32], Tensor[(1, 0, 0, n), float32])");
  Value y = run(model, {floats({3, 2}, {1, 2, 3, 4, 5, 6})}).fields()[0];
  EXPECT_EQ(shape_text(y.array().shape()), "(4, 4)");
  EXPECT_EQ(y.array().element_as_double(1), 0);
  EXPECT_EQ(y.array().element_as_double(5), 2);
  OnnxOptions options;
  options.shapes["x"] = {3, 5};
  EXPECT_EQ(signature(typed(onnx_model(graph), options)),
            "fn (Tensor[(3, 5), float32]) -> "
            "(Tensor[(4, 10), float32], Tensor[(1, 0, 0, 5), float32])");
}

// `ops` applied to the extents of x (n, m) as floats, then a cast: what a result of that shape has.
std::string shape_by_floats(std::vector<Proto> ops, double factor = 2) {
  std::vector<Proto> nodes{onnx_node("Shape", {"x"}, {"s"}),
                           onnx_node("Cast", {"s"}, {"f"}, {onnx_int_attr("to", kOnnxFloat)})};
  nodes.insert(nodes.end(), ops.begin(), ops.end());
  nodes.push_back(onnx_node("Cast", {"g"}, {"t"}, {onnx_int_attr("to", kOnnxInt64)}));
  nodes.push_back(onnx_node("ConstantOfShape", {"t"}, {"y"}));
  Proto graph = onnx_graph(nodes, {onnx_value("x", kOnnxFloat, {kN, std::string("m")})},
                           {onnx_value("y", kOnnxFloat, {})},
                           {onnx_tensor<float>("c", kOnnxFloat, {}, {static_cast<float>(factor)}),
                            onnx_tensor<float>("three", kOnnxFloat, {1}, {3}),
                            onnx_tensor<float>("pair", kOnnxFloat, {2}, {1, 0.5})});
  OnnxModel model = typed(onnx_model(graph, 17));
  std::string text = signature(model);
  Value y = run(model, {NDArray::zeros(Shape{5, 13}, kFloat32)});
  return text.substr(text.find("-> ") + 3) + " " + shape_text(y.array().shape());
}

TEST(ImportOnnx, ExtentsByFloats) {
  auto step = [](const char* op, const char* with, const char* from, const char* to) {
    return onnx_node(op, {from, with}, {to});
  };
  auto one = [](const char* op, const char* from, const char* to) {
    return onnx_node(op, {from}, {to});
  };
  EXPECT_EQ(shape_by_floats({step("Div", "c", "f", "d"), one("Ceil", "d", "g")}, 8),
            "Tensor[(floordiv(n + 7, 8), floordiv(m + 7, 8)), float32] (1, 2)");
  EXPECT_EQ(shape_by_floats({step("Mul", "c", "f", "d"), one("Floor", "d", "g")}, 1.5),
            "Tensor[(floordiv(3 * n, 2), floordiv(3 * m, 2)), float32] (7, 19)");
  EXPECT_EQ(shape_by_floats({step("Mul", "pair", "f", "g")}),
            "Tensor[(n, floordiv(m, 2)), float32] (5, 6)");
  EXPECT_EQ(shape_by_floats({step("Div", "three", "f", "d"), one("Ceil", "d", "e"),
                             step("Mul", "three", "e", "g")}),
            "Tensor[(3 * floordiv(n + 2, 3), 3 * floordiv(m + 2, 3)), float32] (6, 15)");
  EXPECT_EQ(shape_by_floats({step("Sub", "c", "f", "d"), step("Mul", "pair", "d", "e"),
                             step("Add", "c", "e", "g")},
                            0.5),
            "Tensor[(n, floordiv(m, 2)), float32] (5, 6)");
  // Rounded thirds times three need not be what they were, and 1.1 is no short fraction.
  EXPECT_EQ(shape_by_floats({step("Div", "three", "f", "d"), step("Mul", "three", "d", "e"),
                             one("Ceil", "e", "g")}),
            "Tensor[(?, ?), float32] (5, 13)");
  EXPECT_EQ(shape_by_floats({step("Mul", "c", "f", "g")}, 1.1), "Tensor[(?, ?), float32] (5, 14)");
  // Floats do not hold 147 times an extent, so that what comes out may be another integer.
  EXPECT_EQ(
      shape_by_floats(
          {step("Mul", "c", "f", "d"), step("Div", "three", "d", "e"), one("Ceil", "e", "g")}, 147),
      "Tensor[(?, ?), float32] (245, 637)");
  EXPECT_EQ(shape_by_floats({step("Mul", "c", "f", "g")}, 16),
            "Tensor[(16 * n, 16 * m), float32] (80, 208)");
  EXPECT_EQ(
      shape_by_floats({onnx_node("Concat", {"f", "three"}, {"g"}, {onnx_int_attr("axis", 0)})}),
      "Tensor[(n, m, 3), float32] (5, 13, 3)");
}

TEST(ImportOnnx, PadsToAnotherExtent) {
  // m - n elements are added, or taken away: there are m.
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"n"}), onnx_node("Shape", {"z"}, {"m"}),
       onnx_node("Sub", {"m", "n"}, {"more"}),
       onnx_node("Concat", {"zero", "more"}, {"pads"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Pad", {"x", "pads"}, {"y"})},
      {onnx_value("x", kOnnxFloat, {kN}), onnx_value("z", kOnnxFloat, {std::string("m")})},
      {onnx_value("y", kOnnxFloat, {})}, {onnx_ints("zero", {0})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(signature(model),
            "fn (Tensor[(n), float32], Tensor[(m), float32]) -> Tensor[(m), float32]");
  auto padded = [&](int64_t count) {
    NDArray y =
        run(model, {floats({3}, {1, 2, 3}), Value(NDArray::zeros({{count}}, kFloat32))}).array();
    std::string found;
    for (int64_t k = 0; k < y.size(); ++k)
      found += " " + std::to_string(static_cast<int>(y.element_as_double(k)));
    return found;
  };
  EXPECT_EQ(padded(5), " 1 2 3 0 0");
  EXPECT_EQ(padded(3), " 1 2 3");
  EXPECT_EQ(padded(2), " 1 2");
  EXPECT_EQ(padded(0), "");
}

TEST(ImportOnnx, RowsOfATable) {
  // The first n rows of a table of 8 beside n rows: there are n, and a run with more fails.
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"n"}), onnx_node("Slice", {"t", "zero", "n"}, {"rows"}),
       onnx_node("Add", {"x", "rows"}, {"y"})},
      {onnx_value("x", kOnnxFloat, {kN})}, {onnx_value("y", kOnnxFloat, {})},
      {onnx_tensor<float>("t", kOnnxFloat, {8}, {1, 2, 3, 4, 5, 6, 7, 8}), onnx_ints("zero", {0})});
  OnnxOptions options;
  options.freeze = true;
  OnnxModel model = typed(onnx_model(graph), options);
  EXPECT_EQ(signature(model), "fn (Tensor[(n), float32]) -> Tensor[(n), float32]");
  for (int64_t n : {0, 1, 2, 8})
    EXPECT_EQ(run(model, {Value(NDArray::zeros({{n}}, kFloat32))}).array().size(), n);
  EXPECT_THROW(run(model, {Value(NDArray::zeros({{9}}, kFloat32))}), Error);
}

TEST(ImportOnnx, SlicesOfTablesThatAreEmpty) {
  // An axis without places beside a long one: no list of its places is made.
  const int64_t many = int64_t{1} << 40;
  Proto graph = onnx_graph(
      {onnx_node("Slice", {"t", "zero", "one", "zero"}, {"cut"}),
       onnx_node("Transpose", {"cut"}, {"turned"}), onnx_node("Shape", {"turned"}, {"y"})},
      {onnx_value("t", kOnnxInt64, {int64_t{0}, many})}, {onnx_value("y", kOnnxInt64, {})},
      {onnx_tensor<int64_t>("t", kOnnxInt64, {0, many}, {}), onnx_ints("zero", {0}),
       onnx_ints("one", {1})});
  Value y = run(typed(onnx_model(graph)), {});
  EXPECT_EQ(y.array().element_as_double(0), static_cast<double>(many));
  EXPECT_EQ(y.array().element_as_double(1), 0);
}

TEST(ImportOnnx, NamesThatCanBeOneThingOnly) {
  // Two names for one extent, a name for a number, a sum: the inputs say so then.
  auto product = [](std::vector<OnnxDim> a, std::vector<OnnxDim> b) {
    return onnx_model(onnx_graph({onnx_node("MatMul", {"a", "b"}, {"y"})},
                                 {onnx_value("a", kOnnxFloat, a), onnx_value("b", kOnnxFloat, b)},
                                 {onnx_value("y", kOnnxFloat, {})}));
  };
  OnnxDim m = std::string("m");
  EXPECT_EQ(signature(typed(product({kN, m}, {std::string("k"), int64_t{2}}))),
            "fn (Tensor[(n, k), float32], Tensor[(k, 2), float32]) -> Tensor[(n, 2), float32]");
  EXPECT_EQ(signature(typed(product({kN, m}, {int64_t{3}, int64_t{2}}))),
            "fn (Tensor[(n, 3), float32], Tensor[(3, 2), float32]) -> Tensor[(n, 2), float32]");
  Proto sum = onnx_model(
      onnx_graph({onnx_node("Concat", {"past", "now"}, {"all"}, {onnx_int_attr("axis", 0)}),
                  onnx_node("MatMul", {"mask", "all"}, {"y"})},
                 {onnx_value("past", kOnnxFloat, {kN, int64_t{2}}),
                  onnx_value("now", kOnnxFloat, {m, int64_t{2}}),
                  onnx_value("mask", kOnnxFloat, {int64_t{1}, std::string("total")})},
                 {onnx_value("y", kOnnxFloat, {})}));
  // A view of n rows of m elements as n rows of two: what both have in common says nothing.
  Proto view = onnx_model(
      onnx_graph({onnx_node("Shape", {"x"}, {"s"}, {onnx_int_attr("end", 1)}),
                  onnx_node("Concat", {"s", "two"}, {"shape"}, {onnx_int_attr("axis", 0)}),
                  onnx_node("Reshape", {"x", "shape"}, {"y"})},
                 {onnx_value("x", kOnnxFloat, {kN, m, int64_t{6}})},
                 {onnx_value("y", kOnnxFloat, {})}, {onnx_ints("two", {2, 6})}));
  EXPECT_EQ(signature(typed(view)),
            "fn (Tensor[(n, 2, 6), float32]) -> Tensor[(n, 2, 6), float32]");
  // A branch may never be taken, or for tensors without elements: it says nothing of the inputs.
  auto views = [](const char* shape) {
    return onnx_graph({onnx_node("Reshape", {"x", shape}, {"r"})}, {},
                      {onnx_value("r", kOnnxFloat, {})});
  };
  Proto branches = onnx_model(
      onnx_graph({onnx_node("Shape", {"x"}, {"s"}, {onnx_int_attr("end", 1)}),
                  onnx_node("Concat", {"s", "two"}, {"shape"}, {onnx_int_attr("axis", 0)}),
                  onnx_node("If", {"c"}, {"y"},
                            {onnx_graph_attr("then_branch", views("shape")),
                             onnx_graph_attr("else_branch", views("whole"))})},
                 {onnx_value("c", kOnnxBool, {}), onnx_value("x", kOnnxFloat, {kN, m, int64_t{6}})},
                 {onnx_value("y", kOnnxFloat, {})},
                 {onnx_ints("two", {2, 6}), onnx_ints("whole", {0, -1, 6})}));
  EXPECT_EQ(signature(typed(branches)).substr(0, 36), "fn (bool, Tensor[(n, m, 6), float32]");
  // In which order a term is written follows from nothing here.
  std::string text = signature(typed(sum));
  size_t at = text.find("m + n");
  if (at != std::string::npos) text.replace(at, 5, "n + m");
  EXPECT_EQ(text,
            "fn (Tensor[(n, 2), float32], Tensor[(m, 2), float32], Tensor[(1, n + m), float32]) -> "
            "Tensor[(1, 2), float32]");
}

TEST(ImportOnnx, BranchesOfOtherExtents) {
  auto branch = [](const char* of) {
    return onnx_graph({onnx_node("Neg", {of}, {"r"})}, {}, {onnx_value("r", kOnnxFloat, {})});
  };
  Proto graph = onnx_graph({onnx_node("If", {"c"}, {"y"},
                                      {onnx_graph_attr("then_branch", branch("a")),
                                       onnx_graph_attr("else_branch", branch("b"))})},
                           {onnx_value("c", kOnnxBool, {}), onnx_value("a", kOnnxFloat, {kN}),
                            onnx_value("b", kOnnxFloat, {int64_t{2}})},
                           {onnx_value("y", kOnnxFloat, {})});
  OnnxModel model = typed(onnx_model(graph));
  EXPECT_EQ(signature(model),
            "fn (bool, Tensor[(n), float32], Tensor[(2), float32]) -> Tensor[(?), float32]");
  Value y = run(model, {Value(NDArray::scalar(Bool(true))), floats({1}, {4}), floats({2}, {1, 2})});
  EXPECT_EQ(y.array().element_as_double(0), -4);
}

TEST(ImportOnnx, FunctionsAreInlined) {
  // Attributes of a function refer to those of its calls; its opset is its own (axes as attribute).
  Proto scale =
      onnx_function("Scale", {"a", "b"}, {"r"},
                    {onnx_node("LeakyRelu", {"a"}, {"l"}, {onnx_reference("alpha", "slope", 1)}),
                     onnx_node("Squeeze", {"l"}, {"r"})},
                    {"slope"}, 11);
  Proto graph = onnx_graph(
      {onnx_node("Scale", {"x", ""}, {"y"}, {onnx_float_attr("slope", 0.5f)}, "call", "local")},
      {onnx_value("x", kOnnxFloat, {int64_t{1}, int64_t{2}})},
      {onnx_value("y", kOnnxFloat, {int64_t{2}})});
  OnnxModel model = typed(onnx_model(graph, 17, {scale}));
  Value y = run(model, {floats({1, 2}, {-4, 4})});
  EXPECT_EQ(shape_text(y.array().shape()), "(2,)");
  EXPECT_EQ(y.array().element_as_double(0), -2);
}

TEST(ImportOnnx, BranchesSeeOuterNames) {
  auto branch = [](const char* op) {
    return onnx_graph({onnx_node(op, {"x"}, {"r"})}, {}, {onnx_value("r", kOnnxFloat, {})});
  };
  Proto graph = onnx_graph({onnx_node("If", {"c"}, {"y"},
                                      {onnx_graph_attr("then_branch", branch("Neg")),
                                       onnx_graph_attr("else_branch", branch("Abs"))})},
                           {onnx_value("c", kOnnxBool, {}), onnx_value("x", kOnnxFloat, {kN})},
                           {onnx_value("y", kOnnxFloat, {kN})});
  OnnxModel model = typed(onnx_model(graph));
  Value x = floats({2}, {-1, 2});
  Value yes = run(model, {Value(NDArray::scalar(Bool(true))), x});
  Value no = run(model, {Value(NDArray::scalar(Bool(false))), x});
  EXPECT_EQ(yes.array().element_as_double(1), -2);
  EXPECT_EQ(no.array().element_as_double(0), 1);
}

TEST(ImportOnnx, WhatALoopTakesIsComputedOnce) {
  // The products with the inputs stand before the loop of a recurrent layer.
  std::vector<float> ones(4, 1);
  Proto graph =
      onnx_graph({onnx_node("RNN", {"x", "w", "r"}, {"y", "h"}, {onnx_int_attr("hidden_size", 2)})},
                 {onnx_value("x", kOnnxFloat, {kN, int64_t{1}, int64_t{2}})},
                 {onnx_value("y", kOnnxFloat, {}), onnx_value("h", kOnnxFloat, {})},
                 {onnx_tensor<float>("w", kOnnxFloat, {1, 2, 2}, ones),
                  onnx_tensor<float>("r", kOnnxFloat, {1, 2, 2}, ones)});
  OnnxModel model = typed(onnx_model(graph));
  std::string program = text(model);
  size_t loop = program.find("let %loop");
  ASSERT_NE(loop, std::string::npos) << program;
  EXPECT_LT(program.find("nn.dense"), loop) << program;
  size_t inside = program.find("nn.dense", loop);
  ASSERT_NE(inside, std::string::npos);
  EXPECT_EQ(program.find("nn.dense", inside + 1), std::string::npos) << program;
  Value result = run(model, {floats({2, 1, 2}, {1, 0, 0.5f, 0})});
  double first = std::tanh(1.0), second = std::tanh(0.5 + 2 * first);
  EXPECT_NEAR(result.field(0).array().element_as_double(0), first, 1e-6);
  EXPECT_NEAR(result.field(0).array().element_as_double(2), second, 1e-6);
  EXPECT_NEAR(result.field(1).array().element_as_double(1), second, 1e-6);
}

TEST(ImportOnnx, UnsortedNodes) {
  Proto graph =
      onnx_graph({onnx_node("Abs", {"a"}, {"y"}), onnx_node("Neg", {"x"}, {"a"})},
                 {onnx_value("x", kOnnxFloat, {kN})}, {onnx_value("y", kOnnxFloat, {kN})});
  EXPECT_EQ(signature(typed(onnx_model(graph))),
            "fn (Tensor[(n), float32]) -> Tensor[(n), float32]");
}

TEST(ImportOnnx, TypedContents) {
  // Every field that contents come in: int32_data for small integers, bits for 16-bit floats.
  auto constant = [](int dtype, uint32_t field, int64_t value) {
    Proto tensor = Proto().number(1, 1).number(2, dtype).number(field, value);
    Proto graph =
        onnx_graph({onnx_node("Constant", {}, {"y"}, {onnx_tensor_attr("value", tensor)})}, {},
                   {onnx_value("y", dtype, {int64_t{1}})});
    return run(typed(onnx_model(graph)), {}).array();
  };
  EXPECT_EQ(constant(3, 5, -7).element_as_int64(0), -7);                  // int8
  EXPECT_EQ(constant(9, 5, 1).element_as_int64(0), 1);                    // bool
  EXPECT_EQ(constant(13, 11, 1LL << 40).element_as_int64(0), 1LL << 40);  // uint64
  EXPECT_EQ(constant(10, 5, 0x3c00).element_as_double(0), 1);             // float16
  EXPECT_EQ(constant(16, 5, 0x4000).element_as_double(0), 2);             // bfloat16
}

TEST(ImportOnnx, ExternalData) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("onnx_external." + std::to_string(::getpid()));
  fs::create_directories(folder / "inner");
  std::vector<float> weights(2048, 2);
  std::ofstream(folder / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights.data()), 8192);
  fs::create_symlink("../..", folder / "inner" / "out");
  auto import = [&](const std::string& location, int64_t offset, int64_t length) {
    Proto tensor = Proto().number(1, 1024).number(2, kOnnxFloat).text(8, "w").number(14, 1);
    auto entry = [&](const char* key, const std::string& value) {
      tensor.message(13, Proto().text(1, key).text(2, value));
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(length));
    Proto graph = onnx_graph({onnx_node("Add", {"x", "w"}, {"y"})},
                             {onnx_value("x", kOnnxFloat, {int64_t{1024}})},
                             {onnx_value("y", kOnnxFloat, {int64_t{1024}})}, {tensor});
    std::string path = folder / "m.onnx";
    std::ofstream(path, std::ios::binary) << onnx_model(graph).bytes();
    try {
      return std::to_string(from_onnx(path).params.at(0).second.element_as_double(1023));
    } catch (const Error& error) {
      std::string what = error.what();
      return what.substr(what.find("\"w\": ") + 5);
    }
  };
  EXPECT_EQ(import("w.bin", 4096, 4096), "2.000000");
  EXPECT_EQ(import("w.bin", 4097, 4096),
            "the file of external data \"w.bin\" has 8192 bytes, too few for 4096 at 4097");
  EXPECT_EQ(import("w.bin", 0, 8192), "external data of 8192 bytes for a tensor of 4096 bytes");
  EXPECT_EQ(import("gone.bin", 0, 4096),
            "there is no file \"gone.bin\" of external data beside the model");
  for (const char* outside : {"/etc/passwd", "../w.bin", "inner/../../w.bin"}) {
    EXPECT_EQ(import(outside, 0, 4096), "the external data in \"" + std::string(outside) +
                                            "\" are outside of the model's folder");
  }
  fs::path other = folder.string() + ".bin";
  fs::copy_file(folder / "w.bin", other, fs::copy_options::overwrite_existing);
  EXPECT_EQ(import("inner/out/" + other.filename().string(), 0, 4096),
            "the external data in \"inner/out/" + other.filename().string() +
                "\" are outside of the model's folder");
  fs::remove(other);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace relay::import_onnx_test
