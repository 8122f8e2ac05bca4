// Graphs that add to what references hold, and closures whose captured values are moved out.
#include <gtest/gtest.h>

#include <functional>

#include <relay/support/error.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_cells_test {
namespace {

using namespace testing;

int32_t failing_kernel(const KernelArgs*) { return 1; }

// main(a, b, x): what the references a and b hold grows by x, of three elements; gives both.
std::shared_ptr<Executable> growing(KernelFn second = sum_kernel) {
  auto e = std::make_shared<Executable>();
  const uint32_t sum = kernel(*e, "sum", sum_kernel, true);
  const uint32_t other = kernel(*e, "other", second, true, {"something is wrong"});
  GraphAssembler g("sums");
  const uint32_t n = g.size(3);
  const uint32_t x = g.input(kFloat32, {n});
  const uint32_t a = g.input(kFloat32, {n}), b = g.input(kFloat32, {n});
  const uint32_t y = g.place(kFloat32, {n}), z = g.place(kFloat32, {n});
  g.launch(sum, {{a, false}, {x, false}, {y, true}}, {n}).in_place = {{2, 0, false}};
  g.launch(other, {{x, false}, {b, false}, {z, true}}, {n}).in_place = {{2, 1, false}};
  g.g.outputs = {y, z};
  const uint32_t graph = g.add_to(*e);
  Assembler m("@main", 3, 5);
  m.list(Op::kRunGraph, kNone, graph, {Assembler::last(2), 0, 1});
  m.f.code.back().b = 2;
  m.op(Op::kRefRead, 3, 0);
  m.op(Op::kRefRead, 4, 1);
  m.list(Op::kTuple, 4, 0, {3, 4});
  m.ret(4);
  entry(*e, "main", m.add_to(*e));
  return e;
}

std::string error_of(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  try {
    run(e, "main", std::move(args));
  } catch (const RuntimeError& error) {
    return render(error.diagnostics());
  }
  return {};
}

TEST(MachineCells, AGraphAddsToReferences) {
  for (int threads : {1, 3}) {
    const Value a = Value::reference(tensor({1, 2, 3})), kept = tensor({10, 20, 30});
    const Value b = Value::reference(kept);
    const void* memory = a.get().array().raw();
    const Value result = run(growing(), "main", {a, b, tensor({1, 1, 1})}, threads);
    EXPECT_EQ(elements(result.field(0)), (Floats{2, 3, 4}));
    EXPECT_EQ(elements(result.field(1)), (Floats{11, 21, 31}));
    // In place, where nobody else has the tensor.
    EXPECT_EQ(a.get().array().raw(), memory);
    EXPECT_EQ(elements(a.get()), (Floats{2, 3, 4}));
    EXPECT_EQ(elements(kept), (Floats{10, 20, 30}));
    EXPECT_EQ(elements(b.get()), (Floats{11, 21, 31}));
  }
}

TEST(MachineCells, TwoReferencesMayBeOne) {
  const Value a = Value::reference(tensor({1, 2, 3}));
  run(growing(), "main", {a, a, tensor({1, 1, 1})});
  EXPECT_EQ(elements(a.get()), (Floats{3, 4, 5}));
  const int64_t three[] = {3};
  const Value zeros =
      Value::reference(Value(NDArray::uniform(NDArray::scalar(kFloat32, 0.0), three)));
  const Value x = tensor({1, 2, 3});
  run(growing(), "main", {zeros, zeros, x});
  EXPECT_EQ(elements(zeros.get()), (Floats{2, 4, 6}));
  EXPECT_EQ(elements(x), (Floats{1, 2, 3}));
}

TEST(MachineCells, AfterAFailureReferencesHoldSomething) {
  const Value a = Value::reference(tensor({1, 2, 3})), b = Value::reference(tensor({4, 5, 6}));
  const Value x = tensor({1, 1, 1});
  EXPECT_NE(error_of(growing(failing_kernel), {a, b, x}).find("something is wrong"),
            std::string::npos);
  EXPECT_EQ(a.get().shape().size(), 1u);
  EXPECT_EQ(elements(b.get()), (Floats{4, 5, 6}));
  // The second is refused after the first was taken.
  const Value narrow = Value::reference(tensor({1, 2}));
  EXPECT_EQ(error_of(growing(), {a, narrow, x}),
            "error: the value read from a reference: expected Tensor[(3), float32], found "
            "Tensor[(2), float32]\n");
  EXPECT_EQ(a.get().shape().size(), 1u);
  EXPECT_EQ(elements(narrow.get()), (Floats{1, 2}));
  const Value number = Value::reference(Value::scalar(1.0f));
  EXPECT_NE(error_of(growing(), {a, number, x}).find("found float32"), std::string::npos);
  EXPECT_EQ(error_of(growing(), {a, x, x}), "error: expected a reference, found a tensor\n");
  EXPECT_EQ(a.get().shape().size(), 1u);
}

TEST(MachineCells, TheVerifierKnowsWhatGraphsAddTo) {
  const auto refused = [](const std::function<void(Executable&)>& change) {
    auto e = growing();
    change(*e);
    try {
      verify(*e);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](Executable&) {}), "");
  EXPECT_NE(refused([](Executable& e) {
              e.functions[0].code[0].b = 3;
            }).find("a graph with another number of inputs and results"),
            std::string::npos);
  const char* unknown = "a graph adds to a reference what has no known extents";
  EXPECT_NE(refused([](Executable& e) {
              e.graphs[0].dims[0] = {DimCode::kExtent, 0, 0, 0};
            }).find(unknown),
            std::string::npos);
  EXPECT_NE(refused([](Executable& e) {
              for (Place& place : e.graphs[0].places) place.dtype = kInt32;
            }).find(unknown),
            std::string::npos);
  const char* another = "a graph puts another type into a reference";
  EXPECT_NE(refused([](Executable& e) {
              e.graphs[0].places[e.graphs[0].outputs[1]].dtype = kFloat64;
            }).find(another),
            std::string::npos);
  EXPECT_NE(refused([](Executable& e) {
              e.graphs[0].dims.push_back({DimCode::kConst, 0, 0, 100000});
              const auto large = static_cast<uint32_t>(e.graphs[0].dims.size()) - 1;
              e.graphs[0].places[e.graphs[0].outputs[0]].extents = {large};
            }).find(another),
            std::string::npos);
}

