#include <relay/vm/machine/image.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <relay/runtime/kernel.h>
#include <relay/support/error.h>
#include <relay/vm/machine/frame.h>
#include <relay/vm/machine/op_forms.h>

namespace relay::vm {

namespace {

uint32_t offset_of(uint32_t index) { return index * static_cast<uint32_t>(sizeof(Slot)); }

bool is_number_op(Op op) {
  return op == Op::kUnary || op == Op::kBinary || op == Op::kCast || op == Op::kBitcast;
}

// The handler of a binary operation on a type that has own ones, else 0.
uint16_t fast_binary(Binary op, DType dtype) {
  uint16_t first;
  if (dtype == kInt32) {
    first = handler::kAddI32;
  } else if (dtype == kInt64) {
    first = handler::kAddI64;
  } else if (dtype == kFloat32) {
    first = handler::kAddF32;
  } else if (dtype == kFloat64) {
    first = handler::kAddF64;
  } else {
    return 0;
  }
  switch (op) {
    case Binary::kAdd:
    case Binary::kSub:
    case Binary::kMul:
      return static_cast<uint16_t>(first + static_cast<int>(op) - static_cast<int>(Binary::kAdd));
    default:
      if (!compares(op)) return 0;
      return static_cast<uint16_t>(first + 3 + static_cast<int>(op) -
                                   static_cast<int>(Binary::kEq));
  }
}
constexpr uint16_t kFromCompareToBranch = handler::kBranchEqI32 - handler::kEqI32;

// Which handlers are comparisons with a branching form.
bool is_fast_compare(uint16_t number) {
  for (uint16_t first : {handler::kEqI32, handler::kEqI64, handler::kEqF32, handler::kEqF64}) {
    if (number >= first && number < first + kFromCompareToBranch) return true;
  }
  return false;
}

class Linker {
 public:
  Linker(const Image& image, const Executable& executable, LinkedFunction& to,
         std::vector<LinkedFunction>& functions)
      : image_(image), executable_(executable), to_(to), functions_(functions) {}

  void run(const Function& from) {
    from_ = &from;
    to_.image = &image_;
    to_.source = &from;
    to_.frame_bytes = static_cast<uint32_t>(sizeof(Frame)) + offset_of(from.num_registers);
    owning_.assign(from.num_registers, false);
    for (uint32_t i = 0; i < from.num_params; ++i) owning_[i] = true;
    // Each instruction gets its own copy of its list, because the meaning of the entries depends on
    // it.
    size_t num_args = 0;
    for (const Instruction& at : from.code) num_args += at.count;
    to_.args.resize(num_args);
    to_.code.resize(from.code.size());
    for (size_t i = 0; i < from.code.size(); ++i) decode(i);
    fuse();
    move_captures();
    for (uint32_t i = 0; i < from.num_registers; ++i) {
      if (owning_[i]) to_.owning.push_back(offset_of(i));
    }
  }

 private:
  void decode(size_t index) {
    const Instruction& at = from_->code[index];
    Code& code = to_.code[index];
    code.handler = static_cast<uint16_t>(at.op);
    code.dst = at.dst == kNone ? kNoOffset : offset_of(at.dst);
    code.count = at.count;
    code.args = to_.args.data() + next_arg_;
    code.a = at.a;
    code.b = at.op == Op::kCapture ? 0 : at.b;
    if (at.dst != kNone && !is_number_op(at.op)) owning_[at.dst] = true;
    decode_args(at);
    next_arg_ += at.count;
    const size_t registers = form_of(at.op).registers;
    if (registers > 0) code.a = offset_of(at.a);
    if (registers > 1) code.b = offset_of(at.b);
    if (registers > 2) code.c = offset_of(at.c);
    switch (at.op) {
      case Op::kUnary:
      case Op::kBinary:
      case Op::kCast:
      case Op::kBitcast:
        return decode_number(code, at);
      case Op::kConst:
        return decode_constant(code, image_.constants[at.a]);
      case Op::kBranch:
        code.target = &to_.code[at.b];
        if (at.b <= index) code.handler = handler::kBranchBack;
        return;
      case Op::kJump:
        code.target = &to_.code[at.a];
        if (at.a <= index) code.handler = handler::kLoop;
        return;
      case Op::kClosure:
      case Op::kGlobal:
      case Op::kCall:
      case Op::kTailCall:
        code.function = &functions_[at.a];
        if (at.op == Op::kTailCall && code.function == &to_) code.handler = handler::kSelfTailCall;
        return;
      default:
        return;
    }
  }

  static void decode_number(Code& code, const Instruction& at) {
    if (at.op == Op::kUnary) {
      code.scalar = unary_scalar(static_cast<Unary>(at.sub), at.dtype);
      code.head = scalar_head(kUnaryOps[at.sub].result(at.dtype));
    } else if (at.op == Op::kBinary) {
      const auto op = static_cast<Binary>(at.sub);
      code.scalar = binary_scalar(op, at.dtype);
      code.head = scalar_head(scalar_op(op).result(at.dtype));
      if (uint16_t fast = fast_binary(op, at.dtype)) code.handler = fast;
    } else {
      if (at.op == Op::kCast) code.scalar = cast_scalar(at.dtype, at.to);
      code.head = scalar_head(at.to);
    }
  }

  static void decode_constant(Code& code, const Value& constant) {
    if (!constant.is_scalar()) {
      code.constant = &constant;
      return;
    }
    code.handler = handler::kNumber;
    code.head = scalar_head(constant.dtype());
    code.imm = 0;
    std::memcpy(&code.imm, constant.scalar_data(), constant.dtype().size());
  }

