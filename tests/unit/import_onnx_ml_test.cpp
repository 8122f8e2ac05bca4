// Operators of ai.onnx.ml: what is refused, and what becomes of strings and maps. Numbers are
// compared with ONNX Runtime's by the recorded cases (tests/onnx/recorded/ml.jsonl).
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_ml_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

OnnxDim n(int64_t value) { return value; }

/// A model of one node of ai.onnx.ml with features (2, 3) and two outputs at most.
Proto model_of(const std::string& op, const std::vector<Proto>& attributes, size_t outputs,
               int64_t version) {
  std::vector<std::string> results;
  std::vector<Proto> made;
  for (size_t k = 0; k < outputs; ++k) {
    results.push_back("y" + std::to_string(k));
    made.push_back(onnx_value(results.back(), kOnnxFloat, {}));
  }
  Proto node = onnx_node(op, {"x"}, results, attributes, "a", "ai.onnx.ml");
  Proto model =
      onnx_model(onnx_graph({node}, {onnx_value("x", kOnnxFloat, {n(2), n(3)})}, made), 17);
  return model.message(8, onnx_opset("ai.onnx.ml", version));
}

/// The message that refuses the node; empty where it is taken.
std::string refusal(const std::string& op, const std::vector<Proto>& attributes, size_t outputs = 1,
                    int64_t version = 3) {
  try {
    from_onnx(model_of(op, attributes, outputs, version).span(), {}, "m.onnx");
  } catch (const Error& error) {
    std::string head = "ai.onnx.ml." + op + " \"a\": ";
    std::string message = error.diagnostics().front().message;
    EXPECT_TRUE(message.starts_with(head)) << message;
    return message.substr(std::min(head.size(), message.size()));
  }
  return "";
}

/// A tree of a test of feature 1 and two leaves; a change replaces an attribute.
std::vector<Proto> tree(const std::vector<std::pair<std::string, Proto>>& changes = {}) {
  std::vector<std::pair<std::string, Proto>> attributes{
      {"nodes_treeids", onnx_ints_attr("nodes_treeids", {0, 0, 0})},
      {"nodes_nodeids", onnx_ints_attr("nodes_nodeids", {0, 1, 2})},
      {"nodes_featureids", onnx_ints_attr("nodes_featureids", {1, 0, 0})},
      {"nodes_values", onnx_floats_attr("nodes_values", {0.5F, 0, 0})},
      {"nodes_modes", onnx_strings_attr("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"})},
      {"nodes_truenodeids", onnx_ints_attr("nodes_truenodeids", {1, 0, 0})},
      {"nodes_falsenodeids", onnx_ints_attr("nodes_falsenodeids", {2, 0, 0})},
      {"target_treeids", onnx_ints_attr("target_treeids", {0, 0})},
      {"target_nodeids", onnx_ints_attr("target_nodeids", {1, 2})},
      {"target_ids", onnx_ints_attr("target_ids", {0, 0})},
      {"target_weights", onnx_floats_attr("target_weights", {1, 2})}};
  std::vector<Proto> result;
  for (auto& [name, attribute] : attributes) {
    for (const auto& [changed, to] : changes) {
      if (changed == name) attribute = to;
    }
    result.push_back(attribute);
  }
  for (const auto& [changed, to] : changes) {
    if (changed.empty()) result.push_back(to);
  }
  return result;
}

std::string of_tree(const std::string& name, const Proto& attribute) {
  return refusal("TreeEnsembleRegressor", tree({{name, attribute}}));
}