// x ↦ 2 x, twice if the closure that captured it is called twice.
std::shared_ptr<Executable> capturing(bool again) {
  auto e = std::make_shared<Executable>();
  const uint32_t sum = kernel(*e, "sum", sum_kernel, true);
  const uint32_t copy = kernel(*e, "copy", copy_kernel, true);
  GraphAssembler first("first"), second("second");
  const uint32_t n = first.extent(0, 0), x = first.input(kFloat32, {n});
  const uint32_t y = first.place(kFloat32, {n});
  first.launch(sum, {{x, false}, {x, false}, {y, true}}, {n});
  first.g.outputs = {y};
  const uint32_t first_graph = first.add_to(*e);
  const uint32_t m = second.extent(0, 0), from = second.input(kFloat32, {m});
  const uint32_t to = second.place(kFloat32, {m});
  second.launch(copy, {{from, false}, {to, true}}, {m}).in_place = {{1, 0, true}};
  second.g.outputs = {to};
  const uint32_t second_graph = second.add_to(*e);

  Assembler f("fn", 0, 2);
  f.f.num_captures = 1;
  f.op(Op::kCapture, 0, 0);
  f.list(Op::kRunGraph, kNone, second_graph, {Assembler::last(0), 1});
  f.ret(1);
  const uint32_t inner = f.add_to(*e);
  Assembler a("@main", 1, 5);
  a.list(Op::kRunGraph, kNone, first_graph, {0, 1});
  a.list(Op::kClosure, 2, inner, {Assembler::last(1)});
  if (again) a.list(Op::kCallClosure, 3, 0, {2});
  a.list(Op::kCallClosure, 4, 0, {Assembler::last(2)});
  a.list(Op::kTuple, 4, 0, {again ? 3u : 4u, 4});
  a.ret(4);
  entry(*e, "main", a.add_to(*e));
  return e;
}

TEST(MachineCells, AClosureThatNobodyKeepsGivesItsTensorsAway) {
  const Value x = tensor({1, 2, 3});
  Value result = run(capturing(false), "main", {x});
  EXPECT_EQ(elements(result.field(1)), (Floats{2, 4, 6}));
  result = run(capturing(true), "main", {x});
  EXPECT_EQ(elements(result.field(0)), (Floats{9, 9, 9}));  // a copy, as it is called again
  EXPECT_EQ(elements(result.field(1)), (Floats{2, 4, 6}));
}

}  // namespace
}  // namespace relay::vm::machine_cells_test
