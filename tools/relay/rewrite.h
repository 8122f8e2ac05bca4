// Rules as an option of relay opt.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include <relay/transform/pass.h>

namespace relay::tool {

/// The lines of --trace-rules. Can be used by several threads at once.
class RuleTrace {
 public:
  void add(const std::string& line);
  /// True once for each line.
  bool first_time(const std::string& line);
  const std::string& lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::string lines_;
  std::unordered_set<std::string> refused_;
};
/// The pass that applies the rules of a file; `trace` is told each application, and why a rule does
/// not apply where its pattern fits, unless it is null. Throws `Error`.
PassRef rules_pass(const std::string& path, std::shared_ptr<RuleTrace> trace);

}  // namespace relay::tool
