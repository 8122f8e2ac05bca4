// The barrier and the team of workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <relay/vm/machine/workers.h>

namespace relay::vm {
namespace {

// Of every kind: two threads have a processor each where there are two, and are patient; of more
// than there are processors some always wait for others' turns.
TEST(MachineWorkers, BarrierKeepsThreadsTogether) {
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int count : {1, 2, 3, 2 * processors + 1}) {
    constexpr int kRounds = 200;
    auto size = static_cast<size_t>(count);
    Barrier barrier(count);
    // Plain memory: the barrier alone orders the accesses.
    std::vector<int> counts(size, 0);
    std::vector<int> wrong(size, 0);
    std::vector<std::thread> threads;
    for (size_t self = 0; self < size; ++self) {
      threads.emplace_back([&, self] {
        for (int round = 0; round < kRounds; ++round) {
          counts[self] = round;
          // Each is late now and then: so long that the others give way, or fall asleep.
          if (round % 50 == static_cast<int>(self)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(round % 100 < 50 ? 1 : 40));
          }
          barrier.wait();
          for (int each : counts) wrong[self] += each != round;
          barrier.wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int each : wrong) EXPECT_EQ(each, 0) << count << " threads";
  }
}

// The last to arrive comes about when the others fall asleep: who sleeps is woken.
TEST(MachineWorkers, NobodySleepsThroughTheEnd) {
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int count = processors + 1;  // the least patient kind
  Barrier barrier(count);
  std::atomic<int> passed{0};
  constexpr int kRounds = 400;
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        if (t == round % count) {
          std::this_thread::sleep_for(std::chrono::microseconds(100 + round % 200));
        }
        barrier.wait();
        passed.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed, count * kRounds);
}

TEST(MachineWorkers, EveryWorkerRunsOnce) {
  for (int count : {1, 2, 4}) {
    Workers workers(count);
    std::vector<int> ran(static_cast<size_t>(count), 0);
    for (int i = 0; i < 20; ++i) {
      bool complete = workers.run(
          [](void* context, int thread) {
            ++(*static_cast<std::vector<int>*>(context))[static_cast<size_t>(thread)];
          },
          &ran);
      if (!complete) GTEST_SKIP() << "the system gives fewer threads";
    }
    for (int each : ran) EXPECT_EQ(each, 20);
  }
}

// Machines of several threads of a program, each with a team of its own on the same processors.
TEST(MachineWorkers, TeamsAtOnce) {
  struct Team {
    Workers workers{3};
    std::vector<int> counts = std::vector<int>(3, 0);
    std::atomic<int> wrong{0};
  };
  std::atomic<int> refused{0};
  std::vector<Team> teams(3);
  std::vector<std::thread> callers;
  for (Team& team : teams) {
    callers.emplace_back([&] {
      auto body = [](void* context, int thread) {
        auto& [workers, counts, wrong] = *static_cast<Team*>(context);
        for (int round = 1; round < 50; ++round) {
          counts[static_cast<size_t>(thread)] = round;
          workers.barrier().wait();
          for (int each : counts) wrong += each != round;
          workers.barrier().wait();
        }
      };
      for (int i = 0; i < 10; ++i) refused += team.workers.run(body, &team) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (Team& team : teams) EXPECT_EQ(team.wrong, 0);
  if (refused != 0) GTEST_SKIP() << "the system gives fewer threads";
}

}  // namespace
}  // namespace relay::vm
