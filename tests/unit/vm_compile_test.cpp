// The code that the compiler of the machine writes.
#include <algorithm>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/code.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm::vm_compile_test {
namespace {

Module specialised(const std::string& text, std::span<const Value> arguments) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  return specialize(module, "main", types);
}

std::shared_ptr<const Executable> compiled(const std::string& text,
                                           std::vector<Value> arguments = {}, int level = 3) {
  CompileOptions options;
  options.direct = true;
  options.level = level;
  return compile(specialised(text, arguments), Name("main"), options);
}

const Function& function(const Executable& executable, const std::string& name) {
  for (const Function& function : executable.functions) {
    if (function.name == name) return function;
  }
  throw Error("no function " + name);
}

size_t count(const Function& function, Op op) {
  size_t found = 0;
  for (const Instruction& instruction : function.code) found += instruction.op == op;
  return found;
}

Value vector(std::initializer_list<float> elements) {
  return Value(NDArray::from<float>({static_cast<int64_t>(elements.size())}, elements));
}

TEST(VmCompile, NumbersAreInstructions) {
  auto executable = compiled(
      "def @main(%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { @main(%i - 1, %a + "
      "%i) } }",
      {Value::scalar<int32_t>(1), Value::scalar<int32_t>(1)});
  const Function& main = function(*executable, "@main");
  EXPECT_TRUE(executable->graphs.empty());
  EXPECT_EQ(count(main, Op::kBinary), 3u);
  EXPECT_EQ(count(main, Op::kTailCall), 1u);
  EXPECT_EQ(count(main, Op::kMove) + count(main, Op::kTake), 0u);
  EXPECT_LE(main.num_registers, 5u);
}

TEST(VmCompile, ArmsThatMayFailAreJumpedOver) {
  auto executable = compiled("def @main(%x: int32) -> int32 { where(%x == 0, 0, 7 / %x) }",
                             {Value::scalar<int32_t>(0)});
  EXPECT_THROW(Machine(executable).run("main", std::vector<Value>{Value::scalar<int32_t>(0)}),
               Error);
  EXPECT_EQ(
      Machine(executable).run("main", std::vector<Value>{Value::scalar<int32_t>(2)}).as<int32_t>(),
      3);
}

TEST(VmCompile, OneGraphForARunOfTensors) {
  auto executable = compiled(
      "def @main(%x: Tensor[(4), float32]) { let %y = exp(%x); let %z = sum(%y); (%y * %z, "
      "cumsum(%y, axis=0)) }",
      {vector({1, 2, 3, 4})});
  ASSERT_EQ(executable->graphs.size(), 1u);
  EXPECT_EQ(executable->graphs[0].outputs.size(), 2u);
  EXPECT_EQ(executable->graphs[0].num_inputs, 1u);
}

TEST(VmCompile, AGraphEndsAtABranch) {
  auto executable = compiled(
      "def @main(%x: Tensor[(4), float32]) { let %s = sum(exp(%x)); if (%s < 1f) { tanh(%x) } else "
      "{ %x } }",
      {vector({1, 2, 3, 4})});
  EXPECT_EQ(executable->graphs.size(), 2u);
}

TEST(VmCompile, SizesFromComputedValuesBeginAGraph) {
  const char* text =
      "def @main(%x: Tensor[(3), int64]) { let %n = sum(%x); arange(0i64, %n, 1i64) * 2i64 }";
  auto executable = compiled(text, {Value(NDArray::from<int64_t>({3}, {1, 2, 1}))});
  EXPECT_EQ(executable->graphs.size(), 2u);
  Value result =
      Machine(executable)
          .run("main", std::vector<Value>{Value(NDArray::from<int64_t>({3}, {1, 2, 1}))});
  EXPECT_EQ(shape_text(result.shape()), "(4,)");
}

TEST(VmCompile, EachFieldIsTestedOnce) {
  const char* text = R"(
    type L { N, C(int32, L) }
    def @f(%a: L, %b: L) -> int32 {
      match ((%a, %b)) { (N, N) => 0, (N, C(%x, _)) => %x, (C(%x, _), N) => %x, (C(%x, _), C(%y, _)) => %x + %y }
    }
    def @main(%x: int32) { @f(C(%x, N), C(2, N)) + @f(N, C(%x, N)) + @f(N, N) }
  )";
  auto executable = compiled(text, {Value::scalar<int32_t>(5)});
  const Function& f = function(*executable, "@f");
  EXPECT_EQ(count(f, Op::kSwitch), 3u);
  EXPECT_EQ(count(f, Op::kTuple), 0u);  // it is only taken apart
  EXPECT_EQ(
      Machine(executable).run("main", std::vector<Value>{Value::scalar<int32_t>(5)}).as<int32_t>(),
      12);
}

