// Measures which sizes of tiles are the best for the kernels of a program on this machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <relay/codegen/tuned.h>
#include <relay/ir/module.h>
#include <relay/runtime/value.h>
#include <relay/vm/compiler/compile.h>

namespace relay::vm {

struct TuneProgress {
  size_t step = 0, steps = 0;  // this one, of as many as are expected
  double seconds_left = 0;     // about
  size_t kernels = 0;          // that are measured
  size_t better = 0;           // that have other sizes by now
};

struct TuneOptions {
  /// How programs are compiled; `tuned` is where the search begins.
  CompileOptions compile;
  int threads = 0;      // of runs, as MachineOptions::threads
  double seconds = 60;  // a limit; the step that it falls into is finished
  const std::atomic<bool>* interrupt =
      nullptr;  // ends the search: what was found until then counts
  std::function<void(const TuneProgress&)> on_progress;
};

struct TunedKernel {
  std::string name, source, key;
  double before_ns = 0, after_ns = 0;  // of all its calls in a run
  lower::TileChoice choice;            // the planner's sizes if they are the best
};

struct TuneResult {
  codegen::TunedKernels found;         // for CompileOptions::tuned
  std::vector<TunedKernel> kernels;    // that were measured, the slowest first
  double before_ns = 0, after_ns = 0;  // of a run
  bool complete = false;               // false: the time was up, or somebody interrupted
};

/// Compiles a program (see `compile`) with several sizes of tiles for the contractions that take
/// most of its time, all of them at once, and compares runs on the arguments in turns. A choice
/// counts if it was better twice. Results keep their bits. Throws Error if the program cannot be
/// compiled, and RuntimeError if it fails on the arguments.
TuneResult tune(const Module& module, Name entry, std::span<const Value> arguments,
                const TuneOptions& options);

}  // namespace relay::vm
