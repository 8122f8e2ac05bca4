// Rewrites of graphs: what they do to a node, and that the graph means what it did.
#include <gtest/gtest.h>

#include <relay/graph/evaluate.h>
#include <relay/graph/evaluate_constant.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/graph_testing.h>

namespace relay::graph::graph_rewrite_test {
namespace {

using testing::panels;
using testing::random_array;
using testing::work_of;

TypeRef tensor(std::vector<Dim> dims, DType dtype = kFloat32) {
  return TensorType::make(dims, dtype);
}

TypeRef type_of(const NDArray& array) { return testing::array_type(array); }

/// A graph of one node with an input, and constants.
struct OneNode {
  NDArray input;
  std::vector<Graph> graphs;

  OneNode(const std::string& program, NDArray x, const std::vector<NDArray>& constants)
      : input(std::move(x)) {
    Builder builder;
    std::vector<TypeRef> types{type_of(input)};
    std::vector<uint32_t> args{
        builder.add_input({{input.shape().begin(), input.shape().end()}, input.dtype()})};
    for (const NDArray& array : constants) {
      types.push_back(type_of(array));
      args.push_back(builder.add_constant(
          {{array.shape().begin(), array.shape().end()}, array.dtype()}, Constant::given(array)));
    }
    uint32_t result = builder.add_node(work_of(program, types), {}, args)[0];
    graphs.push_back(builder.finish(std::vector<uint32_t>{result}, "one"));
  }

  /// Rewrites it; that must not change what it means.
  void rewrite(RewriteOptions options = {}) {
    NDArray before = evaluate(graphs[0], std::vector<NDArray>{input})[0];
    Rewriting rewriting(graphs, std::move(options));
    graph::rewrite(rewriting);
    NDArray after = evaluate(graphs[0], std::vector<NDArray>{input})[0];
    EXPECT_TRUE(bit_equal(before, after)) << to_string(graphs[0]);
  }

  std::vector<const Tensor*> constants() const {
    std::vector<const Tensor*> found;
    for (uint32_t input : graphs[0].nodes[0].inputs) {
      if (graphs[0].is(input, Tensor::Kind::kConstant)) found.push_back(&graphs[0].tensors[input]);
    }
    return found;
  }
  /// How many of its constants have been computed.
  size_t prepared() const {
    size_t count = 0;
    for (const Tensor* tensor : constants()) count += tensor->constant->computation() != nullptr;
    return count;
  }
};

TEST(PrepareConstants, Transposed) {
  OneNode one(
      "def @main(%x: Tensor[(4, 3), float32], %c: Tensor[(3, 4), float32]) { %x + "
      "transpose(%c) }",
      random_array(Shape{4, 3}, kFloat32, 1), {random_array(Shape{3, 4}, kFloat32, 2)});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 1u);
  ASSERT_EQ(one.constants().size(), 1u);
  EXPECT_EQ(one.constants()[0]->info.dims, (std::vector<Dim>{4, 3}));
}

TEST(PrepareConstants, InOrderStays) {
  OneNode one(
      "def @main(%x: Tensor[(4, 3), float32], %c: Tensor[(4, 3), float32], %d: Tensor[(3), "
      "float32]) { %x + %c * %d }",
      random_array(Shape{4, 3}, kFloat32, 1),
      {random_array(Shape{4, 3}, kFloat32, 2), random_array(Shape{3}, kFloat32, 3)});
  one.rewrite();
  // Their product is one; a sum with what is not known is none.
  EXPECT_EQ(one.prepared(), 1u);
  OneNode sum(
      "def @main(%x: Tensor[(4, 3), float32], %c: Tensor[(4, 3), float32], %d: Tensor[(3), "
      "float32]) { (%x + %c) * %d }",
      random_array(Shape{4, 3}, kFloat32, 1),
      {random_array(Shape{4, 3}, kFloat32, 2), random_array(Shape{3}, kFloat32, 3)});
  sum.rewrite();
  EXPECT_EQ(sum.prepared(), 0u);
}

TEST(PrepareConstants, PadsAndCasts) {
  OneNode one(
      "def @main(%x: Tensor[(5, 6), float32], %c: Tensor[(3, 4), int32]) { %x * "
      "cast(nn.pad(%c, 0, pad_width=[[1, 1], [1, 1]]), dtype=\"float32\") }",
      random_array(Shape{5, 6}, kFloat32, 1), {random_array(Shape{3, 4}, kInt32, 2)});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 1u);
  EXPECT_EQ(one.constants()[0]->info.dtype, kFloat32);
}

