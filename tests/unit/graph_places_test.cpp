// Operands of concatenations in their place: which are, and that programs mean what they did.
#include <gtest/gtest.h>

#include <random>

#include <relay/eval/eval.h>
#include <relay/graph/concatenation.h>
#include <relay/graph/evaluate.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/graph_testing.h>

namespace relay::graph::graph_places_test {
namespace {

using testing::random_array;
using testing::work_of;

TypeRef tensor(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

std::optional<std::vector<Part>> parts_of(const std::string& result,
                                          const std::vector<std::vector<Dim>>& shapes) {
  std::string params;
  std::vector<TypeRef> types;
  for (size_t i = 0; i < shapes.size(); ++i) {
    types.push_back(tensor(shapes[i]));
    params += (i > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": ";
    params += types.back()->str();
  }
  WorkRef work = work_of("def @main(" + params + ") { " + result + " }", types);
  return concatenated(work->computation());
}

TEST(Concatenated, Parts) {
  auto parts = parts_of("concatenate((%a, %b, %c), axis=0)", {{2, 3}, {4, 3}, {1, 3}});
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ((*parts)[1].input, 1u);
  EXPECT_EQ((*parts)[1].offset, Dim(6));
  EXPECT_EQ((*parts)[2].offset, Dim(18));
  // Behind axes of one element.
  parts = parts_of("concatenate((%b, %a), axis=2)", {{1, 1, 4, 5}, {1, 1, 2, 5}});
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ((*parts)[0].input, 1u);
  EXPECT_EQ((*parts)[1].input, 0u);
  EXPECT_EQ((*parts)[1].offset, Dim(10));
}

TEST(Concatenated, NothingElse) {
  EXPECT_FALSE(parts_of("concatenate((%a, %b), axis=1)", {{2, 3}, {2, 4}}));
  EXPECT_FALSE(parts_of("concatenate((%a, exp(%b)), axis=0)", {{2, 3}, {4, 3}}));
  EXPECT_FALSE(parts_of("nn.relu(concatenate((%a, %b), axis=0))", {{2, 3}, {4, 3}}));
  EXPECT_FALSE(parts_of("exp(%a)", {{2, 3}}));
  EXPECT_FALSE(parts_of("%a", {{2, 3}}));
  EXPECT_FALSE(parts_of("strided_slice(concatenate((%a, %b), axis=0), begin=[1], end=[5])",
                        {{2, 3}, {4, 3}}));
  EXPECT_FALSE(parts_of("where(less(%a, 0f), %a, %b)", {{2, 3}, {2, 3}}));
}

/// A program in one graph: rewritten, and run in every way with the results of the evaluator.
struct Placed {
  std::vector<Graph> graphs;
  size_t done = 0;  // nodes of which nothing is left to do

  explicit Placed(const std::string& text, const std::vector<Shape>& shapes, int level = 3) {
    Module module = parse_module("places.rly", text);
    infer_types_or_throw(module);
    vm::CompileOptions options;
    options.level = level;
    graphs = vm::compile_graphs(module, Name("main"), options);
    for (const Graph& graph : graphs) {
      verify(graph);
      for (const Node& node : graph.nodes) done += node.done_by_places ? 1 : 0;
    }
    std::vector<Value> arguments;
    for (const Shape& shape : shapes)
      arguments.emplace_back(
          random_array(shape, kFloat32, static_cast<uint32_t>(arguments.size() + 1)));
    const Value wanted = evaluate_function(module, "main", arguments);
    for (bool direct : {true, false}) {
      for (int threads : {1, 3}) {
        options.direct = direct;
        vm::Machine machine(vm::compile(module, Name("main"), options), {threads, nullptr, 0});
        for (int again = 0; again < 2; ++again)
          expect_close(machine.run("main", arguments), wanted, text);
      }
    }
  }

  static void expect_close(const Value& found, const Value& wanted, const std::string& text) {
    if (wanted.is_tuple()) {
      for (size_t i = 0; i < wanted.fields().size(); ++i)
        expect_close(found.field(i), wanted.field(i), text);
      return;
    }
    EXPECT_EQ(testing::difference({found.array()}, {wanted.array()}, [](DType) { return 1e-5; }),
              "")
        << text;
  }
};

// Two functions of rows of 16, that no pass makes one with what reads them.
std::string program(const std::string& params, const std::string& body) {
  return "def @main(" + params + ") {\n" + body + "\n}\n";
}

constexpr const char* kRows = "%x: Tensor[(4, 16), float32], %y: Tensor[(3, 16), float32]";

TEST(PlaceParts, InTheResult) {
  Placed both(program(kRows, "nn.softmax(concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0))"),
              {{4, 16}, {3, 16}});
  EXPECT_EQ(both.done, 1u);
  // A result of the program.
  Placed result(program(kRows, "concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0)"),
                {{4, 16}, {3, 16}});
  EXPECT_EQ(result.done, 1u);
}

TEST(PlaceParts, InOneAnother) {
  Placed nested(program(kRows, R"(
    let %a = concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0);
    let %b = concatenate((%a, nn.softmax(%a)), axis=0);
    concatenate((nn.softmax(%b), nn.softmax(%x * 2f)), axis=0))"),
                {{4, 16}, {3, 16}});
  EXPECT_EQ(nested.done, 3u);
  // Each time everything so far.
  Placed growing(program(kRows, R"(
    let %a = nn.softmax(%x);
    let %b = nn.softmax(%y);
    let %c = nn.softmax(concatenate((%a, %b), axis=0));
    let %d = nn.softmax(concatenate((%a, %b, %c), axis=0));
    nn.softmax(concatenate((%a, %b, %c, %d), axis=0)))"),
                 {{4, 16}, {3, 16}});
  EXPECT_EQ(growing.done, 3u);
  // The longest holds others that begin further on.
  Placed middle(program(kRows, R"(
    let %a = nn.softmax(%x);
    let %b = nn.softmax(%y);
    let %c = nn.softmax(concatenate((%b, %a), axis=0));
    nn.softmax(concatenate((%c, %b, %a), axis=0)))"),
                {{4, 16}, {3, 16}});
  EXPECT_EQ(middle.done, 2u);
}

TEST(PlaceParts, SizesOfARun) {
  Placed open(program("%x: Tensor[(n, 16), float32], %y: Tensor[(m, 16), float32]",
                      "nn.softmax(concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0))"),
              {{4, 16}, {3, 16}});
  EXPECT_EQ(open.done, 1u);
  Placed none(program("%x: Tensor[(n, 16), float32], %y: Tensor[(m, 16), float32]",
                      "nn.softmax(concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0))"),
              {{0, 16}, {3, 16}});
  EXPECT_EQ(none.done, 1u);
}

TEST(PlaceParts, NotWhereItCannotBe) {
  const std::vector<std::string> bodies{
      // A tensor that is given lies elsewhere; so does one that lies in two.
      "nn.softmax(concatenate((%x, nn.softmax(%y)), axis=0))",
      "let %a = nn.softmax(%x); nn.softmax(concatenate((%a, %a), axis=0))",
      // A result of its own may be changed by who gets it.
      "let %a = nn.softmax(%x); (%a, concatenate((%a, nn.softmax(%y)), axis=0))",
      // Where kernels would meet what is not aligned.
      "nn.softmax(concatenate((nn.softmax(strided_slice(%x, begin=[0, 0], end=[3, 5])), "
      "nn.softmax(strided_slice(%y, begin=[0, 0], end=[3, 5]))), axis=0))",
      // Rows of both, in turn.
      "nn.softmax(concatenate((nn.softmax(strided_slice(%x, begin=[0], end=[3])), "
      "nn.softmax(%y)), axis=1))",
  };
  for (const std::string& body : bodies) {
    Placed placed(program(kRows, body), {{4, 16}, {3, 16}});
    EXPECT_EQ(placed.done, 0u) << body;
  }
}

TEST(PlaceParts, InPlaceKernels) {
  // A tensor that is read for the last time may be written over, but not in the middle of another
  // tensor.
  Placed placed(program(kRows, R"(
    let %a = nn.softmax(%x);
    let %b = nn.softmax(%y);
    let %c = concatenate((%a, %b), axis=0);
    let %d = nn.softmax(exp(%a));
    (nn.softmax(%c), concatenate((%d, %c), axis=0), tanh(%b)))"),
                {{4, 16}, {3, 16}});
  EXPECT_GE(placed.done, 1u);
}

TEST(PlaceParts, RandomPrograms) {
  size_t done = 0;
  for (uint32_t seed = 0; seed < 25; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    std::vector<int64_t> rows{4, 3};
    std::vector<std::string> names{"%x", "%y"};
    std::string body;
    for (int step = 0; step < 9; ++step) {
      std::string name = "%t" + std::to_string(step), value;
      int64_t made = 0;
      if (below(2) == 0) {
        const size_t of = below(names.size());
        constexpr const char* kOps[] = {"nn.softmax(", "sigmoid(", "tanh("};
        value = kOps[below(3)] + names[of] + ")";
        made = rows[of];
      } else {
        value = "concatenate((";
        const size_t count = 2 + below(2);
        for (size_t k = 0; k < count; ++k) {
          const size_t of = below(names.size());
          // Mostly something that nothing else reads.
          const std::string own = std::to_string(step * 4 + static_cast<int>(k) + 2) + "f)";
          value += k > 0 ? ", " : "";
          value += below(4) > 0 ? "nn.softmax(" + names[of] + " * " + own : names[of];
          made += rows[of];
        }
        value += "), axis=0)";
      }
      body += "    let " + name + " = " + value + ";\n";
      names.push_back(name);
      rows.push_back(made);
    }
    body += "    (" + names[names.size() - 1] + ", " + names[2 + below(names.size() - 2)] + ")";
    Placed placed(program(kRows, body), {{4, 16}, {3, 16}}, seed % 2 == 0 ? 3 : 1);
    done += placed.done;
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(done, 5u);
}

TEST(PlaceParts, VerifyRefuses) {
  Placed placed(program(kRows, "nn.softmax(concatenate((nn.softmax(%x), nn.softmax(%y)), axis=0))"),
                {{4, 16}, {3, 16}});
  ASSERT_EQ(placed.graphs.size(), 1u);
  Graph graph = placed.graphs[0];
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].place) parts.push_back(i);
  }
  ASSERT_EQ(parts.size(), 2u);
  auto refused = [&](auto change) {
    Graph changed = graph;
    change(changed);
    EXPECT_THROW(verify(changed), InternalError);
  };
  refused([&](Graph& g) { g.tensors[parts[0]].place.reset(); });
  refused([&](Graph& g) { g.tensors[parts[1]].place->offset = Dim(0); });
  refused([&](Graph& g) { g.tensors[parts[1]].place->offset = Dim(1000); });
  refused([&](Graph& g) { g.tensors[parts[1]].place->whole = g.inputs[0]; });
  refused([&](Graph& g) {
    g.tensors[g.tensors[parts[0]].place->whole].place = Tensor::Place{parts[0], Dim(0)};
  });
  refused([&](Graph& g) { g.nodes[0].done_by_places = true; });
}

}  // namespace
}  // namespace relay::graph::graph_places_test
