// Loops, sequences and optional values of ONNX: what they become, and what is refused.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>
#include <tests/support/onnx_problem.h>

namespace relay::import_onnx_control_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

OnnxDim n(int64_t value) { return value; }

Proto flag(std::string_view name, bool value) {
  return onnx_tensor<uint8_t>(name, kOnnxBool, {}, {static_cast<uint8_t>(value)});
}
Proto count(int64_t value) { return onnx_tensor<int64_t>("m", kOnnxInt64, {}, {value}); }
Proto ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attribute = Proto().text(1, name);
  for (int64_t value : values) attribute.number(8, value);
  return attribute.number(20, 7);
}

/// A model of these nodes: a float vector x of 2, an int64 number i; the output y.
Proto model(const std::vector<Proto>& nodes, const std::vector<Proto>& initializers = {}) {
  return onnx_model(
      onnx_graph(nodes, {onnx_value("x", kOnnxFloat, {n(2)}), onnx_value("i", kOnnxInt64, {})},
                 {onnx_value("y", kOnnxFloat, {})}, initializers),
      18);
}

NDArray run(const Proto& proto, int64_t i = 0) {
  OnnxOptions options;
  options.freeze = true;
  OnnxModel made = from_onnx(proto.span(), options, "m.onnx");
  std::vector<Value> arguments;
  arguments.emplace_back(NDArray::from<float>(Shape{2}, std::vector<float>{1, 2}));
  arguments.emplace_back(NDArray::scalar<int64_t>(i));
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(made.module, "main", types);
  return evaluate_function(special, "main", arguments).array().contiguous();
}

/// v becomes v + x in each round, which is collected, too.
Proto adding_body() {
  return onnx_graph({onnx_node("Identity", {"c"}, {"again"}), onnx_node("Add", {"v", "x"}, {"w"}),
                     onnx_node("Neg", {"w"}, {"part"})},
                    {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
                     onnx_value("v", kOnnxFloat, {n(2)})},
                    {onnx_value("again", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {n(2)}),
                     onnx_value("part", kOnnxFloat, {n(2)})});
}
Proto adding_loop(const std::string& trips, const std::string& condition, bool parts) {
  std::vector<std::string> outputs =
      parts ? std::vector<std::string>{"last", "y"} : std::vector<std::string>{"y"};
  return onnx_node("Loop", {trips, condition, "x"}, outputs,
                   {onnx_graph_attr("body", adding_body())});
}

TEST(ImportOnnxControl, LoopsCollect) {
  for (int64_t trips : {3, 0, -2}) {
    NDArray known = run(model({adding_loop("m", "", true)}, {count(trips)}));
    NDArray given = run(model({adding_loop("i", "", true)}), trips);
    int64_t rounds = std::max<int64_t>(trips, 0);
    for (const NDArray& found : {known, given}) {
      ASSERT_EQ(Shape(found.shape().begin(), found.shape().end()), (Shape{rounds, 2}));
      for (int64_t k = 0; k < rounds; ++k) {
        EXPECT_EQ(found.data<float>()[2 * k], static_cast<float>(-(k + 2)));
        EXPECT_EQ(found.data<float>()[2 * k + 1], static_cast<float>(-2 * (k + 2)));
      }
    }
  }
}

/// Four rounds, each of which collects as many elements of v + x as `end` says, a value that only a
/// run knows.
Proto slicing_loop(const std::vector<Proto>& before, const std::string& end) {
  std::vector<Proto> nodes = before;
  nodes.insert(nodes.begin(), onnx_node("Add", {"v", "x"}, {"w"}));
  nodes.push_back(onnx_node("Slice", {"w", "zero", end}, {"part"}));
  Proto body = onnx_graph(nodes,
                          {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
                           onnx_value("v", kOnnxFloat, {n(2)})},
                          {onnx_value("c", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {n(2)}),
                           onnx_value("part", kOnnxFloat, {})});
  return model({onnx_node("Reshape", {"i", "one"}, {"e"}),
                onnx_node("Loop", {"m", "", "x"}, {"last", "y"}, {onnx_graph_attr("body", body)})},
               {count(4), onnx_ints("zero", {0}), onnx_ints("one", {1})});
}