TEST(PrepareConstants, Folds) {
  OneNode one(
      "def @main(%x: Tensor[(5), float32], %c: Tensor[(5, 4), float32]) { %x - sum(%c, "
      "axis=[1]) }",
      random_array(Shape{5}, kFloat32, 1), {random_array(Shape{5, 4}, kFloat32, 2)});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 1u);
  EXPECT_EQ(one.constants()[0]->info.dims, std::vector<Dim>{5});
}

TEST(PrepareConstants, BroadcastsStayNarrow) {
  // A product of a row and a column would be as large as a matrix.
  OneNode one(
      "def @main(%x: Tensor[(512, 512), float32], %a: Tensor[(512, 1), float32], %b: "
      "Tensor[(512), float32]) { %x + %a * %b }",
      random_array(Shape{512, 512}, kFloat32, 1),
      {random_array(Shape{512, 1}, kFloat32, 2), random_array(Shape{512}, kFloat32, 3)});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 0u);
}

TEST(PrepareConstants, EqualNumbersStay) {
  OneNode one(
      "def @main(%x: Tensor[(4, 3), float32], %c: Tensor[(3, 4), float32]) { %x + "
      "transpose(%c) }",
      random_array(Shape{4, 3}, kFloat32, 1),
      {NDArray::uniform(NDArray::scalar(2.0f), Shape{3, 4})});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 0u);
}

TEST(PrepareConstants, FailuresStay) {
  OneNode one(
      "def @main(%x: Tensor[(3), int32], %a: Tensor[(3), int32], %b: Tensor[(3), int32]) { "
      "%x + %a / %b }",
      random_array(Shape{3}, kInt32, 1),
      {NDArray::from<int32_t>({3}, {1, 2, 3}), NDArray::from<int32_t>({3}, {1, 0, 3})});
  Rewriting rewriting(one.graphs, {});
  graph::rewrite(rewriting);
  EXPECT_EQ(one.prepared(), 0u);
  EXPECT_THROW(evaluate(one.graphs[0], std::vector<NDArray>{one.input}), RuntimeError);
}

TEST(PrepareConstants, OneArmOfAChoice) {
  // Rows of a constant behind rows of an input: read only where they are.
  OneNode one(
      "def @main(%x: Tensor[(2, 3), float32], %c: Tensor[(4, 3), float32]) { "
      "concatenate((%x, exp(%c)), axis=0) }",
      random_array(Shape{2, 3}, kFloat32, 1), {random_array(Shape{4, 3}, kFloat32, 2)});
  one.rewrite();
}

TEST(PrepareConstants, WholeNodes) {
  // A node on constants goes, and what reads it reads a constant.
  std::vector<Graph> graphs(1);
  Builder builder;
  uint32_t x = builder.add_input({{4, 3}, kFloat32});
  uint32_t c = builder.add_constant({{3, 4}, kFloat32},
                                    Constant::given(random_array(Shape{3, 4}, kFloat32, 2)));
  WorkRef turn =
      work_of("def @main(%x: Tensor[(3, 4), float32]) { exp(transpose(%x)) }", {tensor({3, 4})});
  WorkRef add =
      work_of("def @main(%x: Tensor[(4, 3), float32], %y: Tensor[(4, 3), float32]) { %x + %y }",
              {tensor({4, 3}), tensor({4, 3})});
  uint32_t turned = builder.add_node(turn, {}, std::vector<uint32_t>{c})[0];
  uint32_t sum = builder.add_node(add, {}, std::vector<uint32_t>{x, turned})[0];
  graphs[0] = builder.finish(std::vector<uint32_t>{sum, turned}, "fold");
  std::vector<NDArray> inputs{random_array(Shape{4, 3}, kFloat32, 1)};
  std::vector<NDArray> before = evaluate(graphs[0], inputs);
  Rewriting rewriting(graphs, {});
  EXPECT_TRUE(prepare_constants(rewriting));
  verify(graphs[0]);
  EXPECT_EQ(graphs[0].nodes.size(), 1u);
  EXPECT_TRUE(graphs[0].is(turned, Tensor::Kind::kConstant));
  std::vector<NDArray> after = evaluate(graphs[0], inputs);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(bit_equal(before[i], after[i]));
}

