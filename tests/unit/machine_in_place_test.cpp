// Results that take over the memory of inputs, and launches that then have nothing to do.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include <relay/vm/machine/dataflow_plan.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_in_place_test {
namespace {

using namespace testing;

int32_t twice_kernel(const KernelArgs* args) {
  const auto* from = static_cast<const float*>(args->buffers[0]);
  auto* to = static_cast<float*>(args->buffers[1]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = 2 * from[i];
    return 0;
  });
}

// out = in, late: other workers have gone on by then if they may.
int32_t late_kernel(const KernelArgs* args) {
  const auto* from = static_cast<const float*>(args->buffers[0]);
  auto* to = static_cast<float*>(args->buffers[1]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int64_t i = begin; i < end; ++i) to[i] = from[i];
    return 0;
  });
}

struct Program {
  bool argument = false;     // the copy is of the caller's tensor, not of a fresh one
  bool kept = false;         // what is copied is returned too
  bool part = false;         // … or is half of a tensor
  bool also_output = false;  // the graph returns what it copies
  DType to = kFloat32;
};

// y = 2 x; z = a copy of y. Returns (z, y or z).
std::shared_ptr<Executable> program(const Program& asked) {
  auto e = std::make_shared<Executable>();
  uint32_t twice = kernel(*e, "twice", twice_kernel, true);
  uint32_t copy = kernel(*e, "copy", copy_kernel, true);
  GraphAssembler first("first");
  uint32_t n = first.extent(0, 0);
  uint32_t x = first.input(kFloat32, {n});
  uint32_t y = first.place(kFloat32, {n});
  first.launch(twice, {{x, false}, {y, true}}, {n});
  uint32_t half = y;
  if (asked.part) {
    uint32_t two = first.size(2), less = first.dim({DimCode::kFloorDiv, n, two, 0});
    half = first.place(kFloat32, {less}, y);
  }
  first.g.outputs = {half};
  uint32_t first_graph = first.add_to(*e);

  GraphAssembler second("second");
  uint32_t m = second.extent(0, 0);
  uint32_t from = second.input(kFloat32, {m});
  uint32_t to = second.place(asked.to, {m});
  second.launch(copy, {{from, false}, {to, true}}, {m}).in_place = {{1, 0, true}};
  second.g.outputs = {to};
  if (asked.also_output) second.g.outputs.push_back(from);
  uint32_t second_graph = second.add_to(*e);

  Assembler a("@main", 1, 5);
  uint32_t source = asked.argument ? 0 : 1;
  if (!asked.argument) a.list(Op::kRunGraph, kNone, first_graph, {Assembler::last(0), 1});
  std::vector<uint32_t> args{asked.kept ? source : Assembler::last(source), 2};
  if (asked.also_output) args.push_back(3);
  a.list(Op::kRunGraph, kNone, second_graph, args);
  a.list(Op::kTuple, 4, 0, {2, asked.kept ? source : asked.also_output ? 3u : 2u});
  a.ret(4);
  entry(*e, "main", a.add_to(*e));
  return e;
}

TEST(MachineInPlace, AResultTakesOverWhatNobodyElseHolds) {
  for (int threads : {1, 3}) {
    for (size_t n : {4, 100000}) {
      Value result = run(program({}), "main", {tensor(Floats(n, 3))}, threads);
      EXPECT_EQ(elements(result.field(0)), Floats(n, 6));
    }
  }
}

TEST(MachineInPlace, WhatIsStillReadIsCopied) {
  NDArray x = NDArray::from<float>({2}, {3, 4});
  Program kept;
  kept.kept = true;
  Value result = run(program(kept), "main", {Value(x)});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9}));
  EXPECT_EQ(elements(result.field(1)), (Floats{6, 8}));

  Program output;
  output.also_output = true;
  result = run(program(output), "main", {Value(x)});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9}));
  EXPECT_EQ(elements(result.field(1)), (Floats{6, 8}));

  Program argument;
  argument.argument = true;
  result = run(program(argument), "main", {Value(x)});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9}));
  EXPECT_EQ(elements(Value(x)), (Floats{3, 4}));
}

TEST(MachineInPlace, MemoryOfOthersIsCopied) {
  float own[] = {3, 4};
  const int64_t two = 2;
  Program argument;
  argument.argument = true;
  Machine machine(program(argument));
  Value result = machine.run(
      "main", std::vector<Value>{Value(NDArray::wrap(own, ShapeView(&two, 1), nullptr, kFloat32,
                                                     nullptr, nullptr, kCpu))});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9}));
  EXPECT_EQ(own[0], 3);
}

// A small part would keep all of the memory that it is in.
TEST(MachineInPlace, APartIsCopied) {
  Program part;
  part.part = true;
  Value result = run(program(part), "main", {tensor({1, 2, 3, 4})});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9}));
}

