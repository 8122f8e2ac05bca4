// Executables without native code that somebody has made up: whatever they say, no kernel of the
// runtime leaves its operands. Under AddressSanitizer this is what it says; without, crashes show.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include <relay/runtime/memory.h>
#include <tests/unit/executable_edits.h>
#include <tests/unit/library_cases.h>

namespace relay::vm::machine_mutation_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(MachineMutation, NoCallLeavesItsOperands) {
  const char* wanted = std::getenv("RELAY_FUZZ_RUNS");
  const int runs = wanted != nullptr ? std::atoi(wanted) : 300;  // of each kernel
  set_memory_limit(memory_in_use() + (size_t{64} << 20));
  // Long runs end soon.
  std::atomic<bool> interrupt{false}, done{false};
  std::thread watch([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      interrupt = true;
    }
  });
  std::mt19937 random(20);
  const Chance chance = [&](uint32_t n) {
    return n == 0 ? 0 : static_cast<uint32_t>(random() % n);
  };
  int ran = 0;
  for (const LibraryCase& each : library_cases()) {
    if (each.kernel == "debug") continue;  // prints
    for (int i = 0; i < runs; ++i) {
      std::shared_ptr<Executable> e = executable_of(each);
      ExecutableEditor editor(*e, chance);
      for (uint32_t edits = chance(4); edits > 0; --edits) editor.edit();
      if (e->kernels[0].library == "debug") continue;
      interrupt = false;
      if (load_and_run(*e, chance, interrupt)) ++ran;
    }
  }
  done = true;
  watch.join();
  set_memory_limit(0);
  EXPECT_GT(ran, runs);
}

}  // namespace
}  // namespace relay::vm::machine_mutation_test
