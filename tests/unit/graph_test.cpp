// Graphs of computations: building, checks, text, meaning.
#include <gtest/gtest.h>

#include <relay/graph/evaluate.h>
#include <relay/ir/dim_error.h>
#include <relay/support/error.h>

#include <tests/unit/graph_testing.h>

namespace relay::graph::graph_test {
namespace {

using testing::work_of;

TypeRef tensor_of(std::vector<Dim> dims, DType dtype = kFloat32) {
  return TensorType::make(dims, dtype);
}

constexpr const char* kAdd =
    "def @main(%x: Tensor[(3, 2), float32], %y: Tensor[(3, 2), float32]) { %x + %y }";
constexpr const char* kSum = "def @main(%x: Tensor[(3, 2), float32]) { sum(%x, axis=[1]) }";

NDArray numbers(Shape shape, float first) {
  NDArray array = NDArray::empty(shape, kFloat32);
  for (int64_t i = 0; i < array.size(); ++i) array.data<float>()[i] = first + float(i);
  return array;
}

/// x [n, 2] + constant [3, 2], summed along the last axis.
Graph two_nodes() {
  Builder builder;
  Dim n = Dim::symbol(TypeVar::make("n", Kind::kShapeVar).get());
  uint32_t x = builder.add_input({{n, 2}, kFloat32});
  uint32_t c = builder.add_constant({{3, 2}, kFloat32}, Constant::given(numbers({3, 2}, 1)));
  WorkSizes sizes;
  sizes(builder.info(x).dims[0]);
  WorkRef add = work_of(kAdd, {tensor_of({3, 2}), tensor_of({3, 2})}, "add",
                        {tensor_of({work_symbol(0), 2}), tensor_of({3, 2})});
  uint32_t y = builder.add_node(add, sizes, std::vector<uint32_t>{x, c})[0];
  WorkSizes rows;
  Dim extent = rows(builder.info(y).dims[0]);
  WorkRef sum = work_of(kSum, {tensor_of({3, 2})}, "sum", {tensor_of({extent, 2})});
  uint32_t z = builder.add_node(sum, rows, std::vector<uint32_t>{y})[0];
  return builder.finish(std::vector<uint32_t>{z}, "two");
}

TEST(Graph, Text) {
  EXPECT_EQ(to_string(two_nodes()), R"(graph two
%0: float32[g0, 2] = input
g0 = extent 0 of %0
%1: float32[3, 2] = constant [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
%2: float32[3, 2] = add(%0, %1) with d0 = g0
  check d0 * d0 - 4 * d0 + 3 = 0
  in0: float32[d0, 2]
  in1: float32[3, 2]
  s0: float32[3, 2] = map(i0 < 3, i1 < 2) (in0[select(({d0} == 1), 0, i0), i1] + in1[i0, i1])
  out s0
%3: float32[3] = sum(%2)
  in0: float32[3, 2]
  s0: float32[3] = map(i0 < 3) sum(i1 < 2: in0[i0, i1])
  out s0
return (%3)
)");
}

TEST(Graph, Meaning) {
  Graph graph = two_nodes();
  verify(graph);
  std::vector<NDArray> results = evaluate(graph, std::vector<NDArray>{numbers({3, 2}, 0)});
  EXPECT_TRUE(bit_equal(results.at(0), NDArray::from<float>({3}, {4, 12, 20})));
}

TEST(Graph, SizesAreChecked) {
  Graph graph = two_nodes();
  EXPECT_THROW(evaluate(graph, std::vector<NDArray>{numbers({4, 2}, 0)}), RuntimeError);
}

TEST(Graph, EqualWorkIsWrittenOnce) {
  Builder builder;
  uint32_t x = builder.add_input({{3, 2}, kFloat32});
  WorkRef add = work_of(kAdd, {tensor_of({3, 2}), tensor_of({3, 2})}, "add");
  uint32_t y = builder.add_node(add, {}, std::vector<uint32_t>{x, x})[0];
  uint32_t z = builder.add_node(add, {}, std::vector<uint32_t>{y, x})[0];
  std::string text = to_string(builder.finish(std::vector<uint32_t>{z, z}, "again"));
  EXPECT_NE(text.find("%2: float32[3, 2] = add(%1, %0), as %1\nreturn (%2, %2)\n"),
            std::string::npos)
      << text;
}

TEST(Graph, OneNameIsOneExtent) {
  Builder builder;
  Dim n = Dim::symbol(TypeVar::make("n", Kind::kShapeVar).get());
  uint32_t x = builder.add_input({{n, n}, kFloat32});
  EXPECT_EQ(builder.info(x).dims[0], builder.info(x).dims[1]);
  Graph graph = builder.finish(std::vector<uint32_t>{x}, "square");
  verify(graph);
  ASSERT_EQ(graph.checks.size(), 1u);
  EXPECT_NO_THROW(evaluate(graph, std::vector<NDArray>{numbers({2, 2}, 0)}));
  try {
    evaluate(graph, std::vector<NDArray>{numbers({2, 3}, 0)});
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(), "dimension n is 2 and 3");
  }
}

TEST(Graph, TermsOverTheNamesOfOtherInputs) {
  Builder builder;
  Dim n = Dim::symbol(TypeVar::make("n", Kind::kShapeVar).get());
  Dim m = Dim::symbol(TypeVar::make("m", Kind::kShapeVar).get());
  uint32_t early = builder.add_input({{2 * n, floor_div(n, 3)}, kFloat32});
  uint32_t x = builder.add_input({{n}, kFloat32});
  uint32_t late = builder.add_input({{2 * n, floor_div(n, 3), n + 1, floor_div(n, m)}, kFloat32});
  // Equal terms are one extent; new ones are what they say, if nothing can stop the arithmetic.
  Dim told = builder.info(x).dims[0];
  EXPECT_EQ(builder.info(late).dims[0], builder.info(early).dims[0]);
  EXPECT_EQ(builder.info(late).dims[1], builder.info(early).dims[1]);
  EXPECT_EQ(builder.info(late).dims[2], told + 1);
  EXPECT_NE(builder.info(late).dims[3].as_symbol(), nullptr);
  Graph graph = builder.finish(std::vector<uint32_t>{x}, "terms");
  verify(graph);
  ASSERT_EQ(graph.checks.size(), 3u);
  auto run = [&](int64_t third) {
    std::vector<NDArray> inputs{numbers({6, 1}, 0), numbers({3}, 0), numbers({6, 1, third, 1}, 0)};
    return evaluate(graph, inputs);
  };
  EXPECT_NO_THROW(run(4));
  try {
    run(5);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_STREQ(error.what(), "dimension n + 1 is 4 and 5");
  }
}

TEST(Graph, SizesFromElements) {
  constexpr const char* kFull =
      "def @main(%n: Tensor[(1), int64]) { dyn.full(1f, %n, dtype=\"float32\") }";
  WorkRef work = work_of(kFull, {tensor_of({1}, kInt64)}, "full");
  ASSERT_EQ(work->elements.size(), 1u);
  Builder builder;
  uint32_t n = builder.add_input({{1}, kInt64});
  uint32_t open = builder.add_node(work, {}, std::vector<uint32_t>{n})[0];
  EXPECT_EQ(builder.info(open).dims[0], graph_value(0));
  uint32_t four =
      builder.add_constant({{1}, kInt64}, Constant::given(NDArray::from<int64_t>({1}, {4})));
  uint32_t closed = builder.add_node(work, {}, std::vector<uint32_t>{four})[0];
  EXPECT_TRUE(builder.info(closed).dims[0].is_int(4));
  // A size from what the graph computes would be known too late.
  EXPECT_FALSE(builder.known_before(open));
  Graph graph = builder.finish(std::vector<uint32_t>{open, closed}, "full");
  verify(graph);
  auto results = evaluate(graph, std::vector<NDArray>{NDArray::from<int64_t>({1}, {2})});
  EXPECT_EQ(results[0].extent(0), 2);
  EXPECT_EQ(results[1].extent(0), 4);
}

TEST(Graph, SizesThatAreTooLargeAddNothing) {
  constexpr const char* kFull =
      "def @main(%n: Tensor[(1), int64]) { dyn.full(1f, %n, dtype=\"float32\") }";
  WorkRef work = work_of(kFull, {tensor_of({1}, kInt64)}, "full");
  Builder builder;
  uint32_t n = builder.add_constant(
      {{1}, kInt64}, Constant::given(NDArray::from<int64_t>({1}, {int64_t{1} << 62})));
  EXPECT_THROW(builder.add_node(work, {}, std::vector<uint32_t>{n}), DimRangeError);
  EXPECT_TRUE(builder.graph().nodes.empty());
}

// ---- What verify refuses ------------------------------------------------------------------------

std::string complaint(const Graph& graph) {
  try {
    verify(graph);
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

TEST(GraphVerify, Order) {
  Graph graph = two_nodes();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_NE(complaint(graph).find("sum reads what has not been made"), std::string::npos);
}

TEST(GraphVerify, OneProducer) {
  Graph graph = two_nodes();
  graph.nodes.push_back(graph.nodes.back());
  EXPECT_NE(complaint(graph).find("sum makes a tensor that is made already"), std::string::npos);
}

TEST(GraphVerify, Extents) {
  Graph graph = two_nodes();
  graph.tensors[2].info.dims[1] = 5;
  EXPECT_NE(complaint(graph).find("tensor 2 does not fit add"), std::string::npos);
}

TEST(GraphVerify, DTypes) {
  Graph graph = two_nodes();
  graph.tensors[2].info.dtype = kInt32;
  EXPECT_NE(complaint(graph).find("tensor 2 does not fit add"), std::string::npos);
}

TEST(GraphVerify, Symbols) {
  Graph graph = two_nodes();
  graph.symbols.clear();
  EXPECT_NE(complaint(graph).find("a size that nothing tells: g0"), std::string::npos);
  graph = two_nodes();
  graph.symbols[0].tensor = 2;
  EXPECT_NE(complaint(graph).find("a size that no input tells"), std::string::npos);
  graph = two_nodes();
  graph.nodes[0].terms.clear();
  EXPECT_NE(complaint(graph).find("a size for each symbol of add"), std::string::npos);
}

TEST(GraphVerify, Results) {
  Graph graph = two_nodes();
  graph.outputs.push_back(9);
  EXPECT_NE(complaint(graph).find("a result that nothing makes"), std::string::npos);
}

TEST(GraphVerify, Constants) {
  Graph graph = two_nodes();
  graph.tensors[1].constant = nullptr;
  EXPECT_NE(complaint(graph).find("a constant without a value"), std::string::npos);
}

}  // namespace
}  // namespace relay::graph::graph_test
