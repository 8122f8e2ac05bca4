// Lists and counts that a file says: what is more than a program can have is refused at once.
#include <ctime>

#include <gtest/gtest.h>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_limits_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

OnnxDim n(int64_t value) { return value; }

Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attr = Proto().text(1, name);
  for (int64_t value : values) attr.number(8, value);
  return attr.number(20, 7);
}

/// A model of a float vector x of 2, an int64 vector r of any length and an int64 vector l of a
/// million; its output is y.
Proto model(const std::vector<Proto>& nodes, const std::vector<Proto>& initializers = {},
            int64_t opset = 18) {
  std::vector<Proto> inputs{onnx_value("x", kOnnxFloat, {n(2)}),
                            onnx_value("r", kOnnxInt64, {std::string("k")}),
                            onnx_value("l", kOnnxInt64, {n(1000000)})};
  return onnx_model(onnx_graph(nodes, inputs, {onnx_value("y", kOnnxFloat, {})}, initializers),
                    opset);
}

/// The message; importing takes no more than a few seconds of the processor, under sanitizers, too.
std::string problem(const Proto& proto) {
  const std::clock_t begin = std::clock();
  std::string message;
  try {
    from_onnx(proto.span(), {}, "m.onnx");
  } catch (const Error& error) {
    message = error.diagnostics().front().message;
  }
  EXPECT_LT(std::clock() - begin, 30 * CLOCKS_PER_SEC) << message;
  return message;
}

const std::vector<int64_t> kMillion(1000000, 1);

TEST(ImportOnnxLimits, Axes) {
  Proto list = onnx_ints("i", kMillion);
  auto refused = [&](const Proto& node, int64_t opset = 18) {
    return problem(model({node}, {list}, opset));
  };
  auto many = [](const std::string& what, int64_t axes) {
    return what + " of \"y\": the result would have " + std::to_string(axes) +
           " axes, more than 64";
  };
  EXPECT_EQ(refused(onnx_node("Reshape", {"x", "i"}, {"y"})), many("Reshape", 1000000));
  EXPECT_EQ(refused(onnx_node("Reshape", {"x", "l"}, {"y"})), many("Reshape", 1000000));
  EXPECT_EQ(refused(onnx_node("Expand", {"x", "i"}, {"y"})), many("Expand", 1000000));
  EXPECT_EQ(refused(onnx_node("Expand", {"x", "l"}, {"y"})), many("Expand", 1000000));
  EXPECT_EQ(refused(onnx_node("ConstantOfShape", {"l"}, {"y"})), many("ConstantOfShape", 1000000));
  EXPECT_EQ(refused(onnx_node("Unsqueeze", {"x", "i"}, {"y"})), many("Unsqueeze", 1000001));
  EXPECT_EQ(refused(onnx_node("Unsqueeze", {"x", "l"}, {"y"})), many("Unsqueeze", 1000001));
  EXPECT_EQ(refused(onnx_node("Unsqueeze", {"x"}, {"y"}, {ints_attr("axes", kMillion)}), 11),
            many("Unsqueeze", 1000001));
  EXPECT_EQ(refused(onnx_node("RandomNormal", {}, {"y"}, {ints_attr("shape", kMillion)})),
            many("RandomNormal", 1000000));
}

TEST(ImportOnnxLimits, Lists) {
  Proto list = onnx_ints("i", kMillion);
  auto refused = [&](const Proto& node, int64_t opset = 18) {
    return problem(model({node}, {list}, opset));
  };
  EXPECT_EQ(refused(onnx_node("Slice", {"x", "i", "i"}, {"y"})),
            "Slice of \"y\": starts has 1000000 entries for rank 1");
  EXPECT_EQ(refused(onnx_node("Slice", {"x", "l", "l"}, {"y"})),
            "Slice of \"y\": starts has 1000000 entries for rank 1");
  EXPECT_EQ(refused(onnx_node("Slice", {"x"}, {"y"},
                              {ints_attr("starts", std::vector<int64_t>(1000000, 0)),
                               ints_attr("ends", kMillion),
                               ints_attr("axes", std::vector<int64_t>(1000000, 0))}),
                    9),
            "Slice of \"y\": starts has 1000000 entries for rank 1");
  EXPECT_EQ(refused(onnx_node("Pad", {"x", "i"}, {"y"})),
            "Pad of \"y\": pads has 1000000 entries for 1 axes");
  EXPECT_EQ(refused(onnx_node("Tile", {"x", "i"}, {"y"})),
            "Tile of \"y\": repeats has 1000000 entries for rank 1");
  EXPECT_EQ(refused(onnx_node("Split", {"x", "i"}, {"y"})),
            "Split of \"y\": split has 1000000 entries for 1 outputs");
  EXPECT_EQ(refused(onnx_node("Split", {"x", "l"}, {"y"})),
            "Split of \"y\": split has 1000000 entries for 1 outputs");
  EXPECT_EQ(refused(onnx_node("ReduceSum", {"x", "i"}, {"y"})),
            "ReduceSum of \"y\": axes entry 1 is out of range for rank 1");
  EXPECT_EQ(refused(onnx_node("Squeeze", {"x", "l"}, {"y"})),
            "Squeeze of \"y\": axes has 1000000 entries for rank 1");
  EXPECT_EQ(
      refused(onnx_node("Transpose", {"x"}, {"y"}, {ints_attr("perm", kMillion)})).substr(0, 18),
      "Transpose of \"y\": ");
}

