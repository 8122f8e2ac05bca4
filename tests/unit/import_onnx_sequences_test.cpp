// Sequences that loops of ONNX append to, when only a run knows the number of rounds: what they
// become, and what is refused.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>
#include <tests/support/onnx_problem.h>

namespace relay::import_onnx_sequences_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

using Floats = std::vector<float>;

OnnxDim n(int64_t value) { return value; }
Proto count(int64_t value) { return onnx_tensor<int64_t>("m", kOnnxInt64, {}, {value}); }

/// A model of these nodes: a float vector x of 2, an int64 number i; the output y.
Proto model(const std::vector<Proto>& nodes, const std::vector<Proto>& initializers = {}) {
  return onnx_model(
      onnx_graph(nodes, {onnx_value("x", kOnnxFloat, {n(2)}), onnx_value("i", kOnnxInt64, {})},
                 {onnx_value("y", kOnnxFloat, {})}, initializers),
      18);
}

/// The result for x = (1, 2).
NDArray run(const Proto& proto, int64_t i = 0) {
  OnnxOptions options;
  options.freeze = true;
  OnnxModel made = from_onnx(proto.span(), options, "m.onnx");
  std::vector<Value> arguments;
  arguments.emplace_back(NDArray::from<float>(Shape{2}, Floats{1, 2}));
  arguments.emplace_back(NDArray::scalar<int64_t>(i));
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  Module special = specialize(made.module, "main", types);
  return evaluate_function(special, "main", arguments).array().contiguous();
}
Floats elements(const NDArray& array) {
  return Floats(array.data<float>(), array.data<float>() + array.size());
}
/// The message that a run fails with.
std::string failure(const Proto& proto, int64_t i) {
  try {
    run(proto, i);
  } catch (const RuntimeError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

/// A loop of i rounds that carries the sequence s, `first`, through `nodes` from v to w.
std::vector<Proto> appending(const Proto& first, std::vector<Proto> nodes) {
  nodes.insert(nodes.begin(), onnx_node("Identity", {"c"}, {"again"}));
  Proto body = onnx_graph(nodes,
                          {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
                           onnx_value("v", kOnnxFloat, {})},
                          {onnx_value("again", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {})});
  return {first, onnx_node("Loop", {"i", "", "s"}, {"t"}, {onnx_graph_attr("body", body)})};
}
std::vector<Proto> then(std::vector<Proto> nodes, const Proto& last) {
  nodes.push_back(last);
  return nodes;
}

// Each round adds x + k to a sequence.
TEST(ImportOnnxSequences, LoopsAppend) {
  const std::vector<Proto> steps{onnx_node("Cast", {"k"}, {"f"}, {onnx_int_attr("to", kOnnxFloat)}),
                                 onnx_node("Add", {"x", "f"}, {"item"}),
                                 onnx_node("SequenceInsert", {"v", "item"}, {"w"})};
  const Proto none = onnx_node("SequenceEmpty", {}, {"s"});
  const Proto one = onnx_node("SequenceConstruct", {"x"}, {"s"});
  const Proto joined = onnx_node("ConcatFromSequence", {"t"}, {"y"}, {onnx_int_attr("axis", 0)});
  NDArray rows = run(model(then(appending(none, steps), joined)), 3);
  EXPECT_EQ(rows.rank(), 1);
  EXPECT_EQ(rows.size(), 6);
  EXPECT_EQ(elements(rows), (std::vector<float>{1, 2, 2, 3, 3, 4}));
  EXPECT_EQ(run(model(then(appending(none, steps), joined)), 0).size(), 0);
  NDArray more = run(model(then(appending(one, steps), joined)), 1);
  EXPECT_EQ(elements(more), (std::vector<float>{1, 2, 1, 2}));
  NDArray columns =
      run(model(then(appending(none, steps),
                     onnx_node("ConcatFromSequence", {"t"}, {"y"},
                               {onnx_int_attr("axis", 1), onnx_int_attr("new_axis", 1)}))),
          3);
  ASSERT_EQ(columns.rank(), 2);
  EXPECT_EQ(columns.shape()[1], 3);
  EXPECT_EQ(elements(columns), (std::vector<float>{1, 2, 3, 2, 3, 4}));
  NDArray last = run(
      model(then(appending(none, steps), onnx_node("SequenceAt", {"t", "m"}, {"y"})), {count(-1)}),
      3);
  EXPECT_EQ(elements(last), (std::vector<float>{3, 4}));
  NDArray length =
      run(model(then(appending(one, steps), onnx_node("SequenceLength", {"t"}, {"y"}))), 3);
  EXPECT_EQ(length.element_as_int64(0), 4);
  // Behind the loop, too, and a round that leaves the sequence as it is.
  std::vector<Proto> longer = appending(none, steps);
  longer.push_back(onnx_node("SequenceInsert", {"t", "x"}, {"u"}));
  longer.push_back(onnx_node("ConcatFromSequence", {"u"}, {"y"}, {onnx_int_attr("axis", 0)}));
  EXPECT_EQ(elements(run(model(longer), 1)), (std::vector<float>{1, 2, 1, 2}));
  const std::vector<Proto> same{onnx_node("Identity", {"v"}, {"w"})};
  EXPECT_EQ(elements(run(model(then(appending(one, same), joined)), 2)),
            (std::vector<float>{1, 2}));
}

TEST(ImportOnnxSequences, LoopsThatAppendRefused) {
  const Proto none = onnx_node("SequenceEmpty", {}, {"s"});
  const Proto insert = onnx_node("SequenceInsert", {"v", "x"}, {"w"});
  const Proto length = onnx_node("SequenceLength", {"t"}, {"y"});
  auto problem = [&](const std::vector<Proto>& steps, const Proto& last) {
    return import_problem(model(then(appending(none, steps), last), {count(0)}));
  };
  EXPECT_EQ(
      problem({onnx_node("SequenceInsert", {"v", "x"}, {"u"}),
               onnx_node("SequenceInsert", {"u", "x"}, {"w"})},
              length),
      "Loop of \"t\": a round does not append one item to a sequence, so the number of rounds "
      "has to be known");
  EXPECT_EQ(
      problem({onnx_node("SequenceInsert", {"v", "x", "m"}, {"w"})}, length),
      "SequenceInsert of \"w\": a sequence that a loop appends to takes items at its end alone");
  EXPECT_EQ(
      problem({onnx_node("SequenceLength", {"v"}, {"l"}), insert}, length),
      "SequenceLength of \"l\": a loop appends to the sequence, so only the loop's result has "
      "all items");
  EXPECT_EQ(problem({insert}, onnx_node("SequenceErase", {"t"}, {"y"})),
            "SequenceErase of \"y\": only a run knows how many items the sequence has");
  EXPECT_EQ(problem({insert}, onnx_node("Identity", {"t"}, {"y"})),
            "m.onnx: the output \"y\" is a sequence, and only a run knows how many items it has");
}

/// A loop of as many rounds as `trips` says that carries s and r, each from an empty sequence, to t
/// and u; `nodes` make the next ones, `next`, of v and w. Round k has `item`, x + k, and `less`,
/// its negation. The result has the items of t, then those of u.
Proto two_sequences(const std::string& trips, std::vector<Proto> nodes,
                    const std::vector<std::string>& next) {
  std::vector<Proto> round{onnx_node("Identity", {"c"}, {"again"}),
                           onnx_node("Cast", {"k"}, {"f"}, {onnx_int_attr("to", kOnnxFloat)}),
                           onnx_node("Add", {"x", "f"}, {"item"}),
                           onnx_node("Neg", {"item"}, {"less"})};
  round.insert(round.end(), nodes.begin(), nodes.end());
  Proto body = onnx_graph(round,
                          {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
                           onnx_value("v", kOnnxFloat, {}), onnx_value("w", kOnnxFloat, {})},
                          {onnx_value("again", kOnnxBool, {}), onnx_value(next[0], kOnnxFloat, {}),
                           onnx_value(next[1], kOnnxFloat, {})});
  Proto axis = onnx_int_attr("axis", 0);
  return model(
      {onnx_node("SequenceEmpty", {}, {"s"}), onnx_node("SequenceEmpty", {}, {"r"}),
       onnx_node("Loop", {trips, "", "s", "r"}, {"t", "u"}, {onnx_graph_attr("body", body)}),
       onnx_node("ConcatFromSequence", {"t"}, {"a"}, {axis}),
       onnx_node("ConcatFromSequence", {"u"}, {"b"}, {axis}),
       onnx_node("Concat", {"a", "b"}, {"y"}, {axis})},
      {count(2)});
}
Proto insert(const std::string& sequence, const std::string& item, const std::string& result) {
  return onnx_node("SequenceInsert", {sequence, item}, {result});
}

const char* const kAnother =
    "a round carries on another sequence than the one it got, so the number of rounds has to be "
    "known";

// Each sequence of a loop is one of its own: what a round gives for it may go on from another one.
TEST(ImportOnnxSequences, RoundsMixSequences) {
  auto expect = [](const std::vector<Proto>& nodes, const Floats& wanted) {
    EXPECT_EQ(elements(run(two_sequences("m", nodes, {"p", "q"}))), wanted);
    EXPECT_EQ(import_problem(two_sequences("i", nodes, {"p", "q"})),
              std::string("Loop of \"t\": ") + kAnother);
  };
  expect({insert("w", "less", "p"), insert("v", "item", "q")}, {1, 2, -2, -3, -1, -2, 2, 3});
  expect({insert("v", "item", "p"), insert("v", "less", "q")}, {1, 2, 2, 3, 1, 2, -2, -3});
  expect({insert("v", "item", "p"), onnx_node("Identity", {"v"}, {"q"})}, {1, 2, 2, 3, 1, 2});
  // Both where they were, one through an Identity.
  const std::vector<Proto> nodes{insert("v", "item", "p"), onnx_node("Identity", {"w"}, {"z"}),
                                 insert("z", "less", "q")};
  const Floats apart{1, 2, 2, 3, -1, -2, -2, -3};
  EXPECT_EQ(elements(run(two_sequences("i", nodes, {"p", "q"}), 2)), apart);
  EXPECT_EQ(elements(run(two_sequences("m", nodes, {"p", "q"}))), apart);
}

TEST(ImportOnnxSequences, BranchesGoOnFromSequences) {
  auto choice = [](const Proto& yes, const Proto& no) {
    auto branch = [](const Proto& node) {
      return onnx_graph({node}, {}, {onnx_value("z", kOnnxFloat, {})});
    };
    return std::vector<Proto>{onnx_node("Equal", {"k", "m"}, {"third"}),
                              onnx_node("If", {"third"}, {"p"},
                                        {onnx_graph_attr("then_branch", branch(yes)),
                                         onnx_graph_attr("else_branch", branch(no))})};
  };
  std::vector<Proto> same = choice(insert("v", "less", "z"), insert("v", "item", "z"));
  same.push_back(insert("w", "less", "q"));
  EXPECT_EQ(elements(run(two_sequences("i", same, {"p", "q"}), 3)),
            (Floats{1, 2, 2, 3, -3, -4, -1, -2, -2, -3, -3, -4}));
  std::vector<Proto> mixed = choice(insert("v", "item", "z"), insert("w", "item", "z"));
  mixed.push_back(insert("w", "less", "q"));
  EXPECT_EQ(import_problem(two_sequences("i", mixed, {"p", "q"})),
            "If of \"p\": output 1 goes on from another sequence of a loop in each case");
  // The same in both cases, but of the other place.
  std::vector<Proto> other = choice(insert("w", "less", "z"), insert("w", "item", "z"));
  other.push_back(insert("w", "less", "q"));
  EXPECT_EQ(import_problem(two_sequences("i", other, {"p", "q"})),
            std::string("Loop of \"t\": ") + kAnother);
}

// A loop inside of another, whose rounds give the other loop's sequence with an item.
TEST(ImportOnnxSequences, LoopsInsideOfLoops) {
  auto nested = [](const std::string& outer, const std::string& inner) {
    Proto body = onnx_graph({onnx_node("Identity", {"d"}, {"on"}), insert("v", "item", "g")},
                            {onnx_value("j", kOnnxInt64, {}), onnx_value("d", kOnnxBool, {}),
                             onnx_value("h", kOnnxFloat, {})},
                            {onnx_value("on", kOnnxBool, {}), onnx_value("g", kOnnxFloat, {})});
    return two_sequences(
        outer,
        {onnx_node("SequenceEmpty", {}, {"none"}),
         onnx_node("Loop", {inner, "", "none"}, {"p"}, {onnx_graph_attr("body", body)}),
         insert("w", "less", "q")},
        {"p", "q"});
  };
  const Floats wanted{1, 2, 2, 3, -1, -2, -2, -3};
  EXPECT_EQ(elements(run(nested("m", "m"))), wanted);
  EXPECT_EQ(elements(run(nested("i", "m"), 2)), wanted);
  EXPECT_EQ(import_problem(nested("i", "i")), std::string("Loop of \"p\": ") + kAnother);
  EXPECT_EQ(import_problem(nested("m", "i")), std::string("Loop of \"p\": ") + kAnother);
}

TEST(ImportOnnxSequences, MapsOverWhatLoopsAppend) {
  Proto body = onnx_graph({onnx_node("Add", {"a", "b"}, {"c"})},
                          {onnx_value("a", kOnnxFloat, {}), onnx_value("b", kOnnxFloat, {})},
                          {onnx_value("c", kOnnxFloat, {})});
  std::vector<Proto> nodes =
      appending(onnx_node("SequenceEmpty", {}, {"s"}), {insert("v", "x", "w")});
  nodes.push_back(insert("t", "x", "more"));
  nodes.push_back(onnx_node("SequenceConstruct", {"x"}, {"one"}));
  nodes.push_back(
      onnx_node("SequenceMap", {"one", "more"}, {"z"}, {onnx_graph_attr("body", body)}));
  EXPECT_EQ(import_problem(model(then(nodes, onnx_node("SequenceLength", {"z"}, {"y"})))),
            "SequenceMap of \"z\": only a run knows how many items the sequence has");
}

const std::string kOneShape = "the items of a sequence that a loop appends to have one shape";

TEST(ImportOnnxSequences, ItemsOfOtherShapes) {
  const Proto twice = onnx_node("Concat", {"x", "x"}, {"xx"}, {onnx_int_attr("axis", 0)});
  const Proto joined = onnx_node("ConcatFromSequence", {"z"}, {"y"}, {onnx_int_attr("axis", 0)});
  auto behind = [&](const std::string& item) {
    std::vector<Proto> nodes =
        appending(onnx_node("SequenceEmpty", {}, {"s"}), {insert("v", "x", "w")});
    nodes.push_back(twice);
    nodes.push_back(insert("t", item, "z"));
    return model(then(nodes, joined));
  };
  EXPECT_EQ(failure(behind("x"), 1), "");
  EXPECT_EQ(failure(behind("xx"), 1), "assert_op: " + kOneShape);
  EXPECT_EQ(import_problem(behind("i")), "ConcatFromSequence of \"y\": " + kOneShape);
  std::vector<Proto> before{twice};
  for (const Proto& node :
       appending(onnx_node("SequenceConstruct", {"xx"}, {"s"}), {insert("v", "x", "w")})) {
    before.push_back(node);
  }
  EXPECT_EQ(failure(model(then(before, onnx_node("ConcatFromSequence", {"t"}, {"y"},
                                                 {onnx_int_attr("axis", 0)}))),
                    1),
            "assert_op: " + kOneShape);
}

// Items of as many elements as a run says: v gets them from `first`, and one of x behind the loop.
TEST(ImportOnnxSequences, ItemsThatOnlyARunMeasures) {
  auto sliced = [](const std::string& end, const Proto& first, bool more) {
    std::vector<Proto> nodes{onnx_node("Reshape", {"i", "one"}, {"e"})};
    for (const Proto& node : appending(
             first, {onnx_node("Reshape", {"k", "one"}, {"round"}),
                     onnx_node("Slice", {"x", "zero", end}, {"item"}), insert("v", "item", "w")})) {
      nodes.push_back(node);
    }
    nodes.push_back(insert("t", "x", "z"));
    nodes.push_back(onnx_node("ConcatFromSequence", {more ? "z" : "t"}, {"y"},
                              {onnx_int_attr("axis", 0), onnx_int_attr("new_axis", 1)}));
    return model(nodes, {onnx_ints("zero", {0}), onnx_ints("one", {1})});
  };
  const Proto none = onnx_node("SequenceEmpty", {}, {"s"});
  const Proto one = onnx_node("SequenceConstruct", {"x"}, {"s"});
  EXPECT_EQ(elements(run(sliced("e", none, false), 1)), (Floats{1}));
  EXPECT_EQ(elements(run(sliced("e", one, true), 2)), (Floats{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(elements(run(sliced("e", one, true), 0)), (Floats{1, 2, 1, 2}));
  EXPECT_EQ(failure(sliced("e", one, false), 1), "assert_op: " + kOneShape);
  EXPECT_EQ(failure(sliced("e", none, true), 1), "assert_op: " + kOneShape);
  EXPECT_EQ(failure(sliced("round", none, false), 2), "assert_op: " + kOneShape);
}

// The rounds end by a condition, so that each appends: (1, 2), then (2, 1), has as many elements.
TEST(ImportOnnxSequences, ItemsOfAsManyElements) {
  Proto body = onnx_graph(
      {onnx_node("Less", {"k", "m"}, {"again"}), onnx_node("Reshape", {"k", "one"}, {"at"}),
       onnx_node("Add", {"at", "one"}, {"rows"}), onnx_node("Sub", {"two", "at"}, {"columns"}),
       onnx_node("Concat", {"rows", "columns"}, {"shape"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Reshape", {"x", "shape"}, {"item"}), insert("v", "item", "w")},
      {onnx_value("k", kOnnxInt64, {}), onnx_value("c", kOnnxBool, {}),
       onnx_value("v", kOnnxFloat, {})},
      {onnx_value("again", kOnnxBool, {}), onnx_value("w", kOnnxFloat, {})});
  Proto proto = model({onnx_node("SequenceEmpty", {}, {"s"}),
                       onnx_node("Loop", {"i", "", "s"}, {"t"}, {onnx_graph_attr("body", body)}),
                       onnx_node("ConcatFromSequence", {"t"}, {"y"}, {onnx_int_attr("axis", 0)})},
                      {count(5), onnx_ints("one", {1}), onnx_ints("two", {2})});
  EXPECT_EQ(elements(run(proto, 1)), (Floats{1, 2}));
  EXPECT_EQ(failure(proto, 2), "assert_op: " + kOneShape);
}

TEST(ImportOnnxSequences, PositionsThatAreNone) {
  Proto proto =
      model(then(appending(onnx_node("SequenceEmpty", {}, {"s"}), {insert("v", "x", "w")}),
                 onnx_node("SequenceAt", {"t", "m"}, {"y"})),
            {count(-4)});
  EXPECT_EQ(elements(run(proto, 4)), (Floats{1, 2}));
  EXPECT_NE(failure(proto, 3).find("index -4"), std::string::npos) << failure(proto, 3);
}

}  // namespace
}  // namespace relay::import_onnx_sequences_test
