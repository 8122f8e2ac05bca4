// Rules as an option of relay opt.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <relay/transform/pass.h>

namespace relay::tool {

/// The lines of --trace-rules.
struct RuleTrace {
  std::mutex mutex;
  std::string lines;
};
/// The pass that applies the rules of a file; `trace` is told each application unless it is null.
/// Throws `Error`.
PassRef rules_pass(const std::string& path, std::shared_ptr<RuleTrace> trace);

}  // namespace relay::tool
