// ONNX models whose inputs have strings: what becomes of the bytes, and what is refused. Operators
// are compared with ONNX Runtime by the recorded cases (tests/onnx/ml_cases.py).
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/import/onnx/model.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_text_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

OnnxDim n(int64_t value) { return value; }

Proto model(const std::vector<Proto>& nodes, const std::vector<OnnxDim>& dims, int output) {
  Proto graph =
      onnx_graph(nodes, {onnx_value("x", kOnnxString, dims)}, {onnx_value("y", output, {})});
  return onnx_model(graph, 17)
      .message(8, onnx_opset("ai.onnx.ml", 3))
      .message(8, onnx_opset("com.microsoft", 1));
}

/// Words as rows of as many bytes as the longest has.
NDArray rows(const std::vector<std::string>& words, Shape shape) {
  size_t width = 1;
  for (const std::string& word : words) width = std::max(width, word.size());
  std::string bytes;
  for (const std::string& word : words) bytes += word + std::string(width - word.size(), '\0');
  shape.push_back(static_cast<int64_t>(width));
  return NDArray::from<uint8_t>(shape,
                                {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}
std::vector<std::string> words_of(const NDArray& rows) {
  std::vector<std::string> words;
  int64_t width = rows.extent(rows.rank() - 1);
  for (int64_t k = 0; k * width < rows.size(); ++k) {
    std::string word(reinterpret_cast<const char*>(rows.data<uint8_t>() + k * width),
                     static_cast<size_t>(width));
    words.emplace_back(word.c_str());
  }
  return words;
}

NDArray run(const Proto& proto, const NDArray& x) {
  OnnxModel made = from_onnx(proto.span(), {}, "m.onnx");
  std::vector<Value> arguments{Value(x)};
  std::vector<TypeRef> types{value_type(arguments[0])};
  Module special = specialize(made.module, "main", types);
  return evaluate_function(special, "main", arguments).array().contiguous();
}
std::string failure(const Proto& proto, const NDArray& x) {
  try {
    run(proto, x);
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

Proto normalizer(const std::vector<Proto>& attributes, const std::vector<OnnxDim>& dims = {n(3)}) {
  return model({onnx_node("StringNormalizer", {"x"}, {"y"}, attributes, "words")}, dims,
               kOnnxString);
}
Proto action(const char* word) { return onnx_string_attr("case_change_action", word); }
Proto stops() { return onnx_strings_attr("stopwords", {"Mon", "the"}); }

TEST(ImportOnnxText, InputsAndOutputsAreBytes) {
  OnnxModel made = from_onnx(normalizer({action("UPPER")}).span(), {}, "m.onnx");
  ASSERT_EQ(made.warnings.size(), 2U);
  EXPECT_EQ(made.warnings[0].message,
            "m.onnx: the input \"x\" takes strings as bytes: uint8 with one axis more, and zeros "
            "behind the end of each word");
  EXPECT_EQ(made.warnings[1].message,
            "m.onnx: the output \"y\" gives strings as bytes: uint8 with one axis more, and zeros "
            "behind the end of each word");
  infer_types_or_throw(made.module);
  NDArray result = run(normalizer({action("UPPER")}), rows({"aZ", "", "b{y}"}, {3}));
  EXPECT_EQ(words_of(result), (std::vector<std::string>{"AZ", "", "B{Y}"}));
}

TEST(ImportOnnxText, WordsThatAreLeftOut) {
  auto kept = [](const std::vector<Proto>& attributes, const std::vector<std::string>& words) {
    return words_of(run(normalizer(attributes), rows(words, {3})));
  };
  using Strings = std::vector<std::string>;
  EXPECT_EQ(kept({action("NONE"), stops()}, {"mon", "tue", "THE"}), Strings{"tue"});
  EXPECT_EQ(kept({action("UPPER"), stops(), onnx_int_attr("is_case_sensitive", 1)},
                 {"mon", "Mon", "the"}),
            Strings{"MON"});
  // If all are, one empty word stays.
  EXPECT_EQ(kept({action("NONE"), stops()}, {"the", "the", "mon"}), Strings{""});
  // A word that begins as one of them does is another word.
  EXPECT_EQ(kept({action("NONE"), stops()}, {"th", "then", "m"}), (Strings{"th", "then", "m"}));
}

TEST(ImportOnnxText, OnlyLettersOfAsciiHaveACase) {
  EXPECT_EQ(failure(normalizer({action("LOWER")}), rows({"a", "\xc3\x89", "b"}, {3})),
            "assert_op: changes the case of letters of ASCII alone");
  EXPECT_EQ(failure(normalizer({onnx_strings_attr("stopwords", {"\xc3\x89"})}),
                    rows({"a", "b", "c"}, {3})),
            "StringNormalizer \"words\": changes the case of letters of ASCII alone");
  EXPECT_EQ(words_of(run(normalizer({action("NONE")}), rows({"\xc3\x89", "b", "c"}, {3})))[0],
            "\xc3\x89");
}

TEST(ImportOnnxText, Refusals) {
  NDArray words = rows({"a", "b", "c"}, {3});
  EXPECT_EQ(failure(normalizer({action("TITLE")}), words),
            "StringNormalizer \"words\": case_change_action is \"TITLE\"");
  auto one = [&](const char* op, const std::vector<Proto>& attributes) {
    return failure(
        model({onnx_node(op, {"x"}, {"y"}, attributes, "a", "ai.onnx.ml")}, {n(3)}, kOnnxFloat),
        words);
  };
  EXPECT_EQ(one("OneHotEncoder", {onnx_ints_attr("cats_int64s", {1})}),
            "ai.onnx.ml.OneHotEncoder \"a\": the categories are numbers, the input has strings");
  EXPECT_EQ(one("OneHotEncoder",
                {onnx_strings_attr("cats_strings", {"a", "b"}), onnx_int_attr("zeros", 0)}),
            "assert_op: an element is none of the categories");
  EXPECT_EQ(one("LabelEncoder", {onnx_strings_attr("keys_strings", {std::string("a\0b", 3)}),
                                 onnx_ints_attr("values_int64s", {1})}),
            "ai.onnx.ml.LabelEncoder \"a\": a string has a zero byte");
}

Proto tokenizer(const Proto& pattern, int64_t least = 1, const std::vector<OnnxDim>& dims = {n(3)},
                int output = kOnnxString) {
  return model({onnx_node("Tokenizer", {"x"}, {"y"},
                          {pattern, onnx_int_attr("mark", 0), onnx_int_attr("mincharnum", least),
                           onnx_string_attr("pad_value", "#")},
                          "cut", "com.microsoft")},
               dims, output);
}
Proto pattern(const char* text) { return onnx_string_attr("tokenexp", text); }

TEST(ImportOnnxText, TokensAreStrings) {
  NDArray result = run(tokenizer(pattern("[a-z]+")), rows({"a bcd", "", "--e"}, {3}));
  EXPECT_EQ(words_of(result), (std::vector<std::string>{"a", "bcd", "#", "#", "e", "#"}));
  EXPECT_EQ(words_of(run(tokenizer(pattern("\\d")), rows({"a", "", "-"}, {3}))).size(), 0U);
}

TEST(ImportOnnxText, TokensThatAreNoRuns) {
  NDArray words = rows({"a", "b", "c"}, {3});
  auto at = [&](const std::string& text) { return "com.microsoft.Tokenizer \"cut\": " + text; };
  const std::string class_text =
      ", which is more than one class of characters of ASCII that repeats";
  for (const char* text :
       {"ab", "a|b", "[a-z]+[0-9]+", "a*", "a{2}", "a{0,}", "a{2,3}", "(a)+", "[a", "a\\",
        "\\ba+\\b", "\\b\\w+", "[[:alpha:]]+", "[z-a]", "\\pL+", "\\b", "+", "a{9999,}"}) {
    EXPECT_EQ(failure(tokenizer(pattern(text)), words),
              at("tokenexp is " + onnx::quoted(text) + class_text));
  }
  EXPECT_EQ(failure(tokenizer(onnx_strings_attr("separators", {" ", ", "})), words),
            at("a separator is \", \"" + class_text));
  EXPECT_EQ(failure(tokenizer(pattern("")), words),
            at("one of separators and tokenexp has to be given"));
  EXPECT_EQ(failure(tokenizer(pattern("."), 0), words), at("mincharnum is 0"));
  EXPECT_EQ(
      failure(tokenizer(pattern("."), 1, {n(1), n(1), n(3)}), rows({"a", "b", "c"}, {1, 1, 3})),
      at("the words have 3 axes, not 1 or 2"));
}

}  // namespace
}  // namespace relay::import_onnx_text_test
