// An executable made ready to run: decoded bytecode, mapped kernels. Shared by all its machines.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <relay/runtime/library_kernel.h>
#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/scalar_ops.h>
#include <relay/vm/machine/slot.h>

namespace relay::vm {

// Number operations with handlers of their own, by type; the others go through a function pointer.
#define RELAY_VM_FAST_TYPES(X) X(int32_t, I32) X(int64_t, I64) X(float, F32) X(double, F64)
#define RELAY_VM_FAST_BINARY(X) X(Add) X(Sub) X(Mul)
#define RELAY_VM_FAST_COMPARE(X) X(Eq) X(Ne) X(Lt) X(Le) X(Gt) X(Ge)

/// The jump targets of the interpreter. Begins with the values of `Op`.
namespace handler {
enum : uint16_t {
  kBeforeFast = static_cast<uint16_t>(Op::kCount) - 1,
#define RELAY_VM_NAME(op, name) k##op##name,
#define RELAY_VM_NAMES(type, name)                                                              \
  k##Add##name, k##Sub##name, k##Mul##name, k##Eq##name, k##Ne##name, k##Lt##name, k##Le##name, \
      k##Gt##name, k##Ge##name, k##BranchEq##name, k##BranchNe##name, k##BranchLt##name,        \
      k##BranchLe##name, k##BranchGt##name, k##BranchGe##name,
  RELAY_VM_FAST_TYPES(RELAY_VM_NAMES)
#undef RELAY_VM_NAMES
#undef RELAY_VM_NAME
      kLoop,  // a jump backwards
  kBranchBack,
  kSelfTailCall,
  kNumber,  // a constant that is a number
  kCount
};
}  // namespace handler

struct LinkedFunction;

/// A decoded instruction. Registers are byte offsets from the first one.
struct Code {
  uint16_t handler = 0;
  uint32_t dst = 0;
  uint32_t a = 0;
  uint32_t b = 0;  // for kCapture, 1 if a closure that nobody else holds may be emptied
  uint32_t c = 0;
  uint32_t count = 0;
  /// Byte offsets of registers; operands have bit 0 set if the register is not read again. For
  /// kSwitch, indices of instructions.
  const uint32_t* args = nullptr;
  uint64_t head = 0;  // of the number in the result; the bits of a kNumber are in `imm`
  union {
    uint64_t imm = 0;
    ScalarFn scalar;
    const LinkedFunction* function;
    const Code* target;
    const Value* constant;
  };
};

inline constexpr uint32_t kLastUse = 1;
inline constexpr uint32_t kNoOffset = ~uint32_t{0};

/// Moves or copies an operand into a slot that holds nothing.
inline void pass(Slot& to, char* registers, uint32_t operand) {
  Slot& from = slot_at(registers, operand & ~kLastUse);
  to = from;
  if ((operand & kLastUse) != 0) {
    from.head = 0;
  } else if (to.counted()) {
    retain_slot(to);
  }
}

struct LinkedFunction {
  const Image* image = nullptr;
  const Function* source = nullptr;
  uint32_t frame_bytes = 0;  // with the frame's header
  std::vector<Code> code;
  std::vector<uint32_t> args;
  /// Offsets of registers that may hold a counted value.
  std::vector<uint32_t> owning;
};

/// Throws Error, which names the missing instructions, unless this processor has all that the
/// program's code may use.
void require_target(const Executable& executable);

class Image {
 public:
  /// The image of an executable, made for the first caller. Throws Error if it does not verify or
  /// this machine cannot run it.
  static std::shared_ptr<const Image> of(const std::shared_ptr<const Executable>& executable);

  const std::shared_ptr<const Executable> executable;
  /// Those of the executable. Small tensors of one repeated number are dense, as kernels read them:
  /// a cell that starts with zeros would have them copied by each graph that reads it.
  std::vector<Value> constants;
  std::vector<LinkedFunction> functions;
  std::vector<KernelFn> kernels;               // null for library kernels
  std::vector<LibraryKernel> library_kernels;  // null for native ones

  explicit Image(std::shared_ptr<const Executable> of);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

 private:
  void make_constants();
  void link_functions();
  void link_kernels();

  std::shared_ptr<const CodeMemory> memory_;
};

}  // namespace relay::vm
