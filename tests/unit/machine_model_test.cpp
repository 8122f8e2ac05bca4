// The model of the machine: ages of memory, and the time of launches.
#include <gtest/gtest.h>

#include <relay/vm/machine/machine_model.h>

namespace relay::vm::machine_model_test {
namespace {

const void* at(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(CacheTrace, TheAgeIsWhatWasTouchedSince) {
  CacheTrace trace;
  EXPECT_GT(trace.age(at(1000), 100), int64_t{1} << 60);
  trace.touch(at(1000), 100);
  EXPECT_EQ(trace.age(at(1000), 100), 0);
  trace.touch(at(5000), 300);
  EXPECT_EQ(trace.age(at(1000), 100), 300);
  EXPECT_EQ(trace.age(at(5000), 300), 0);
  trace.touch(at(1000), 100);
  EXPECT_EQ(trace.age(at(5000), 300), 100);
}

TEST(CacheTrace, PartsOfMemory) {
  CacheTrace trace;
  trace.touch(at(1000), 1000);
  // Of a part that is touched later the rest stays as old as it is.
  trace.touch(at(1400), 200);
  EXPECT_EQ(trace.age(at(1400), 200), 0);
  EXPECT_EQ(trace.age(at(1000), 400), 200);
  EXPECT_EQ(trace.age(at(1600), 400), 200);
  // The oldest part counts.
  EXPECT_EQ(trace.age(at(1500), 200), 200);
  // Over the ends of all.
  trace.touch(at(900), 1300);
  EXPECT_EQ(trace.age(at(1700), 100), 0);
  EXPECT_GT(trace.age(at(2200), 10), int64_t{1} << 60);
  trace.touch(at(900), 0);
  EXPECT_EQ(trace.age(at(900), 10), 0);
}

TEST(MachineModel, StepsWhileMemoryMoves) {
  MachineModel model;
  model.one = {2, 4, 0.5, {32, 16, 8}};
  model.all = {4, 8, 1, {64, 32, 12}};
  model.launch_ns = 100;
  model.share_ns = 1000;
  LaunchWork work;
  EXPECT_EQ(predicted_ns(model, work), 100);
  work.products = 2000;  // 1000 ns
  work.steps = 400;      // 100 ns
  work.functions = 50;   // 100 ns
  EXPECT_EQ(predicted_ns(model, work), 1300);
  work.bytes = {320, 160, 80};  // 10 + 10 + 10 ns
  EXPECT_EQ(predicted_ns(model, work), 1300);
  work.bytes = {3200, 16000, 8000};  // 100 + 1000 + 1000 ns
  EXPECT_EQ(predicted_ns(model, work), 100 + 1000 + 100 + 2100);
  work.bytes = {};
  work.shared = true;
  EXPECT_EQ(predicted_ns(model, work), 100 + 1000 + 600);
}

}  // namespace
}  // namespace relay::vm::machine_model_test
