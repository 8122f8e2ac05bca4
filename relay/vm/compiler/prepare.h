// Prepares a module before its functions are compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/dtype.h>
#include <relay/support/diagnostic.h>

namespace relay::vm {

/// A module ready to be compiled: optimised, operators in primitive functions, typed.
struct Prepared {
  Module module;
  /// Names of the functions that lets bound in the original program, by their places.
  std::unordered_map<uint64_t, std::string> names;
  /// True if the program says where fusion stops: then groups of operators stay as they are.
  bool stops_fusion = false;
  /// Operators that may be computed together, as the context and the program allow it.
  size_t most_operators = SIZE_MAX;
  std::string name_of(const relay::Function* function) const;
};
/// For these entries; the functions that they do not reach stay. `warnings` may be null;
/// `precision` as in CompileOptions.
Prepared prepare(const Module& module, std::span<const Name> entries, int level,
                 std::vector<Diagnostic>* warnings = nullptr, DType precision = {});

}  // namespace relay::vm
