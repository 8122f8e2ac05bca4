#include <relay/ir/attrs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include <relay/ir/expr.h>
#include <relay/ir/result_names.h>

namespace relay::ir_attrs_test {
namespace {

struct TestConvAttrs {
  std::vector<int64_t> strides = {1, 1};
  Required<int64_t> channels;
  double epsilon = 1e-5;
  std::string data_layout = "NCHW";
  DType out_dtype;
  bool keepdims = false;
  std::optional<std::vector<int64_t>> axis;
  RELAY_ATTRS(TestConvAttrs, (strides, "Steps."), (channels, "Count."), (epsilon, "Small."),
              (data_layout, "Order."), (out_dtype, "Result."), (keepdims, "Keep."), (axis, "Axes."))
};
RELAY_WORDS(TestMode, (kClip, "clip", "The nearest."), (kWrap, "wrap", "Around."),
            (kNone, "", "Nothing."))
struct TestKindAttrs {
  attr::Axis axis = -1;
  std::optional<attr::Axes> axes;
  Required<attr::NewAxis> place;
  attr::Layout layout = "NCHW";
  attr::Sizes strides = {1, 1};
  attr::PerAxis<std::vector<int64_t>> pads;
  std::optional<attr::Shape> shape;
  std::optional<DType> dtype;
  TestMode mode = TestMode::kWrap;
  std::optional<TestMode> other;
  int64_t count = 0;
  RELAY_ATTRS(TestKindAttrs, (axis, ""), (axes, ""), (place, ""), (layout, ""), (strides, ""),
              (pads, ""), (shape, ""), (dtype, ""), (mode, ""), (other, ""), (count, ""))
};
struct TestPlainAttrs {
  int64_t axis = -1;
  RELAY_ATTRS(TestPlainAttrs, (axis, "Axis."))
};

AttrsRef make(std::vector<NamedAttr> values) {
  return Attrs::make(attrs_schema<TestConvAttrs>(), values, {});
}

TEST(IrAttrs, EqualOnesAreOneObject) {
  AttrsRef a = make({{"channels", 3, {}}, {"strides", AttrValue::List{2, 2}, {}}});
  TestConvAttrs same;
  same.channels.value = 3;
  same.strides = {2, 2};
  EXPECT_EQ(a, Attrs::make(same));
  same.epsilon = 0.5;
  EXPECT_NE(a, Attrs::make(same));
  EXPECT_EQ(a->as<TestConvAttrs>().strides, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(Attrs::make(attrs_schema<TestPlainAttrs>(), {}, {}), Attrs::make(TestPlainAttrs{}));
  EXPECT_THROW(a->as<TestPlainAttrs>(), InternalError);
}

TEST(IrAttrs, Conversions) {
  AttrsRef a = make({{"channels", true, {}},
                     {"strides", 2, {}},
                     {"epsilon", 1, {}},
                     {"out_dtype", "int32", {}},
                     {"keepdims", 1, {}},
                     {"axis", 0, {}}});
  const auto& v = a->as<TestConvAttrs>();
  EXPECT_EQ(v.strides, std::vector<int64_t>{2});
  EXPECT_EQ(*v.channels, 1);
  EXPECT_EQ(v.epsilon, 1.0);
  EXPECT_TRUE(v.out_dtype == kInt32);
  EXPECT_TRUE(v.keepdims);
  EXPECT_EQ(*v.axis, std::vector<int64_t>{0});
}

TEST(IrAttrs, OnlyChangedFields) {
  AttrsRef a = make({{"channels", 3, {}}, {"keepdims", false, {}}});
  auto fields = a->fields(true);
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0].name, Name("channels"));
  EXPECT_EQ(a->fields(false).size(), 7u);
}

std::vector<Diagnostic> errors(std::vector<NamedAttr> values) {
  try {
    make(std::move(values));
  } catch (const Error& error) {
    return error.diagnostics();
  }
  return {};
}

TEST(IrAttrs, Errors) {
  auto found = errors({{"chanels", 3, Span(5, 2)}});
  ASSERT_EQ(found.size(), 1u);  // and not that channels is missing
  EXPECT_EQ(found[0].message, "unknown attribute chanels");
  EXPECT_TRUE(found[0].span == Span(5, 2));
  EXPECT_EQ(found[0].notes[0].message, "did you mean channels?");
  EXPECT_NE(found[0].notes[1].message.find("strides, channels, epsilon"), std::string::npos);
  found = errors({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "attribute channels (int) is missing; it has no default");
  found = errors({{"channels", "x", {}}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "attribute channels takes int, not \"x\"");
  EXPECT_EQ(errors({{"channels", 1, {}}, {"channels", 2, {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1, {}}, {"out_dtype", "floaty", {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1, {}}, {"keepdims", 2, {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1.5, {}}}).size(), 1u);
}

// The meanings that passes, interfaces and checks go by.
TEST(IrAttrs, FieldsKnowWhatTheyMean) {
  const std::vector<AttrField>& fields = attrs_schema<TestKindAttrs>().fields;
  std::vector<AttrKind> kinds;
  std::vector<std::string> types;
  for (const AttrField& field : fields) {
    kinds.push_back(field.kind);
    types.push_back(field.type_text());
  }
  using enum AttrKind;
  EXPECT_EQ(kinds, (std::vector<AttrKind>{kAxis, kAxes, kNewAxis, kLayout, kSizes, kPerAxis, kShape,
                                          kDType, kWord, kWord, kPlain}));
  EXPECT_EQ(types, (std::vector<std::string>{"int", "list<int> or None", "int", "str", "list<int>",
                                             "list<list<int>>", "list<int> or None",
                                             "dtype or None", "\"clip\" | \"wrap\" | \"\"",
                                             "\"clip\" | \"wrap\" | \"\" | None", "int"}));
  EXPECT_TRUE(fields[2].required);
  EXPECT_TRUE(fields[0].words.empty());
  ASSERT_EQ(fields[8].words.size(), 3u);
  EXPECT_EQ(fields[8].words[1].text, "wrap");
  EXPECT_EQ(fields[8].words[1].doc, "Around.");
}

TEST(IrAttrs, FieldsWithMeaningReadAndPrintAsTheirType) {
  std::vector<NamedAttr> values{{"place", 2, {}},
                                {"axis", 1, {}},
                                {"axes", 0, {}},
                                {"layout", "NHWC", {}},
                                {"strides", AttrValue::List{2, 3}, {}},
                                {"pads", AttrValue::List{AttrValue::List{1, 2}}, {}},
                                {"mode", "clip", {}},
                                {"other", "", {}}};
  AttrsRef attrs = Attrs::make(attrs_schema<TestKindAttrs>(), values, {});
  const auto& v = attrs->as<TestKindAttrs>();
  EXPECT_EQ(v.axis, 1);
  EXPECT_EQ(*v.axes, (std::vector<int64_t>{0}));
  EXPECT_EQ(*v.place, 2);
  EXPECT_EQ(v.layout, "NHWC");
  EXPECT_EQ(v.strides, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(v.pads, (std::vector<std::vector<int64_t>>{{1, 2}}));
  EXPECT_EQ(v.mode, TestMode::kClip);
  EXPECT_EQ(v.other, TestMode::kNone);
  std::string text;
  for (const NamedAttr& field : attrs->fields(true))
    text += field.name.str() + "=" + field.value.str() + " ";
  EXPECT_EQ(text,
            "axis=1 axes=[0] place=2 layout=\"NHWC\" strides=[2, 3] pads=[[1, 2]] mode=\"clip\" "
            "other=\"\" ");
  EXPECT_EQ(word_text(v.mode), "clip");
}

TEST(IrAttrs, AWordIsOneOfTheChoice) {
  auto error = [](AttrValue value) {
    std::vector<NamedAttr> values{{"place", 0, {}}, {"mode", std::move(value), Span(3, 4)}};
    try {
      Attrs::make(attrs_schema<TestKindAttrs>(), values, {});
    } catch (const Error& thrown) {
      return thrown.diagnostics().at(0);
    }
    return Diagnostic();
  };
  Diagnostic found = error("wrapp");
  EXPECT_EQ(found.message, "mode is \"wrapp\"; known are \"clip\", \"wrap\" and \"\"");
  EXPECT_TRUE(found.span == Span(3, 4));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_EQ(found.notes[0].message, "did you mean \"wrap\"?");
  EXPECT_TRUE(error("quite different").notes.empty());
  EXPECT_EQ(error(3).message, "attribute mode takes \"clip\" | \"wrap\" | \"\", not 3");
  EXPECT_EQ(error(AttrValue()).message,
            "attribute mode takes \"clip\" | \"wrap\" | \"\", not None");
}

TEST(IrAttrs, Text) {
  EXPECT_EQ(AttrValue().str(), "None");
  EXPECT_EQ(AttrValue(true).str(), "True");
  EXPECT_EQ(AttrValue(-3).str(), "-3");
  EXPECT_EQ(AttrValue(0.0).str(), "0f");
  EXPECT_EQ(AttrValue(1e-5).str(), "1e-05f");
  EXPECT_EQ(AttrValue(2.5).str(), "2.5f");
  EXPECT_EQ(AttrValue(-INFINITY).str(), "-inff");
  EXPECT_EQ(AttrValue("a\"b\\\n\x01").str(), "\"a\\\"b\\\\\\n\\x01\"");
  EXPECT_EQ(AttrValue(kInt8).str(), "\"int8\"");
  EXPECT_EQ(AttrValue(AttrValue::List{1, AttrValue::List{2}}).str(), "[1, [2]]");
}

TEST(IrAttrs, Dictionary) {
  AttrsRef a = make_dict_attrs({{"Primitive", 1}, {"Compiler", "x"}});
  EXPECT_EQ(a, make_dict_attrs({{"Compiler", "x"}, {"Primitive", 1}}));
  EXPECT_TRUE(dict_attr(a, "Primitive") == AttrValue(1));
  EXPECT_TRUE(dict_attr(a, "Other").is_none());
  EXPECT_TRUE(dict_attr({}, "Other").is_none());
  EXPECT_EQ(a->fields(true)[0].name, Name("Compiler"));
}

TEST(IrAttrs, ConstantsCompareByContent) {
  auto with = [](float x) {
    return make_dict_attrs({{"step", make_constant(NDArray::scalar(x))}});
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

TEST(IrAttrs, Threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong] {
      for (int i = 0; i < 5000; ++i) {
        TestPlainAttrs attrs;
        attrs.axis = i % 3;
        AttrsRef a = Attrs::make(attrs);
        if (a != Attrs::make(attrs)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(IrAttrs, ResultNamesCountOnlyIfTheyTellResultsApart) {
  auto names = [](AttrValue given, size_t count) {
    return result_names(make_dict_attrs({{kResultNames, std::move(given)}}), count);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(AttrValue::List{"logits"}, 1), Names{"logits"});
  EXPECT_EQ(names(AttrValue::List{"b", "a"}, 2), (Names{"b", "a"}));
  EXPECT_EQ(names(AttrValue::List{"b", "a"}, 3), Names{});
  EXPECT_EQ(names(AttrValue::List{"a", "a"}, 2), Names{});
  EXPECT_EQ(names(AttrValue::List{"a", ""}, 2), Names{});
  EXPECT_EQ(names(AttrValue::List{"a", 1}, 2), Names{});
  EXPECT_EQ(names("a", 1), Names{});
  EXPECT_EQ(names(AttrValue::List{"ü"}, 1), Names{"ü"});
  for (const std::string& bad :
       {std::string("\xff"), std::string("a\0b", 3), std::string("a\nb"), std::string(1001, 'a')})
    EXPECT_EQ(names(AttrValue::List{bad}, 1), Names{}) << bad;
  EXPECT_EQ(result_names({}, 1), Names{});
}

TEST(IrAttrs, ResultNamesDoNotMarkAFunction) {
  const AttrsRef names = make_dict_attrs({{kResultNames, AttrValue::List{"a"}}});
  const AttrsRef both = make_dict_attrs({{kResultNames, AttrValue::List{"a"}}, {"Inline", 1}});
  EXPECT_FALSE(is_marked({}) || is_marked(names));
  EXPECT_TRUE(is_marked(both));
  EXPECT_EQ(without_result_names(names), AttrsRef());
  EXPECT_EQ(without_result_names(both), make_dict_attrs({{"Inline", 1}}));
}

}  // namespace
}  // namespace relay::ir_attrs_test
