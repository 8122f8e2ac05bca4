// Bytecode: numbers, data, closures, calls, failures.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/vm/machine/positions.h>

#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_interpreter_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

Value i32(int32_t value) { return Value::scalar(value); }

// fn loop(i, acc) { if (i == 0) { acc } else { loop(i - 1, acc + i) } }
uint32_t add_loop(Executable& e) {
  uint32_t zero = constant(e, i32(0)), one = constant(e, i32(1));
  auto self = static_cast<uint32_t>(e.functions.size());
  Assembler a("@loop", 2, 6);
  a.op(Op::kConst, 2, zero);
  a.binary(Binary::kEq, kInt32, 3, 0, 2);
  uint32_t branch = a.op(Op::kBranch, kNone, 3);
  a.ret(1);
  a.patch_branch(branch);
  a.op(Op::kConst, 2, one);
  a.binary(Binary::kSub, kInt32, 4, 0, 2);
  a.binary(Binary::kAdd, kInt32, 5, 1, 0);
  a.list(Op::kTailCall, kNone, self, {4, 5});
  return a.add_to(e);
}

// fn sum(n) { if (n == 0) { 0 } else { n + sum(n - 1) } }
uint32_t add_sum(Executable& e) {
  uint32_t zero = constant(e, i32(0)), one = constant(e, i32(1));
  auto self = static_cast<uint32_t>(e.functions.size());
  Assembler a("@sum", 1, 4);
  a.op(Op::kConst, 1, zero);
  a.binary(Binary::kEq, kInt32, 2, 0, 1);
  uint32_t branch = a.op(Op::kBranch, kNone, 2);
  a.ret(1);
  a.patch_branch(branch);
  a.op(Op::kConst, 1, one);
  a.binary(Binary::kSub, kInt32, 2, 0, 1);
  a.list(Op::kCall, 3, self, {2});
  a.binary(Binary::kAdd, kInt32, 3, 0, 3);
  a.ret(3);
  return a.add_to(e);
}

const ConstructorInfo* cons() { return ConstructorInfo::intern("Cons", "List", 0, 2); }
const ConstructorInfo* nil() { return ConstructorInfo::intern("Nil", "List", 1, 0); }

// fn map(f, l) { match (l) { Cons(h, t) => Cons(f(h), map(f, t)), Nil => Nil } }
uint32_t add_map(Executable& e) {
  auto c = static_cast<uint32_t>(e.constructors.size());
  e.constructors.push_back(cons());
  e.constructors.push_back(nil());
  auto self = static_cast<uint32_t>(e.functions.size());
  Assembler a("@map", 2, 6);
  a.list(Op::kSwitch, kNone, 1, {1, 6});
  a.list(Op::kUnpack, kNone, 1, {2, 3});
  a.list(Op::kCallClosure, 4, 0, {0, Assembler::last(2)});
  a.list(Op::kCall, 5, self, {Assembler::last(0), Assembler::last(3)});
  a.list(Op::kConstruct, 5, c, {Assembler::last(4), Assembler::last(5)});
  a.ret(5);
  a.list(Op::kConstruct, 5, c + 1, {});
  a.ret(5);
  return a.add_to(e);
}

TEST(MachineInterpreter, Arithmetic) {
  auto e = std::make_shared<Executable>();
  Assembler a("@main", 2, 3);
  a.binary(Binary::kMul, kFloat32, 2, 0, 1);
  a.unary(Unary::kNeg, kFloat32, 2, 2);
  a.ret(2);
  entry(*e, "main", a.add_to(*e));
  Value result = run(e, "main", {Value::scalar(3.0f), Value::scalar(2.5f)});
  EXPECT_EQ(result.as<float>(), -7.5f);
}

TEST(MachineInterpreter, TailLoop) {
  auto e = std::make_shared<Executable>();
  entry(*e, "loop", add_loop(*e));
  EXPECT_EQ(run(e, "loop", {i32(100000), i32(0)}).as<int32_t>(), 705082704);
}