TEST(ImportOnnxMl, TreesThatAreNoTrees) {
  EXPECT_EQ(refusal("TreeEnsembleRegressor", tree()), "");
  auto ints = [](const char* name, const std::vector<int64_t>& values) {
    return of_tree(name, onnx_ints_attr(name, values));
  };
  EXPECT_EQ(ints("nodes_truenodeids", {0, 0, 0}), "node 0 of the trees comes after itself");
  EXPECT_EQ(ints("nodes_truenodeids", {7, 0, 0}), "node 7 of tree 0 is not there");
  EXPECT_EQ(ints("nodes_nodeids", {0, 1, 1}), "node 1 of tree 0 is there twice");
  EXPECT_EQ(ints("nodes_treeids", {0, 1, 0}), "the nodes of tree 0 are not together");
  EXPECT_EQ(ints("nodes_featureids", {-1, 0, 0}), "a node looks at feature -1");
  EXPECT_EQ(ints("nodes_featureids", {3, 0, 0}),
            "the trees look at feature 3, and there are 3, counted from 0");
  EXPECT_EQ(ints("nodes_featureids", {1, 0}),
            "nodes_featureids has 2 entries, nodes_treeids has 3");
  EXPECT_EQ(ints("target_nodeids", {0, 2}), "node 0 of tree 0 has a weight, and is no leaf");
  EXPECT_EQ(ints("target_ids", {0, 1}), "a leaf has a weight for number 1 of 1 targets");
  EXPECT_EQ(
      of_tree("nodes_modes", onnx_strings_attr("nodes_modes", {"BRANCH_NEAR", "LEAF", "LEAF"})),
      "a node of a tree has the mode \"BRANCH_NEAR\"");
  EXPECT_EQ(of_tree("", onnx_string_attr("aggregate_function", "MEDIAN")),
            "aggregate_function is \"MEDIAN\"");
  EXPECT_EQ(of_tree("", onnx_string_attr("post_transform", "TWICE")),
            "post_transform is \"TWICE\"");
  EXPECT_EQ(of_tree("", onnx_int_attr("n_targets", int64_t{1} << 40)),
            "1099511627776 targets for each of 2 leaves are more than 134217728 weights");
}

// The weights of a leaf that is listed several times sum up, also for the only target.
TEST(ImportOnnxMl, LeafListedAgain) {
  std::vector<Proto> attributes =
      tree({{"target_treeids", onnx_ints_attr("target_treeids", {0, 0, 0, 0})},
            {"target_nodeids", onnx_ints_attr("target_nodeids", {1, 1, 2, 1})},
            {"target_ids", onnx_ints_attr("target_ids", {0, 0, 0, 0})},
            {"target_weights", onnx_floats_attr("target_weights", {1, 10, 7, 100})}});
  Proto node = onnx_node("TreeEnsembleRegressor", {"x"}, {"y"}, attributes, "a", "ai.onnx.ml");
  Proto model = onnx_model(onnx_graph({node}, {onnx_value("x", kOnnxFloat, {n(2), n(2)})},
                                      {onnx_value("y", kOnnxFloat, {})}),
                           17)
                    .message(8, onnx_opset("ai.onnx.ml", 3));
  Module module = from_onnx(model.span(), {}, "m.onnx").module;
  infer_types_or_throw(module);
  std::vector<Value> arguments{
      Value(NDArray::from<float>(Shape{2, 2}, std::vector<float>{5, 0, 5, 1}))};
  NDArray made = evaluate_function(module, "main", arguments).array();
  EXPECT_EQ(made.element_as_double(0), 111);
  EXPECT_EQ(made.element_as_double(1), 7);
}

// A run that has fewer features says what the trees need.
TEST(ImportOnnxMl, TreesWantFeaturesThatARunHas) {
  std::vector<Proto> attributes =
      tree({{"nodes_featureids", onnx_ints_attr("nodes_featureids", {3, 0, 0})}});
  Proto node = onnx_node("TreeEnsembleRegressor", {"x"}, {"y"}, attributes, "a", "ai.onnx.ml");
  std::vector<OnnxDim> open{std::string("rows"), std::string("features")};
  Proto model = onnx_model(onnx_graph({node}, {onnx_value("x", kOnnxFloat, open)},
                                      {onnx_value("y", kOnnxFloat, {})}),
                           17)
                    .message(8, onnx_opset("ai.onnx.ml", 3));
  OnnxModel made = from_onnx(model.span(), {}, "m.onnx");
  auto message = [&](int64_t features) {
    std::vector<Value> arguments{Value(NDArray::zeros(Shape{2, features}, kFloat32))};
    std::vector<TypeRef> types{value_type(arguments[0])};
    Module special = specialize(made.module, "main", types);
    try {
      evaluate_function(special, "main", arguments);
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return std::string();
  };
  EXPECT_EQ(message(4), "");
  EXPECT_EQ(message(3), "assert_op: the trees look at feature 3, and the data have fewer");
}

// Nothing recurses over a chain of nodes, which may be as deep as the model is long.
TEST(ImportOnnxMl, DeepTree) {
  constexpr int64_t kDepth = 20000;
  std::vector<int64_t> trees, numbers, features, yes, no, leaves, zeros;
  std::vector<float> values, weights;
  std::vector<std::string> modes;
  for (int64_t k = 0; k <= 2 * kDepth; ++k) {
    bool leaf = k % 2 == 1 || k == 2 * kDepth;
    trees.push_back(0);
    numbers.push_back(k);
    features.push_back(k % 3);
    values.push_back(static_cast<float>(k));
    modes.emplace_back(leaf ? "LEAF" : "BRANCH_LT");
    yes.push_back(leaf ? 0 : k + 1);
    no.push_back(leaf ? 0 : k + 2);
    if (!leaf) continue;
    leaves.push_back(k);
    zeros.push_back(0);
    weights.push_back(1);
  }
  EXPECT_EQ(
      refusal("TreeEnsembleRegressor",
              {onnx_ints_attr("nodes_treeids", trees), onnx_ints_attr("nodes_nodeids", numbers),
               onnx_ints_attr("nodes_featureids", features),
               onnx_floats_attr("nodes_values", values), onnx_strings_attr("nodes_modes", modes),
               onnx_ints_attr("nodes_truenodeids", yes), onnx_ints_attr("nodes_falsenodeids", no),
               onnx_ints_attr("target_treeids", zeros), onnx_ints_attr("target_nodeids", leaves),
               onnx_ints_attr("target_ids", zeros), onnx_floats_attr("target_weights", weights)}),
      "");
}

/// The message that refuses a node of another domain, of operator set 17 or version 1.
std::string refused(const std::string& op, const std::string& domain, size_t inputs,
                    const std::vector<Proto>& attributes) {
  Proto node = onnx_node(op, std::vector<std::string>(inputs, "x"), {"y"}, attributes, "a", domain);
  Proto model = onnx_model(
      onnx_graph({node}, {onnx_value("x", kOnnxFloat, {n(1)})}, {onnx_value("y", kOnnxFloat, {})}),
      17);
  if (!domain.empty()) model.message(8, onnx_opset(domain, 1));
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    std::string message = error.diagnostics().front().message;
    return message.substr(message.find("\"a\": ") + 5);
  }
  return "";
}