TEST(VmCompile, ClausesAreTriedInOrderInLargeMatches) {
  // Four columns in which any of many clauses may be the first that fits.
  std::string clauses;
  for (int k = 0; k < 81; ++k) {
    const char* const kPatterns[] = {"_", "Z", "S(S(_))"};
    int d[] = {k % 3, k / 3 % 3, k / 9 % 3, k / 27};
    clauses += std::string("((") + kPatterns[d[0]] + ", " + kPatterns[d[3]] + "), (" +
               kPatterns[d[1]] + ", " + kPatterns[d[2]] + ")) => " + std::to_string((k * 37) % 81) +
               ", ";
    if (k == 0) clauses.clear();
  }
  std::string text =
      "type N { Z, S(N) }\ndef @f(%a: N, %b: N, %c: N, %d: N) -> int32 { match (((%a, %b), (%c, "
      "%d))) { " +
      clauses +
      "_ => 99 } }\ndef @n(%k: int32) -> N { if (%k == 0) { Z } else { S(@n(%k - 1)) } }\n" +
      "def @main(%a: int32, %b: int32, %c: int32, %d: int32) { @f(@n(%a), @n(%b), @n(%c), @n(%d)) "
      "}";
  std::vector<Value> arguments(4, Value::scalar<int32_t>(0));
  Module module = specialised(text, arguments);
  CompileOptions options;
  options.direct = true;
  Machine machine(compile(module, Name("main"), options));
  for (int32_t k = 0; k < 256; k += 3) {
    for (int32_t i = 0; i < 4; ++i)
      arguments[static_cast<size_t>(i)] = Value::scalar<int32_t>(k >> (2 * i) & 3);
    EXPECT_EQ(machine.run("main", arguments).as<int32_t>(),
              evaluate_function(module, "main", arguments).as<int32_t>())
        << k;
  }
}

TEST(VmCompile, ClosuresCaptureWhatTheyUse) {
  const char* text = R"(
    def @main(%n: int32) {
      let %k = %n * 2;
      let %even = fn (%x: int32) -> int32 { %x - (%x / 2) * 2 };
      let %loop = fn (%i: int32) -> int32 { if (%i < %k) { %loop(%i + 1 + %even(%i)) } else { %i + %even(%i) } };
      let %twice = fn (%f: fn (int32) -> int32, %x: int32) { %f(%f(%x)) };
      %twice(%loop, %n)
    }
  )";
  auto executable = compiled(text, {Value::scalar<int32_t>(5)});
  EXPECT_EQ(function(*executable, "%even").num_captures, 0u);
  EXPECT_EQ(function(*executable, "%loop").num_captures, 1u);
  EXPECT_EQ(count(function(*executable, "%loop"), Op::kTailCallClosure), 1u);
  EXPECT_EQ(count(function(*executable, "%loop"), Op::kCall), 2u);
  std::vector<Value> arguments{Value::scalar<int32_t>(5)};
  EXPECT_EQ(Machine(executable).run("main", arguments).as<int32_t>(),
            evaluate_function(specialised(text, arguments), "main", arguments).as<int32_t>());
}

TEST(VmCompile, EqualWorkIsCompiledOnce) {
  std::string text = "def @main(%x: Tensor[(4), float32]) {\n";
  for (int i = 0; i < 40; ++i)
    text += "  %" + std::to_string(i) + " = nn.softmax(" +
            (i == 0 ? "%x" : "%" + std::to_string(i - 1)) + " * %x);\n";
  text += "  %39\n}";
  std::vector<Value> arguments{vector({1, 2, 3, 4})};
  auto executable = compile(specialised(text, arguments), Name("main"));
  EXPECT_LE(executable->blobs.size(), 4u);
  EXPECT_LE(executable->kernels.size(), 8u);
}

TEST(VmCompile, ElementwiseKernelsMayWriteOverTheirInputs) {
  std::vector<Value> arguments{vector({1, 2, 3, 4})};
  auto executable =
      compile(specialised("def @main(%x: Tensor[(4), float32]) { let %y = cumsum(%x, axis=0); "
                          "cumsum(exp(%y) * 2f, axis=0) + reverse(%y, axis=0) }",
                          arguments),
              Name("main"));
  ASSERT_EQ(executable->graphs.size(), 1u);
  std::vector<size_t> pairs;
  for (const Launch& launch : executable->graphs[0].launches)
    pairs.push_back(launch.in_place.size());
  // Sums, exp in place, sums, then one of the two operands in place: the other is read backwards.
  EXPECT_EQ(pairs, (std::vector<size_t>{0, 1, 0, 1}));
}