TEST(MachineInterpreter, JumpsBackAndForth) {
  // while (i < n) { acc *= 2; i += 1 }
  auto e = std::make_shared<Executable>();
  uint32_t zero = constant(*e, Value::scalar(int64_t{0}));
  uint32_t one = constant(*e, Value::scalar(int64_t{1}));
  Assembler a("@main", 1, 5);
  a.op(Op::kConst, 1, zero);
  a.op(Op::kConst, 2, one);
  a.op(Op::kConst, 3, one);
  uint32_t top = a.binary(Binary::kLt, kInt64, 4, 1, 0);
  uint32_t branch = a.op(Op::kBranch, kNone, 4);
  a.binary(Binary::kAdd, kInt64, 2, 2, 2);
  a.binary(Binary::kAdd, kInt64, 1, 1, 3);
  a.op(Op::kJump, kNone, top);
  a.patch_branch(branch);
  a.ret(2);
  entry(*e, "main", a.add_to(*e));
  EXPECT_EQ(run(e, "main", {Value::scalar(int64_t{40})}).as<int64_t>(), int64_t{1} << 40);
}

TEST(MachineInterpreter, DeepRecursion) {
  auto e = std::make_shared<Executable>();
  entry(*e, "sum", add_sum(*e));
  MachineOptions options;
  Machine machine(e, options);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(machine.run("sum", std::vector<Value>{i32(1000000)}).as<int32_t>(), 1784293664);
  }
}

TEST(MachineInterpreter, EndlessRecursionFails) {
  auto e = std::make_shared<Executable>();
  Assembler a("@f", 1, 2);
  a.list(Op::kCall, 1, 0, {0});
  a.ret(1);
  entry(*e, "f", a.add_to(*e));
  MachineOptions options;
  options.stack_bytes = size_t{64} << 20;
  Machine machine(e, options);
  size_t before = memory_in_use();
  try {
    machine.run("f", std::vector<Value>{Value::tuple({i32(1)})});
    FAIL();
  } catch (const RuntimeError& error) {
    std::string what = error.what();
    EXPECT_EQ(what.find("the recursion is too deep: "), 0u) << what;
    const auto& notes = error.diagnostics().front().notes;
    ASSERT_EQ(notes.size(), 16u);
    EXPECT_EQ(notes[0].message, "in the call of @f");
    EXPECT_NE(notes[8].message.find(" more calls …"), std::string::npos);
  }
  EXPECT_LE(memory_in_use(), before + (size_t{33} << 20));  // a segment or two are kept
  EXPECT_THROW(machine.run("f", std::vector<Value>{i32(1)}), RuntimeError);
}

TEST(MachineInterpreter, MapOverList) {
  auto e = std::make_shared<Executable>();
  uint32_t map = add_map(*e);
  uint32_t one = constant(*e, i32(1));
  Assembler f("fn", 1, 2);
  f.op(Op::kConst, 1, one);
  f.binary(Binary::kAdd, kInt32, 1, 0, 1);
  f.ret(1);
  uint32_t inc = f.add_to(*e);
  Assembler m("@main", 1, 2);
  m.op(Op::kGlobal, 1, inc);
  m.list(Op::kTailCall, kNone, map, {Assembler::last(1), Assembler::last(0)});
  entry(*e, "main", m.add_to(*e));
  Value list = Value::data(nil());
  constexpr int kCount = 1000;
  for (int i = kCount; i-- > 0;) {
    Value fields[] = {i32(i), std::move(list)};
    list = Value::data(cons(), fields);
  }
  Value result = run(e, "main", {list});
  const Value* at = &result;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(at->constructor(), cons());
    ASSERT_EQ(at->field(0).as<int32_t>(), i + 1);
    at = &at->field(1);
  }
  EXPECT_EQ(at->constructor(), nil());
  EXPECT_EQ(list.field(0).as<int32_t>(), 0);  // the argument is as before
}

