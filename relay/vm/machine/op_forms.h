// The form of each instruction: what its fields hold. The checks, the linker and the text of
// executables go by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// What the entries of an instruction's `args` are.
enum class Args : uint8_t {
  kNone,
  kOperands,
  kRegisters,  // without the flag `kLast`
  kResults,    // registers that the instruction writes, or kNone
  kTargets,    // instructions
  kGraph       // operands for the inputs, cells the last of them, then registers for the outputs
};

struct OpForm {
  const char* word;   // in texts
  bool result;        // dst is a register in each of them; in others it may be kNone
  uint8_t registers;  // so many of a, b and c are registers
  Args args;
};

inline constexpr OpForm kOpForms[] = {{"move", true, 1, Args::kNone},
                                      {"take", true, 1, Args::kNone},
                                      {"const", true, 0, Args::kNone},
                                      {"drop", false, 0, Args::kRegisters},
                                      {"unary", true, 1, Args::kNone},
                                      {"binary", true, 2, Args::kNone},
                                      {"cast", true, 1, Args::kNone},
                                      {"bitcast", true, 1, Args::kNone},
                                      {"select", true, 3, Args::kNone},
                                      {"tuple", true, 0, Args::kOperands},
                                      {"data", true, 0, Args::kOperands},
                                      {"field", true, 1, Args::kNone},
                                      {"unpack", false, 1, Args::kResults},
                                      {"switch", false, 1, Args::kTargets},
                                      {"closure", true, 0, Args::kOperands},
                                      {"global", true, 0, Args::kNone},
                                      {"self", true, 0, Args::kNone},
                                      {"capture", true, 0, Args::kNone},
                                      {"call", true, 0, Args::kOperands},
                                      {"tail_call", false, 0, Args::kOperands},
                                      {"call_closure", true, 0, Args::kOperands},
                                      {"tail_call_closure", false, 0, Args::kOperands},
                                      {"return", false, 1, Args::kNone},
                                      {"jump", false, 0, Args::kNone},
                                      {"branch", false, 1, Args::kNone},
                                      {"ref", true, 1, Args::kNone},
                                      {"ref_read", true, 1, Args::kNone},
                                      {"ref_write", true, 2, Args::kNone},
                                      {"run", false, 0, Args::kGraph},
                                      {"check_shapes", false, 0, Args::kRegisters},
                                      {"fail", false, 0, Args::kNone},
                                      {"fail_unless", false, 1, Args::kNone},
                                      {"no_match", false, 1, Args::kNone},
                                      {"ref_add", true, 0, Args::kOperands}};
static_assert(std::size(kOpForms) == static_cast<size_t>(Op::kCount));

/// `op` is an operation: files may have other numbers.
inline const OpForm& form_of(Op op) { return kOpForms[static_cast<size_t>(op)]; }

/// The fields of which the first `OpForm::registers` are registers.
inline std::array<uint32_t, 3> fields_of(const Instruction& in) { return {in.a, in.b, in.c}; }

}  // namespace relay::vm
