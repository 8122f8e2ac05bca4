// The barrier and the team of workers.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <relay/vm/machine/workers.h>

namespace relay::vm {
namespace {

TEST(MachineWorkers, BarrierKeepsThreadsTogether) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 2000;
  Barrier barrier(kThreads);
  // Plain memory: the barrier alone orders the accesses.
  std::vector<int> counts(kThreads, 0);
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto self = static_cast<size_t>(t);
      for (int round = 0; round < kRounds; ++round) {
        counts[self] = round;
        // So long that the others give way, or fall asleep.
        if (round % 500 == 0 && t == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(round % 1000 == 0 ? 2 : 60));
        }
        barrier.wait();
        for (int count : counts) wrong[self] += count != round;
        barrier.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) EXPECT_EQ(count, 0);
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

}  // namespace
}  // namespace relay::vm