template <class F>
void expect_error(F run, const std::string& text) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "no error: " << text;
}

TEST(MachineInterpreter, ClosuresCaptureAndReferToThemselves) {
  auto e = std::make_shared<Executable>();
  // fn (n) { if (n == 0) { k } else { self(n - 1) } } capturing k
  uint32_t zero = constant(*e, i32(0)), one = constant(*e, i32(1));
  Assembler f("%f", 1, 4);
  f.f.num_captures = 1;
  f.op(Op::kConst, 1, zero);
  f.binary(Binary::kEq, kInt32, 2, 0, 1);
  uint32_t branch = f.op(Op::kBranch, kNone, 2);
  f.op(Op::kCapture, 3, 0);
  f.ret(3);
  f.patch_branch(branch);
  f.op(Op::kConst, 1, one);
  f.binary(Binary::kSub, kInt32, 1, 0, 1);
  f.op(Op::kSelf, 3);
  f.list(Op::kTailCallClosure, kNone, 0, {Assembler::last(3), 1});
  uint32_t inner = f.add_to(*e);
  Assembler m("@main", 1, 2);
  m.list(Op::kClosure, 1, inner, {Assembler::last(0)});
  m.ret(1);
  entry(*e, "main", m.add_to(*e));
  std::vector<Value> captured{Value::tuple({i32(5), i32(6)})};
  // Nobody outside may call a function of which it is not known what it takes.
  expect_error([&] { Machine(e).call(Machine(e).run("main", captured), std::vector{i32(1)}); },
               "%f cannot be called from outside of its program: its type is not known");
  TypeInfo number, pair, function;
  number.kind = TypeInfo::Kind::kTensor;
  number.dtype = kInt32;
  pair.kind = TypeInfo::Kind::kTuple;
  pair.fields = {number, number};
  function.kind = TypeInfo::Kind::kFunction;
  function.fields = {number, pair};
  e->entries[0].result.type = function;
  Machine machine(e);
  Value closure = machine.run("main", captured);
  ASSERT_TRUE(closure.is_closure());
  EXPECT_EQ(value_type_text(closure), "fn (int32) -> (int32, int32)");
  auto call = [&](Value argument) { machine.call(closure, std::vector<Value>{argument}); };
  expect_error([&] { call(Value::scalar(1.5f)); },
               "argument 1 of %f: expected int32, found float32");
  expect_error([&] { call(closure); },
               "argument 1 of %f: expected int32, found fn (int32) -> (int32, int32)");
  expect_error([&] { machine.call(closure, std::vector<Value>{}); },
               "%f takes 1 argument, found 0");
  Value result = machine.call(closure, std::vector<Value>{i32(1000)});
  EXPECT_EQ(result.field(1).as<int32_t>(), 6);
  // In a machine of another executable too.
  auto other = std::make_shared<Executable>();
  Assembler g("@apply", 2, 3);
  g.list(Op::kCallClosure, 2, 0, {0, 1});
  g.ret(2);
  entry(*other, "apply", g.add_to(*other));
  Machine second(other);
  EXPECT_EQ(second.run("apply", std::vector<Value>{closure, i32(3)}).field(0).as<int32_t>(), 5);
  // Where a function is wanted, it is one that may be called so.
  TypeInfo wanted = function;
  wanted.fields[0].dtype = kFloat32;
  other->entries[0].params.parts[0].type = wanted;
  other->entries[0].params.parts[0].text = "fn (float32) -> (int32, int32)";
  expect_error(
      [&] {
        second.run("apply", std::vector<Value>{closure, Value::scalar(3.0f)});
      },
      "expected fn (float32) -> (int32, int32), found fn (int32) -> (int32, int32)");
  wanted = function;
  wanted.fields[1] = TypeInfo{};  // anything
  other->entries[0].params.parts[0].type = wanted;
  EXPECT_EQ(second.run("apply", std::vector<Value>{closure, i32(3)}).field(1).as<int32_t>(), 6);
  EXPECT_THROW(machine.call(closure, std::vector<Value>{}), Error);
  EXPECT_THROW(machine.call(i32(1), std::vector<Value>{}), Error);
}

