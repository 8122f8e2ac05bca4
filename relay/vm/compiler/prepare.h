// Prepares a module before its functions are compiled.
#pragma once

#include <string>
#include <unordered_map>

#include <relay/ir/module.h>

namespace relay::vm {

/// A module ready to be compiled: optimised, operators in primitive functions, typed.
struct Prepared {
  Module module;
  /// Names of the functions that lets bound in the original program, by their places.
  std::unordered_map<uint64_t, std::string> names;
  std::string name_of(const relay::Function* function) const;
};
Prepared prepare(const Module& module, int level);

}  // namespace relay::vm
