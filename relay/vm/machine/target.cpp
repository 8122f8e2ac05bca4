// What this processor can run.
#include <relay/support/error.h>
#include <relay/vm/machine/image.h>

namespace relay::vm {

void require_target(const std::string& target) {
  bool known = true;
  bool runs = false;
  if (target == "baseline") {
    runs = true;
  } else if (target == "avx2" || target == "avx512") {
    runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
    if (target == "avx512") {
      runs = runs && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    }
  } else {
    known = false;
  }
  if (!known) throw Error("the program was compiled for an unknown target, '" + target + "'");
  if (!runs)
    throw Error("the program was compiled for " + target + ", which this machine cannot run");
}

}  // namespace relay::vm
