// Numbers, constants, attributes, metadata.
#include <tests/unit/parse_helpers.h>

#include <cmath>

#include <relay/ir/metadata.h>

namespace relay::parse_literals_test {
namespace {

using testing::expect_same;
using testing::problem;

NDArray constant(const char* text) {
  ExprRef expr = parse_expr(text);
  const auto* constant = expr->as<Constant>();
  return constant == nullptr ? NDArray() : constant->data();
}

TEST(ParseLiterals, Suffixed) {
  EXPECT_EQ(constant("1i64").dtype(), kInt64);
  EXPECT_EQ(constant("-128i8").item_as_int64(), -128);
  EXPECT_EQ(constant("18446744073709551615u64").element_as_int64(0), -1);
  EXPECT_EQ(constant("-9223372036854775808i64").item_as_int64(), INT64_MIN);
  EXPECT_EQ(constant("2.5f16").dtype(), kFloat16);
  EXPECT_EQ(constant("2.5bf16").item_as_double(), 2.5);
  EXPECT_EQ(constant("2f").dtype(), kFloat32);
  EXPECT_EQ(constant("1e-3f64").item_as_double(), 1e-3);
  EXPECT_EQ(constant("0.1f").item_as_double(), 0.1f);
  EXPECT_EQ(constant("1e-45f").item_as_double(), 1e-45f);
  EXPECT_EQ(constant("1e-400f64").item_as_double(), 0);
  EXPECT_EQ(constant("99999999999999999999f").item_as_double(), 1e20f);
  EXPECT_EQ(constant("True").dtype(), kBool);
  EXPECT_EQ(constant("-inff").item_as_double(), -INFINITY);
  EXPECT_TRUE(std::isnan(constant("nanf64").item_as_double()));
}

TEST(ParseLiterals, Unsuffixed) {
  auto literal = [](const char* text) { return parse_expr(text)->as<Literal>()->value(); };
  EXPECT_EQ(literal("3").magnitude, 3u);
  EXPECT_TRUE(literal("-3").negative);
  EXPECT_TRUE(literal("- 3").negative);
  EXPECT_EQ(literal("18446744073709551615").magnitude, UINT64_MAX);
  EXPECT_EQ(literal("2.50").number, 2.5);
  EXPECT_EQ(literal("2.50").text.view(), "2.50");
  EXPECT_TRUE(literal("1e3").is_float);
  EXPECT_EQ(literal("inf").number, INFINITY);
  // Prefix minus before a number makes a literal; `1 -1` subtracts.
  expect_same("fn(%a) { (1 -1, %a -1, -1, 1 - -1) }",
              "fn(%a) { (subtract(1, 1), subtract(%a, 1), -1, subtract(1, -1)) }");
}

TEST(ParseLiterals, Problems) {
  EXPECT_EQ(problem("300i8"), "1:1 300 is out of the range of int8");
  EXPECT_EQ(problem("-1u8"), "1:1 -1 is out of the range of uint8");
  EXPECT_EQ(problem("1.5i32"), "1:1 1.5 is not an integer, as int32 requires");
  EXPECT_EQ(problem("70000f16"), "1:1 70000 is out of the range of float16");
  EXPECT_EQ(problem("1e39f"), "1:1 1e39 is out of the range of float32");
  EXPECT_EQ(problem("1e999"), "1:1 1e999 is out of the range of every type");
  EXPECT_EQ(problem("99999999999999999999"),
            "1:1 integer 99999999999999999999 is out of the range of every type");
  EXPECT_EQ(problem("1i7"), "1:1 unknown suffix i7 of a number");
  EXPECT_EQ(problem("0x10"), "1:1 unknown suffix x10 of a number");
}

TEST(ParseLiterals, Constant) {
  NDArray ones = constant("Constant(1.5, (2, 3), float32)");
  EXPECT_EQ(ones.dtype(), kFloat32);
  EXPECT_EQ(ones.size(), 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ones.element_as_double(i), 1.5);
  EXPECT_EQ(constant("Constant(True, (4), bool)").element_as_int64(3), 1);
  EXPECT_EQ(constant("Constant(-inf, (), float64)").item_as_double(), -INFINITY);
  EXPECT_EQ(constant("Constant(3, (0, 2), int8)").size(), 0);
  EXPECT_EQ(constant("Constant(-3, (5), int64)").element_as_int64(4), -3);
  EXPECT_EQ(problem("Constant(300, (2), int8)"), "1:10 300 is out of the range of int8");
  EXPECT_EQ(problem("Constant(1f, (2), int8)"),
            "1:10 the value of the constant is float32, its type int8");
  EXPECT_EQ(problem("Constant(1, (n), int8)"),
            "1:13 the shape of a constant must be known, found dimension n");
  EXPECT_EQ(problem("Constant(1, (2), flaot32)"), "1:18 unknown element type flaot32");
  EXPECT_EQ(problem("Constant(0, (2000000000, 2000000000), float32)"),
            "1:1 tensor of shape (2000000000, 2000000000) and dtype float32 needs more bytes than "
            "can be addressed");
}

TEST(ParseAttributes, Values) {
  expect_same(
      "fn(%x) { sum(%x, axis=[0, 1], keepdims=True) }",
      "fn(%x) { sum(%x, axis=(0, 1,), keepdims=1, attrs_type_key=\"relay.attrs.ReduceAttrs\") }");
  expect_same("fn(%x) { sum(%x, axis=None) }", "fn(%x) { sum(%x) }");
  expect_same("fn(%x) { sum(%x, axis=1) }", "fn(%x) { sum(%x, axis=[1i64]) }");
  expect_same("fn(%x) { cast(%x, dtype=\"float32\") }", "fn(%x) { cast(%x, dtype=float32) }");
  expect_same("fn(%x) { clip(%x, a_min=-1f, a_max=inf) }",
              "fn(%x) { clip(%x, a_min=-1, a_max=inff) }");
  EXPECT_EQ(problem("fn(%x) { sum(%x, axes=[1]) }"), "1:18 unknown attribute axes");
  EXPECT_EQ(problem("fn(%x) { nn.softmax(%x, axis=\"last\") }"),
            "1:25 attribute axis takes int, not \"last\"");
  EXPECT_EQ(problem("fn(%x) { cast(%x) }"),
            "1:10 cast: attribute dtype (dtype) is missing; it has no default");
  EXPECT_EQ(problem("fn(%x) { abs(%x, axis=1) }"),
            "1:18 operator abs has no attributes, found axis");
  EXPECT_EQ(problem("fn(%f) { %f(1, axis=1) }"), "1:16 only operators take attributes, found axis");
  EXPECT_EQ(problem("fn(%x) { sum(%x, axis=) }"), "1:23 expected an expression, found ')'");
  EXPECT_EQ(problem("fn(%x) { sum(%x, axis=1u64, keepdims=9999999999999999999) }"),
            "1:38 attribute is out of the range of int64");
}

TEST(ParseMetadata, Constants) {
  NDArray data = NDArray::from<float>({2}, {1.5f, -2.0f});
  std::vector<NDArray> all{data, NDArray::scalar(Bool(true))};
  std::string section = constants_metadata(all);
  ParseResult result = parse_text(
      "t",
      "fn(%x) { (meta[relay.Constant][0], meta[relay.Constant][1], meta[relay.Constant][0]) }\n" +
          section);
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  auto fields = result.module.function(Name("main"))->body()->as<Tuple>()->operands();
  EXPECT_TRUE(bit_equal(fields[0]->as<Constant>()->data(), data));
  EXPECT_EQ(fields[1]->as<Constant>()->data().dtype(), kBool);
  EXPECT_EQ(fields[0], fields[2]);
}

TEST(ParseMetadata, Problems) {
  EXPECT_EQ(problem("meta[relay.Constant][0]"), "1:1 the text has no #[metadata] section");
  std::string section = constants_metadata({});
  EXPECT_EQ(problem("meta[relay.Constant][0]\n" + section),
            "1:1 meta[relay.Constant][0]: the metadata has 0");
  EXPECT_EQ(problem("meta[relay.Foo][0]\n" + section),
            "1:1 cannot read metadata of type relay.Foo; only relay.Constant and attributes");
  EXPECT_EQ(problem("1\n#[metadata]\n{\"nodes\": 3}"), "2:12 its nodes are not a list");
  EXPECT_NE(problem("1\n#[metadata]\n{\"nodes\":"), "");
  EXPECT_NE(problem("meta[relay.Constant][0]\n#[metadata]\n{\"root\": 7, \"nodes\": []}"), "");
  EXPECT_NE(problem("meta[relay.Constant][0]\n#[metadata]\n{\"root\": 0, \"nodes\": [{\"keys\": "
                    "[\"relay.Constant\"], \"data\": [0]}]}"),
            "");
  EXPECT_NE(problem("meta[relay.Constant][0]\n#[metadata]\n[1]"), "");
}

}  // namespace
}  // namespace relay::parse_literals_test