TEST(PrepareConstants, EqualOnesAreShared) {
  std::vector<Graph> graphs;
  ConstantRef constant = Constant::given(random_array(Shape{3, 4}, kFloat32, 2));
  for (const char* op : {"exp", "tanh"}) {
    Builder builder;
    uint32_t x = builder.add_input({{4, 3}, kFloat32});
    uint32_t c = builder.add_constant({{3, 4}, kFloat32}, constant);
    WorkRef work =
        work_of("def @main(%x: Tensor[(4, 3), float32], %c: Tensor[(3, 4), float32]) { " +
                    std::string(op) + "(%x) + transpose(%c) }",
                {tensor({4, 3}), tensor({3, 4})});
    uint32_t y = builder.add_node(work, {}, std::vector<uint32_t>{x, c})[0];
    graphs.push_back(builder.finish(std::vector<uint32_t>{y}, op));
  }
  Rewriting rewriting(graphs, {});
  EXPECT_TRUE(prepare_constants(rewriting));
  ConstantRef first = graphs[0].tensors[graphs[0].nodes[0].inputs[1]].constant;
  EXPECT_NE(first->computation(), nullptr);
  EXPECT_EQ(first, graphs[1].tensors[graphs[1].nodes[0].inputs[1]].constant);
}

TEST(PrepareConstants, LargeOnesAreKeptOnce) {
  Shape shape{256, 128};
  for (bool elsewhere : {false, true}) {
    OneNode one(
        "def @main(%x: Tensor[(128, 256), float32], %c: Tensor[(256, 128), float32]) { %x "
        "+ transpose(%c) }",
        random_array(Shape{128, 256}, kFloat32, 1), {random_array(shape, kFloat32, 2)});
    Rewriting rewriting(one.graphs, {});
    if (elsewhere) rewriting.read_elsewhere.insert(one.graphs[0].tensors[1].constant.get());
    EXPECT_EQ(prepare_constants(rewriting), !elsewhere);
  }
}

constexpr const char* kDense =
    "def @main(%x: Tensor[(4, 5), float32], %w: Tensor[(10, 5), float32]) { nn.relu(nn.dense(%x, "
    "%w)) }";

TEST(PackOperands, Panels) {
  OneNode one(kDense, random_array(Shape{4, 5}, kFloat32, 1),
              {random_array(Shape{10, 5}, kFloat32, 2)});
  one.rewrite({panels(4)});
  EXPECT_EQ(to_string(one.graphs[0]), R"(graph one
%0: float32[4, 5] = input
%1: float32[10, 5] = constant
%3: float32[3, 5, 4] = prepared(%1)
  in0: float32[10, 5]
  s0: float32[3, 5, 4] = map(i0 < 3, i1 < 5, i2 < 4) in0[((i0 * 4) + i2), i1; else 0f]
  out s0
%2: float32[4, 10] = work(%0, %3)
  in0: float32[4, 5]
  in1: float32[3, 5, 4]
  s0: float32[4, 10] = map(i0 < 4, i1 < 10) sum(i2 < 5: (in0[i0, i2] * in1[floordiv(i1, 4), i2, floormod(i1, 4)]))
  s1: float32[4, 10] = map(i3 < 4, i4 < 10) max(s0[i3, i4], 0f)
  out s1
return (%2)
)");
  NDArray packed = one.constants()[0]->constant->value().array();
  EXPECT_EQ(packed.element_as_double(packed.size() - 1), 0);  // the last panel is filled up
}

TEST(PackOperands, NotWithoutTarget) {
  OneNode one(kDense, random_array(Shape{4, 5}, kFloat32, 1),
              {random_array(Shape{10, 5}, kFloat32, 2)});
  one.rewrite();
  EXPECT_EQ(one.prepared(), 0u);
}

TEST(PackOperands, ReadersThatDiffer) {
  // Large, and a second reader wants it as it is.
  for (bool twice : {false, true}) {
    std::vector<Graph> graphs(1);
    ConstantRef constant = Constant::given(random_array(Shape{256, 128}, kFloat32, 2));
    Builder builder;
    uint32_t x = builder.add_input({{4, 128}, kFloat32});
    uint32_t w = builder.add_constant({{256, 128}, kFloat32}, constant);
    WorkRef dense = work_of(
        "def @main(%x: Tensor[(4, 128), float32], %w: Tensor[(256, 128), float32]) { nn.dense(%x, "
        "%w) }",
        {tensor({4, 128}), tensor({256, 128})});
    std::vector<uint32_t> results = builder.add_node(dense, {}, std::vector<uint32_t>{x, w});
    // The same work again reads the same packed constant.
    results.push_back(builder.add_node(dense, {}, std::vector<uint32_t>{x, w})[0]);
    if (twice) results.push_back(w);
    graphs[0] = builder.finish(results, "tied");
    Rewriting rewriting(graphs, {panels(8)});
    EXPECT_EQ(pack_operands(rewriting), !twice);
    EXPECT_EQ(graphs[0].nodes[0].work, graphs[0].nodes[1].work);
    EXPECT_EQ(graphs[0].nodes[0].inputs, graphs[0].nodes[1].inputs);
  }
}

