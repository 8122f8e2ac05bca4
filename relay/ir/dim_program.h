// Turns terms of dimensions into integer code.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <relay/ir/dim.h>
#include <relay/runtime/dim_code.h>

namespace relay {

/// Writes terms into a list of instructions, equal terms once.
class DimProgram {
 public:
  /// Gives the instruction that reads a symbol, value or variable.
  using Atom = std::function<DimInstruction(Dim atom)>;

  explicit DimProgram(Atom atom) : atom_(std::move(atom)) {}
  /// The slot that holds `dim`.
  uint32_t slot(Dim dim, std::vector<DimInstruction>& code);

 private:
  uint32_t add(DimInstruction instruction, std::vector<DimInstruction>& code);

  Atom atom_;
  std::unordered_map<Dim, uint32_t> slots_;
};

}  // namespace relay
