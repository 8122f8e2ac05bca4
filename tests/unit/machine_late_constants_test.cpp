// Constants that are made while an executable is saved: the file is what it would be with their
// values, whatever order they come in, and nothing is left of one that cannot be made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::vm::machine_late_constants_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MachineLateConstants : public ::testing::Test {
 protected:
  MachineLateConstants() {
    std::string name = fs::temp_directory_path() / "relay_late_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~MachineLateConstants() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path folder_;
};

NDArray counted(int64_t size, float first) {
  NDArray array = NDArray::empty({size}, kFloat32);
  std::iota(array.data<float>(), array.data<float>() + size, first);
  return array;
}

NDArray uniform(int64_t size, float value) {
  return NDArray::uniform(NDArray::scalar(kFloat32, value), Shape{size});
}

/// One executable with and without the values of its constants; the first ones take longest.
struct Two {
  Executable given, late;
  std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);

  Two() {
    for (Executable* e : {&given, &late}) {
      e->constants.emplace_back(Value::scalar(3.5f));
      e->constants.emplace_back(counted(5, 0));
    }
    for (int i = 0; i < 12; ++i) add(1000 * i + 7, 30ms / (i + 1));
    for (Executable* e : {&given, &late}) e->constants.emplace_back(counted(3, 1));
  }

  void add(int64_t size, std::chrono::nanoseconds delay) {
    const auto number = static_cast<uint32_t>(late.constants.size());
    NDArray value = counted(size, static_cast<float>(number));
    given.constants.emplace_back(value);
    late.constants.emplace_back(uniform(size, 0));
    late.late_constants[number] = [value, delay, made = made] {
      std::this_thread::sleep_for(delay);
      ++*made;
      return value;
    };
  }
};

TEST_F(MachineLateConstants, TheFileIsTheSame) {
  const Two two;
  save_executable(two.given, path("given.rlx"));
  save_executable(two.late, path("late.rlx"));
  EXPECT_EQ(*two.made, 12);  // each once
  EXPECT_EQ(contents(path("given.rlx")), contents(path("late.rlx")));
  EXPECT_EQ(executable_bytes(two.given), executable_bytes(two.late));
  auto back = load_executable(path("late.rlx"));
  ASSERT_EQ(back->constants.size(), two.given.constants.size());
  EXPECT_TRUE(back->late_constants.empty());
  for (size_t i = 0; i < back->constants.size(); ++i)
    EXPECT_TRUE(bit_equal(back->constants[i], two.given.constants[i])) << i;
}

TEST_F(MachineLateConstants, GoThroughPipes) {
  const Two two;
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = contents(path("pipe")); });
  save_executable(two.late, path("pipe"));
  reader.join();
  save_executable(two.given, path("given.rlx"));
  EXPECT_EQ(contents(path("given.rlx")), read);
}

TEST_F(MachineLateConstants, UniformOnesAreWrittenWhole) {
  Executable e;
  e.constants.emplace_back(uniform(100, 0));
  e.late_constants[0] = [] { return uniform(100, 2); };
  save_executable(e, path("a.rlx"));
  NDArray back = load_executable(path("a.rlx"))->constants[0].array();
  EXPECT_EQ(back.extent(0), 100);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(back.data<float>()[i], 2.0f);
}