TEST(ImportOnnxMl, Ngrams) {
  auto counts = [](int64_t longest, const std::vector<int64_t>& begins,
                   const std::vector<int64_t>& columns, const std::vector<Proto>& more = {},
                   const char* mode = "TF") {
    std::vector<Proto> attributes{
        onnx_int_attr("min_gram_length", 1),      onnx_int_attr("max_gram_length", longest),
        onnx_int_attr("max_skip_count", 0),       onnx_string_attr("mode", mode),
        onnx_ints_attr("pool_int64s", {5, 6, 7}), onnx_ints_attr("ngram_counts", begins),
        onnx_ints_attr("ngram_indexes", columns)};
    attributes.insert(attributes.end(), more.begin(), more.end());
    return refused("TfIdfVectorizer", "", 1, attributes);
  };
  EXPECT_EQ(counts(2, {0, 1}, {0, 1}), "");
  EXPECT_EQ(counts(0, {0, 1}, {0, 1}), "min_gram_length is 1, max_gram_length 0");
  EXPECT_EQ(counts(2, {0, 2}, {0, 1, 2}),
            "ngram_counts: entry 1 does not fit the 3 entries of the pool");
  EXPECT_EQ(counts(2, {0, 1}, {0}), "ngram_indexes has too few entries");
  EXPECT_EQ(counts(2, {0, 1}, {0, 1, 2}), "ngram_indexes has 3 entries for 2 n-grams");
  EXPECT_EQ(counts(2, {0, 1}, {0, -1}), "ngram_indexes has -1");
  EXPECT_EQ(counts(2, {0, 1}, {1, 1}), "ngram_indexes has 1 twice");
  EXPECT_EQ(counts(2, {0, 1}, {0, 1}, {}, "SUM"), "mode is \"SUM\"");
  EXPECT_EQ(counts(2, {0, 1}, {0, 1}, {onnx_floats_attr("weights", {1})}, "IDF"),
            "weights has 1 entries for 2 columns");
  EXPECT_EQ(counts(2, {0, 1}, {0, 1}, {onnx_strings_attr("pool_strings", {"a"})}),
            "the pool has strings, the items are numbers");
}

TEST(ImportOnnxMl, StepsOfOptimisers) {
  const char* domain = "ai.onnx.preview.training";
  EXPECT_EQ(refused("Adagrad", domain, 5, {}), "");
  EXPECT_EQ(refused("Adagrad", domain, 4, {}),
            "has 4 inputs, not the rate, the count and 3 for each parameter");
  std::vector<Proto> momentum{onnx_float_attr("alpha", 1), onnx_float_attr("beta", 1),
                              onnx_string_attr("mode", "fast")};
  EXPECT_EQ(refused("Momentum", domain, 5, momentum), "has no attribute norm_coefficient");
  momentum.push_back(onnx_float_attr("norm_coefficient", 0));
  EXPECT_EQ(refused("Momentum", domain, 5, momentum), "mode is \"fast\"");
}

