// The decisions of `check` on the instances that a program needs (T13, T14, T16); a compilation
// decides the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include <relay/ir/rewrite.h>
#include <relay/print/print.h>
#include <relay/support/error.h>

#include <tests/support/random_dataflow.h>
#include <tests/support/typed_program.h>
#include <tests/unit/infer_test_util.h>

namespace relay::infer_check_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The errors of a program that is well typed apart from instances.
std::vector<Diagnostic> instance_errors(const std::string& program) {
  ParseResult parsed = parse_text("test", program);
  EXPECT_TRUE(parsed.ok()) << render(parsed.diagnostics);
  std::vector<Diagnostic> errors = infer_types(parsed.module);
  EXPECT_TRUE(errors.empty()) << render(errors);
  return check_instances(parsed.module);
}

std::string words(const std::string& program) {
  // Rendered while the source is there.
  ParseResult parsed = parse_text("test", program);
  infer_types_or_throw(parsed.module);
  return render(check_instances(parsed.module));
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(InferCheck, HelpersOfEveryMonomorphicFunction) {
  const char* program =
      "def @f(%x) { %x + 300 }\ndef @unused() { @f(1i8) }\ndef @main() { @f(1i16) }";
  std::string text = words(program);
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  EXPECT_THAT(text, HasSubstr("literal 300 is out of range for int8"));
  EXPECT_THAT(text, HasSubstr("in @f, which is called here"));
}

TEST(InferCheck, PolymorphicFunctionsKeepTheirSchemes) {
  const char* program = "def @f(%x) { %x + 300 }\ndef @g(%x) { @f(%x) * 2 }\ndef @main() { 1 }";
  EXPECT_TRUE(instance_errors(program).empty());
  Module module = parse_module("test", program);
  infer_types_or_throw(module);
  std::string before = function_signature(module, "g")->str();
  EXPECT_TRUE(check_instances(module).empty());
  EXPECT_EQ(function_signature(module, "g")->str(), before);
  EXPECT_THAT(before, HasSubstr("fn<"));
}

TEST(InferCheck, WhatAPolymorphicFunctionAsksForWhateverItsTypes) {
  std::string text = words("def @f(%x) { %x + 300 }\ndef @g(%x) { (%x, @f(1i8)) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  text = words("def @g(%x) { let %f = fn (%y) { %y + 300 }; (%x, %f(1i8)) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
}

TEST(InferCheck, PublishedTypesStay) {
  const char* program =
      "def @h(%x: Tensor[(n, m), float32]) { nn.relu(%x) }\n"
      "def @p(%x) { let %f = fn (%y) { %y + 1 }; (%f(%x), @h(ones(shape=[2, 2], "
      "dtype=\"float32\"))) }\n"
      "def @main(%x: Tensor[(b, 4), float32]) { let %f = fn (%y) { @p(%y) }; (%f(%x).0, @h(%x)) }";
  Module module = parse_module("test", program);
  infer_types_or_throw(module);
  std::map<std::string, std::string> before;
  for (const auto& entry : module.functions()) {
    before[entry.name.str()] = entry.function->type()->str();
  }
  EXPECT_TRUE(check_instances(module).empty());
  EXPECT_TRUE(check_instances(module).empty());
  for (const auto& entry : module.functions()) {
    EXPECT_EQ(entry.function->type()->str(), before[entry.name.str()]);
  }
  EXPECT_EQ(before["main"],
            "fn (Tensor[(b, 4), float32]) -> (Tensor[(b, 4), float32], Tensor[(b, 4), float32])");
}

TEST(InferCheck, OneErrorForOnePlace) {
  // Two calls lead to it; the third instance is right.
  std::string text = words(
      "def @f(%x) { %x + 300 }\ndef @g(%x) { @f(%x) }\n"
      "def @a() { @g(1i8) }\ndef @b() { @f(2i8) }\ndef @c() { @g(1i16) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
}

TEST(InferCheck, NotesOfTheCallsOnTheWay) {
  std::string text = words(
      "def @f(%x: Tensor[(n), float32]) { %x + ones(shape=[4], dtype=\"float32\") }\n"
      "def @g(%x: Tensor[(m), float32]) { let %l = fn (%y: Tensor[(k), float32]) { @f(%y) }; "
      "%l(%x) }\n"
      "def @main(%a: Tensor[(3), float32], %b: Tensor[(4), float32]) { (@g(%a), @g(%b)) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  EXPECT_THAT(text, HasSubstr("add: the shapes (3) and (4) do not broadcast"));
  EXPECT_THAT(text, HasSubstr("in @f with n = 3, which is called here"));
  EXPECT_THAT(text, HasSubstr("in @g with m = 3, which is called here"));
}

TEST(InferCheck, NamesOfCallersStayNames) {
  const char* program =
      "def @lin(%x: Tensor[(n, s), float32], %w: Tensor[(s, k), float32]) { nn.matmul(%x, %w) }\n"
      "def @h(%x) { nn.relu(%x) }\n"
      "def @main(%x: Tensor[(b, 16), float32], %w: Tensor[(16, 4), float32]) { @h(@lin(%x, %w)) }";
  EXPECT_TRUE(instance_errors(program).empty());
  Module module = parse_module("test", program);
  infer_types_or_throw(module);
  const auto* type = function_signature(module, "main")->as<FuncType>();
  std::vector<TypeRef> arguments(type->params().begin(), type->params().end());
  Module special = specialize(module, "main", arguments);
  EXPECT_EQ(function_signature(special, "main")->str(),
            "fn (Tensor[(b, 16), float32], Tensor[(16, 4), float32]) -> Tensor[(b, 4), float32]");
  // And so in the helpers.
  for (const auto& entry : special.functions()) {
    EXPECT_THAT(entry.function->type()->str(), Not(HasSubstr("?"))) << entry.name.str();
  }
}

TEST(InferCheck, MutualRecursion) {
  const char* good =
      "def @even(%n: int32, %x) { if (%n == 0) { %x } else { @odd(%n - 1, %x + 100) } }\n"
      "def @odd(%n: int32, %x) { if (%n == 0) { %x } else { @even(%n - 1, %x) } }\n"
      "def @main() { (@even(4, 1i8), @odd(3, 1f)) }";
  EXPECT_TRUE(instance_errors(good).empty());
  std::string text = words(
      "def @even(%n: int32, %x) { if (%n == 0) { %x } else { @odd(%n - 1, %x + 200) } }\n"
      "def @odd(%n: int32, %x) { if (%n == 0) { %x } else { @even(%n - 1, %x) } }\n"
      "def @main() { (@even(4, 1i16), @odd(3, 1i8)) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  EXPECT_THAT(text, HasSubstr("literal 200 is out of range for int8"));
  EXPECT_THAT(text, HasSubstr("in @even, which is called here"));
  EXPECT_THAT(text, HasSubstr("in @odd, which is called here"));
}

TEST(InferCheck, FunctionsThatTakeFunctions) {
  const char* program =
      "def @twice(%f: fn (Tensor[(3), int8]) -> Tensor[(3), int8], %x: Tensor[(3), int8]) "
      "{ %f(%f(%x)) }\n"
      "def @add(%x) { %x + NUMBER }\n"
      "def @main(%x: Tensor[(3), int8]) { @twice(@add, %x) }";
  auto with = [&](const char* number) {
    std::string text = program;
    return text.replace(text.find("NUMBER"), 6, number);
  };
  EXPECT_TRUE(instance_errors(with("3")).empty());
  std::string text = words(with("300"));
  EXPECT_EQ(count(text, "error: "), 1u) << text;
}

TEST(InferCheck, EndlessInstancesEnd) {
  std::string text = words(
      "def @f<s : Shape>(%x : Tensor[s, float32], %n : int32) -> int32 "
      "{ if (%n == 0) { 0 } else { @g(expand_dims(%x, axis=0), %n - 1) } }\n"
      "def @g<s : Shape>(%x : Tensor[s, float32], %n : int32) -> int32 { @f(%x, %n) }\n"
      "def @main() { @f(1f, 3) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  EXPECT_THAT(text, HasSubstr("specialisation goes deeper than 64"));
  // Each place of a call is told once, though it is passed 64 times.
  EXPECT_EQ(count(text, "which is called here"), 3u) << text;
}

TEST(InferCheck, TenThousandFunctions) {
  constexpr int kCount = 10000;
  auto name = [](int i) { return "@f" + std::to_string(i); };
  std::string names, types, wide;
  for (int i = 0; i + 1 < kCount; ++i) {
    names += "def " + name(i) + "(%x: Tensor[(n), float32]) { " + name(i + 1) + "(%x) }\n";
    types += "def " + name(i) + "(%x) { " + name(i + 1) + "(%x) }\n";
    wide += "def " + name(i) + "(%x: Tensor[(" + std::to_string(i + 1) + "), int8]) { @h(%x) }\n";
  }
  // A chain of calls, at a number for the name.
  std::string text =
      words(names + "def " + name(kCount - 1) +
            "(%x: Tensor[(n), float32]) { %x + ones(shape=[4], dtype=\"float32\") }\n"
            "def @main(%a: Tensor[(3), float32]) { @f0(%a) }");
  EXPECT_EQ(count(text, "error: "), 1u) << text;
  EXPECT_THAT(text, HasSubstr("in @f9999 with n = 3, which is called here"));
  EXPECT_THAT(text, HasSubstr("in @f0 with n = 3, which is called here"));
  EXPECT_THAT(text, HasSubstr("more calls"));
  // The same of polymorphic functions, at three types.
  types += "def " + name(kCount - 1) + "(%x) { %x + 100 }\n";
  EXPECT_TRUE(instance_errors(types + "def @main() { (@f0(1i8), @f0(1f), @f0(1)) }").empty());
  // Many instances of one.
  EXPECT_TRUE(instance_errors("def @h(%x) { %x + 100 }\n" + wide).empty());
  text = words("def @h(%x) { %x + 300 }\n" + wide);
  EXPECT_EQ(count(text, "error: "), 1u) << text;
}

// ---- Random programs ----------------------------------------------------------------------------

struct Verdict {
  std::string errors;
  std::string interface;
};

TypeRef signature_of(const Module& module) { return function_signature(module, "main"); }

Verdict checked(const std::string& program) {
  Module module = parse_module("test", program);
  std::vector<Diagnostic> errors = infer_types(module);
  std::erase_if(errors, [](const Diagnostic& d) { return d.severity != Severity::kError; });
  if (errors.empty()) errors = check_instances(module);
  if (!errors.empty()) return {render(errors), ""};
  return {"", signature_of(module)->str()};
}

// The verdict of `compile` without asking `check`.
Verdict compiled(const std::string& program) {
  Module module = parse_module("test", program);
  try {
    infer_types_or_throw(module);
    const auto* type = signature_of(module)->as<FuncType>();
    std::vector<TypeRef> arguments(type->params().begin(), type->params().end());
    Module special = specialize(module, "main", arguments);
    return {"", signature_of(special)->str()};
  } catch (const Error& error) {
    return {render(error.diagnostics()), ""};
  }
}

// `@main` with parameters of these types calls the function, whose own parameters have no types and
// whose small whole numbers are literals.
std::string call_loosely(const Function* function, const std::vector<TypeRef>& types,
                         uint64_t scale) {
  ExprRef loose = copy_with_fresh_vars(ExprRef(function), [](const TypeRef& type) -> TypeRef {
    return type->kind() == Kind::kType ? IncompleteType::make(0, Kind::kType) : type;
  });
  loose = rewrite_post_order(loose, [&](const Expr* node, std::span<const ExprRef>) -> ExprRef {
    const auto* constant = node->as<Constant>();
    if (constant == nullptr || constant->data().rank() != 0 ||
        !(constant->data().dtype() == kInt32)) {
      return {};
    }
    auto number = static_cast<int64_t>(constant->data().element_as_double(0));
    LiteralValue value;
    value.negative = number < 0;
    value.magnitude = static_cast<uint64_t>(std::abs(number)) * scale;
    value.text = Name(std::to_string(value.magnitude));
    return make_literal(value);
  });
  Module module;
  module.add_function("helper", FunctionRef(loose->as<Function>()));
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  for (size_t i = 0; i < types.size(); ++i) {
    params.push_back(make_var("a" + std::to_string(i), types[i]));
    args.push_back(params.back());
  }
  module.add_function("main", make_function(params, make_call(make_global_var("helper"), args)));
  return print_module(module);
}

struct Tally {
  size_t accepted = 0, refused = 0, by_instances = 0;
};

void expect_agreement(const std::string& program, const std::string& where, Tally& tally) {
  Verdict by_check = checked(program);
  Verdict by_compile = compiled(program);
  ASSERT_EQ(by_check.errors, by_compile.errors) << where << "\n" << program;
  ASSERT_EQ(by_check.interface, by_compile.interface) << where << "\n" << program;
  if (by_check.errors.empty()) {
    ++tally.accepted;
    return;
  }
  ++tally.refused;
  Module module = parse_module("test", program);
  bool schemes = infer_types(module).empty();
  tally.by_instances += schemes ? 1 : 0;
}

TEST(InferCheckProperties, ShapesThroughHelpers) {
  Tally tally;
  std::mt19937 random(7);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    testing::RandomDataflow dataflow(seed);
    std::vector<TypeRef> types;
    for (const VarRef& param : dataflow.function()->params()) types.push_back(param->annotation());
    // As it is, then with another extent (or a name for it), then with another dtype.
    for (int change = 0; change < 4; ++change) {
      std::vector<TypeRef> changed = types;
      TypeRef& type = changed[random() % changed.size()];
      const auto* tensor = type->as<TensorType>();
      std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
      if (change == 3) {
        type = TensorType::make(dims, random() % 2 == 0 ? DType(kInt8) : DType(kBool));
      } else if (change > 0 && !dims.empty()) {
        static const TypeVarRef name = TypeVar::make("b", Kind::kShapeVar, true);
        dims[random() % dims.size()] =
            change == 1 ? Dim(static_cast<int64_t>(random() % 5)) : Dim::symbol(name.get());
        type = TensorType::make(dims, tensor->dtype());
      }
      std::string where = "seed " + std::to_string(seed) + ", change " + std::to_string(change);
      std::string program = call_loosely(dataflow.function().get(), changed, 1);
      ASSERT_NO_FATAL_FAILURE(expect_agreement(program, where, tally));
    }
  }
  EXPECT_GE(tally.accepted, 300u);
  EXPECT_GE(tally.refused, 100u);
}

TEST(InferCheckProperties, NamedParametersOfHelpers) {
  Tally tally;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    testing::RandomDataflow dataflow(seed);
    FunctionRef named = dataflow.with_unknown_extents();
    // As it is, then with the first or the last extents larger.
    for (int change = 0; change < 3; ++change) {
      Module module;
      module.add_function("helper", named);
      std::vector<VarRef> params;
      std::vector<ExprRef> args;
      for (const VarRef& param : dataflow.function()->params()) {
        TypeRef type = param->annotation();
        const auto* tensor = type->as<TensorType>();
        std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
        if (change > 0 && !dims.empty()) {
          Dim& dim = change == 1 ? dims.front() : dims.back();
          dim = Dim(dim.as_int() + change);
          type = TensorType::make(dims, tensor->dtype());
        }
        params.push_back(make_var(param->name(), type));
        args.push_back(params.back());
      }
      module.add_function("main",
                          make_function(params, make_call(make_global_var("helper"), args)));
      ASSERT_NO_FATAL_FAILURE(
          expect_agreement(print_module(module), "seed " + std::to_string(seed), tally));
    }
  }
  EXPECT_GE(tally.accepted, 50u);
  EXPECT_GE(tally.refused, 50u);
  EXPECT_GE(tally.by_instances, 5u);
}

TEST(InferCheckProperties, LiteralsThroughHelpers) {
  Tally tally;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Module module = testing::TypedProgram(seed, false).module();
    for (DType dtype :
         {DType(kInt32), DType(kInt8), DType(kUInt8), DType(kFloat32), DType(kBool)}) {
      for (uint64_t scale : {1, 50}) {
        std::string program =
            call_loosely(module.function("g"), {TensorType::scalar(dtype)}, scale);
        std::string where = "seed " + std::to_string(seed) + ", " + std::string(dtype.name());
        ASSERT_NO_FATAL_FAILURE(expect_agreement(program, where, tally));
      }
    }
  }
  EXPECT_GE(tally.accepted, 300u);
  EXPECT_GE(tally.refused, 100u);
  EXPECT_GE(tally.by_instances, 50u);
}

// Text cannot say this, programs can.
TEST(InferCheckData, FieldsThatLeaveTypesOpen) {
  const GlobalTypeVarRef box = GlobalTypeVar::make(Name("Box"));
  const ConstructorRef open =
      make_constructor(Name("Open"), box, 0,
                       {TupleType::make({TensorType::scalar(kInt32), IncompleteType::hole()})});
  Module module;
  module.add_type(TypeData::make(box, {}, {open}));
  const VarRef x = make_var(Name("x"), TensorType::scalar(kInt32));
  const std::vector<ExprRef> arguments{x};
  module.add_function("main", make_function({x}, make_call(open, arguments)));
  module.add_function("value", make_function({x}, open));
  const std::vector<Diagnostic> errors = infer_types(module);
  ASSERT_EQ(errors.size(), 1u) << render(errors);
  EXPECT_EQ(errors[0].message,
            "constructor Open has a field of type (int32, _), which leaves a part open");
}

}  // namespace
}  // namespace relay::infer_check_test