TEST_F(MachineLateConstants, WhatCannotBeMadeLeavesTheOldFile) {
  Two two;
  two.late.late_constants[9] = []() -> NDArray { throw Error("no such weights"); };
  std::ofstream(path("a.rlx")) << "old contents";
  try {
    save_executable(two.late, path("a.rlx"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no such weights"));
  }
  EXPECT_EQ(contents(path("a.rlx")), "old contents");
  EXPECT_EQ(files(), 1u);
  // One of another shape is a defect of whoever made the executable.
  two.late.late_constants[9] = [] { return counted(1, 0); };
  EXPECT_THROW(save_executable(two.late, path("a.rlx")), InternalError);
  EXPECT_EQ(contents(path("a.rlx")), "old contents");
  EXPECT_EQ(files(), 1u);
}

TEST_F(MachineLateConstants, AFailureEndsTheRest) {
  Executable e;
  std::atomic<int> made = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    e.constants.emplace_back(uniform(1000, 0));
    e.late_constants[i] = [&made, i]() -> NDArray {
      if (i == 0) throw Error("no such weights");
      std::this_thread::sleep_for(2ms);
      ++made;
      return counted(1000, 0);
    };
  }
  EXPECT_THROW(save_executable(e, path("a.rlx"), 2), Error);
  EXPECT_LT(made, 500);  // on a busy machine the thread that fails may come late
  EXPECT_EQ(files(), 0u);
}

// The first one takes longest: the others wait, and do not pile up in memory.
TEST_F(MachineLateConstants, FewAreInMemory) {
  constexpr int64_t kSize = 1 << 18;  // a megabyte
  Executable e;
  const size_t before = memory_in_use();
  std::atomic<size_t> most = 0;
  for (uint32_t i = 0; i < 40; ++i) {
    e.constants.emplace_back(uniform(kSize, 0));
    e.late_constants[i] = [&most, i] {
      if (i == 0) std::this_thread::sleep_for(300ms);
      NDArray value = counted(kSize, 0);
      size_t seen = most, now = memory_in_use();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      return value;
    };
  }
  save_executable(e, path("a.rlx"), 2);
  EXPECT_LT(most, before + (size_t{8} << 20));
  EXPECT_EQ(load_executable(path("a.rlx"))->constants.size(), 40u);
}

TEST_F(MachineLateConstants, FilesMayNotBecomeThatLarge) {
  const Two two;
  struct rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 10000, old.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(save_executable(two.late, path("a.rlx")), Error);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(*two.made, 0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(MachineLateConstants, NoMachineRunsThem) {
  auto executable = std::make_shared<Executable>();
  executable->constants.emplace_back(uniform(4, 0));
  executable->late_constants[0] = [] { return counted(4, 0); };
  try {
    Machine machine{executable};
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("compiled to be saved cannot run"));
  }
}

// Packed weights, transformed ones, and one that is read twice, as compilers leave them.
TEST_F(MachineLateConstants, CompiledProgramsAreTheSame) {
  Module module = parse_module("late.rly", R"(
    #[version = "0.0.5"]
    def @main(%x: Tensor[(1, 128, 14, 14), float32], %y: Tensor[(64, 600), float32],
              %w: Tensor[(256, 128, 3, 3), float32], %v: Tensor[(500, 600), float32]) {
      let %d = nn.dense(%y, %v, units=500);
      (nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3])), nn.relu(%d),
       nn.softmax(nn.dense(%y + 1f, %v, units=500)))
    })");
  infer_types_or_throw(module);
  const std::vector<Value> values = {
      relay::testing::random_array(Shape{1, 128, 14, 14}, kFloat32, 1),
      relay::testing::random_array(Shape{64, 600}, kFloat32, 2),
      relay::testing::random_array(Shape{256, 128, 3, 3}, kFloat32, 3),
      relay::testing::random_array(Shape{500, 600}, kFloat32, 4)};
  module = close_program(module, Name("main"), values, {false, false, true, true});
  CompileOptions options;
  auto given = compile(module, Name("main"), options);
  options.late_constants = true;
  auto late = compile(module, Name("main"), options);
  EXPECT_EQ(late->late_constants.size(), 2u);
  EXPECT_EQ(disassemble(*given), disassemble(*late));
  save_executable(*late, path("late.rlx"));
  save_executable(*given, path("given.rlx"));
  EXPECT_EQ(contents(path("given.rlx")), contents(path("late.rlx")));
  const std::vector<Value> arguments = {values[0], values[1]};
  Machine expected(given), found(load_executable(path("late.rlx")));
  EXPECT_TRUE(bit_equal(expected.run("main", arguments), found.run("main", arguments)));
}

}  // namespace
}  // namespace relay::vm::machine_late_constants_test