TEST(MachineInterpreter, TuplesReferencesAndSelect) {
  auto e = std::make_shared<Executable>();
  Assembler a("@main", 2, 6);
  a.list(Op::kTuple, 2, 0, {0, 1});
  a.op(Op::kRefCreate, 3, 2);
  a.op(Op::kField, 4, 2, 1);
  a.op(Op::kRefWrite, 5, 3, 4);
  a.op(Op::kRefRead, 4, 3);
  a.binary(Binary::kLt, kInt32, 5, 0, 4);
  a.op(Op::kSelect, 5, 5, 2, 4);
  a.list(Op::kDrop, kNone, 0, {2, 3});
  a.ret(5);
  entry(*e, "main", a.add_to(*e));
  Value result = run(e, "main", {i32(1), i32(2)});
  ASSERT_TRUE(result.is_tuple());
  EXPECT_EQ(result.field(1).as<int32_t>(), 2);
  EXPECT_EQ(run(e, "main", {i32(3), i32(2)}).as<int32_t>(), 2);
}

TEST(MachineInterpreter, CastAndBitcast) {
  auto e = std::make_shared<Executable>();
  Assembler a("@main", 1, 3);
  a.op(Op::kCast, 1, 0);
  a.f.code.back().dtype = kInt32;
  a.f.code.back().to = kFloat32;
  a.op(Op::kBitcast, 2, 1);
  a.f.code.back().dtype = kFloat32;
  a.f.code.back().to = kInt32;
  a.ret(2);
  entry(*e, "main", a.add_to(*e));
  EXPECT_EQ(run(e, "main", {i32(1)}).as<int32_t>(), 0x3f800000);
}

std::string failure(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  try {
    run(e, "main", std::move(args));
  } catch (const RuntimeError& error) {
    return render(error.diagnostics());
  }
  return "no failure";
}

TEST(MachineInterpreter, FailuresShowPlaceAndCalls) {
  auto source = SourceMap::add("test.rly", "let x\n  a / b\n  f(a)\n");
  auto e = std::make_shared<Executable>();
  PositionTable positions(*e);
  uint32_t division = positions.add(source->span(8, 5));
  uint32_t call = positions.add(source->span(16, 4));
  EXPECT_EQ(positions.add(source->span(16, 4)), call);
  Assembler f("@f", 2, 3);
  f.binary(Binary::kDiv, kInt32, 2, 0, 1);
  f.ret(2);
  f.f.positions = {division, 0};
  uint32_t callee = f.add_to(*e);
  Assembler m("@main", 2, 3);
  m.list(Op::kCall, 2, callee, {0, 1});
  m.ret(2);
  m.f.positions = {call, 0};
  entry(*e, "main", m.add_to(*e));
  source.reset();  // the executable has what it takes
  EXPECT_EQ(failure(e, {i32(6), i32(0)}),
            "error: integer division by zero\n --> test.rly:2:3\n  |\n2 |   a / b\n  |   ^^^^^\n"
            "note: in the call of @f\n --> test.rly:3:3\n  |\n3 |   f(a)\n  |   ^^^^\n");
  EXPECT_EQ(failure(e, {i32(6), i32(3)}), "no failure");
}

TEST(MachineInterpreter, FailInstructions) {
  auto e = std::make_shared<Executable>();
  e->messages = {"a message", "index out of range"};
  Assembler m("@main", 1, 1);
  uint32_t branch = m.op(Op::kBranch, kNone, 0);
  m.op(Op::kFail, kNone, 0);
  m.patch_branch(branch);
  m.op(Op::kFailUnless, kNone, 0, 1);
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  EXPECT_EQ(failure(e, {Value::scalar(true)}), "error: a message\n");
  EXPECT_EQ(failure(e, {Value::scalar(false)}), "error: index out of range\n");

  auto match = std::make_shared<Executable>();
  Assembler n("@main", 1, 1);
  n.op(Op::kNoMatch, kNone, 0);
  entry(*match, "main", n.add_to(*match));
  EXPECT_EQ(failure(match, {Value::data(nil())}),
            "error: no clause of the match fits a value made by Nil\n");
}

