// Finds out what this processor can run.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <relay/runtime/cpu_features.h>
#include <relay/runtime/target_names.h>
#include <relay/support/error.h>
#include <relay/vm/machine/image.h>

namespace relay::vm {

void require_target(const Executable& executable) {
  const std::string& target = executable.target;
  if (std::ranges::find(kTargetNames, target) == std::end(kTargetNames)) {
    throw Error("the program was compiled for an unknown target, '" + target + "'");
  }
  const std::vector<std::string> missing = missing_cpu_features(executable.features);
  if (missing.empty()) return;
  std::string names;
  for (const std::string& each : missing) names += (names.empty() ? "" : ", ") + each;
  throw Error("the program was compiled for " + target +
              ", which this machine cannot run: it has no " + names);
}

}  // namespace relay::vm