TEST(ImportOnnxControl, PartsThatOnlyARunMeasures) {
  Proto proto = slicing_loop({}, "e");
  for (int64_t length : {0, 1, 2}) {
    NDArray found = run(proto, length);
    ASSERT_EQ(Shape(found.shape().begin(), found.shape().end()), (Shape{4, length}));
    for (int64_t k = 0; k < 4 * length; ++k) {
      int64_t round = k / length, column = k % length;
      EXPECT_EQ(found.data<float>()[k], static_cast<float>((column + 1) * (round + 2)));
    }
  }
  // They are written into one array: appending copies what the rounds before collected.
  OnnxModel made = from_onnx(proto.span(), {}, "m.onnx");
  EXPECT_NE(print_module(made.module).find("scatter_nd("), std::string::npos);
}

TEST(ImportOnnxControl, PartsOfSeveralLengths) {
  Proto proto = slicing_loop({onnx_node("Reshape", {"k", "one"}, {"end"})}, "end");
  try {
    run(proto);
    FAIL() << "ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().message,
              "assert_op: the parts of a scan output have one shape");
  }
}

TEST(ImportOnnxControl, LoopsWithoutRounds) {
  NDArray last = run(model({adding_loop("m", "f", false)}, {count(5), flag("f", false)}));
  EXPECT_EQ(last.data<float>()[1], 2.0F);
  NDArray parts = run(model({adding_loop("m", "f", true)}, {count(5), flag("f", false)}));
  EXPECT_EQ(Shape(parts.shape().begin(), parts.shape().end()), (Shape{0, 2}));
}

TEST(ImportOnnxControl, LoopsRefused) {
  auto refused = [&](const std::vector<std::string>& inputs, const Proto& body) {
    return import_problem(
        model({onnx_node("Loop", inputs, {"y"}, {onnx_graph_attr("body", body)})}));
  };
  std::string head = "Loop of \"y\": ";
  EXPECT_EQ(refused({"i", "", "x", "x"}, adding_body()), head + "its body has 3 inputs, not 4");
  EXPECT_EQ(refused({"x", "", "x"}, adding_body()), head + "the trip count is no integer");
  EXPECT_EQ(refused({"i", "x", "x"}, adding_body()), head + "the condition is no bool");
  EXPECT_EQ(refused({"i", "", "i"}, adding_body()).substr(0, 4), "Add ");
}

TEST(ImportOnnxControl, ScansRefused) {
  Proto body = onnx_graph({onnx_node("Neg", {"v"}, {"w"})}, {onnx_value("v", kOnnxFloat, {})},
                          {onnx_value("w", kOnnxFloat, {})});
  auto refused = [&](std::vector<Proto> attributes) {
    attributes.push_back(onnx_graph_attr("body", body));
    return import_problem(model({onnx_node("Scan", {"x"}, {"y"}, attributes)}));
  };
  std::string head = "Scan of \"y\": ";
  EXPECT_EQ(refused({onnx_int_attr("num_scan_inputs", 2)}),
            head + "num_scan_inputs is 2 for 1 inputs");
  Proto one = onnx_int_attr("num_scan_inputs", 1);
  EXPECT_EQ(refused({one, ints_attr("scan_input_axes", {1})}),
            head + "scan_input_axes 1 is out of range for rank 1");
  EXPECT_EQ(refused({one, ints_attr("scan_input_directions", {2})}),
            head + "scan_input_directions has 2");
  EXPECT_EQ(refused({one, ints_attr("scan_output_axes", {0, 0})}),
            head + "scan_output_axes has 2 entries, not 1");
  NDArray found = run(model(
      {onnx_node("Scan", {"x"}, {"y"},
                 {one, ints_attr("scan_output_directions", {1}), onnx_graph_attr("body", body)})}));
  EXPECT_EQ(found.data<float>()[0], -2.0F);
}

