// Models that are refused: one clear error each.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>

#include <gtest/gtest.h>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_errors_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

// The messages, notes in parentheses; the text at the first one's place in brackets.
std::string problem(std::span<const std::byte> bytes) {
  try {
    from_onnx(bytes, {}, "m.onnx");
  } catch (const Error& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      if (!text.empty()) text += "\n";
      text += diagnostic.message;
      if (diagnostic.span.known()) {
        std::shared_ptr<const Source> source = SourceMap::find(diagnostic.span);
        text += " [" + std::to_string(SourceMap::locate(diagnostic.span).line) + "]";
      }
      for (const DiagnosticNote& note : diagnostic.notes) text += " (" + note.message + ")";
    }
    return text;
  }
  return "";
}
std::string problem(const Proto& model) { return problem(model.span()); }

const Proto kX = onnx_value("x", kOnnxFloat, {std::string("n"), int64_t{4}});
const Proto kY = onnx_value("y", kOnnxFloat, {});

std::string graph_problem(const std::vector<Proto>& nodes,
                          const std::vector<Proto>& initializers = {}) {
  return problem(onnx_model(onnx_graph(nodes, {kX}, {kY}, initializers)));
}

TEST(ImportOnnxErrors, Bytes) {
  auto bytes = [](std::string_view text) { return problem(std::as_bytes(std::span(text))); };
  EXPECT_EQ(bytes(""), "m.onnx: the file is empty");
  EXPECT_EQ(bytes("\x0a"), "m.onnx is no sound ONNX model: the model is cut short");
  EXPECT_EQ(bytes("\x08\xff"), "m.onnx is no sound ONNX model: the model is cut short");
  EXPECT_EQ(bytes("def @main() { 1 }"), "m.onnx is not an ONNX model: this is a text");
  EXPECT_EQ(bytes("\x0f\x01"),
            "m.onnx is no sound ONNX model: the model has a field of an unknown kind");
  EXPECT_EQ(bytes("\x3a\x02\x0a\x7f"), "m.onnx is no sound ONNX model: the graph is cut short");
  EXPECT_EQ(bytes("\x38\x01"),
            "m.onnx is no sound ONNX model: the model has field 7 in a wrong encoding");
}

TEST(ImportOnnxErrors, Nesting) {
  Proto graph = onnx_graph({onnx_node("Abs", {"x"}, {"y"})}, {}, {kY});
  for (int i = 0; i < 50; ++i) {
    graph = onnx_graph({onnx_node("If", {"c"}, {"y"}, {onnx_graph_attr("then_branch", graph)})}, {},
                       {kY});
  }
  EXPECT_EQ(problem(onnx_model(graph)), "m.onnx: messages are nested deeper than 100 levels");
}

TEST(ImportOnnxErrors, Opsets) {
  Proto graph = onnx_graph({onnx_node("Abs", {"x"}, {"y"})}, {kX}, {kY});
  EXPECT_EQ(problem(onnx_model(graph, 5)), "m.onnx: operator set 5 is not supported; 6 to 28 are");
  EXPECT_EQ(problem(onnx_model(graph, 99)),
            "m.onnx: operator set 99 is not supported; 6 to 28 are");
  EXPECT_EQ(problem(Proto().number(1, 8).message(7, graph)),
            "m.onnx: the model says no operator set (opset_import)");
  EXPECT_EQ(problem(onnx_model(graph).message(20, Proto())),
            "m.onnx: the model has training graphs, which are not supported");
  EXPECT_EQ(
      graph_problem({onnx_node("Foo", {"x"}, {"y"}, {}, "f", "nowhere")}),
      "nowhere.Foo \"f\" is of the domain \"nowhere\", of which the model imports no operator "
      "set [1]");
}

TEST(ImportOnnxErrors, Names) {
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"z"}, {"y"}, {}, "a")}),
            "Abs \"a\" reads \"z\", which nothing defines [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"y"}), onnx_node("Neg", {"x"}, {"y"})}),
            "Neg of \"y\" defines \"y\", which is defined already [2] (defined here)");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"x"})}),
            "Abs of \"x\" defines \"x\", which is defined already [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"z"})}),
            "m.onnx: nothing defines the output \"y\" of the graph");
  EXPECT_EQ(
      graph_problem({onnx_node("Add", {"x", "b"}, {"a"}, {}, "first"),
                     onnx_node("Abs", {"a"}, {"b"}, {}, "second"), onnx_node("Abs", {"a"}, {"y"})}),
      "nodes need each other's results: Add \"first\", Abs \"second\", which the first of "
      "them needs [1]");
  EXPECT_EQ(graph_problem({onnx_node("", {"x"}, {"y"})}), "a node of \"y\" has no operator [1]");
  EXPECT_EQ(problem(onnx_model(onnx_graph({onnx_node("Abs", {"x"}, {"y"})}, {kX, kX}, {kY}))),
            "m.onnx: the graph has two inputs \"x\"");
  Proto w = onnx_ints("w", {1});
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"y"})}, {w, w}),
            "m.onnx: the graph has two initializers \"w\"");
  EXPECT_EQ(problem(onnx_model(onnx_graph({onnx_node("Abs", {"x"}, {"y"})}, {kX}, {}))),
            "m.onnx: the model's graph has no outputs");
}

