// Kernels as LLVM functions: shared by all emitters. Only files of this folder include it.
//
// Code is written into one function `int32_t (const KernelArgs*)`. Its entry block loads the
// buffers' addresses and the dimension arguments and evaluates terms. Mutable values live in
// allocas that LLVM turns into registers. `KernelFrame::finish` returns the failure code.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <relay/codegen/codegen.h>
#include <relay/lower/loops.h>

namespace relay::codegen {

/// The facts about an emitted kernel, beside the function itself.
struct EmittedKernel {
  std::string function;
  std::vector<std::string> messages;  // failure code - 1
  std::vector<uint32_t> origins;      // the same: the operator that fails
  Dim scratch_bytes;                  // of each worker, over the kernel's symbols
  bool parallel = false;              // true if workers other than 0 have work
};

/// True if instructions say which operator they belong to: line `origin` + 1 of their place in a
/// source, which assembly then has too. The code is the same.
enum class Places : uint8_t { kNo, kYes };

/// Writes the kernel into the module, which has its triple and data layout already
/// (`prepare_module` in object.h). Throws Error if a limit is exceeded.
EmittedKernel emit_kernel(const lower::Kernel& kernel, llvm::Module& module, const Target& target,
                          Places places = Places::kNo);

/// The LLVM type of a value in a register: i1 for bool, float for the 16-bit floats (kept rounded).
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
/// The LLVM type of an element in memory: i8 for bool, half and bfloat as i16.
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);
/// `type` itself for one lane, else a vector of it.
llvm::Type* widen_type(llvm::Type* type, unsigned lanes);

/// The function of one kernel while it is written.
class KernelFrame {
 public:
  KernelFrame(const lower::Kernel& kernel, llvm::Module& module, const Target& target,
              Places places);
  KernelFrame(const KernelFrame&) = delete;
  KernelFrame& operator=(const KernelFrame&) = delete;

  const Target target;
  llvm::Module& module;
  llvm::LLVMContext& context;
  /// The place of new code; stands behind the entry block at first.
  llvm::IRBuilder<> b;
  llvm::Function* function = nullptr;
  std::span<const lower::Buffer> buffers;
  bool parallel = false;  // set by emit_tasks
  /// Some stores bypass the caches: other threads see them only behind a fence.
  bool fence_at_end = false;
  /// Products may be rounded together with the sums that they are added to.
  bool contracts = true;

  llvm::Type* i1() { return b.getInt1Ty(); }
  llvm::Type* i64() { return b.getInt64Ty(); }
  llvm::Value* int64(int64_t value) { return llvm::ConstantInt::getSigned(b.getInt64Ty(), value); }

  /// True within a block of `lower::Blocks`: its parts are for one worker.
  bool in_block() const { return block_ != nullptr; }
  /// Writes the code of a block in which counters have these values (i64).
  void emit_block(std::span<llvm::Value* const> counters, const std::function<void()>& body);

  // Arguments, available everywhere (computed in the entry block, once; terms over counters of
  // blocks where the block begins).
  llvm::Value* args() { return function->getArg(0); }
  llvm::Value* is_first();                              // i1: KernelArgs::first
  llvm::Value* detail();                                // ptr to a FailureDetail
  llvm::Value* functions();                             // KernelArgs::functions, for math.h
  llvm::Value* library_function(KernelFunction which);  // its address
  llvm::Value* dim(Dim term);                           // i64; a division by zero in a term gives 0
  llvm::Value* buffer(int32_t index);  // base address; scratch buffers have theirs too
  llvm::Value* extent(int32_t buffer, size_t dimension) {
    return dim(buffers[static_cast<size_t>(buffer)].dims[dimension]);
  }
  /// Elements from one index of a dimension to the next (row-major): i64.
  llvm::Value* stride(int32_t buffer, size_t dimension);
  /// Reserves a piece of the worker's scratch memory, 64-byte aligned; its address.
  llvm::Value* scratch(Dim bytes);

  /// A register in memory form, in the entry block: promoted by mem2reg. Not initialised.
  llvm::AllocaInst* alloca_register(llvm::Type* type, const char* name = "");
  /// The address of 64 readable bytes, for loads without an element.
  llvm::Value* dummy_address() { return args(); }

  /// Tells LLVM which buffer a load or store touches: distinct buffers do not overlap, but for
  /// those whose order has to stay (lower/in_place.h). Returns its argument.
  llvm::Instruction* annotate(llvm::Instruction* access, int32_t buffer);
  /// The same for memory reserved by `scratch()`: `region` numbers it from 0.
  llvm::Instruction* annotate_scratch(llvm::Instruction* access, int32_t region);

