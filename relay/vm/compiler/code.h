// Writes bytecode: first with a register for each value, then with few.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// A function being written. Registers are fresh for each value; jumps go forwards only.
class CodeWriter {
 public:
  explicit CodeWriter(Function& function) : function_(function) {}

  uint32_t fresh() { return function_.num_registers++; }
  uint32_t here() const { return static_cast<uint32_t>(function_.code.size()); }
  /// Sets the position of the following instructions.
  void set_position(uint32_t position) { position_ = position; }
  uint32_t position() const { return position_; }

  Instruction& emit(Op op, std::span<const uint32_t> args = {});
  Instruction& emit(Op op, std::initializer_list<uint32_t> args) {
    return emit(op, std::span(args.begin(), args.size()));
  }
  /// Emits with a fresh destination, and returns it.
  uint32_t emit_value(Op op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);
  Instruction& at(uint32_t index) { return function_.code[index]; }
  Function& function() { return function_; }

 private:
  Function& function_;
  uint32_t position_ = 0;
};

/// Calls `visit(register, written)` on every register that an instruction names.
void for_each_register(Function& function, Instruction& instruction,
                       const std::function<void(uint32_t& reg, bool written)>& visit);

/// Gives values whose lives do not overlap one register, and marks last uses. Code only runs
/// forwards, so a life is a range of instructions.
void assign_registers(Function& function);

}  // namespace relay::vm