TEST(ImportOnnxErrors, Extents) {
  auto input = [](int dtype, const std::vector<OnnxDim>& dims) {
    return problem(onnx_model(
        onnx_graph({onnx_node("Abs", {"x"}, {"y"})}, {onnx_value("x", dtype, dims)}, {kY})));
  };
  EXPECT_EQ(input(kOnnxFloat, {int64_t{-2}}), "m.onnx: the input \"x\" has the negative extent -2");
  EXPECT_EQ(input(kOnnxFloat, {int64_t{1} << 62}),
            "m.onnx: the input \"x\" has the extent 4611686018427387904");
  EXPECT_EQ(input(kOnnxFloat, std::vector<OnnxDim>(65, int64_t{1})),
            "m.onnx: the input \"x\" has 65 axes, more than 64");
  EXPECT_EQ(input(kOnnxString, {int64_t{1}}),
            "Abs of \"y\": input 0, \"x\", has strings, which are no elements of tensors here: "
            "encode the words before the model runs, and cut the model behind this node "
            "(onnx.utils.extract_model) [1]");
  EXPECT_EQ(input(27, {int64_t{1}}),
            "m.onnx: the input \"x\" has elements of type float6e2m3, which are not supported");
}

TEST(ImportOnnxErrors, Contents) {
  auto initializer = [](const Proto& tensor) {
    return graph_problem({onnx_node("Abs", {"x"}, {"y"})}, {tensor});
  };
  size_t before = peak_memory();
  EXPECT_EQ(
      initializer(onnx_tensor<float>("w", kOnnxFloat, {1 << 20, 1 << 9}, {1})),
      "m.onnx: the initializer \"w\": a tensor of shape (1048576, 512) and dtype float32 with "
      "contents of 4 bytes, not 2147483648");
  EXPECT_LT(peak_memory() - before, size_t{8} << 20);
  EXPECT_EQ(initializer(onnx_tensor<float>("w", kOnnxFloat, {-2}, {1, 2})),
            "m.onnx: the initializer \"w\": a tensor of shape (-2), which has a negative extent");
  EXPECT_EQ(
      initializer(onnx_tensor<float>("w", kOnnxString, {1}, {1})),
      "m.onnx: the initializer \"w\": a tensor of 0 strings, which is not what its shape says");
  EXPECT_EQ(
      initializer(Proto().number(1, 2).number(2, kOnnxFloat).text(8, "w").float32(4, 1)),
      "m.onnx: the initializer \"w\": a tensor of shape (2) and dtype float32 with contents of "
      "1 elements, not 2");
  EXPECT_EQ(initializer(Proto().number(1, 2).number(2, kOnnxFloat).text(8, "w").number(14, 1)),
            "m.onnx: the initializer \"w\": external data without a location");
}

TEST(ImportOnnxErrors, Functions) {
  auto call = [](const char* name) { return onnx_node(name, {"x"}, {"y"}, {}, "", "local"); };
  Proto graph = onnx_graph({call("F")}, {kX}, {kY});
  Proto f = onnx_function("F", {"x"}, {"y"}, {call("G")});
  Proto g = onnx_function("G", {"x"}, {"y"}, {call("F")});
  EXPECT_EQ(problem(onnx_model(graph, 17, {f, g})),
            "local.F of \"y\" makes the function \"F\" call itself [3]");
  EXPECT_EQ(problem(onnx_model(graph, 17, {f, f})),
            "m.onnx: the function \"F\" of domain \"local\" is defined twice");
  // Each calls the next one twice: a small file, 2^40 nodes.
  std::vector<Proto> doubling;
  for (int i = 0; i < 40; ++i) {
    std::string next = "F" + std::to_string(i + 1);
    doubling.push_back(onnx_function("F" + std::to_string(i), {"x"}, {"y"},
                                     {onnx_node(next, {"x"}, {"a"}, {}, "", "local"),
                                      onnx_node(next, {"a"}, {"y"}, {}, "", "local")}));
  }
  doubling.push_back(onnx_function("F40", {"x"}, {"y"}, {onnx_node("Abs", {"x"}, {"y"})}));
  EXPECT_EQ(problem(onnx_model(onnx_graph({call("F0")}, {kX}, {kY}), 17, doubling)),
            "m.onnx: calls of functions lead to more than 200000 nodes");
  std::vector<Proto> deep;
  for (int i = 0; i < 70; ++i) {
    std::string next = "F" + std::to_string(i + 1);
    deep.push_back(onnx_function("F" + std::to_string(i), {"x"}, {"y"}, {call(next.c_str())}));
  }
  deep.push_back(onnx_function("F70", {"x"}, {"y"}, {onnx_node("Abs", {"x"}, {"y"})}));
  EXPECT_EQ(problem(onnx_model(onnx_graph({call("F0")}, {kX}, {kY}), 17, deep)),
            "m.onnx: functions call each other deeper than 64 levels");
}

