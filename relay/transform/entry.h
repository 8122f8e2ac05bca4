// The function that a pass over a whole program begins with.
#pragma once

#include <relay/ir/module.h>
#include <relay/support/error.h>

namespace relay {

/// @main, else the only function. Throws `Error` if there is none.
inline const Module::FunctionEntry& entry_of(const Module& module) {
  const Module::FunctionEntry* entry = module.entry();
  if (entry == nullptr) throw Error("the program has no @main");
  return *entry;
}

}  // namespace relay