TEST(ImportOnnxControl, SequencesRefused) {
  Proto made = onnx_node("SequenceConstruct", {"x", "x"}, {"s"});
  EXPECT_EQ(import_problem(model({made, onnx_node("SequenceAt", {"s", "m"}, {"y"})}, {count(2)})),
            "SequenceAt of \"y\": position 2 is out of range for a sequence of 2 items");
  EXPECT_EQ(import_problem(model({made, onnx_node("SequenceErase", {"s", "i"}, {"t"}),
                                  onnx_node("SequenceLength", {"t"}, {"y"})})),
            "SequenceErase of \"t\": the position (input 1) is no constant list of integers");
  EXPECT_EQ(import_problem(model({onnx_node("SequenceLength", {"x"}, {"y"})})),
            "SequenceLength of \"y\": input 0 is no sequence");
  EXPECT_EQ(import_problem(model({onnx_node("SplitToSequence", {"x", "m"}, {"s"}),
                                  onnx_node("SequenceLength", {"s"}, {"y"})},
                                 {count(0)})),
            "SplitToSequence of \"s\": split is 0");
}

// Each message of sequences, of loops that carry them, and of bodies that do not fit.
TEST(ImportOnnxControl, SequencesRefusedOneByOne) {
  Proto two = onnx_node("SequenceConstruct", {"x", "x"}, {"s"});
  Proto empty = onnx_node("SequenceEmpty", {}, {"s"});
  Proto length = onnx_node("SequenceLength", {"t"}, {"y"});
  EXPECT_EQ(import_problem(model({empty, onnx_node("SequenceAt", {"s", "m"}, {"y"})}, {count(0)})),
            "SequenceAt of \"y\": the sequence has no items");
  EXPECT_EQ(import_problem(model({empty, onnx_node("SequenceErase", {"s"}, {"t"}), length})),
            "SequenceErase of \"t\": the sequence has no items");
  EXPECT_EQ(import_problem(model({empty, onnx_node("ConcatFromSequence", {"s"}, {"y"},
                                                   {onnx_int_attr("axis", 0)})})),
            "ConcatFromSequence of \"y\": the sequence has no items");
  EXPECT_EQ(import_problem(model({two, onnx_node("SequenceErase", {"s", "m"}, {"t"}), length},
                                 {onnx_ints("m", {0, 1})})),
            "SequenceErase of \"t\": the position has 2 elements");
  EXPECT_EQ(
      import_problem(model({onnx_node("Concat", {"x", "x"}, {"z"}, {onnx_int_attr("axis", 0)}),
                            onnx_node("SequenceConstruct", {"x", "z"}, {"s"}),
                            onnx_node("SequenceAt", {"s", "i"}, {"y"})})),
      "SequenceAt of \"y\": the position is not known, and the items have different types, "
      "Tensor[(2), float32] and Tensor[(4), float32]");
  auto split = [&](const std::string& data, const std::vector<int64_t>& sizes) {
    return import_problem(
        model({onnx_node("SplitToSequence", {data, "m"}, {"t"}), length}, {onnx_ints("m", sizes)}));
  };
  EXPECT_EQ(split("i", {1}), "SplitToSequence of \"t\": a tensor without axes cannot be split");
  EXPECT_EQ(split("x", {3}), "SplitToSequence of \"t\": the parts do not fit into the extent 2");
  EXPECT_EQ(split("x", {1}), "SplitToSequence of \"t\": the parts have 1 elements of the extent 2");
  EXPECT_EQ(import_problem(model(
                {onnx_node("NonZero", {"x"}, {"z"}),
                 onnx_node("SplitToSequence", {"z"}, {"t"}, {onnx_int_attr("axis", 1)}), length})),
            "SplitToSequence of \"t\": the extent that is split is not known");
  EXPECT_EQ(import_problem(model(
                {onnx_node("Optional", {}, {"o"}), onnx_node("OptionalGetElement", {"o"}, {"y"})})),
            "OptionalGetElement of \"y\": the optional value is empty");
  Proto other = onnx_node("SequenceConstruct", {"x"}, {"r"});
  auto map = [&](const Proto& body) {
    return import_problem(model(
        {two, other, onnx_node("SequenceMap", {"s", "r"}, {"t"}, {onnx_graph_attr("body", body)}),
         length}));
  };
  EXPECT_EQ(map(onnx_graph({onnx_node("Add", {"a", "b"}, {"c"})},
                           {onnx_value("a", kOnnxFloat, {}), onnx_value("b", kOnnxFloat, {})},
                           {onnx_value("c", kOnnxFloat, {})})),
            "SequenceMap of \"t\": the sequences have 2 and 1 items");
  Proto inner = onnx_graph({onnx_node("SequenceConstruct", {"a"}, {"c"})},
                           {onnx_value("a", kOnnxFloat, {})}, {onnx_value("c", kOnnxFloat, {})});
  EXPECT_EQ(
      import_problem(model(
          {two, onnx_node("SequenceMap", {"s"}, {"t"}, {onnx_graph_attr("body", inner)}), length})),
      "SequenceMap of \"t\": the body gives what is no tensor");
}