// A large constant that two works read is packed if both would read it so, and once.
TEST(PackOperands, ReadersThatAgree) {
  auto rewritten = [](const std::string& other, const std::vector<TypeRef>& types) {
    std::vector<Graph> graphs(1);
    Builder builder;
    uint32_t x = builder.add_input({{4, 128}, kFloat32});
    uint32_t w = builder.add_constant({{256, 128}, kFloat32},
                                      Constant::given(random_array(Shape{256, 128}, kFloat32, 2)));
    const std::string params =
        "def @main(%x: Tensor[(4, 128), float32], %w: Tensor[(256, 128), float32]) { ";
    WorkRef first = work_of(params + "nn.relu(nn.dense(%x, %w)) }", types);
    WorkRef second = work_of(params + other + " }", types);
    std::vector<uint32_t> results = builder.add_node(first, {}, std::vector<uint32_t>{x, w});
    results.push_back(builder.add_node(second, {}, std::vector<uint32_t>{x, w})[0]);
    graphs[0] = builder.finish(results, "shared");
    Rewriting rewriting(graphs, {panels(8)});
    const bool changed = pack_operands(rewriting);
    EXPECT_EQ(graphs[0].nodes[0].inputs[1] != w, changed);
    EXPECT_EQ(graphs[0].nodes[0].inputs, graphs[0].nodes[1].inputs);
    return changed;
  };
  const std::vector<TypeRef> types{tensor({4, 128}), tensor({256, 128})};
  EXPECT_TRUE(rewritten("tanh(nn.dense(%x, %w))", types));
  EXPECT_FALSE(rewritten("nn.dense(%x, sum(%w, axis=[0], keepdims=True))", types));
  EXPECT_FALSE(rewritten("tanh(%w)", types));
}

TEST(Rewrite, EachIsToldOf) {
  OneNode one(kDense, random_array(Shape{4, 5}, kFloat32, 1),
              {random_array(Shape{10, 5}, kFloat32, 2)});
  std::vector<std::pair<std::string, bool>> told;
  Rewriting rewriting(one.graphs, {panels(4)});
  graph::rewrite(rewriting, [&](std::string_view stage, std::span<const Graph>, bool changed) {
    told.emplace_back(stage, changed);
  });
  EXPECT_EQ(told, (std::vector<std::pair<std::string, bool>>{{"composed", true},
                                                             {"drop_outputs", false},
                                                             {"prepare_constants", false},
                                                             {"join_products", false},
                                                             {"split_outputs", false},
                                                             {"join_rows", false},
                                                             {"join_points", false},
                                                             {"winograd", false},
                                                             {"pack_operands", true},
                                                             {"place_parts", false},
                                                             {"free_early", false}}));
}

// ---- Constants as copies ------------------------------------------------------------------------

using Body = std::function<te::Scalar(const te::Tensor&, te::Indices)>;

/// True if each element has its one place in the copy.
bool check_copy(const Shape& shape, const std::vector<Dim>& dims, const Body& body, DType dtype) {
  te::Builder builder({{{shape.begin(), shape.end()}, dtype}});
  te::Tensor in = builder.input(0);
  builder.output(builder.map(dims, [&](te::Indices at) { return body(in, at); }));
  te::Computation computation = builder.finish();
  std::vector<NDArray> inputs{random_array(shape, dtype, 7)};
  NDArray found = evaluate_constant(computation, inputs, kCpu);
  NDArray wanted = te::evaluate(computation, inputs)[0];
  EXPECT_TRUE(bit_equal(found, wanted)) << computation.str();
  EXPECT_TRUE(found.is_contiguous() || found.is_uniform());
  std::optional<Scattered> scattered = scattered_result(computation);
  if (!scattered) return false;
  const size_t width = dtype.size();
  for (int64_t i = 0; i < inputs[0].size(); ++i) {
    int64_t place = 0, rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      place += scattered->places[d][static_cast<size_t>(rest % shape[d])];
    std::memcpy(
        static_cast<std::byte*>(scattered->result.raw()) + static_cast<size_t>(place) * width,
        static_cast<const std::byte*>(inputs[0].raw()) + static_cast<size_t>(i) * width, width);
  }
  EXPECT_TRUE(bit_equal(scattered->result, wanted)) << computation.str();
  return true;
}

