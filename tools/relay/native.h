// Programs as machine code: loaded from .rlx files or compiled here and now.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/graph/rewrite.h>
#include <relay/ir/module.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tools/relay/bind.h>

namespace relay::tool {

struct NativeOptions {
  std::string target = "host";
  int threads = 0;  // 0: as many as the machine has cores
  int level = 3;    // of optimisation
  bool use_cache = true;
  bool onednn = false;
  bool winograd = true;
  std::string precision;     // of products: bf16, fp16; empty: as the program says
  bool to_be_saved = false;  // and not to be run: CompileOptions::late_constants
};

/// The dtype of products that `--precision` asks for; not valid without it.
DType precision_of(const NativeOptions& options);

/// Adds `--target`, `--opt-level`, `--no-winograd`, `--precision` or all of the options of those
/// who compile and run to a command.
void add_target_option(CLI::App& command, NativeOptions& options);
void add_level_option(CLI::App& command, NativeOptions& options);
void add_winograd_option(CLI::App& command, NativeOptions& options);
void add_precision_option(CLI::App& command, NativeOptions& options);
void add_native_options(CLI::App& command, NativeOptions& options);

/// True if a path names a file that `relay compile` wrote, or such a file comes in for "-".
bool is_model_file(const std::string& path);

/// A program that is ready to be called.
struct Loaded {
  std::shared_ptr<const vm::Executable> executable;
  std::string entry;  // without sigil
  std::vector<Value> arguments;
  std::vector<std::string> made_up;          // those that nobody gave, see made_up_texts
  std::vector<std::string> decided_extents;  // see Program
};
/// Loads an executable and binds arguments to its entry. Throws `UsageError` for options of the
/// compiler.
Loaded load_model(const std::string& path, const std::string& entry, const Given& given,
                  const NativeOptions& options, Missing missing = Missing::kError);
/// Arguments of an entry, on the devices where it wants them; `made_up` gets those that nobody
/// gave.
std::vector<Value> bind_entry(const vm::Entry& function, const Given& given, Missing missing,
                              std::vector<std::string>& made_up);
/// How such programs are compiled, as the options say.
vm::CompileOptions compile_options(const NativeOptions& options);
/// Compiles a specialised module, with the user's cache of kernels; the kernels' loops are added to
/// `kernels` if given.
using KernelLoops = std::vector<std::shared_ptr<const lower::Kernel>>;
std::shared_ptr<const vm::Executable> compile_module(const Module& specialised, Name entry,
                                                     const NativeOptions& options,
                                                     KernelLoops* kernels = nullptr);
/// The graphs that such a module is lowered from; `observer` is told how they come about.
std::vector<graph::Graph> module_graphs(const Module& specialised, Name entry,
                                        const NativeOptions& options,
                                        const graph::RewriteObserver& observer = {});
/// `load_model`, or parses, types and compiles program text for the given arguments.
Loaded load_program(const std::string& path, const std::string& entry, const Given& given,
                    const NativeOptions& options, Missing missing = Missing::kError);

/// While it lives, Ctrl-C sets a flag that ends the machine's run; a second one ends the process.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  const std::atomic<bool>* flag() const;

 private:
  void (*before_)(int);  // what SIGINT did
};

}  // namespace relay::tool