TEST(ImportOnnxControl, LoopsRefusedOneByOne) {
  // A round gives the condition, v and `part`.
  auto loop = [](const std::vector<Proto>& nodes, const std::vector<std::string>& results,
                 const std::string& trips, const std::string& first,
                 const std::vector<std::string>& outputs) {
    std::vector<Proto> declared;
    for (const std::string& name : results) declared.push_back(onnx_value(name, kOnnxFloat, {}));
    return onnx_node("Loop", {trips, "", first}, outputs,
                     {onnx_graph_attr("body", onnx_graph(nodes,
                                                         {onnx_value("k", kOnnxInt64, {}),
                                                          onnx_value("c", kOnnxBool, {}),
                                                          onnx_value("v", kOnnxFloat, {})},
                                                         declared))});
  };
  Proto made = onnx_node("SequenceConstruct", {"x"}, {"s"});
  Proto length = onnx_node("SequenceLength", {"t"}, {"y"});
  Proto again = onnx_node("Identity", {"c"}, {"again"});
  Proto same = onnx_node("Identity", {"v"}, {"w"});
  Proto part = onnx_node("Neg", {"x"}, {"part"});
  EXPECT_EQ(
      import_problem(model({onnx_node("Optional", {}, {"s"}),
                            loop({again, same}, {"again", "w"}, "i", "s", {"t"}), length})),
      "Loop of \"t\": carries a sequence or an optional value, so the number of rounds has to "
      "be known");
  EXPECT_EQ(
      import_problem(model(
          {made, loop({again, same, part}, {"again", "w", "part"}, "m", "s", {"t", "p"}), length},
          {count(0)})),
      "Loop of \"t\": has no rounds, so the type of a scan output is not known");
  EXPECT_EQ(
      import_problem(model({loop({again}, {"again"}, "m", "x", {"y"})}, {count(1)})),
      "Loop of \"y\": its body has 1 outputs, too few for the condition and 1 carried values");
  Proto list = onnx_node("SequenceConstruct", {"x"}, {"part"});
  EXPECT_EQ(
      import_problem(model(
          {loop({again, same, list}, {"again", "w", "part"}, "m", "x", {"z", "y"})}, {count(1)})),
      "Loop of \"z\": a scan output is no tensor");
  Proto neg = onnx_graph({onnx_node("Neg", {"a"}, {"b"})}, {onnx_value("a", kOnnxFloat, {})},
                         {onnx_value("b", kOnnxFloat, {})});
  auto scan = [&](const std::string& data, const Proto& body) {
    return import_problem(
        model({onnx_node("Scan", {data}, {"y"},
                         {onnx_int_attr("num_scan_inputs", 1), onnx_graph_attr("body", body)})}));
  };
  EXPECT_EQ(scan("i", neg), "Scan of \"y\": a scanned input has no axes");
  EXPECT_EQ(
      scan("x", onnx_graph({onnx_node("SequenceConstruct", {"a"}, {"b"})},
                           {onnx_value("a", kOnnxFloat, {})}, {onnx_value("b", kOnnxFloat, {})})),
      "Scan of \"y\": a scan output is no tensor");
  // The form of operator set 8, with a batch.
  auto batched = [&](const std::string& lengths, const std::vector<OnnxDim>& dims) {
    return import_problem(onnx_model(
        onnx_graph({onnx_node("Scan", {lengths, "x"}, {"y"},
                              {onnx_int_attr("num_scan_inputs", 1), onnx_graph_attr("body", neg)})},
                   {onnx_value("x", kOnnxFloat, dims)}, {onnx_value("y", kOnnxFloat, {})}),
        8));
  };
  EXPECT_EQ(batched("x", {n(2), n(2)}), "Scan of \"y\": sequence_lens is not supported");
  EXPECT_EQ(batched("", {}), "Scan of \"y\": input 1 has no batch axis");
  EXPECT_EQ(batched("", {n(2)}), "Scan of \"y\": a scanned input has no axes");
  const Proto sum = onnx_graph({onnx_node("Add", {"a", "b"}, {"c"})},
                               {onnx_value("a", kOnnxFloat, {}), onnx_value("b", kOnnxFloat, {})},
                               {onnx_value("c", kOnnxFloat, {})});
  EXPECT_EQ(import_problem(onnx_model(onnx_graph({onnx_node("Scan", {"", "x", "z"}, {"y"},
                                                            {onnx_int_attr("num_scan_inputs", 2),
                                                             onnx_graph_attr("body", sum)})},
                                                 {onnx_value("x", kOnnxFloat, {n(2), n(4)}),
                                                  onnx_value("z", kOnnxFloat, {n(3), n(4)})},
                                                 {onnx_value("y", kOnnxFloat, {})}),
                                      8)),
            "Scan of \"y\": inputs 1 and 2 have batches of 2 and 3");
}