TEST(MachineInterpreter, WrongKindsFail) {
  // The verifier knows no types; the machine must survive wrong ones.
  auto e = std::make_shared<Executable>();
  Assembler m("@main", 1, 2);
  m.op(Op::kField, 1, 0, 3);
  m.ret(1);
  entry(*e, "main", m.add_to(*e));
  EXPECT_NE(failure(e, {i32(1)}), "no failure");
  EXPECT_NE(failure(e, {Value::tuple({i32(1)})}), "no failure");
  EXPECT_NE(failure(e, {Value::data(nil())}), "no failure");
}

TEST(MachineInterpreter, ShapeChecks) {
  auto e = std::make_shared<Executable>();
  TypeCheck check;
  check.symbols = {"n"};
  check.terms = {{DimCode::kSymbol, 0, 0, 0}, {DimCode::kConst, 0, 0, 2}, {DimCode::kMul, 0, 1, 0}};
  TypeInfo first;
  first.kind = TypeInfo::Kind::kTensor;
  first.dims = {{TypeInfo::Dim::Kind::kSymbol, 0, "n"}};
  TypeInfo second = first;
  second.dims = {{TypeInfo::Dim::Kind::kTerm, 2, "2 * n"}};
  check.parts = {{second, "Tensor[(2 * n), float32]", "%y of @main", 0},
                 {first, "Tensor[(n), float32]", "%x of @main", 0}};
  e->checks.push_back(check);
  Assembler m("@main", 2, 2);
  m.list(Op::kCheckShapes, kNone, 0, {0, 1});
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  auto tensor = [](int64_t n) { return Value(NDArray::empty({n}, kFloat32)); };
  EXPECT_EQ(failure(e, {tensor(6), tensor(3)}), "no failure");
  EXPECT_EQ(failure(e, {tensor(5), tensor(3)}),
            "error: %y of @main: expected Tensor[(2 * n), float32] where n = 3, found Tensor[(5), "
            "float32]\n"
            "note: 2 * n is 6, not 5\n"
            "note: n = 3 by %x of @main\n");
}

// 2 * n and n + m tell both names, in whatever order they come.
TEST(MachineInterpreter, ShapeChecksOfLinearTerms) {
  auto e = std::make_shared<Executable>();
  TypeCheck check;
  check.symbols = {"n", "m"};
  check.terms = {{DimCode::kSymbol, 0, 0, 0}, {DimCode::kSymbol, 1, 0, 0},
                 {DimCode::kAdd, 0, 1, 0},  // n + m
                 {DimCode::kAdd, 0, 0, 0},    {DimCode::kConst, 0, 0, 1},
                 {DimCode::kSub, 3, 4, 0},  // 2 * n - 1
                 {DimCode::kConst, 0, 0, 9},  {DimCode::kSub, 6, 1, 0}};
  auto term = [](int64_t slot, const char* text) {
    TypeInfo type;
    type.kind = TypeInfo::Kind::kTensor;
    type.dims = {{TypeInfo::Dim::Kind::kTerm, slot, text}};
    return type;
  };
  check.parts = {{term(2, "n + m"), "Tensor[(n + m), float32]", "%x", 0},
                 {term(5, "2 * n - 1"), "Tensor[(2 * n - 1), float32]", "%y", 0},
                 {term(7, "9 - m"), "Tensor[(9 - m), float32]", "%z", 0}};
  e->checks.push_back(check);
  Assembler m("@main", 3, 3);
  m.list(Op::kCheckShapes, kNone, 0, {0, 1, 2});
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  auto fails = [&](int64_t x, int64_t y, int64_t z) {
    auto tensor = [](int64_t n) { return Value(NDArray::empty({n}, kFloat32)); };
    return failure(e, {tensor(x), tensor(y), tensor(z)});
  };
  EXPECT_EQ(fails(7, 5, 5), "no failure");  // n = 3, m = 4
  EXPECT_EQ(fails(7, 4, 5),
            "error: %y: expected Tensor[(2 * n - 1), float32], found Tensor[(4), float32]\n"
            "note: no whole number n ≥ 0 makes 2 * n - 1 equal to 4\n");
  EXPECT_EQ(fails(2, 5, 5),
            "error: %x: expected Tensor[(n + m), float32] where n = 3, m = 4, found Tensor[(2), "
            "float32]\nnote: n + m is 7, not 2\nnote: n = 3 by %y\nnote: m = 4 by %z\n");
  EXPECT_EQ(fails(7, 5, 6),
            "error: %x: expected Tensor[(n + m), float32] where n = 3, m = 3, found Tensor[(7), "
            "float32]\nnote: n + m is 6, not 7\nnote: n = 3 by %y\nnote: m = 3 by %z\n");
}