TEST(EvaluateConstant, Rearrangements) {
  for (DType dtype : {kFloat32, kInt8, kFloat16, kFloat64}) {
    te::Scalar zero = te::constant(0, dtype);
    EXPECT_TRUE(check_copy(
        {7, 9}, {9, 7},
        [](const te::Tensor& in, te::Indices at) {
          return in({at[1], at[0]});
        },
        dtype));
    EXPECT_TRUE(check_copy(
        {40, 50}, {50, 40},
        [](const te::Tensor& in, te::Indices at) {
          return in({at[1], at[0]});
        },
        dtype));
    EXPECT_TRUE(check_copy(
        {6, 4}, {6, 4},
        [](const te::Tensor& in, te::Indices at) {  // turned around
          return in({5 - at[0], 3 - at[1]});
        },
        dtype));
    EXPECT_TRUE(check_copy(
        {6, 4}, {9, 8},
        [&](const te::Tensor& in, te::Indices at) {  // padded
          return in.load_or({at[0] - 1, at[1] - 2}, zero);
        },
        dtype));
    EXPECT_FALSE(check_copy(
        {6, 4}, {3, 2},
        [](const te::Tensor& in, te::Indices at) {  // every other one
          return in({at[0] * 2 + 1, at[1] * 2});
        },
        dtype));
    EXPECT_TRUE(check_copy(
        {37, 5}, {3, 5, 16},
        [&](const te::Tensor& in, te::Indices at) {  // panels
          return in.load_or({at[0] * 16 + at[2], at[1]}, zero);
        },
        dtype));
    EXPECT_TRUE(check_copy(
        {2, 37, 5}, {2, 3, 5, 16},
        [&](const te::Tensor& in, te::Indices at) {
          return in.load_or({at[0], at[1] * 16 + at[3], at[2]}, zero);
        },
        dtype));
    EXPECT_FALSE(check_copy(
        {5}, {4, 9},
        [&](const te::Tensor& in, te::Indices at) {  // a band
          return in.load_or({at[0] * 3 - at[1]}, zero);
        },
        dtype));
    EXPECT_FALSE(check_copy(
        {5, 3}, {4, 9},
        [&](const te::Tensor& in, te::Indices at) {  // all outside
          return in.load_or({at[0] + 100, at[1]}, zero);
        },
        dtype));
    EXPECT_FALSE(check_copy(
        {5}, {5, 6}, [](const te::Tensor& in, te::Indices at) { return in({at[0]}); }, dtype));
  }
}

// Larger than what one thread copies.
TEST(EvaluateConstant, Large) {
  EXPECT_TRUE(check_copy(
      {700, 1100}, {1100, 700},
      [](const te::Tensor& in, te::Indices at) {
        return in({at[1], at[0]});
      },
      kFloat32));
  EXPECT_TRUE(check_copy(
      {300, 900, 3}, {3, 300, 900},
      [](const te::Tensor& in, te::Indices at) {
        return in({at[1], at[2], at[0]});
      },
      kFloat32));
}

// A diagonal whose places would not fit.
TEST(EvaluateConstant, DiagonalsAreNotScattered) {
  EXPECT_FALSE(check_copy(
      {5, 5}, {5, 6},
      [](const te::Tensor& in, te::Indices at) {
        return in({at[0], at[0]});
      },
      kFloat32));
}

TEST(EvaluateConstant, WhatIsNoCopy) {
  auto one = te::constant(1, kFloat32);
  EXPECT_FALSE(check_copy(
      {6, 4}, {9, 8},
      [&](const te::Tensor& in, te::Indices at) {
        return in.load_or({at[0] - 1, at[1] - 2}, one);
      },
      kFloat32));
  EXPECT_FALSE(check_copy(
      {6, 4}, {12, 4},
      [&](const te::Tensor& in, te::Indices at) {
        return in({te::floor_div(at[0], te::index_constant(2)), at[1]});
      },
      kFloat32));
  EXPECT_FALSE(check_copy(
      {6, 4}, {6, 4},
      [&](const te::Tensor& in, te::Indices at) {
        return te::exp(in({at[0], at[1]}));
      },
      kFloat32));
}

}  // namespace
}  // namespace relay::graph::graph_rewrite_test
