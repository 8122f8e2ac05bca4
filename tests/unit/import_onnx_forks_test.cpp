// ONNX models in which a condition decides a rank: what runs, and what fails where.
#include <optional>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>
#include <tests/support/onnx_problem.h>

namespace relay::import_onnx_forks_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attribute = Proto().text(1, name);
  for (int64_t value : values) attribute.number(8, value);
  return attribute.number(20, 7);
}
Proto number(std::string_view name, int64_t value) {
  return onnx_tensor<int64_t>(name, kOnnxInt64, {}, {value});
}
/// An output whose shape the model does not declare.
Proto out(std::string_view name) {
  return Proto().text(1, name).message(2, Proto().message(1, Proto().number(1, kOnnxFloat)));
}

NDArray run(const Proto& proto, const Shape& shape) {
  OnnxOptions options;
  options.freeze = true;
  OnnxModel made = from_onnx(proto.span(), options, "m.onnx");
  std::vector<float> numbers;
  int64_t size = 1;
  for (int64_t extent : shape) size *= extent;
  for (int64_t k = 0; k < size; ++k) numbers.push_back(static_cast<float>(k + 1));
  std::vector<Value> arguments;
  arguments.emplace_back(NDArray::from<float>(shape, numbers));
  std::vector<TypeRef> types{value_type(arguments[0])};
  Module special = specialize(made.module, "main", types);
  return evaluate_function(special, "main", arguments).array().contiguous();
}
std::string failure(const Proto& proto, const Shape& shape) {
  try {
    run(proto, shape);
  } catch (const RuntimeError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}
Shape shape_of(const NDArray& array) { return Shape(array.shape().begin(), array.shape().end()); }

/// One branch drops axis 1 of x, the other keeps it, as `condition` says.
Proto drop_if(std::string_view condition) {
  Proto drop = onnx_graph({onnx_node("Squeeze", {"x", "one"}, {"dropped"})}, {}, {out("dropped")});
  Proto keep = onnx_graph({onnx_node("Identity", {"x"}, {"kept"})}, {}, {out("kept")});
  return onnx_node("If", {std::string(condition)}, {"z"},
                   {onnx_graph_attr("then_branch", drop), onnx_graph_attr("else_branch", keep)});
}
/// x is (n, m); `is_one` says that m is 1.
Proto model(std::vector<Proto> nodes, std::optional<std::vector<OnnxDim>> result,
            const std::vector<Proto>& initializers = {}) {
  std::vector<Proto> all{onnx_node("Shape", {"x"}, {"dims"}),
                         onnx_node("Gather", {"dims", "at"}, {"m"}),
                         onnx_node("Equal", {"m", "scalar"}, {"is_one"})};
  all.insert(all.end(), nodes.begin(), nodes.end());
  std::vector<Proto> constants{number("at", 1), number("scalar", 1), onnx_ints("one", {1})};
  constants.insert(constants.end(), initializers.begin(), initializers.end());
  return onnx_model(
      onnx_graph(all, {onnx_value("x", kOnnxFloat, {std::string("n"), std::string("m")})},
                 {result ? onnx_value("y", kOnnxFloat, *result) : out("y")}, constants),
      18);
}

TEST(ImportOnnxForks, BothWaysRun) {
  Proto squeezed = model(
      {drop_if("is_one"), onnx_node("ReduceSum", {"z"}, {"y"}, {onnx_int_attr("keepdims", 0)})},
      std::nullopt);
  EXPECT_EQ(run(squeezed, {3, 1}).item_as_double(), 6.0);
  EXPECT_EQ(run(squeezed, {2, 2}).item_as_double(), 10.0);
}

TEST(ImportOnnxForks, OneWayFailsAtItsPlace) {
  Proto transposed =
      model({drop_if("is_one"), onnx_node("Transpose", {"z"}, {"y"}, {ints_attr("perm", {1, 0})})},
            std::nullopt);
  EXPECT_EQ(shape_of(run(transposed, {3, 2})), (Shape{2, 3}));
  EXPECT_EQ(failure(transposed, {3, 1}),
            "assert_op: Transpose of \"y\": transpose: axes has 2 entries for rank 1");
}

TEST(ImportOnnxForks, NoWay) {
  Proto neither = model(
      {drop_if("is_one"), onnx_node("Transpose", {"z"}, {"y"}, {ints_attr("perm", {2, 1, 0})})},
      std::nullopt);
  EXPECT_EQ(import_problem(neither),
            "Transpose of \"y\": transpose: axes has 3 entries for rank 1");
}

TEST(ImportOnnxForks, DeclaredOutputsDecide) {
  std::vector<OnnxDim> names{std::string("n")};
  Proto vector = model({drop_if("is_one"), onnx_node("Neg", {"z"}, {"y"})}, names);
  EXPECT_EQ(shape_of(run(vector, {3, 1})), (Shape{3}));
  EXPECT_EQ(failure(vector, {3, 2}),
            "assert_op: If of \"z\": the output \"y\" would be Tensor[(n, m), float32], the model "
            "declares 1 axes for it");
  // A declaration that no case meets decides nothing.
  Proto open = model({drop_if("is_one"), onnx_node("Neg", {"z"}, {"y"})}, std::vector<OnnxDim>{});
  EXPECT_EQ(import_problem(open),
            "If of \"z\": output 0 is Tensor[(n), float32] in one case and Tensor[(n, m), float32] "
            "in the other");
}

TEST(ImportOnnxForks, SqueezeWithoutAxes) {
  std::vector<Proto> nodes{onnx_node("Squeeze", {"x"}, {"z"}),
                           onnx_node("Size", {"z"}, {"s"}),
                           onnx_node("Shape", {"z"}, {"d"}),
                           onnx_node("Size", {"d"}, {"r"}),
                           onnx_node("Mul", {"s", "r"}, {"p"}),
                           onnx_node("Cast", {"p"}, {"y"}, {onnx_int_attr("to", kOnnxFloat)})};
  Proto counted = model(nodes, std::nullopt);
  EXPECT_EQ(run(counted, {3, 2}).item_as_double(), 12.0);
  EXPECT_EQ(run(counted, {3, 1}).item_as_double(), 3.0);
  EXPECT_EQ(run(counted, {1, 3}).item_as_double(), 3.0);
  EXPECT_EQ(run(counted, {1, 1}).item_as_double(), 0.0);
}

TEST(ImportOnnxForks, SqueezeAsStated) {
  // For an output without a declared rank the usual case is that extents are not 1.
  Proto plain = model({onnx_node("Squeeze", {"x"}, {"y"})}, std::nullopt);
  EXPECT_EQ(shape_of(run(plain, {3, 2})), (Shape{3, 2}));
  EXPECT_EQ(
      failure(plain, {3, 1}),
      "assert_op: Squeeze of \"y\": the output \"y\" would be Tensor[(n), float32], the program "
      "gives Tensor[(n, m), float32]");
  std::vector<OnnxDim> one{std::string("n")}, none;
  Proto vector = model({onnx_node("Squeeze", {"x"}, {"y"})}, one);
  EXPECT_EQ(shape_of(run(vector, {3, 1})), (Shape{3}));
  EXPECT_EQ(shape_of(run(vector, {1, 3})), (Shape{3}));
  Proto scalar = model({onnx_node("Squeeze", {"x"}, {"y"})}, none);
  EXPECT_EQ(shape_of(run(scalar, {1, 1})), Shape{});
}

TEST(ImportOnnxForks, OneQuestionOnce) {
  // Forty times the same condition: two ways in all.
  std::vector<Proto> nodes;
  std::string value = "x";
  for (int k = 0; k < 40; ++k) {
    std::string next = "z" + std::to_string(k);
    Proto drop = onnx_graph(
        {onnx_node("ReduceSum", {value}, {"s"}, {onnx_int_attr("keepdims", 0)})}, {}, {out("s")});
    Proto keep = onnx_graph({onnx_node("Neg", {value}, {"t"})}, {}, {out("t")});
    nodes.push_back(
        onnx_node("If", {"is_one"}, {next},
                  {onnx_graph_attr("then_branch", drop), onnx_graph_attr("else_branch", keep)}));
    value = next;
  }
  nodes.push_back(onnx_node("ReduceSum", {value}, {"y"}, {onnx_int_attr("keepdims", 0)}));
  Proto asked = model(nodes, std::nullopt);
  EXPECT_EQ(run(asked, {2, 1}).item_as_double(), 3.0);
  EXPECT_EQ(run(asked, {1, 2}).item_as_double(), 3.0);
}

TEST(ImportOnnxForks, TooManyCases) {
  // Each node asks another question, and both answers go on.
  std::vector<Proto> nodes, constants;
  std::string value = "x";
  for (int k = 0; k < 40; ++k) {
    std::string at = std::to_string(k), next = "z" + at;
    constants.push_back(number("k" + at, k + 2));
    nodes.push_back(onnx_node("Equal", {"m", "k" + at}, {"c" + at}));
    Proto more = onnx_graph({onnx_node("Unsqueeze", {value, "one"}, {"s"})}, {}, {out("s")});
    Proto same = onnx_graph({onnx_node("Neg", {value}, {"t"})}, {}, {out("t")});
    nodes.push_back(
        onnx_node("If", {"c" + at}, {next},
                  {onnx_graph_attr("then_branch", more), onnx_graph_attr("else_branch", same)}));
    value = next;
  }
  nodes.push_back(onnx_node("ReduceSum", {value}, {"y"}, {onnx_int_attr("keepdims", 0)}));
  std::string found = import_problem(model(nodes, std::nullopt, constants));
  EXPECT_TRUE(found.ends_with("the loops and branches of the model lead to more than 200000 nodes"))
      << found;
}

TEST(ImportOnnxForks, SequencesOfOneLength) {
  auto pair = [](const std::string& a, const std::string& b, const std::string& name) {
    return onnx_graph({onnx_node("SequenceConstruct", {a, b}, {name})}, {}, {out(name)});
  };
  std::vector<Proto> nodes{onnx_node("Neg", {"x"}, {"w"}),
                           onnx_node("If", {"is_one"}, {"s"},
                                     {onnx_graph_attr("then_branch", pair("x", "w", "p")),
                                      onnx_graph_attr("else_branch", pair("w", "x", "q"))}),
                           onnx_node("SequenceAt", {"s", "at"}, {"y"})};
  Proto chosen = model(nodes, std::nullopt);
  EXPECT_EQ(run(chosen, {1, 1}).item_as_double(), -1.0);
  EXPECT_EQ(run(chosen, {1, 2}).data<float>()[1], 2.0F);
}

TEST(ImportOnnxForks, ExtentsThatARunDecides) {
  // (2, count) with one column more, and its number of elements by way of its shape.
  std::vector<Proto> nodes{
      onnx_node("NonZero", {"x"}, {"places"}),
      onnx_node("Shape", {"places"}, {"d"}),
      onnx_node("Gather", {"d", "at"}, {"count"}),
      onnx_node("Add", {"count", "one"}, {"more"}),
      onnx_node("Concat", {"places", "pair"}, {"wide"}, {onnx_int_attr("axis", 1)}),
      onnx_node("Concat", {"more", "two", "one"}, {"to"}, {onnx_int_attr("axis", 0)}),
      onnx_node("Reshape", {"wide", "to"}, {"cube"}),
      onnx_node("Cast", {"cube"}, {"y"}, {onnx_int_attr("to", kOnnxFloat)})};
  Proto chain =
      model(nodes, std::nullopt,
            {onnx_ints("two", {2}), onnx_tensor<int64_t>("pair", kOnnxInt64, {2, 1}, {7, 8})});
  EXPECT_EQ(shape_of(run(chain, {2, 3})), (Shape{7, 2, 1}));
}

TEST(ImportOnnxForks, NamesThatSayNothing) {
  // Some exporters write one text for every extent that is open.
  for (const char* name : {"?", "None", "-1", "unknown"}) {
    std::string any = name;
    Proto open = onnx_model(onnx_graph({onnx_node("Neg", {"x"}, {"y"})},
                                       {onnx_value("x", kOnnxFloat, {any, any})}, {out("y")}),
                            18);
    EXPECT_EQ(shape_of(run(open, {3, 2})), (Shape{3, 2})) << any;
  }
  std::string size = "size";
  Proto square = onnx_model(onnx_graph({onnx_node("Neg", {"x"}, {"y"})},
                                       {onnx_value("x", kOnnxFloat, {size, size})}, {out("y")}),
                            18);
  OnnxModel made = from_onnx(square.span(), {}, "m.onnx");
  EXPECT_EQ(made.module.function("main")->params()[0]->annotation()->str(),
            "Tensor[(size, size), float32]");
}

TEST(ImportOnnxForks, AnyExtentAsANumber) {
  for (int64_t any : {-1, 0}) {
    Proto open = onnx_model(
        onnx_graph({onnx_node("Neg", {"x"}, {"y"})},
                   {onnx_value("x", kOnnxFloat, {OnnxDim(any), OnnxDim(int64_t{2})})}, {out("y")}),
        18);
    OnnxModel made = from_onnx(open.span(), {}, "m.onnx");
    ASSERT_EQ(made.warnings.size(), 1U);
    EXPECT_EQ(made.warnings[0].message, "m.onnx: the input \"x\" has the extent " +
                                            std::to_string(any) +
                                            " on axis 0, which is read as any extent");
    EXPECT_EQ(shape_of(run(open, {3, 2})), (Shape{3, 2}));
    OnnxOptions fixed;
    fixed.shapes["x"] = {4, 2};
    OnnxModel sized = from_onnx(open.span(), fixed, "m.onnx");
    EXPECT_EQ(sized.module.function("main")->params()[0]->annotation()->str(),
              "Tensor[(4, 2), float32]");
  }
}

}  // namespace
}  // namespace relay::import_onnx_forks_test
