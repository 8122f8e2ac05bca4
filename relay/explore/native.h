// The native side of a document: kernels as loops and assembly, the plan of memory, a profile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <relay/explore/document.h>
#include <relay/explore/tables.h>
#include <relay/lower/loops.h>
#include <relay/vm/machine/machine.h>

namespace relay::explore {

class Native {
 public:
  Native(const vm::Executable& executable, Tables& tables)
      : executable_(executable), tables_(tables), kernels_(executable.kernels.size()) {}

  /// The loops and the assembly of the native kernels, in the executable's order.
  void loops(const std::vector<std::shared_ptr<const lower::Kernel>>& kernels,
             const codegen::Target& target);
  /// Runs the program until it is warm, then for a profile. Throws `Error`.
  void run(std::shared_ptr<const vm::Executable> executable, const std::string& entry,
           const std::vector<Value>& arguments, const Options& options);
  /// The fields `kernels`, `profile` and `memory`.
  void write(JsonWriter& json, const Options& options);

 private:
  struct KernelText {
    std::vector<int32_t> loops;
    /// Of each line, pieces from its beginning: a length in bytes and an operator, by its number
    /// among the origins of a launch; 0: none alone. Nothing if no piece has one.
    std::vector<std::vector<int32_t>> loop_operators;
    std::vector<int32_t> assembly;
    /// The same for lines, from the first: how many, and an operator.
    std::vector<int32_t> assembly_operators;
  };
  void write_kernels(JsonWriter& json) const;
  void write_profile(JsonWriter& json, const Options& options) const;
  void write_memory(JsonWriter& json) const;
  std::vector<double> launch_times() const;

  const vm::Executable& executable_;
  Tables& tables_;
  std::vector<KernelText> kernels_;
  vm::Profile profile_;
  int runs_ = 0;
  std::string entry_;
  std::vector<Value> arguments_;
};

}  // namespace relay::explore
