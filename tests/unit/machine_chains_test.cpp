// Chains of launches that have nothing in common: each is one worker's, beside others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <relay/support/error.h>
#include <relay/vm/machine/dataflow_plan.h>

#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_chains_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr int64_t kLong = 300'000;  // operations of some ten microseconds
constexpr int64_t kShort = 1'000;

// out[i] = 2 * a[n - 1 - i] + 1 through scratch; dims: n. Fails at an element below 0.
int32_t turn_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  auto* scratch = static_cast<float*>(args->scratch);
  const int64_t n = args->dims[0];
  for (int64_t i = 0; i < n; ++i) {
    if (a[i] < 0) {
      args->detail->index = static_cast<int64_t>(a[i]);
      args->detail->extent = n;
      return 1;
    }
    scratch[i] = a[i];
  }
  for (int64_t i = 0; i < n; ++i) out[i] = 2 * scratch[n - 1 - i] + 1;
  return 0;
}

// out = a; dims: n
int32_t copy_kernel(const KernelArgs* args) {
  auto* a = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  for (int64_t i = 0; i < args->dims[0]; ++i) out[i] = a[i];
  return 0;
}

// As many chains as inputs, each of `length` launches that take turns, each of so many operations;
// a result for each.
std::shared_ptr<Executable> chains(uint32_t count, uint32_t length, int64_t operations,
                                   bool meet = false) {
  auto e = std::make_shared<Executable>();
  const uint32_t turn = kernel(*e, "turn", turn_kernel, false, {"index out of range"});
  GraphAssembler g("region");
  const uint32_t n = g.extent(0, 0), flops = g.size(operations), four = g.size(4);
  const uint32_t bytes = g.dim({DimCode::kMul, n, four, 0});
  std::vector<uint32_t> now;
  for (uint32_t i = 0; i < count; ++i) now.push_back(g.input(kFloat32, {n}));
  for (uint32_t k = 0; k < length; ++k) {
    for (uint32_t& at : now) {
      // The last of each chain reads the second one.
      const uint32_t from = meet && k + 1 == length ? now[1] : at;
      const uint32_t to = g.place(kFloat32, {n});
      Launch& launch = g.launch(turn, {{from, false}, {to, true}}, {n});
      launch.scratch = bytes;
      launch.flops = flops;
      at = to;
    }
  }
  g.g.outputs = now;
  graph_entry(*e, "main", g.add_to(*e));
  return e;
}

std::vector<DataflowPlan::Chain> planned(const Executable& e, int64_t n) {
  const DataflowShape shape(e.graphs[0], e);
  return make_plan(e.graphs[0], shape, e, {n})->shares[0].chains;
}

TEST(MachineChains, AreFound) {
  using Chain = DataflowPlan::Chain;
  const auto two = chains(2, 3, kLong);
  EXPECT_EQ(planned(*two, 8), (std::vector<Chain>{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(planned(*chains(3, 2, kLong), 8), (std::vector<Chain>{{0, 3}, {1, 4}, {2, 5}}));
  // The last launches all read what the second chain made.
  EXPECT_EQ(planned(*chains(2, 3, kLong, true), 8), (std::vector<Chain>{{0, 2}, {1, 3, 4, 5}}));
  // One, and too little work.
  EXPECT_TRUE(planned(*chains(1, 3, kLong), 8).empty());
  EXPECT_TRUE(planned(*chains(2, 3, kShort), 8).empty());
}

TEST(MachineChains, ResultsDoNotDependOnWorkers) {
  for (uint32_t count : {2u, 3u, 7u}) {
    const auto e = chains(count, 5, kLong);
    std::vector<Value> inputs;
    for (uint32_t i = 0; i < count; ++i)
      inputs.push_back(tensor({1.0f * static_cast<float>(i), 5, 3, 2}));
    const Value expected = run(e, "main", inputs);
    for (int threads : {2, 3, 8}) {
      MachineOptions options;
      options.threads = threads;
      Machine machine(e, options);
      for (int again = 0; again < 50; ++again) {
        const Value found = machine.run("main", inputs);
        for (uint32_t i = 0; i < count; ++i)
          ASSERT_EQ(elements(found.field(i)), elements(expected.field(i))) << i;
      }
    }
  }
}

// The first of the launches that fail, though a worker may come to it after another one.
TEST(MachineChains, TheFirstFailureIsSaid) {
  const auto e = chains(3, 4, kLong);
  const Value good = tensor({1, 2}), late = tensor({1, -8}), later = tensor({1, -9});
  auto failure = [&](std::vector<Value> inputs, int threads) -> std::string {
    try {
      run(e, "main", std::move(inputs), threads);
    } catch (const RuntimeError& error) {
      return error.what();
    }
    return "no failure";
  };
  for (int threads : {1, 2, 3}) {
    for (int again = 0; again < 50; ++again) {
      ASSERT_NE(failure({good, late, later}, threads).find("index -8"), std::string::npos);
      ASSERT_NE(failure({later, good, late}, threads).find("index -9"), std::string::npos);
      ASSERT_EQ(failure({good, good, good}, threads), "no failure");
    }
  }
}

// A copy of what lies in its place does not count; where there is something to copy, it is done.
TEST(MachineChains, CopiesInPlace) {
  auto e = std::make_shared<Executable>();
  const uint32_t copy = kernel(*e, "copy", copy_kernel);
  const uint32_t turn = kernel(*e, "turn", turn_kernel, false, {"index out of range"});
  GraphAssembler g("region");
  const uint32_t n = g.extent(0, 0), flops = g.size(kLong), four = g.size(4);
  const uint32_t bytes = g.dim({DimCode::kMul, n, four, 0});
  std::vector<uint32_t> from{g.input(kFloat32, {n}), g.input(kFloat32, {n})};
  for (uint32_t at : from) {
    const uint32_t kept = g.place(kFloat32, {n}), turned = g.place(kFloat32, {n});
    Launch& first = g.launch(copy, {{at, false}, {kept, true}}, {n});
    first.in_place = {{1, 0, true}};
    first.flops = flops;
    Launch& second = g.launch(turn, {{kept, false}, {turned, true}}, {n});
    second.scratch = bytes;
    second.flops = flops;
    g.g.outputs.push_back(kept);
    g.g.outputs.push_back(turned);
  }
  graph_entry(*e, "main", g.add_to(*e));
  const DataflowShape shape(e->graphs[0], *e);
  const auto plan = make_plan(e->graphs[0], shape, *e, {2});
  EXPECT_EQ(plan->shares[0].chains.size(), 2u);
  EXPECT_EQ(plan->shares[0].copies, (std::vector<uint32_t>{0, 2}));
  for (int threads : {1, 2}) {
    MachineOptions options;
    options.threads = threads;
    Machine machine(e, options);
    for (bool held : {false, true}) {
      std::vector<Value> inputs{tensor({1, 2}), tensor({3, 4})};
      const std::vector<Value> others = held ? inputs : std::vector<Value>();
      const Value found = machine.run("main", inputs);
      EXPECT_EQ(elements(found.field(0)), (std::vector<float>{1, 2}));
      EXPECT_EQ(elements(found.field(1)), (std::vector<float>{5, 3}));
      EXPECT_EQ(elements(found.field(2)), (std::vector<float>{3, 4}));
      EXPECT_EQ(elements(found.field(3)), (std::vector<float>{9, 7}));
      for (size_t i = 0; i < others.size(); ++i)
        EXPECT_EQ(elements(others[i])[0], static_cast<float>(2 * i + 1));
    }
  }
}

}  // namespace
}  // namespace relay::vm::machine_chains_test
