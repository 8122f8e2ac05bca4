// From typed IR to executables of the machine.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/codegen/tuned.h>
#include <relay/graph/rewrite.h>
#include <relay/ir/module.h>
#include <relay/runtime/dtype.h>
#include <relay/support/diagnostic.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

struct CompileOptions {
  codegen::Target target = codegen::Target::host();
  int threads = 0;              // that compile together; 0: one for each core
  std::filesystem::path cache;  // of compiled kernels; empty for none
  int level = 3;                // of optimisation, as PassContext::opt_level
  /// For tests of the compiler alone: operators run in the direct evaluator, and no code is
  /// generated. Such an executable is bound to this process.
  bool direct = false;
  /// Computes products and convolutions of float32 by oneDNN, which is loaded when they run.
  bool onednn = false;
  /// Rewrites graphs before kernels are made; never at level 0.
  bool rewrite_graphs = true;
  /// Allows convolutions in tiles, with fewer operations and more rounding; never below level 3,
  /// nor if the pass context has `relay.winograd` false.
  bool winograd = true;
  /// bfloat16 or float16: products and convolutions of float32 are computed on numbers of that dtype
  /// (pass ToMixedPrecision); parameters and results keep their types. Invalid: as the program says.
  DType precision;
  /// For an executable that is saved and does not run (Executable::late_constants): large constants
  /// that rewrites make are computed while they are written, and their memory serves the next ones.
  bool late_constants = false;
  /// If given, receives what there is to say about functions of code generators.
  std::vector<Diagnostic>* warnings = nullptr;
  /// If given, sees the graphs as they are composed and after each rewrite.
  graph::RewriteObserver on_graphs;
  /// Sizes of tiles that were measured to be better than the planner's (`relay tune`). If not given,
  /// those that are kept in the folder of compiled kernels.
  const codegen::TunedKernels* tuned = nullptr;
  /// If given, receives the loops of every native kernel, in the order of Executable::kernels.
  std::vector<std::shared_ptr<const lower::Kernel>>* kernels = nullptr;
};

/// Compiles the function `entry` of a specialised module (infer.h) and the functions that it calls:
/// standard passes, fusion, bytecode, graphs, native kernels. Throws Error if something cannot be
/// compiled.
std::shared_ptr<const Executable> compile(const Module& module, Name entry,
                                          const CompileOptions& options = {});
/// Several entries of one module.
std::shared_ptr<const Executable> compile(const Module& module, std::span<const Name> entries,
                                          const CompileOptions& options = {});

/// The program as `compile` computes it with that precision, for other ways to run it: operators
/// expanded, products on numbers of the dtype. The module itself if the precision is not valid.
Module narrowed(const Module& module, DType precision);

/// The graphs of such a program from which kernels are made; goes no further.
std::vector<graph::Graph> compile_graphs(const Module& module, Name entry,
                                         const CompileOptions& options = {});

}  // namespace relay::vm