// The first axes are sliced, as many as `starts` has entries: here those of x above a limit.
TEST(ImportOnnxControl, SlicesOfAnOpenNumberOfAxes) {
  auto sliced = [](float limit) {
    return run(model({onnx_node("Greater", {"x", "limit"}, {"above"}),
                      onnx_node("NonZero", {"above"}, {"places"}),
                      onnx_node("Squeeze", {"places", "first"}, {"starts"}),
                      onnx_node("Add", {"starts", "one"}, {"ends"}),
                      onnx_node("Slice", {"x", "starts", "ends"}, {"y"})},
                     {onnx_tensor<float>("limit", kOnnxFloat, {}, {limit}), onnx_ints("first", {0}),
                      onnx_ints("one", {1})}));
  };
  NDArray second = sliced(1.5F);
  ASSERT_EQ(second.size(), 1);
  EXPECT_EQ(second.data<float>()[0], 2.0F);
  EXPECT_EQ(sliced(9.0F).size(), 2);
  try {
    sliced(0.0F);
    ADD_FAILURE() << "starts has two entries for one axis";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("starts has more entries than there are axes"),
              std::string::npos)
        << error.what();
  }
}

// A step is farther than every extent: the first element alone is taken.
TEST(ImportOnnxControl, StepsBeyondEveryAxis) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int64_t step : {kLeast, kMost}) {
    Proto proto =
        model({onnx_node("Greater", {"x", "limit"}, {"above"}),
               onnx_node("NonZero", {"above"}, {"places"}),
               onnx_node("Squeeze", {"places", "first"}, {"starts"}),
               onnx_node("Mul", {"starts", "far"}, {"ends"}),
               onnx_node("Slice", {"x", "starts", "ends", "", "steps"}, {"y"})},
              {onnx_tensor<float>("limit", kOnnxFloat, {}, {1.5F}), onnx_ints("first", {0}),
               onnx_ints("far", {step < 0 ? -9 : 9}), onnx_ints("steps", {step})});
    NDArray found = run(proto);
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found.data<float>()[0], 2.0F);
  }
}

TEST(ImportOnnxControl, ItemsAtPositionsOfARun) {
  Proto proto =
      model({onnx_node("Neg", {"x"}, {"z"}), onnx_node("SequenceConstruct", {"x", "z"}, {"s"}),
             onnx_node("SequenceAt", {"s", "i"}, {"y"})});
  EXPECT_EQ(run(proto, 0).data<float>()[0], 1.0F);
  EXPECT_EQ(run(proto, -1).data<float>()[0], -1.0F);
}

}  // namespace
}  // namespace relay::import_onnx_control_test
