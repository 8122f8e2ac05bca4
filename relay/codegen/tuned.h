// Sizes of tiles that measurements chose for kernels, kept beside the compiled kernels.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <relay/codegen/codegen.h>
#include <relay/lower/loops.h>

namespace relay::codegen {

/// Names a contraction kernel on a target, whatever is chosen for it: the same in every process.
std::string tuning_key(const lower::Kernel& kernel, const Target& target);

/// The choices by the kernel's key.
class TunedKernels {
 public:
  std::optional<lower::TileChoice> find(const std::string& key) const;
  /// The planner's sizes take a kernel out.
  void set(const std::string& key, const lower::TileChoice& choice);
  bool empty() const { return choices_.empty(); }
  size_t size() const { return choices_.size(); }

  /// What is kept in a folder of compiled kernels by this version of Relay: nothing if the folder
  /// or the file cannot be read, and without what is in any doubt.
  static TunedKernels read(const std::filesystem::path& cache);
  /// Writes these choices and those that are kept there already, all or nothing. `measured`: the
  /// keys whose kept choices go if there are none here. Throws Error if that is not possible.
  void write(const std::filesystem::path& cache, const std::vector<std::string>& measured) const;

 private:
  std::map<std::string, lower::TileChoice> choices_;
};

}  // namespace relay::codegen
