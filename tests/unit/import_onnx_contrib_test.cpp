// Forms of com.microsoft's operators that are refused; what they compute is recorded in tests/onnx.
#include <gtest/gtest.h>

#include <relay/import/onnx/import.h>
#include <relay/support/error.h>
#include <tests/support/onnx_builder.h>

namespace relay::import_onnx_contrib_test {
namespace {

using namespace relay::testing;  // NOLINT: the builder

OnnxDim n(int64_t value) { return value; }
Proto text_attr(std::string_view name, std::string_view value) {
  return Proto().text(1, name).text(4, value).number(20, 3);
}

std::string problem(const std::vector<std::string>& names, const std::vector<Proto>& attributes,
                    const std::vector<std::string>& outputs = {"y", "k", "v"}, int64_t total = 4) {
  std::vector<Proto> inputs{onnx_value("q", kOnnxFloat, {n(1), n(1), n(32)}),
                            onnx_value("kv", kOnnxFloat, {n(1), n(1), n(16)}),
                            onnx_value("past", kOnnxFloat, {n(1), n(2), n(3), n(8)}),
                            onnx_value("two", kOnnxFloat, {n(1), n(2), n(16)}),
                            onnx_value("sink", kOnnxFloat, {n(4)})};
  std::vector<Proto> initializers{
      onnx_tensor<int32_t>("ends", kOnnxInt32, {1}, {3}),
      onnx_tensor<int32_t>("total", kOnnxInt32, {}, {static_cast<int32_t>(total)})};
  Proto node = onnx_node("GroupQueryAttention", names, outputs, attributes, "a", "com.microsoft");
  std::vector<Proto> results;
  for (const std::string& output : outputs) results.push_back(onnx_value(output, kOnnxFloat, {}));
  Proto model = onnx_model(onnx_graph({node}, inputs, results, initializers), 18);
  model.message(8, Proto().text(1, "com.microsoft").number(2, 1));
  try {
    from_onnx(model.span(), {}, "m.onnx");
  } catch (const Error& error) {
    std::string head = "com.microsoft.GroupQueryAttention \"a\": ";
    std::string message = error.diagnostics().front().message;
    EXPECT_TRUE(message.starts_with(head)) << message;
    return message.substr(std::min(head.size(), message.size()));
  }
  return "";
}

TEST(ImportOnnxContrib, GroupQueryAttentionRefused) {
  const std::vector<std::string> names{"q", "kv", "kv", "past", "past", "ends", "total"};
  const std::vector<Proto> heads{onnx_int_attr("num_heads", 4), onnx_int_attr("kv_num_heads", 2)};
  auto with = [&](const Proto& attribute) {
    std::vector<Proto> all = heads;
    all.push_back(attribute);
    return problem(names, all);
  };
  EXPECT_EQ(problem(names, heads), "");
  EXPECT_EQ(problem(names, {onnx_int_attr("num_heads", 0), onnx_int_attr("kv_num_heads", 2)}),
            "num_heads is 0, kv_num_heads 2");
  EXPECT_EQ(with(onnx_int_attr("sliding_window_cache", 1)),
            "sliding_window_cache is not supported");
  EXPECT_EQ(with(text_attr("k_quant_type", "PER_TENSOR")), "k_quant_type is not supported");
  EXPECT_EQ(with(onnx_int_attr("qk_output", 3)), "qk_output is 3");
  EXPECT_EQ(problem(names, heads, {"y", "k", "v", "scores"}),
            "qk_output is 0, and the scores are wanted");
  EXPECT_EQ(with(onnx_int_attr("local_window_size", 0)), "local_window_size is 0");
  EXPECT_EQ(with(onnx_float_attr("softcap", -1)), "softcap is -1.000000");
  EXPECT_EQ(with(onnx_int_attr("do_rotary", 1)), "input 7 is not given");
  EXPECT_EQ(problem({"q", "kv", "kv", "past", "past", "ends", "total", "", "", "", "", "", "sink"},
                    heads),
            "input 12 is not supported");
  auto with_more = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"q", "kv", "kv", "past", "past", "ends", "total", "", "", "", ""};
    all.insert(all.end(), more.begin(), more.end());
    return problem(all, heads);
  };
  EXPECT_EQ(with_more({"sink"}), "");
  EXPECT_EQ(with_more({"ends"}), "the sink is Tensor[(1), int32], no entry for each of 4 heads");
  EXPECT_EQ(with_more({"", "", "", "sink"}), "q_norm_weight and k_norm_weight come together");
  EXPECT_EQ(with_more({"", "", "", "sink", "sink"}),
            "a weight of the norms is no vector along the heads' extent");
  EXPECT_EQ(problem({"q", "kv", "", "past", "past", "ends", "total"}, heads),
            "key and value come together");
  EXPECT_EQ(problem({"q", "kv", "kv", "past", "", "ends", "total"}, heads),
            "past_key and past_value come together");
  EXPECT_EQ(problem({"kv", "", "", "past", "past", "ends", "total"},
                    {onnx_int_attr("num_heads", 4), onnx_int_attr("kv_num_heads", 3)}),
            "the last extent of the query, 16, does not divide into 10 heads");
  EXPECT_EQ(problem({"q", "two", "two", "past", "past", "ends", "total"}, heads),
            "there are 2 keys for 1 queries");
  EXPECT_EQ(problem(names, heads, {"y", "k", "v"}, 3),
            "total_sequence_length has to be the length of the past and this step: a shared buffer "
            "of the past is not supported");
}

// The place of an error is a line of the model's listing, whose node the message begins with.
TEST(ImportOnnxContrib, NodesOfPlaces) {
  std::shared_ptr<const Source> listing =
      SourceMap::add("m.onnx",
                     "\"a = b\": \"y\" = Abs(\"x\")\n  \"\", \"z \\\" = \" = "
                     "com.x.Neg(\"y\")\n\"q\" = Relu()\nx\n");
  auto at = [&](std::string_view text) {
    return onnx_node_at(listing->span(listing->text().find(text), 3));
  };
  EXPECT_EQ(at("\"a = b"), "Abs \"a = b\"");
  EXPECT_EQ(at("\"\", "), "com.x.Neg of \"z \\\" = \"");
  EXPECT_EQ(at("\"q\""), "Relu of \"q\"");
  EXPECT_EQ(at("x\n"), "");
  EXPECT_EQ(onnx_node_at(Span()), "");
  std::shared_ptr<const Source> other = SourceMap::add("m.rly", "\"y\" = Abs(\"x\")");
  EXPECT_EQ(onnx_node_at(other->span(0, 3)), "");
  std::vector<Diagnostic> named = with_onnx_nodes(
      {Diagnostic::error("add: no", listing->span(0, 3)),
       Diagnostic::error("Abs \"a = b\": no", listing->span(0, 3)), Diagnostic::error("no")});
  EXPECT_EQ(named[0].message, "Abs \"a = b\": add: no");
  EXPECT_EQ(named[1].message, "Abs \"a = b\": no");
  EXPECT_EQ(named[2].message, "no");
}

}  // namespace
}  // namespace relay::import_onnx_contrib_test