// Arithmetic would repeat what has fewer elements than the parameter.
TEST(ImportOnnxMl, StepsOfOptimisersTakeTheShapeOfTheParameter) {
  auto message = [](const std::vector<OnnxDim>& gradient, const std::vector<OnnxDim>& state) {
    std::vector<Proto> inputs{onnx_value("r", kOnnxFloat, {}), onnx_value("t", kOnnxInt64, {}),
                              onnx_value("x", kOnnxFloat, {n(2), n(3)}),
                              onnx_value("g", kOnnxFloat, gradient),
                              onnx_value("s", kOnnxFloat, state)};
    Proto step = onnx_node("Adagrad", {"r", "t", "x", "g", "s"}, {"y", "z"}, {}, "step",
                           "ai.onnx.preview.training");
    Proto graph = onnx_graph({step}, inputs, {onnx_value("y", kOnnxFloat, {n(2), n(3)})});
    Proto model = onnx_model(graph, 17).message(8, onnx_opset("ai.onnx.preview.training", 1));
    try {
      from_onnx(model.span(), {}, "m.onnx");
    } catch (const Error& error) {
      return error.diagnostics().front().message;
    }
    return std::string();
  };
  EXPECT_EQ(message({n(2), n(3)}, {n(2), n(3)}), "");
  EXPECT_EQ(message({n(3)}, {n(2), n(3)}),
            "ai.onnx.preview.training.Adagrad \"step\": the gradient of parameter 0 has the shape "
            "(3), the parameter (2, 3)");
  EXPECT_EQ(message({n(2), n(3)}, {n(1), n(3)}),
            "ai.onnx.preview.training.Adagrad \"step\": a state of parameter 0 has the shape "
            "(1, 3), the parameter (2, 3)");
}

TEST(ImportOnnxMl, LinearAndVectors) {
  EXPECT_EQ(refusal("LinearRegressor", {onnx_floats_attr("coefficients", {1, 2})}),
            "there are 3 features and weights for 2");
  EXPECT_EQ(refusal("LinearRegressor",
                    {onnx_floats_attr("coefficients", {1, 2, 3, 4}), onnx_int_attr("targets", 3)}),
            "coefficients has 4 entries for 3 rows");
  EXPECT_EQ(
      refusal("LinearClassifier",
              {onnx_floats_attr("coefficients", {1, 2, 3}), onnx_floats_attr("intercepts", {1}),
               onnx_ints_attr("classlabels_ints", {1, 2, 3})},
              2),
      "one score is not enough for 3 classes");
  EXPECT_EQ(refusal("SVMClassifier",
                    {onnx_floats_attr("coefficients", {1, 2, 3}), onnx_floats_attr("rho", {1}),
                     onnx_floats_attr("support_vectors", {1, 2, 3, 1, 2, 3}),
                     onnx_ints_attr("vectors_per_class", {1, 1}),
                     onnx_ints_attr("classlabels_ints", {0, 1})},
                    2),
            "coefficients has 3 entries for 2 classes and 2 vectors");
  EXPECT_EQ(refusal("SVMRegressor",
                    {onnx_floats_attr("coefficients", {1, 2}),
                     onnx_floats_attr("support_vectors", {1, 2, 3, 1, 2, 3}),
                     onnx_int_attr("n_supports", 2), onnx_string_attr("kernel_type", "COSINE"),
                     onnx_floats_attr("kernel_params", {1, 2, 3})}),
            "kernel_type is \"COSINE\"");
}

TEST(ImportOnnxMl, Features) {
  EXPECT_EQ(refusal("Scaler", {onnx_floats_attr("offset", {1, 2})}),
            "offset has 2 entries for 3 columns");
  EXPECT_EQ(refusal("Normalizer", {onnx_string_attr("norm", "L3")}), "norm is \"L3\"");
  EXPECT_EQ(refusal("OneHotEncoder", {onnx_strings_attr("cats_strings", {"a"})}),
            "the categories are strings, the input has numbers");
  EXPECT_EQ(refusal("LabelEncoder",
                    {onnx_ints_attr("keys_int64s", {1, 2}), onnx_ints_attr("values_int64s", {1})}),
            "there are 2 keys and 1 values");
  EXPECT_EQ(refusal("LabelEncoder", {onnx_strings_attr("keys_strings", {"a"}),
                                     onnx_ints_attr("values_int64s", {1})}),
            "the keys are strings, the input has numbers");
  EXPECT_EQ(refusal("ZipMap", {onnx_ints_attr("classlabels_int64s", {1, 2})}),
            "there are 2 classes and 3 columns of scores");
}

