// A program on its way to machine code, as one JSON document: what `relay explore` shows.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/ir/module.h>
#include <relay/runtime/value.h>
#include <relay/vm/machine/executable.h>

namespace relay::explore {

struct Options {
  std::string title;  // "bert_base.onnx"
  codegen::Target target = codegen::Target::host();
  int level = 3;
  int threads = 0;
  bool winograd = true;
  bool onednn = false;
  std::filesystem::path cache;  // of compiled kernels
  /// Runs the program for a profile, and again for the values of its nodes, for at most so many
  /// seconds each; 0: not at all.
  double run_seconds = 20;
  /// The best that the machine does, for shares of it: 10^9 operations and bytes a second.
  double peak_gflops = 0, peak_gigabytes = 0;
  /// When it becomes true, runs end.
  std::atomic<bool>* interrupt = nullptr;
};

/// Documents have a format number, which changes when a reader would have to.
inline constexpr int kFormat = 1;

/// Compiles the function `entry` of a specialised module and records how. `arguments` are its
/// parameters' values; made up if there are none and the program runs. Throws `Error` for a program
/// that cannot be compiled; one that cannot run has no profile, and a note says why.
std::string program_document(const Module& module, Name entry, std::vector<Value> arguments,
                             const Options& options);
/// The same of a compiled program, which has no stages but the last one. Without arguments it is
/// not run.
std::string executable_document(std::shared_ptr<const vm::Executable> executable,
                                const std::string& entry, std::vector<Value> arguments,
                                const Options& options);

}  // namespace relay::explore