TEST(ImportOnnxErrors, Operators) {
  // All that are not supported at once, those of functions and branches among them.
  Proto f = onnx_function("F", {"x"}, {"y"}, {onnx_node("Nope", {"x"}, {"y"}, {}, "inner")});
  Proto branch = onnx_graph({onnx_node("Nope", {"x"}, {"r"})}, {}, {onnx_value("r", 1, {})});
  Proto graph = onnx_graph(
      {onnx_node("F", {"x"}, {"a"}, {}, "", "local"), onnx_node("Never", {"a"}, {"b"}, {}, "no"),
       onnx_node("If", {"c"}, {"y"},
                 {onnx_graph_attr("then_branch", branch), onnx_graph_attr("else_branch", branch)})},
      {kX, onnx_value("c", kOnnxBool, {})}, {kY});
  EXPECT_EQ(problem(onnx_model(graph, 17, {f})),
            "m.onnx: 2 operators are not supported: Never, Nope (Never: 1 node, \"no\") (Nope: 3 "
            "nodes, \"r\", \"r\", \"inner\")");
  EXPECT_EQ(problem(onnx_model(onnx_graph({onnx_node("Gelu", {"x"}, {"y"}, {}, "g")}, {kX}, {kY}))),
            "m.onnx: 1 operator is not supported: Gelu of opset 17 (supported from 20 on) (Gelu of "
            "opset 17 (supported from 20 on): 1 node, \"g\")");
}

TEST(ImportOnnxErrors, Nodes) {
  EXPECT_EQ(graph_problem({onnx_node("LeakyRelu", {"x"}, {"y"}, {onnx_int_attr("alpha", 1)}, "l")}),
            "LeakyRelu \"l\": the attribute alpha must be a float, found an int [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"y"}, {onnx_int_attr("slope", 1)})}),
            "Abs of \"y\": the attribute \"slope\" is not known [1]");
  EXPECT_EQ(graph_problem({onnx_node("Concat", {"x"}, {"y"})}),
            "Concat of \"y\": the attribute axis is missing [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {}, {"y"})}), "Abs of \"y\": input 0 is not given [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"y", "z"})}),
            "Abs of \"y\": there is no output 1 for \"z\" [1]");
  EXPECT_EQ(graph_problem({onnx_node("Abs", {"x"}, {"y"}, {onnx_reference("a", "b", 1)})}),
            "Abs of \"y\": the attribute \"a\" is not known [1]");
  EXPECT_EQ(graph_problem({onnx_node("MatMul", {"x", "w"}, {"y"}, {}, "m")},
                          {onnx_tensor<float>("w", kOnnxFloat, {3, 1}, {1, 2, 3})})
                .substr(0, 23),
            "MatMul \"m\": nn.matmul: ");
}