  void decode_args(const Instruction& at) {
    const Args kind = form_of(at.op).args;
    if (kind == Args::kNone) return;
    for (uint32_t i = 0; i < at.count; ++i) {
      uint32_t arg = from_->args[at.first + i];
      uint32_t& out = to_.args[next_arg_ + i];
      if (kind == Args::kTargets) {
        out = arg;
      } else if (arg == kNone) {
        out = kNoOffset;
      } else {
        out = offset_of(arg & ~kLast) | ((arg & kLast) != 0 ? kLastUse : 0);
        bool result = kind == Args::kResults ||
                      (kind == Args::kGraph && i >= executable_.graphs[at.a].num_inputs);
        if (result) owning_[arg] = true;
      }
    }
  }

  // A comparison and the branch on it become one step. The branch stays behind it, for jumps to it.
  void fuse() {
    for (size_t i = 0; i + 1 < to_.code.size(); ++i) {
      Code& compare = to_.code[i];
      const Code& branch = to_.code[i + 1];
      if (!is_fast_compare(compare.handler)) continue;
      if (branch.handler != static_cast<uint16_t>(Op::kBranch) || branch.a != compare.dst) continue;
      compare.handler = static_cast<uint16_t>(compare.handler + kFromCompareToBranch);
      compare.target = branch.target;
    }
  }

  // A closure that ends with its call need not keep what it captured: graphs then compute in the
  // memory of these tensors. Each is read once at most, and the closure is not passed on.
  void move_captures() {
    const std::vector<Instruction>& code = from_->code;
    auto again = [&](const Instruction& at, size_t index) {
      if (at.op == Op::kJump) return at.a <= index;
      if (at.op == Op::kBranch) return at.b <= index;
      const auto targets = from_->args.begin() + at.first;
      return at.op == Op::kSwitch &&
             std::any_of(targets, targets + at.count, [&](uint32_t to) { return to <= index; });
    };
    std::vector<char> seen(from_->num_captures, 0);
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i].op == Op::kSelf || again(code[i], i)) return;
      if (code[i].op == Op::kCapture && std::exchange(seen[code[i].a], 1) != 0) return;
    }
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i].op == Op::kCapture) to_.code[i].b = 1;
    }
  }

  const Image& image_;
  const Executable& executable_;
  const Function* from_ = nullptr;
  LinkedFunction& to_;
  std::vector<LinkedFunction>& functions_;
  std::vector<bool> owning_;
  size_t next_arg_ = 0;
};

}  // namespace

void check_slot_layout() {
  auto slot_of = [](const Value& value) {
    Slot slot;
    std::memcpy(&slot, &value, sizeof slot);
    return slot;
  };
  bool right = slot_of(Value()).head == 0;
  for (DType dtype : kAllDTypes) {
    uint64_t one = 1;
    Slot slot = slot_of(Value::scalar_bytes(dtype, &one));
    right = right && slot.head == scalar_head(dtype) && !slot.counted();
  }
  Value tensor(NDArray::empty({1}, kBool));
  right = right && slot_of(tensor).counted() && slot_of(tensor).kind() == Value::Kind::kTensor;
  Value cell = Value::reference(Value());
  right = right && slot_of(cell).counted() && slot_of(cell).kind() == Value::Kind::kReference;
  RELAY_CHECK(right, "the words of a value");
}

std::shared_ptr<const Image> Image::of(const std::shared_ptr<const Executable>& executable) {
  std::lock_guard lock(executable->derived.mutex);
  std::shared_ptr<const Image> image = executable->derived.image.lock();
  if (image == nullptr) {
    image = std::make_shared<const Image>(executable);
    executable->derived.image = image;
  }
  return image;
}

Image::Image(std::shared_ptr<const Executable> of) : executable(std::move(of)) {
  if (!executable->late_constants.empty()) {
    throw Error("an executable that was compiled to be saved cannot run: load what was saved");
  }
  check_slot_layout();
  verify(*executable);
  make_constants();
  link_functions();
  link_kernels();
}

void Image::make_constants() {
  constexpr size_t kMostBytes = 4096;
  constants = executable->constants;
  for (Value& constant : constants) {
    if (constant.is_scalar()) continue;
    const NDArray& array = constant.array();
    if (array.is_uniform() && array.byte_size() <= kMostBytes && array.device() == kCpu)
      constant = Value(array.copy());
  }
}

void Image::link_functions() {
  functions.resize(executable->functions.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    Linker(*this, *executable, functions[i], functions).run(executable->functions[i]);
  }
}

void Image::link_kernels() {
  if (executable->kernel_abi != kKernelAbiVersion) {
    throw Error("the program was compiled for version " + std::to_string(executable->kernel_abi) +
                " of the kernel interface; this is version " + std::to_string(kKernelAbiVersion));
  }
  if (!executable->blobs.empty()) {
    require_target(*executable);
    std::vector<const KernelBlob*> blobs;
    for (const auto& blob : executable->blobs) blobs.push_back(blob.get());
    memory_ = CodeMemory::map(blobs);
  }
  for (const Kernel& kernel : executable->kernels) {
    KernelFn native = nullptr;
    LibraryKernel library = nullptr;
    if (!kernel.library.empty()) {
      const LibraryEntry* entry = find_library_kernel(kernel.library);
      if (entry == nullptr) {
        throw Error("the runtime has no library kernel named " + kernel.library);
      }
      library = entry->run;
    } else {
      native = kernel.function != nullptr ? kernel.function : memory_->kernel(kernel.blob);
    }
    kernels.push_back(native);
    library_kernels.push_back(library);
  }
}

}  // namespace relay::vm