// ---- Strings and maps ---------------------------------------------------------------------------

TEST(ImportOnnxMl, StringsBecomeNumbersOfWords) {
  Proto labels = onnx_strings_attr("classlabels_strings", {"blue", "green", "red"});
  Proto model = model_of("LinearClassifier",
                         {onnx_floats_attr("coefficients", {1, 0, 0, 0, 1, 0, 0, 0, 1}),
                          onnx_floats_attr("intercepts", {0, 0, 0}), labels},
                         2, 3);
  OnnxModel imported = from_onnx(model.span(), {}, "m.onnx");
  ASSERT_EQ(imported.warnings.size(), 1U);
  EXPECT_EQ(imported.warnings[0].message,
            "m.onnx: the output \"y0\" has strings, which are no elements of tensors: numbers "
            "stand for them, 0 for \"blue\", 1 for \"green\", 2 for \"red\"");
  infer_types_or_throw(imported.module);
}

TEST(ImportOnnxMl, MapsBecomeTheMatrix) {
  Proto model = model_of("ZipMap", {onnx_ints_attr("classlabels_int64s", {4, 5, 6})}, 1, 1);
  OnnxModel imported = from_onnx(model.span(), {}, "m.onnx");
  ASSERT_EQ(imported.warnings.size(), 1U);
  EXPECT_EQ(imported.warnings[0].message,
            "ai.onnx.ml.ZipMap \"a\": maps are no tensors: the result is the matrix of scores, "
            "with columns 0 for 4, 1 for 5, 2 for 6");
}

/// A model that takes words out of a constant of strings, and does `then` to them.
Proto words_model(const std::vector<Proto>& then, const std::string& output) {
  Proto words = Proto().number(1, 3).number(2, kOnnxString);
  for (const char* word : {"cat", "dog", "cat"}) words.text(6, word);
  words.text(8, "words");
  std::vector<Proto> nodes{onnx_node("Gather", {"words", "x"}, {"picked"}, {}, "pick")};
  nodes.insert(nodes.end(), then.begin(), then.end());
  Proto graph = onnx_graph(nodes, {onnx_value("x", kOnnxInt64, {n(2)})},
                           {onnx_value(output, kOnnxString, {})}, {words});
  return onnx_model(graph, 17).message(8, onnx_opset("ai.onnx.ml", 3));
}

TEST(ImportOnnxMl, ConstantsOfStringsMove) {
  OnnxModel imported = from_onnx(words_model({}, "picked").span(), {}, "m.onnx");
  ASSERT_EQ(imported.warnings.size(), 1U);
  EXPECT_TRUE(imported.warnings[0].message.ends_with("0 for \"cat\", 1 for \"dog\""));
  // An operator that encodes words knows each of them.
  Proto encoder = onnx_node("LabelEncoder", {"picked"}, {"y"},
                            {onnx_strings_attr("keys_strings", {"dog", "cat"}),
                             onnx_ints_attr("values_int64s", {10, 20})},
                            "encode", "ai.onnx.ml");
  OnnxModel encoded = from_onnx(words_model({encoder}, "y").span(), {}, "m.onnx");
  EXPECT_TRUE(encoded.warnings.empty());
  infer_types_or_throw(encoded.module);
}

TEST(ImportOnnxMl, FirstLabelEncoder) {
  Proto back = onnx_node("LabelEncoder", {"x"}, {"y"},
                         {onnx_strings_attr("classes_strings", {"a", "b"})}, "name", "ai.onnx.ml");
  Proto graph =
      onnx_graph({back}, {onnx_value("x", kOnnxInt64, {n(2)})}, {onnx_value("y", kOnnxString, {})});
  Proto model = onnx_model(graph, 17).message(8, onnx_opset("ai.onnx.ml", 1));
  OnnxModel imported = from_onnx(model.span(), {}, "m.onnx");
  ASSERT_EQ(imported.warnings.size(), 1U);
  EXPECT_TRUE(
      imported.warnings[0].message.ends_with("0 for \"a\", 1 for \"b\", 2 for \"_Unused\""));
}

TEST(ImportOnnxMl, StringsAreNoNumbers) {
  Proto add = onnx_node("Add", {"picked", "picked"}, {"y"}, {}, "add");
  try {
    from_onnx(words_model({add}, "y").span(), {}, "m.onnx");
    FAIL() << "strings were added";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().message,
              "Add \"add\": input 0, \"picked\", has strings, which are no elements of tensors "
              "here");
  }
}

}  // namespace
}  // namespace relay::import_onnx_ml_test