TEST(ImportOnnxLimits, Windows) {
  constexpr int64_t kLarge = (int64_t{1} << 31) - 1;
  auto image = [](const Proto& node) {
    return problem(onnx_model(
        onnx_graph({node},
                   {onnx_value("x", kOnnxFloat,
                               {n(1), n(1), std::string("a"), std::string("b"), std::string("c")})},
                   {onnx_value("y", kOnnxFloat, {})}, {}),
        18));
  };
  EXPECT_EQ(image(onnx_node("LpPool", {"x"}, {"y"},
                            {ints_attr("kernel_shape", {kLarge, kLarge, kLarge})})),
            "LpPool of \"y\": kernel_shape has more than 2^40 elements");
}

TEST(ImportOnnxLimits, Items) {
  const std::string many = ": the sequence would have more than 10000 items";
  Proto long_list = onnx_ints("i", std::vector<int64_t>(20000, 1));
  Proto one = onnx_tensor<int64_t>("one", kOnnxInt64, {}, {1});
  Proto length = onnx_node("SequenceLength", {"s"}, {"y"});
  auto refused = [&](const Proto& node) {
    return problem(model({node, length}, {long_list, one}));
  };
  EXPECT_EQ(refused(onnx_node("SplitToSequence", {"i"}, {"s"})), "SplitToSequence of \"s\"" + many);
  EXPECT_EQ(refused(onnx_node("SplitToSequence", {"i", "one"}, {"s"})),
            "SplitToSequence of \"s\"" + many);
  EXPECT_EQ(refused(onnx_node("SplitToSequence", {"i", "i"}, {"s"})),
            "SplitToSequence of \"s\"" + many);
  EXPECT_EQ(refused(onnx_node("SplitToSequence", {"i", "l"}, {"s"})),
            "SplitToSequence of \"s\"" + many);
  EXPECT_EQ(refused(onnx_node("SequenceConstruct", std::vector<std::string>(10001, "x"), {"s"})),
            "SequenceConstruct of \"s\"" + many);
  Proto insert = onnx_graph(
      {onnx_node("Identity", {"c"}, {"again"}), onnx_node("SequenceInsert", {"v", "x"}, {"w"})},
      {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
       onnx_value("v", kOnnxFloat, {})},
      {onnx_value("again", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {})});
  auto loop = [&](int64_t rounds) {
    Proto count = onnx_tensor<int64_t>("m", kOnnxInt64, {}, {rounds});
    return problem(
        model({onnx_node("SequenceEmpty", {}, {"e"}),
               onnx_node("Loop", {"m", "", "e"}, {"s"}, {onnx_graph_attr("body", insert)}), length},
              {count}));
  };
  EXPECT_EQ(loop(10000), "");
  EXPECT_EQ(loop(10001), "SequenceInsert of \"w\"" + many);
  EXPECT_EQ(loop(int64_t{1} << 50), "SequenceInsert of \"w\"" + many);
}

// A body that an unrolled loop repeats, and loops in loops, are converted again and again.
TEST(ImportOnnxLimits, Rounds) {
  const std::string many = "the loops and branches of the model lead to more than 200000 nodes";
  Proto keep =
      onnx_graph({onnx_node("Identity", {"c"}, {"again"}), onnx_node("Identity", {"v"}, {"w"})},
                 {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
                  onnx_value("v", kOnnxFloat, {})},
                 {onnx_value("again", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {})});
  Proto count = onnx_tensor<int64_t>("m", kOnnxInt64, {}, {1000000});
  EXPECT_EQ(
      problem(model({onnx_node("SequenceConstruct", {"x"}, {"e"}),
                     onnx_node("Loop", {"m", "", "e"}, {"s"}, {onnx_graph_attr("body", keep)}),
                     onnx_node("SequenceLength", {"s"}, {"y"})},
                    {count})),
      "Loop of \"s\": " + many);
  // Each level is tried more than once.
  Proto inner = onnx_graph({onnx_node("Abs", {"q0"}, {"p0"})}, {onnx_value("q0", kOnnxFloat, {})},
                           {onnx_value("p0", kOnnxFloat, {})});
  for (int level = 1; level <= 18; ++level) {
    std::string at = std::to_string(level);
    inner = onnx_graph(
        {onnx_node("Unsqueeze", {"q" + at, "zero"}, {"u" + at}),
         onnx_node("Scan", {"u" + at}, {"s" + at},
                   {onnx_graph_attr("body", inner), onnx_int_attr("num_scan_inputs", 1)}),
         onnx_node("Squeeze", {"s" + at, "zero"}, {"p" + at})},
        {onnx_value("q" + at, kOnnxFloat, {})}, {onnx_value("p" + at, kOnnxFloat, {})});
  }
  std::string found = problem(
      model({onnx_node("Scan", {"x"}, {"y"},
                       {onnx_graph_attr("body", inner), onnx_int_attr("num_scan_inputs", 1)})},
            {onnx_ints("zero", {0})}));
  EXPECT_TRUE(found.ends_with(many)) << found;
}

}  // namespace
}  // namespace relay::import_onnx_limits_test