// One launch reads the input whose memory the result of the next one takes over.
TEST(MachineInPlace, NobodyWritesWhileOthersRead) {
  auto e = std::make_shared<Executable>();
  uint32_t twice = kernel(*e, "twice", twice_kernel, true);
  uint32_t late = kernel(*e, "late", late_kernel, true);
  GraphAssembler first("first");
  uint32_t n = first.extent(0, 0);
  uint32_t x = first.input(kFloat32, {n});
  uint32_t y = first.place(kFloat32, {n});
  first.launch(twice, {{x, false}, {y, true}}, {n});
  first.g.outputs = {y};
  uint32_t first_graph = first.add_to(*e);
  GraphAssembler second("second");
  uint32_t m = second.extent(0, 0);
  uint32_t from = second.input(kFloat32, {m});
  uint32_t copied = second.place(kFloat32, {m});
  uint32_t doubled = second.place(kFloat32, {m});
  second.launch(late, {{from, false}, {copied, true}}, {m});
  second.launch(twice, {{from, false}, {doubled, true}}, {m}).in_place = {{1, 0, false}};
  second.g.outputs = {copied, doubled};
  uint32_t second_graph = second.add_to(*e);
  Assembler a("@main", 1, 5);
  a.list(Op::kRunGraph, kNone, first_graph, {Assembler::last(0), 1});
  a.list(Op::kRunGraph, kNone, second_graph, {Assembler::last(1), 2, 3});
  a.list(Op::kTuple, 4, 0, {2, 3});
  a.ret(4);
  entry(*e, "main", a.add_to(*e));
  constexpr size_t kSize = 100'000;
  for (int threads : {1, 2, 4}) {
    Value result = run(e, "main", {tensor(Floats(kSize, 3))}, threads);
    EXPECT_EQ(elements(result.field(0)), Floats(kSize, 6)) << threads;
    EXPECT_EQ(elements(result.field(1)), Floats(kSize, 12)) << threads;
  }
}

