// Child processes of a process whose other threads are in the middle of everything.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <relay/runtime/value.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/span.h>
#include <tests/support/child_process.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_fork_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using relay::testing::kForks;
using relay::testing::status_of_child;

uint32_t library(Executable& e, const std::string& name) {
  Kernel kernel;
  kernel.name = kernel.library = name;
  kernel.implementation = "library";
  e.kernels.push_back(kernel);
  return static_cast<uint32_t>(e.kernels.size() - 1);
}

// @main(x): the sorted rows of x, and the transform of x with itself.
std::shared_ptr<Executable> sort_and_transform() {
  auto e = std::make_shared<Executable>();
  uint32_t sort = library(*e, "sort"), dft = library(*e, "dft");
  GraphAssembler g("both");
  uint32_t m = g.extent(0, 0), n = g.extent(0, 1);
  uint32_t x = g.input(kFloat32, {m, n});
  uint32_t sorted = g.place(kFloat32, {m, n});
  uint32_t re = g.place(kFloat32, {m, n}), im = g.place(kFloat32, {m, n});
  g.launch(sort, {{x, false}, {sorted, true}}).params = {{"axis", 1}, {"ascending", true}};
  g.launch(dft, {{x, false}, {x, false}, {re, true}, {im, true}}).params = {{"inverse", false}};
  g.g.outputs = {sorted, re, im};
  graph_entry(*e, "main", g.add_to(*e));
  return e;
}

Value numbers(int64_t rows, int64_t columns) {
  NDArray x = NDArray::empty({rows, columns}, kFloat32);
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 101);
  return Value(x);
}

// Everything that there is to lock: blocks of memory, tables of names, sources and constructors,
// plans of transforms, an executable's image, the team of threads.
void use_everything(const std::shared_ptr<Executable>& e, int64_t round) {
  for (int64_t i = 0; i < 50; ++i) {
    NDArray::empty({1000 + 500 * (i % 7)}, kFloat32);
    ConstructorInfo::intern(Name("C" + std::to_string(i)), Name("T"), static_cast<int32_t>(i), 0);
  }
  SourceMap::add("source", "text");
  MachineOptions options;
  options.threads = 3;
  Machine machine(e, options);
  std::vector<Value> args{numbers(64, 200 + round % 40)};
  machine.run("main", args);
}

TEST(MachineFork, AChildCanUseEverything) {
  if (!kForks) GTEST_SKIP();
  auto e = sort_and_transform();
  MachineOptions options;
  options.threads = 3;
  Machine machine(e, options);
  const std::vector<Value> args{numbers(64, 300)};
  const Value expected = machine.run("main", args);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int64_t other = 0; other < 3; ++other) {
    others.emplace_back([&, other] {
      for (int64_t round = other; !stop; ++round) use_everything(e, round);
    });
  }
  for (int i = 0; i < 100; ++i) {
    const int status = status_of_child([&] {
      for (int64_t round = 0; round < 3; ++round) use_everything(e, 17 * i + round);
      return bit_equal(machine.run("main", args), expected) ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
    if (status != 0) break;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(bit_equal(machine.run("main", args), expected));
}

// Whoever holds several takes them in an order of their own, and makes new ones meanwhile.
TEST(MachineFork, LocksInAnyOrder) {
  if (!kForks) GTEST_SKIP();
  ForkMutex a, b;
  int both = 0;  // even where nobody is in between
  std::atomic<bool> stop{false};
  auto take = [&](ForkMutex& first, ForkMutex& second) {
    while (!stop) {
      std::scoped_lock lock(first, second);
      ForkMutex fresh;
      std::lock_guard inner(fresh);
      ++both;
      ++both;
    }
  };
  std::thread one([&] { take(a, b); }), two([&] { take(b, a); });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(status_of_child([&] {
                std::scoped_lock lock(b, a);
                return both % 2;
              }),
              0);
  }
  stop = true;
  one.join();
  two.join();
  // One that the thread holds which forks stays its own.
  a.lock();
  EXPECT_EQ(status_of_child([&] {
              if (a.try_lock() || !b.try_lock()) return 2;
              a.unlock();
              return a.try_lock() ? 0 : 3;
            }),
            0);
  a.unlock();
}

}  // namespace
}  // namespace relay::vm::machine_fork_test
