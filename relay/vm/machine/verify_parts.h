// Internal: shared by the checks of executables.
#pragma once

#include <string>

#include <relay/support/error.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

[[noreturn]] inline void refuse(const std::string& where, const std::string& what) {
  throw Error("the executable is damaged: " + where + ": " + what);
}

inline bool is_dtype(DType dtype) {
  for (DType known : kAllDTypes) {
    if (known == dtype) return true;
  }
  return false;
}

/// The instructions of a function.
void verify_function(const Executable& executable, size_t index);

}  // namespace relay::vm