// Sound models with much of what models have.
std::vector<std::string> corpus() {
  Proto branch = onnx_graph({onnx_node("Neg", {"x"}, {"r"})}, {}, {onnx_value("r", 1, {})});
  Proto f = onnx_function("F", {"a"}, {"b"}, {onnx_node("Abs", {"a"}, {"b"})});
  Proto graph = onnx_graph(
      {onnx_node("Shape", {"x"}, {"s"}), onnx_node("Gather", {"s", "one"}, {"four"}),
       onnx_node("Reshape", {"x", "wanted"}, {"r1"}),
       onnx_node("F", {"r1"}, {"r2"}, {}, "", "local"),
       onnx_node("If", {"c"}, {"r3"},
                 {onnx_graph_attr("then_branch", branch), onnx_graph_attr("else_branch", branch)}),
       onnx_node("Add", {"r2", "w"}, {"r4"}),
       onnx_node("Concat", {"r4", "r4"}, {"y"}, {onnx_int_attr("axis", 0)})},
      {kX, onnx_value("c", kOnnxBool, {})}, {kY, onnx_value("r3", kOnnxFloat, {})},
      {onnx_ints("one", {1}), onnx_ints("wanted", {-1, 2}),
       onnx_tensor<float>("w", kOnnxFloat, {2}, {1, 2})});
  Proto shapes = onnx_graph(
      {onnx_node("Shape", {"x"}, {"s"}), onnx_node("Slice", {"s", "zero", "one"}, {"n"}),
       onnx_node("Mul", {"n", "two"}, {"n2"}), onnx_node("Div", {"n2", "two"}, {"n1"}),
       onnx_node("Concat", {"n2", "two"}, {"wanted"}, {onnx_int_attr("axis", 0)}),
       onnx_node("Reshape", {"x", "wanted"}, {"r"}),
       onnx_node("Concat", {"n1", "one"}, {"big"}, {onnx_int_attr("axis", 0)}),
       onnx_node("ConstantOfShape", {"big"}, {"o"}), onnx_node("Sub", {"x", "o"}, {"d"}),
       onnx_node("Equal", {"n", "one"}, {"e"}), onnx_node("Where", {"e", "n", "two"}, {"pick"}),
       onnx_node("Expand", {"o", "big"}, {"y"})},
      {kX}, {kY, onnx_value("d", 1, {}), onnx_value("pick", 7, {}), onnx_value("r", 1, {})},
      {onnx_ints("zero", {0}), onnx_ints("one", {1}), onnx_ints("two", {2})});
  Proto layers = onnx_graph(
      {onnx_node("Conv", {"i", "k"}, {"c"}, {onnx_int_attr("group", 1)}),
       onnx_node("MaxPool", {"c"}, {"p"},
                 {Proto().text(1, "kernel_shape").number(8, 2).number(8, 2).number(20, 7)}),
       onnx_node("Flatten", {"p"}, {"f"}), onnx_node("Softmax", {"f"}, {"q"}),
       onnx_node("RNN", {"t", "w", "w"}, {"y", "h"}, {onnx_int_attr("hidden_size", 2)})},
      {onnx_value("i", kOnnxFloat, {int64_t{1}, int64_t{1}, int64_t{5}, int64_t{5}}),
       onnx_value("t", kOnnxFloat, {std::string("n"), int64_t{1}, int64_t{2}})},
      {kY, onnx_value("q", 1, {})},
      {onnx_tensor<float>("k", kOnnxFloat, {1, 1, 2, 2}, {1, 2, 3, 4}),
       onnx_tensor<float>("w", kOnnxFloat, {1, 2, 2}, {1, 2, 3, 4})});
  return {onnx_model(graph, 17, {f}).bytes(), onnx_model(shapes, 11).bytes(),
          onnx_model(layers).bytes()};
}

// Refused with an error, or a program that is typed, printed and parsed.
bool taken(const std::string& bytes) {
  OnnxModel model;
  try {
    model = from_onnx(std::as_bytes(std::span(bytes)));
  } catch (const Error&) {
    return false;
  }
  std::string text = print_module(model.module);
  EXPECT_TRUE(parse_text("again", text).ok()) << text;
  for (const Diagnostic& diagnostic : infer_types(model.module)) {
    EXPECT_NE(diagnostic.severity, Severity::kError) << render(diagnostic) << text;
  }
  return true;
}

// Whatever is done to a sound model, the importer takes it or says what is wrong, in no time and
// little memory. RELAY_MUTATION_SECONDS: for how long; RELAY_MUTATION_SEED: which changes, 1 if not
// given.
TEST(ImportOnnxErrors, Mutations) {
  std::vector<std::string> models = corpus();
  for (const std::string& model : models) {
    EXPECT_EQ(problem(std::as_bytes(std::span(model))), "");
    EXPECT_TRUE(taken(model));
  }
  const char* asked = std::getenv("RELAY_MUTATION_SECONDS");
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::seconds(asked == nullptr ? 1 : std::atoi(asked));
  const char* seed = std::getenv("RELAY_MUTATION_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed)));
  set_memory_limit(memory_in_use() + (size_t{256} << 20));
  size_t rounds = 0, sound = 0;
  for (; Clock::now() < end && !HasFailure(); ++rounds) {
    std::string bytes = models[random() % models.size()];
    for (unsigned k = random() % 3 + 1; k-- > 0 && !bytes.empty();) {
      size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.erase(at, random() % 8 + 1);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 16));
          break;
      }
    }
    const std::clock_t begin = std::clock();  // of the processor: the machine may be busy
    sound += taken(bytes) ? 1 : 0;
    EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
  }
  set_memory_limit(0);
  RecordProperty("rounds", static_cast<int>(rounds));
  EXPECT_GT(sound, 0u);  // names that nothing else mentions, say
  EXPECT_LT(sound, rounds);
}

}  // namespace
}  // namespace relay::import_onnx_errors_test