// y = 2 x; z = a copy of y; the result is a copy of z, in place.
TEST(MachineInPlace, TemporariesLieInTheResultThatReplacesThem) {
  for (bool read_later : {false, true}) {
    auto e = std::make_shared<Executable>();
    uint32_t twice = kernel(*e, "twice", twice_kernel, true);
    uint32_t copy = kernel(*e, "copy", copy_kernel, true);
    GraphAssembler g("g");
    uint32_t n = g.extent(0, 0);
    uint32_t x = g.input(kFloat32, {n});
    uint32_t y = g.place(kFloat32, {n}), z = g.place(kFloat32, {n}),
             result = g.place(kFloat32, {n});
    uint32_t other = g.place(kFloat32, {n});
    g.launch(twice, {{x, false}, {y, true}}, {n});
    g.launch(copy, {{y, false}, {z, true}}, {n}).in_place = {{1, 0, true}};
    g.launch(copy, {{z, false}, {result, true}}, {n}).in_place = {{1, 0, true}};
    g.launch(twice, {{read_later ? z : result, false}, {other, true}}, {n});
    g.g.outputs = {result, other};
    const uint32_t graph = g.add_to(*e);
    const DataflowShape shape(e->graphs[graph], *e);
    EXPECT_EQ(shape.root[z], read_later ? z : result);
    EXPECT_EQ(shape.root[y], read_later ? y : result);
    EXPECT_EQ(shape.arenas.size(), read_later ? 1u : 0u);
    Assembler a("@main", 1, 4);
    a.list(Op::kRunGraph, kNone, graph, {Assembler::last(0), 1, 2});
    a.list(Op::kTuple, 3, 0, {1, 2});
    a.ret(3);
    entry(*e, "main", a.add_to(*e));
    for (int threads : {1, 3}) {
      for (size_t size : {3, 100'000}) {
        Value found = run(e, "main", {tensor(Floats(size, 3))}, threads);
        EXPECT_EQ(elements(found.field(0)), Floats(size, read_later ? 9 : 6));
        EXPECT_EQ(elements(found.field(1)), Floats(size, 12));
      }
    }
  }
}

// Only one of two temporaries can lie in the memory of their sum.
TEST(MachineInPlace, OneTemporaryLiesInAResult) {
  auto e = std::make_shared<Executable>();
  uint32_t twice = kernel(*e, "twice", twice_kernel, true);
  uint32_t sum = kernel(*e, "sum", sum_kernel, true);
  GraphAssembler g("g");
  uint32_t n = g.extent(0, 0);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t y = g.place(kFloat32, {n}), z = g.place(kFloat32, {n}), result = g.place(kFloat32, {n});
  g.launch(twice, {{x, false}, {y, true}}, {n});
  g.launch(twice, {{y, false}, {z, true}}, {n});
  g.launch(sum, {{y, false}, {z, false}, {result, true}}, {n}).in_place = {{2, 0, false},
                                                                           {2, 1, false}};
  g.g.outputs = {result};
  const uint32_t graph = g.add_to(*e);
  const DataflowShape shape(e->graphs[graph], *e);
  EXPECT_EQ((shape.root[y] == result) + (shape.root[z] == result), 1);
  Assembler a("@main", 1, 2);
  a.list(Op::kRunGraph, kNone, graph, {Assembler::last(0), 1});
  a.ret(1);
  entry(*e, "main", a.add_to(*e));
  for (int threads : {1, 3}) {
    EXPECT_EQ(elements(run(e, "main", {tensor(Floats(100'000, 3))}, threads)), Floats(100'000, 18));
  }
}

// (ref x; it grows by y; what it holds then; it grows by y again; what it holds)
std::shared_ptr<Executable> growing() {
  auto e = std::make_shared<Executable>();
  Assembler a("@main", 2, 6);
  a.op(Op::kRefCreate, 2, 0);
  a.list(Op::kRefAdd, 3, 0, {2, 1});
  a.op(Op::kRefRead, 4, 2);
  a.list(Op::kRefAdd, 3, 0, {2, Assembler::last(1)});
  a.op(Op::kRefRead, 5, 2);
  a.list(Op::kTuple, 5, 0, {4, 5});
  a.ret(5);
  entry(*e, "main", a.add_to(*e));
  return e;
}

TEST(MachineInPlace, ReferencesGrow) {
  Machine machine(growing(), {});
  const Value x = tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}), y = tensor(Floats(9, 10));
  Value result = machine.run("main", std::vector<Value>{x, y});
  // Whoever has a tensor keeps it as it is.
  EXPECT_EQ(elements(x), (Floats{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(elements(y), Floats(9, 10));
  EXPECT_EQ(elements(result.field(0)), (Floats{11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(elements(result.field(1)), (Floats{21, 22, 23, 24, 25, 26, 27, 28, 29}));
  // The same tensor, one repeated number, and columns of a matrix.
  result = machine.run("main", std::vector<Value>{y, y});
  EXPECT_EQ(elements(result.field(1)), Floats(9, 30));
  const int64_t nine[] = {9};
  const Value one(NDArray::uniform(NDArray::scalar(kFloat32, 1.0), nine));
  result = machine.run("main", std::vector<Value>{one, y});
  EXPECT_EQ(elements(result.field(1)), Floats(9, 21));
  result = machine.run("main", std::vector<Value>{y, one});
  EXPECT_EQ(elements(result.field(1)), Floats(9, 12));
  const NDArray matrix = NDArray::from<double>({2, 2}, {1, 2, 3, 4});
  const int64_t two[] = {2}, stride[] = {2};
  const Value column(matrix.view(two, stride, 0));
  result = machine.run("main", std::vector<Value>{column, column});
  EXPECT_EQ(result.field(1).array().data<double>()[1], 9);
  EXPECT_EQ(matrix.data<double>()[2], 3);
}

TEST(MachineInPlace, ReferencesThatCannotGrow) {
  Machine machine(growing(), {});
  auto refused = [&](Value x, Value y) {
    try {
      machine.run("main", std::vector<Value>{std::move(x), std::move(y)});
    } catch (const RuntimeError& error) {
      return render(error.diagnostics());
    }
    return std::string();
  };
  EXPECT_EQ(
      refused(tensor({1, 2}), tensor({1, 2, 3})),
      "error: the value read from a reference: expected Tensor[(3), float32], found Tensor[(2), "
      "float32]\n");
  EXPECT_NE(refused(tensor({1}), Value(NDArray::from<double>({1}, {1}))), "");
  EXPECT_NE(
      refused(Value(NDArray::from<int32_t>({1}, {1})), Value(NDArray::from<int32_t>({1}, {1}))),
      "");
  EXPECT_NE(refused(Value::scalar(1.0f), Value::scalar(1.0f)), "");
  auto e = std::make_shared<Executable>();
  Assembler a("@main", 2, 3);
  a.list(Op::kRefAdd, 2, 0, {0, 1});
  a.ret(2);
  entry(*e, "main", a.add_to(*e));
  try {
    run(e, "main", {tensor({1}), tensor({1})});
    ADD_FAILURE();
  } catch (const RuntimeError& error) {
    EXPECT_EQ(render(error.diagnostics()), "error: expected a reference, found a tensor\n");
  }
  auto wrong = growing();
  wrong->functions[0].code[1].count = 1;
  try {
    verify(*wrong);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("what is added to a reference is one value"),
              std::string::npos);
  }
}

TEST(MachineInPlace, AnotherTypeIsNotTakenOver) {
  Program other;
  other.to = kInt32;
  Value result = run(program(other), "main", {tensor({1, 2})});
  float nine = 9;
  EXPECT_EQ(std::memcmp(result.field(0).array().raw(), &nine, sizeof nine), 0);
}

}  // namespace
}  // namespace relay::vm::machine_in_place_test
