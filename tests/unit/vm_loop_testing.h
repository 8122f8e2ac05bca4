// What tests of native loops share: programs from text, and loops that only an interruption ends.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm::loop_testing {

inline Module typed(const std::string& text) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  return module;
}

inline std::shared_ptr<const Executable> compiled(const Module& module, int level = 3) {
  CompileOptions options;
  options.level = level;
  return compile(module, Name("main"), options);
}

/// Runs @main, which does not end, until another thread interrupts it.
inline void expect_interruption(const std::shared_ptr<const Executable>& executable,
                                const std::vector<Value>& arguments) {
  std::atomic<bool> interrupt{false};
  MachineOptions options;
  options.interrupt = &interrupt;
  Machine machine(executable, options);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    interrupt = true;
  });
  EXPECT_THROW(machine.run("main", arguments), Interrupted);
  other.join();
}

}  // namespace relay::vm::loop_testing
