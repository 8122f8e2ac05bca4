// Loops whose turns are shared by threads.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <relay/support/error.h>
#include <relay/support/threads.h>

namespace relay::support_threads_test {
namespace {

using Loop = void (*)(int threads, size_t count, const std::function<void(size_t)>& work);

TEST(SupportThreads, TheFirstFailureIsThrownAndAllIsDone) {
  for (Loop loop : {Loop(with_stack), Loop(side_by_side)}) {
    for (int threads : {0, 1, 3, 60}) {
      std::vector<std::atomic<int>> done(50);
      EXPECT_NO_THROW(loop(threads, done.size(), [&](size_t i) { ++done[i]; }));
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
      std::atomic<int> tried{0};
      try {
        loop(threads, 50, [&](size_t i) {
          ++tried;
          if (i % 10 == 7) throw Error("item " + std::to_string(i));
        });
        FAIL();
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "item 7");
      }
      EXPECT_EQ(tried, 50);
    }
    EXPECT_NO_THROW(loop(4, 0, [&](size_t) { FAIL(); }));
  }
}

TEST(SupportThreads, ThreadsDoNotMultiply) {
  for (Loop outer : {Loop(with_stack), Loop(side_by_side)}) {
    outer(3, 6, [&](size_t) {
      const auto here = std::this_thread::get_id();
      side_by_side(8, 20, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
    });
  }
  // And afterwards they are many again.
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> waiting{0};
  side_by_side(3, 3, [&](size_t) {
    {
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    for (++waiting; waiting < 3;) std::this_thread::yield();
  });
  EXPECT_EQ(seen.size(), 3u);
}

}  // namespace
}  // namespace relay::support_threads_test
