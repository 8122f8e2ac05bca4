// Text of programs built by hand.
#include <gtest/gtest.h>

#include <bit>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include <relay/ir/module.h>
#include <relay/op/op.h>
#include <relay/print/dot.h>
#include <relay/print/json.h>
#include <relay/print/print.h>

namespace relay::print_text_test {
namespace {

ExprRef call(std::string_view name, std::initializer_list<ExprRef> args) {
  return call_op(name, args);
}
ExprRef apply(ExprRef callee, std::initializer_list<ExprRef> args) {
  return make_call(std::move(callee), std::span<const ExprRef>(args.begin(), args.size()));
}
ExprRef tuple(std::initializer_list<ExprRef> fields) {
  return make_tuple(std::span<const ExprRef>(fields.begin(), fields.size()));
}
TypeRef scalar(DType dtype = kFloat32) { return TensorType::scalar(dtype); }
VarRef var(Name name, TypeRef type = {}) { return make_var(name, std::move(type)); }
ExprRef f32(float value) { return make_constant(NDArray::scalar(value)); }

std::string text(const FunctionRef& function) {
  Module module;
  module.add_function("main", function);
  PrintOptions options;
  options.version_line = false;
  return print_module(module, options);
}

TEST(PrintText, SharedNodesAreBoundOnce) {
  VarRef x = var("x", scalar());
  ExprRef e = call("exp", {x});
  EXPECT_EQ(text(make_function({x}, call("add", {e, e}), scalar())),
            "def @main(%x: float32) -> float32 {\n"
            "  %0 = exp(%x);\n"
            "  add(%0, %0)\n"
            "}\n");
}

TEST(PrintText, EqualNodesStayApart) {
  VarRef x = var("x", scalar());
  EXPECT_EQ(text(make_function({x}, call("add", {call("exp", {x}), call("exp", {x})}))),
            "def @main(%x: float32) {\n"
            "  %0 = exp(%x);\n"
            "  %1 = exp(%x);\n"
            "  add(%0, %1)\n"
            "}\n");
}

TEST(PrintText, Tuples) {
  VarRef x = var("x");
  EXPECT_EQ(text(make_function({x}, tuple({tuple({x, f32(1)}), tuple({}), tuple({x})}))),
            "def @main(%x) {\n"
            "  %0 = (%x, 1f);\n"
            "  %1 = ();\n"
            "  %2 = (%x,);\n"
            "  (%0, %1, %2)\n"
            "}\n");
  EXPECT_EQ(text(make_function({x}, make_projection(make_projection(x, 1), 0))),
            "def @main(%x) {\n"
            "  %0 = %x.1;\n"
            "  %0.0\n"
            "}\n");
}

TEST(PrintText, NodesUsedInBothBranchesRunBefore) {
  VarRef x = var("x", scalar());
  VarRef c = var("c", scalar(kBool));
  ExprRef e = call("exp", {x});
  EXPECT_EQ(text(make_function({x, c}, make_if(c, call("add", {e, f32(1)}), e))),
            "def @main(%x: float32, %c: bool) {\n"
            "  %0 = exp(%x);\n"
            "  if (%c) {\n"
            "    add(%0, 1f)\n"
            "  } else {\n"
            "    %0\n"
            "  }\n"
            "}\n");
}

TEST(PrintText, CalledLiteralStandsBesideItsCall) {
  VarRef x = var("x");
  VarRef p = var("p0");
  FunctionRef f = make_function({p}, call("exp", {call("abs", {p})}), {}, {}, {},
                                make_dict_attrs({{"Primitive", AttrValue(int64_t{1})}}));
  EXPECT_EQ(text(make_function({x}, apply(f, {call("negative", {x})}))),
            "def @main(%x) {\n"
            "  %0 = negative(%x);\n"
            "  %2 = fn (%p0, Primitive=1) {\n"
            "    %1 = abs(%p0);\n"
            "    exp(%1)\n"
            "  };\n"
            "  %2(%0)\n"
            "}\n");
}

TEST(PrintText, LetInTheMiddleStandsInParentheses) {
  VarRef x = var("x");
  VarRef a = var("a");
  VarRef b = var("b");
  ExprRef inner = make_let(b, call("exp", {call("abs", {x})}), call("add", {b, call("sqrt", {b})}));
  EXPECT_EQ(text(make_function({x}, make_let(a, inner, a))),
            "def @main(%x) {\n"
            "  %0 = abs(%x);\n"
            "  let %a = (\n"
            "    let %b = exp(%0);\n"
            "    %1 = sqrt(%b);\n"
            "    add(%b, %1)\n"
            "  );\n"
            "  %a\n"
            "}\n");
}

TEST(PrintText, NamesAreKeptWhereShadowingIsRight) {
  VarRef x = var("x");
  VarRef y = var("x");
  EXPECT_EQ(text(make_function({x}, make_let(y, call("exp", {x}), call("abs", {y})))),
            "def @main(%x) {\n"
            "  let %x = exp(%x);\n"
            "  abs(%x)\n"
            "}\n");
  EXPECT_EQ(text(make_function({x}, make_let(y, call("exp", {x}), call("add", {x, y})))),
            "def @main(%x) {\n"
            "  let %x1 = exp(%x);\n"
            "  add(%x, %x1)\n"
            "}\n");
}

TEST(PrintText, RecursionSeesItsOwnName) {
  // The function's %f is the parameter, so the let must not be called %f.
  VarRef f = var("f");
  VarRef g = var("f");
  VarRef y = var("y");
  EXPECT_EQ(text(make_function({f}, make_let(g, make_function({y}, apply(f, {y})), g))),
            "def @main(%f) {\n"
            "  let %f1 = fn (%y) {\n"
            "    %f(%y)\n"
            "  };\n"
            "  %f1\n"
            "}\n");
}

TEST(PrintText, QuotedAndNumericNames) {
  VarRef weight = var("layer1.0.weight");
  VarRef layer = var("layer1");
  VarRef zero = var("0");
  EXPECT_EQ(text(make_function({weight, layer, zero}, call("add", {call("add", {weight, zero}),
                                                                   make_projection(layer, 0)}))),
            "def @main(%\"layer1.0.weight\", %layer1, %0) {\n"
            "  %1 = add(%\"layer1.0.weight\", %0);\n"
            "  %2 = (%layer1).0;\n"
            "  add(%1, %2)\n"
            "}\n");
}

TEST(PrintText, Scalars) {
  auto constant = [](auto value) { return make_constant(NDArray::scalar(value)); };
  auto print = [](const ExprRef& e) { return print_expr(e.get()); };
  EXPECT_EQ(print(constant(int32_t{-1})), "-1i32");
  EXPECT_EQ(print(constant(int8_t{-128})), "-128i8");
  EXPECT_EQ(print(constant(std::numeric_limits<uint64_t>::max())), "18446744073709551615u64");
  EXPECT_EQ(print(constant(0.1f)), "0.1f");
  EXPECT_EQ(print(constant(1e10f)), "1e+10f");
  EXPECT_EQ(print(constant(100000.0f)), "100000f");
  EXPECT_EQ(print(constant(-0.0f)), "-0f");
  EXPECT_EQ(print(constant(0.1)), "0.1f64");
  EXPECT_EQ(print(constant(Half(0.1f))), "0.1f16");
  EXPECT_EQ(print(constant(BFloat16(3.14f))), "3.14bf16");
  EXPECT_EQ(print(constant(std::numeric_limits<float>::infinity())), "inff");
  EXPECT_EQ(print(constant(-std::numeric_limits<double>::infinity())), "-inff64");
  EXPECT_EQ(print(constant(std::numeric_limits<float>::quiet_NaN())), "nanf");
  EXPECT_EQ(print(constant(true)), "True");
  EXPECT_EQ(print(constant(-std::numeric_limits<float>::quiet_NaN())), "-nanf");
  EXPECT_EQ(print(constant(BFloat16::from_bits(0xffc0))), "-nanbf16");
  // Another NaN keeps its bits in the metadata.
  EXPECT_EQ(print(constant(std::bit_cast<float>(0x7fc00001))).substr(0, 23),
            "meta[relay.Constant][0]");
}

TEST(PrintText, DataTypes) {
  auto list = GlobalTypeVar::make("List");
  auto a = TypeVar::make("A", Kind::kType);
  auto cons = make_constructor("Cons", list, 0, {a, TypeCall::make(list, {a})});
  auto nil = make_constructor("Nil", list, 1, {});
  Module module;
  module.add_type(TypeData::make(list, {a}, {cons, nil}));
  VarRef l = var("l", TypeCall::make(list, {scalar()}));
  VarRef h = var("h");
  ExprRef body = make_match(l,
                            {Pattern::constructor(cons, {Pattern::var(h), Pattern::wildcard()}),
                             Pattern::constructor(nil, {})},
                            std::vector<ExprRef>{h, f32(0)}, true);
  module.add_function("head", make_function({l}, body, scalar()));
  module.add_function("main", make_function({}, apply(make_global_var("head"),
                                                      {apply(cons, {f32(1), apply(nil, {})})})));
  EXPECT_EQ(print_module(module),
            "#[version = \"0.0.5\"]\n"
            "type List[A] {\n"
            "  Cons(A, List[A]),\n"
            "  Nil,\n"
            "}\n"
            "\n"
            "def @head(%l: List[float32]) -> float32 {\n"
            "  match (%l) {\n"
            "    Cons(%h, _) => {\n"
            "      %h\n"
            "    },\n"
            "    Nil => {\n"
            "      0f\n"
            "    },\n"
            "  }\n"
            "}\n"
            "\n"
            "def @main() {\n"
            "  %0 = Nil;\n"
            "  %1 = Cons(1f, %0);\n"
            "  @head(%1)\n"
            "}\n");
}

TEST(PrintText, EffectsStayInPlace) {
  VarRef x = var("x");
  VarRef r = var("r");
  VarRef u = var("u");
  ExprRef sum = call("add", {make_ref_read(r), call("add", {call("exp", {x}), f32(1)})});
  EXPECT_EQ(
      text(make_function({x}, make_let(r, make_ref_create(x),
                                       make_let(u, make_ref_write(r, call("abs", {x})), sum)))),
      "def @main(%x) {\n"
      "  let %r = ref(%x);\n"
      "  %0 = abs(%x);\n"
      "  let %u = ref_write(%r, %0);\n"
      "  %1 = exp(%x);\n"
      "  %2 = add(%1, 1f);\n"
      "  add(ref_read(%r), %2)\n"
      "}\n");
}

TEST(PrintText, KindsWhereClausesAndTypeArguments) {
  auto s = TypeVar::make("s", Kind::kShape);
  auto t = TypeVar::make("t", Kind::kType);
  VarRef x = var("x", TensorType::make(s, BaseType::make(kFloat32)));
  VarRef y = var("y", t);
  FunctionRef id = make_function({y}, y, t, {t});
  EXPECT_EQ(print_expr(id.get()), "fn[t](%y: t) -> t {\n  %y\n}");
  FunctionRef f =
      make_function({x, y}, x, {}, {s, t}, {RelationType::make(broadcast_relation(), {}, 0)});
  EXPECT_EQ(print_expr(f.get()),
            "fn<s : Shape, t>(%x: Tensor[s, float32], %y: t) where Broadcast {\n  %x\n}");
  std::vector<ExprRef> args{f32(1)};
  EXPECT_EQ(print_expr(make_call(make_global_var("id"), args, {}, {scalar()}).get()),
            "@id<float32>(1f)");
}

TEST(PrintText, FreeVariables) {
  VarRef x = var("x", scalar());
  EXPECT_EQ(print_expr(call("exp", {x}).get()), "free_var %x: float32;\nexp(%x)");
}

TEST(PrintText, DeepAndLongPrograms) {
  VarRef x = var("x");
  ExprRef e = x;
  for (int i = 0; i < 100000; ++i) e = call("exp", {e});
  EXPECT_GT(print_expr(e.get()).size(), 1000000u);
  // Text that could not be read back is refused.
  ExprRef nested = x;
  for (int i = 0; i < 2000; ++i) nested = make_function({}, nested);
  EXPECT_THROW(print_expr(nested.get()), Error);
}

TEST(PrintText, Json) {
  VarRef x = var("x", scalar());
  ExprRef e = call("exp", {x});
  Module module;
  module.add_function("main", make_function({x}, call("add", {e, e})));
  auto json = nlohmann::json::parse(print_json(module));
  const auto& nodes = json["nodes"];
  const auto& root = nodes[json["functions"][0]["root"].get<size_t>()];
  EXPECT_EQ(root["kind"], "Function");
  EXPECT_EQ(nodes[root["params"][0].get<size_t>()]["name"], "x");
  EXPECT_EQ(nodes[root["params"][0].get<size_t>()]["annotation"], "float32");
  const auto& add = nodes[root["operands"][0].get<size_t>()];
  EXPECT_EQ(nodes[add["operands"][0].get<size_t>()]["op"], "add");
  EXPECT_EQ(add["operands"][1], add["operands"][2]);
}

TEST(PrintText, Dot) {
  VarRef x = var("x", scalar());
  ExprRef e = call("exp", {x});
  Module module;
  module.add_function("main", make_function({x}, call("add", {e, f32(1)})));
  EXPECT_EQ(print_dot(module),
            "digraph module {\n"
            "  node [shape=box, fontname=\"monospace\"];\n"
            "  subgraph cluster_0 {\n"
            "    label=\"@main\";\n"
            "    f0_2 [label=\"exp(%x)\"];\n"
            "    f0_1 [label=\"add(·, 1f)\"];\n"
            "    f0_2 -> f0_1;\n"
            "    f0_0 [label=\"fn (%x)\"];\n"
            "    f0_1 -> f0_0 [style=dashed];\n"
            "  }\n"
            "}\n");
}

TEST(PrintText, ShortText) {
  VarRef x = var("x");
  ExprRef e = x;
  for (int i = 0; i < 1000; ++i) e = call("add", {e, e});
  std::string text = print_short(e.get());
  EXPECT_LE(text.size(), 70u);
  EXPECT_EQ(text.substr(0, 8), "add(add(");
}

}  // namespace
}  // namespace relay::print_text_test