// List[(Tensor[(n), float32], ref(List[…]))] with a cycle through the cell.
TEST(MachineInterpreter, ShapeChecksInsideDataAndReferences) {
  auto e = std::make_shared<Executable>();
  TypeCheck check;
  check.symbols = {"n"};
  check.terms = {{DimCode::kSymbol, 0, 0, 0}, {DimCode::kAdd, 0, 0, 0}};
  TypeInfo tensor, twice, pair, cell, list;
  tensor.kind = TypeInfo::Kind::kTensor;
  tensor.dtype = kFloat32;
  tensor.dims = {{TypeInfo::Dim::Kind::kSymbol, 0, "n"}};
  twice = tensor;
  twice.dims = {{TypeInfo::Dim::Kind::kTerm, 1, "2 * n"}};
  list.kind = TypeInfo::Kind::kData;
  list.name = "List";
  list.data = 0;
  cell.kind = TypeInfo::Kind::kReference;
  cell.fields = {list};
  pair.kind = TypeInfo::Kind::kTuple;
  pair.fields = {twice, cell};
  check.data = {DataInfo{{{"Cons", {pair, list}}, {"Nil", {}}}, "List"}};
  check.parts = {{list, "L", "%l of @main", 0, true}, {tensor, "T", "%y of @main", 0, false}};
  e->checks.push_back(check);
  Assembler m("@main", 2, 2);
  m.list(Op::kCheckShapes, kNone, 0, {0, 1});
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  auto tensor_of = [](int64_t n) { return Value(NDArray::empty({n}, kFloat32)); };
  auto list_of = [&](std::initializer_list<int64_t> sizes, const Value& ref) {
    Value at = Value::data(nil());
    for (int64_t size : sizes) {
      Value fields[] = {Value::tuple({tensor_of(size), ref}), std::move(at)};
      at = Value::data(cons(), fields);
    }
    return at;
  };
  Value ref = Value::reference(Value::data(nil()));
  Value good = list_of({6, 6, 6}, ref);
  EXPECT_EQ(failure(e, {good, tensor_of(3)}), "no failure");
  std::string wrong =
      "error: %l of @main: expected Tensor[(2 * n), float32] in L where n = 3, found Tensor[(5), "
      "float32]\n"
      "note: 2 * n is 6, not 5\n"
      "note: n = 3 by %y of @main\n";
  EXPECT_EQ(failure(e, {list_of({6, 5, 6}, ref), tensor_of(3)}), wrong);
  ref.set(good);  // a cycle
  EXPECT_EQ(failure(e, {good, tensor_of(3)}), "no failure");
  ref.set(list_of({5}, ref));
  EXPECT_EQ(failure(e, {good, tensor_of(3)}), wrong);
  ref.set(Value::data(nil()));
  // Shared values are looked at once, deep ones take no stack.
  Value deep = good;
  for (int i = 0; i < 300000; ++i) {
    Value fields[] = {Value::tuple({tensor_of(6), ref}), std::move(deep)};
    deep = Value::data(cons(), fields);
  }
  EXPECT_EQ(failure(e, {deep, tensor_of(3)}), "no failure");

  auto refused = [&](auto change) {
    auto copy = std::make_shared<Executable>();
    copy->functions = e->functions;
    copy->checks = e->checks;
    change(copy->checks[0]);
    EXPECT_THROW(verify(*copy), Error);
  };
  refused([](TypeCheck& c) { c.parts[0].type.data = 1; });
  refused([](TypeCheck& c) { c.data[0].constructors[0].fields[1].data = 7; });
  for (int64_t slot : {int64_t{-1}, int64_t{2}}) {
    refused([&](TypeCheck& c) {
      c.parts[1].type.dims[0].kind = TypeInfo::Dim::Kind::kTerm;
      c.parts[1].type.dims[0].value = slot;
    });
  }
  refused([](TypeCheck& c) { c.parts[1].type.dims[0].kind = static_cast<TypeInfo::Dim::Kind>(4); });
  refused([](TypeCheck& c) { c.data[0].constructors[0].fields[0].fields[0].dims[0].value = 2; });
}

