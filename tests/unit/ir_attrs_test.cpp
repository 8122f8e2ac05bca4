#include <relay/ir/attrs.h>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include <relay/ir/expr.h>

namespace relay {
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
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message, "unknown attribute chanels");
  EXPECT_TRUE(found[0].span == Span(5, 2));
  EXPECT_EQ(found[0].notes[0].message, "did you mean channels?");
  EXPECT_NE(found[0].notes[1].message.find("strides, channels, epsilon"), std::string::npos);
  EXPECT_EQ(found[1].message, "attribute channels (int) is missing; it has no default");
  found = errors({{"channels", "x", {}}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "attribute channels takes int, not \"x\"");
  EXPECT_EQ(errors({{"channels", 1, {}}, {"channels", 2, {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1, {}}, {"out_dtype", "floaty", {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1, {}}, {"keepdims", 2, {}}}).size(), 1u);
  EXPECT_EQ(errors({{"channels", 1.5, {}}}).size(), 1u);
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

}  // namespace
}  // namespace relay