// Another branch, further down in the code, does not keep a value from being moved.
TEST(VmCompile, ValuesAreMovedWhereNoPathReadsThemAgain) {
  std::vector<Value> arguments{Value::scalar(int64_t{3}), vector({1, 2, 3, 4})};
  auto executable =
      compile(specialised("def @main(%n: int64, %x: Tensor[(4), float32]) {"
                          "  let %loop = fn (%i: int64, %s: Tensor[(4), float32]) ->"
                          " Tensor[(4), float32] {"
                          "    if (%i < %n) { %loop(%i + 1i64, cumsum(%s, axis=0)) } else { %s }"
                          "  };"
                          "  %loop(0i64, %x) }",
                          arguments),
              Name("main"));
  size_t moved = 0, read = 0;
  for (const vm::Function& function : executable->functions) {
    for (const Instruction& instruction : function.code) {
      if (instruction.op != Op::kRunGraph) continue;
      const Graph& graph = executable->graphs[instruction.a];
      for (uint32_t k = 0; k < graph.num_inputs; ++k) {
        if (graph.places[k].extents.empty()) continue;
        ++read;
        moved += (function.args[instruction.first + k] & kLast) != 0 ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(read, 1u);
  EXPECT_EQ(moved, 1u);
}

TEST(VmCompile, LevelsAgree) {
  const char* text =
      "def @main(%x: Tensor[(4), float32]) { let %y = %x + 1f; (nn.dropout(%y).0, stack((%y, %x)), "
      "%y * 0.5f) }";
  std::vector<Value> arguments{vector({1, 2, 3, 4})};
  Module module = specialised(text, arguments);
  Value wanted = evaluate_function(module, "main", arguments);
  for (int level : {0, 1, 2, 3, 4}) {
    CompileOptions options;
    options.level = level;
    EXPECT_TRUE(
        bit_equal(Machine(compile(module, Name("main"), options)).run("main", arguments), wanted))
        << level;
  }
}

TEST(VmCompile, ThreadsDoNotChangeResults) {
  const char* text =
      "def @main(%x: Tensor[(300, 400), float32], %w: Tensor[(64, 400), float32]) { "
      "(sum(exp(%x), axis=[0]), nn.dense(%x, %w, units=64), nn.softmax(%x), mean(%x)) }";
  NDArray x = NDArray::empty({300, 400}, kFloat32), w = NDArray::empty({64, 400}, kFloat32);
  for (int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = static_cast<float>((i * 7919) % 1000) / 999.0f;
  for (int64_t i = 0; i < w.size(); ++i)
    w.data<float>()[i] = static_cast<float>((i * 104729) % 1000) / 999.0f;
  std::vector<Value> arguments{Value(x), Value(w)};
  auto executable = compile(specialised(text, arguments), Name("main"));
  MachineOptions one, four;
  one.threads = 1;
  four.threads = 4;
  Value wanted = Machine(executable, one).run("main", arguments);
  Machine machine(executable, four);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bit_equal(machine.run("main", arguments), wanted));
}

// Two products and what stands between them are one kernel, whose workers take blocks of rows in
// any order, each with scratch of its own.
TEST(VmCompile, BlocksDoNotDependOnThreads) {
  const std::string type = "Tensor[(4, 640, 64), float32]";
  const std::string text = "def @main(%q: " + type + ", %k: " + type + ", %v: " + type +
                           ") { nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, "
                           "transpose_b=True) * 0.2f), %v) }";
  std::vector<Value> arguments;
  for (uint64_t prime : {7919, 104729, 1299709}) {
    NDArray x = NDArray::empty({4, 640, 64}, kFloat32);
    for (int64_t i = 0; i < x.size(); ++i)
      x.data<float>()[i] = static_cast<float>(static_cast<uint64_t>(i) * prime % 1000) / 999.0f;
    arguments.emplace_back(x);
  }
  auto executable = compile(specialised(text, arguments), Name("main"));
  ASSERT_TRUE(std::ranges::any_of(executable->kernels, [](const Kernel& kernel) {
    return kernel.name.find("nn_softmax_nn_batch_matmul") != std::string::npos;
  }));
  MachineOptions one;
  one.threads = 1;
  const Value wanted = Machine(executable, one).run("main", arguments);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int threads : {2, 3, 5}) {
    callers.emplace_back([&, threads] {
      MachineOptions options;
      options.threads = threads;
      Machine machine(executable, options);
      for (int i = 0; i < 3; ++i) wrong += !bit_equal(machine.run("main", arguments), wanted);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(VmCompile, RegistersAreFew) {
  Function f;
  f.num_params = f.num_registers = 1;
  CodeWriter code(f);
  uint32_t value = 0;
  for (int i = 0; i < 100; ++i) {
    uint32_t next = code.emit_value(Op::kUnary, value);
    value = code.emit_value(Op::kBinary, next, next);
  }
  code.emit(Op::kReturn).a = value;
  assign_registers(f);
  EXPECT_LE(f.num_registers, 3u);
}

}  // namespace
}  // namespace relay::vm::vm_compile_test