TEST(MachineInterpreter, EntrySignature) {
  auto e = std::make_shared<Executable>();
  Assembler m("@main", 1, 1);
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  TypeInfo type;
  type.kind = TypeInfo::Kind::kTensor;
  type.dtype = kFloat32;
  type.dims = {{TypeInfo::Dim::Kind::kInt, 2, "2"}, {TypeInfo::Dim::Kind::kAny, 0, "?"}};
  e->entries[0].params.parts[0] = {type, "Tensor[(2, ?), float32]", "x", 0};
  Machine machine(e);
  auto call = [&](std::vector<Value> args) -> std::string {
    try {
      machine.run("main", args);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(call({Value(NDArray::empty({2, 7}, kFloat32))}), "");
  EXPECT_EQ(
      call({Value(NDArray::empty({3, 7}, kFloat32))}),
      "argument 1 of @main, %x: expected Tensor[(2, ?), float32], found Tensor[(3, 7), float32]");
  EXPECT_EQ(call({i32(1)}),
            "argument 1 of @main, %x: expected Tensor[(2, ?), float32], found int32");
  EXPECT_EQ(call({}), "@main takes 1 argument, found 0");
  EXPECT_THROW(machine.run("other", std::vector<Value>{}), Error);
}

TEST(MachineInterpreter, Interrupt) {
  auto e = std::make_shared<Executable>();
  Assembler m("@main", 0, 0);
  m.op(Op::kJump, kNone, 0);
  entry(*e, "main", m.add_to(*e));
  std::atomic<bool> interrupt{false};
  MachineOptions options;
  options.interrupt = &interrupt;
  Machine machine(e, options);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    interrupt = true;
  });
  EXPECT_THROW(machine.run("main", std::vector<Value>{}), Interrupted);
  other.join();
}

TEST(MachineInterpreter, MemoryIsGivenBack) {
  auto e = std::make_shared<Executable>();
  entry(*e, "main", add_sum(*e));
  size_t before = memory_in_use();
  run(e, "main", {i32(100000)});
  EXPECT_LE(memory_in_use(), before + 4096);
}

TEST(MachineInterpreter, ThreadsShareAnExecutable) {
  auto e = std::make_shared<Executable>();
  entry(*e, "sum", add_sum(*e));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      MachineOptions options;
      options.threads = 1;
      Machine machine(e, options);
      for (int i = 0; i < 20; ++i) {
        Value result = machine.run("sum", std::vector<Value>{i32(1000 + i)});
        if (result.as<int32_t>() == (1000 + i) * (1001 + i) / 2) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace relay::vm::machine_interpreter_test
