// Whatever things are called: printed text reads back as the same program.
#include <gtest/gtest.h>

#include <relay/infer/infer.h>
#include <relay/ir/attrs.h>
#include <relay/ir/equal.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <tests/support/random_program.h>
#include <tests/support/round_trip.h>

namespace relay::print_names_test {
namespace {

using testing::round_trip_problem;

Module with_main(FunctionRef function) {
  Module module;
  module.add_function("main", std::move(function));
  return module;
}

ExprRef tuple_of(std::vector<ExprRef> fields) { return make_tuple(fields); }

AttrsRef attrs_of(const Operator* op, NamedAttr attr) {
  return Attrs::make(*op->attrs_schema(), std::vector<NamedAttr>{std::move(attr)}, {});
}

TEST(PrintNames, TheSecondVariableOfANumberIsNoNode) {
  // `%1` twice: the second one's new name must not be the number of a node.
  VarRef a = make_var("1"), b = make_var("1");
  std::vector<ExprRef> nodes{tuple_of({a, b})};
  for (int i = 0; i < 14; ++i) nodes.push_back(tuple_of({nodes.back(), nodes.back(), a, b}));
  ExprRef body = make_let(b, a, nodes.back());
  EXPECT_EQ(round_trip_problem(with_main(make_function({a}, body))), "");
}

TEST(PrintNames, WhatWaitsForAFunctionIsReadWhereItStands) {
  // The node mentions the function, so it stands inside of it in text, where `%x` is the function.
  VarRef x = make_var("x"), function = make_var("x"), y = make_var("y");
  ExprRef waits = make_let(y, tuple_of({x}), function);
  ExprRef body = make_let(function, make_function({}, tuple_of({waits})), tuple_of({waits}));
  EXPECT_EQ(round_trip_problem(with_main(make_function({x}, body))), "");
}

TEST(PrintNames, ANewNameWithADotIsNoProjection) {
  VarRef a = make_var("a."), b = make_var("a."), c = make_var("a");
  ExprRef body = tuple_of({make_projection(c, 1), a, b, c});
  EXPECT_EQ(round_trip_problem(with_main(make_function({a, b, c}, body))), "");
}

TEST(PrintNames, TypeParametersAreNoDataTypes) {
  GlobalTypeVarRef list = GlobalTypeVar::make("A");
  TypeVarRef a = TypeVar::make("A", Kind::kType), b = TypeVar::make("A", Kind::kType);
  Module module;
  module.add_type(
      TypeData::make(list, {a}, {make_constructor("C", list, 0, {a, TypeCall::make(list, {a})})}));
  VarRef x = make_var("x", b), y = make_var("y", TypeCall::make(list, {b}));
  module.add_function("main", make_function({x, y}, x, b, {b}));
  EXPECT_EQ(round_trip_problem(module), "");
}

TEST(PrintNames, DataTypesAndParametersAreNoElementTypes) {
  GlobalTypeVarRef type = GlobalTypeVar::make("int32");
  TypeVarRef a = TypeVar::make("float32", Kind::kType), n = TypeVar::make("int8", Kind::kShapeVar);
  Module module;
  module.add_type(
      TypeData::make(type, {a}, {make_constructor("C", type, 0, {a, TensorType::scalar(kInt32)})}));
  VarRef x = make_var("x", TypeCall::make(type, {TensorType::scalar(kFloat32)}));
  VarRef y = make_var("y", a), z = make_var("z", TensorType::scalar(kInt32));
  VarRef w = make_var("w", TensorType::make(std::vector<Dim>{Dim::symbol(n.get())}, kInt8));
  TypeVarRef d = TypeVar::make("int16", Kind::kBaseType);
  VarRef v = make_var("v", TensorType::make(ShapeType::make(std::vector<Dim>{2}), TypeRef(d)));
  VarRef u = make_var("u", TensorType::make(std::vector<Dim>{2}, kInt16));
  module.add_function(
      "main", make_function({x, y, z, w, v, u}, tuple_of({x, y, z, w, v, u}), {}, {a, d, n}));
  EXPECT_EQ(round_trip_problem(module), "");
}

TEST(PrintNames, ConstructorsAreNeitherOperatorsNorNumbers) {
  GlobalTypeVarRef type = GlobalTypeVar::make("D");
  std::vector<ConstructorRef> constructors;
  for (const char* name : {"exp", "nanf", "inf", "None", "True", "nn.relu", "float32", "0", "mul"})
    constructors.push_back(
        make_constructor(name, type, static_cast<uint32_t>(constructors.size()), {}));
  Module module;
  module.add_type(TypeData::make(type, {}, constructors));
  VarRef x = make_var("x");
  std::vector<ExprRef> fields{
      make_call(make_op(get_op("exp")), std::vector<ExprRef>{x}),
      make_call(make_op(get_op("nn.relu")), std::vector<ExprRef>{x}),
      make_op(get_op("exp")),
      make_constant(NDArray::scalar(std::numeric_limits<float>::quiet_NaN())),
      make_constant(NDArray::scalar(-std::numeric_limits<float>::infinity())),
      make_constant(NDArray::scalar(true))};
  const Operator* sum = get_op("sum");
  fields.push_back(
      make_call(make_op(sum), std::vector<ExprRef>{x}, attrs_of(sum, {"axis", AttrValue(), {}})));
  const Operator* cast = get_op("cast");
  fields.push_back(make_call(make_op(cast), std::vector<ExprRef>{x},
                             attrs_of(cast, {"dtype", AttrValue(kFloat32), {}})));
  for (const ConstructorRef& constructor : constructors)
    fields.push_back(make_call(constructor, std::span<const ExprRef>()));
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
  for (const ConstructorRef& constructor : constructors) {
    patterns.push_back(Pattern::constructor(constructor, {}));
    bodies.push_back(x);
  }
  fields.push_back(make_match(x, patterns, bodies, true));
  module.add_function("main", make_function({x}, make_tuple(fields)));
  EXPECT_EQ(round_trip_problem(module), "");
}

TEST(PrintNames, WordsKeepTheirMeaningBesideNamesInQuotes) {
  // Declared without quotes a name is meant by the word, as ever.
  ParseResult plain = parse_text("plain", R"(
type D { exp, }
def @main() { exp })");
  ASSERT_TRUE(plain.ok()) << render(plain.diagnostics);
  EXPECT_TRUE(plain.module.function("main")->body()->is<Call>());
  ParseResult quoted = parse_text("quoted", R"(
type D { "exp", }
def @main() { (exp, "exp") })");
  ASSERT_TRUE(quoted.ok()) << render(quoted.diagnostics);
  auto fields = quoted.module.function("main")->body()->operands();
  EXPECT_TRUE(fields[0]->is<Op>());
  EXPECT_TRUE(fields[1]->is<Call>());
}

// ---- Attributes ----

TEST(PrintNames, AttributesOfAnyName) {
  std::map<Name, AttrValue> values;
  int64_t i = 0;
  for (const char* key : {" ",
                          "a b",
                          "\"",
                          "\n",
                          "\\",
                          "let",
                          "fn",
                          "_",
                          "1",
                          "a.b",
                          "a..b",
                          ".",
                          "%x",
                          "=",
                          "True",
                          "meta",
                          "where",
                          "virtual_device",
                          "attrs_type_key",
                          "é",
                          "\xff",
                          "/*",
                          "#[metadata]",
                          "int32"}) {
    values.emplace(Name(key), AttrValue(i++));
  }
  values.emplace(Name(std::string_view("\0", 1)), AttrValue(i));
  AttrsRef attrs = make_dict_attrs(std::move(values));
  VarRef x = make_var("x");
  EXPECT_EQ(round_trip_problem(with_main(make_function({x}, x, {}, {}, {}, attrs))), "");
  EXPECT_EQ(round_trip_problem(with_main(make_function({}, tuple_of({}), {}, {}, {}, attrs))), "");
}

TEST(PrintNames, AnAttributeHasAName) {
  try {
    make_dict_attrs({{Name(), AttrValue(int64_t{1})}});
    FAIL() << "an attribute without a name was made";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "an attribute has a name");
  }
}

// ---- Everything at once ----

TEST(PrintNames, RandomProgramsOfHostileNames) {
  const std::vector<std::vector<std::string>> kFamilies = {
      {"0", "1", "2", "11", "12", "01", "1", "0.1", "1.0", "1.1.1"},
      {"x", "x", "x1", "x2", "x11", "v", "v1", "v2", "", ""},
      {"a", "a.", "a.1", "a.0", "a.0.1", ".", "..", "a..1", "0.", "0.0"},
      {"let", "fn", "if", "match", "ref", "_", "True", "None", "meta", "Tensor", "where", "def"},
      {"int32", "float32", "bool", "inf", "nan", "nanf", "inff", "add", "exp", "sum", "mul"},
      {"main", "f", "List", "Cons", "Nil", "A", "t", "t_1", "List_1", "Shape", "Type"},
      {"é", "変", " ", "a b", "\"", "\\", "\n", "\xff", "*/", "//", std::string("\0", 1), "%x",
       "@f"},
      {"lifted", "v1", "1", "", "x", "int32", "add", "List", "let", "a.0", "é"}};
  for (size_t family = 0; family < kFamilies.size(); ++family) {
    for (bool references : {false, true}) {
      for (uint32_t seed = 0; seed < 250; ++seed) {
        testing::RandomProgramOptions options;
        options.references = references;
        options.size = 10 + static_cast<int>(seed % 8) * 20;
        options.names = kFamilies[family];
        Module module = testing::RandomProgram(seed, options).module();
        std::string problem = round_trip_problem(module);
        ASSERT_EQ(problem, "") << "family " << family << " seed " << seed;
        PrintOptions typed;
        typed.show_types = true;
        infer_types(module);
        ParseResult again = parse_text("typed", print_module(module, typed));
        ASSERT_TRUE(again.ok()) << "family " << family << " seed " << seed;
        ASSERT_TRUE(structural_equal(module, again.module))
            << "family " << family << " seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace relay::print_names_test