  /// Code of an operator's message, new or the same as before.
  int32_t message_code(std::string_view message, uint32_t origin);
  /// Records that the kernel fails here (the first failure counts). `index` and `extent` (i64 or
  /// null) explain it. Code goes on behind it.
  void record_failure(std::string_view message, uint32_t origin, llvm::Value* index = nullptr,
                      llvm::Value* extent = nullptr);

  /// i1: false once the run is stopped, or (if asked) once the kernel has failed.
  llvm::Value* goes_on(bool may_fail);

  /// While it lives, new instructions belong to an operator; if it is 0, as before.
  class OriginScope {
   public:
    OriginScope(KernelFrame& frame, uint32_t origin) : frame_(frame) {
      if (frame.places_ == nullptr || origin == 0) return;
      before_ = frame.b.getCurrentDebugLocation();
      is_set_ = true;
      frame.set_place(origin);
    }
    ~OriginScope() {
      if (is_set_) frame_.b.SetCurrentDebugLocation(before_);
    }
    OriginScope(const OriginScope&) = delete;
    OriginScope& operator=(const OriginScope&) = delete;

   private:
    KernelFrame& frame_;
    llvm::DebugLoc before_;
    bool is_set_ = false;
  };

  llvm::BasicBlock* new_block(const char* name);
  /// `if (condition) then()`, marked unlikely if asked; code continues behind it.
  void emit_if(llvm::Value* condition, const std::function<void()>& then, bool unlikely = false);
  /// A rotated counting loop: `body(i)` for i = begin, begin + step … < end (i64; step > 0).
  /// Continues behind it.
  void emit_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                 const std::function<void(llvm::Value* i)>& body);
  /// Takes tasks out of `n` (i64) until none are left: `body(first, end)` is written once and runs
  /// for each piece that this worker gets. Sets `parallel`.
  void emit_tasks(llvm::Value* n,
                  const std::function<void(llvm::Value* first, llvm::Value* end)>& body);

  /// Returns the failure code; the current block is complete.
  void emit_return();
  /// Returns from the last block; the function is complete.
  EmittedKernel finish();

 private:
  llvm::Value* emit_dim(Dim term);
  llvm::Value* emit_dim_op(DimOp op, llvm::Value* lhs, llvm::Value* rhs);
  llvm::Value* load_arg(size_t offset, llvm::Type* type, const char* name);
  void finish_annotations();
  void begin_places();
  void set_place(uint32_t origin);
  llvm::AllocaInst* failure_code();
  llvm::Value* is_stopped();
  /// Runs `write` with the builder at the end of the entry block.
  llvm::Value* in_entry(const std::function<llvm::Value*()>& write);
  /// The same where a term is computed.
  llvm::Value* where_known(Dim term, const std::function<llvm::Value*()>& write);
  std::span<const lower::Blocks::Counter> counters() const;
  bool counts_blocks(Dim term) const;

  const lower::Kernel& kernel_;
  /// Of each buffer, the one whose accesses its own keep their order with.
  const std::vector<int32_t> ordered_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* block_ = nullptr;  // the beginning of the code of a block
  llvm::AllocaInst* code_ = nullptr;
  std::vector<std::string> messages_;
  std::vector<uint32_t> origins_;
  std::unordered_map<Dim, llvm::Value*> dims_;
  std::vector<llvm::Value*> bases_;
  llvm::Value* is_first_ = nullptr;
  llvm::AllocaInst* tasks_ = nullptr;  // the current piece, once there is any
  llvm::Value* detail_ = nullptr;
  llvm::Value* stop_ = nullptr;  // where to look, once a loop does
  llvm::Value* scratch_base_ = nullptr;
  llvm::Value* functions_ = nullptr;
  Dim scratch_bytes_ = 0;
  struct Access {
    llvm::Instruction* instruction;
    uint64_t key;
  };
  std::vector<Access> accesses_;          // annotated when all scopes are known
  llvm::DISubprogram* places_ = nullptr;  // if instructions have places
};

/// Writes a contraction into the frame's function (contraction*.cpp): register tiles over packed
/// panels.
void emit_contraction(const lower::Contraction& contraction, KernelFrame& frame);
/// Writes a nest (nest*.cpp).
void emit_nest(const lower::Nest& nest, KernelFrame& frame);
/// Writes parts that run block by block (blocks.cpp).
void emit_blocks(const lower::Blocks& blocks, KernelFrame& frame);

}  // namespace relay::codegen
