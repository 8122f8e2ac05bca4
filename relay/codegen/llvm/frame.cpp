#include <relay/codegen/llvm/emit.h>

#include <algorithm>
#include <cstddef>

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <relay/lower/in_place.h>
#include <relay/support/error.h>

namespace relay::codegen {

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype.is_float()) {
    return dtype.bits == 64 ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context);
  }
  return llvm::Type::getIntNTy(context, dtype.bits);
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype.is_bool()) return llvm::Type::getInt8Ty(context);
  if (dtype.is_float() && dtype.bits == 16) return llvm::Type::getInt16Ty(context);
  return register_type(context, dtype);
}

llvm::Type* widen_type(llvm::Type* type, unsigned lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

namespace {

/// KernelArgs::buffers.
constexpr int64_t kOutputAlignment = 64;
/// Scratch pieces begin at multiples of this.
constexpr int64_t kScratchAlignment = 64;
constexpr uint64_t kScratchKey = uint64_t{1} << 32;

Dim buffer_bytes(const lower::Buffer& buffer) {
  return product(buffer.dims) * Dim(static_cast<int64_t>(buffer.dtype.size()));
}

}  // namespace

KernelFrame::KernelFrame(const lower::Kernel& kernel, llvm::Module& in_module, const Target& on,
                         Places places)
    : target(on),
      module(in_module),
      context(in_module.getContext()),
      b(in_module.getContext()),
      buffers(std::visit(
          [](const auto& body) -> std::span<const lower::Buffer> { return body.buffers; },
          kernel.body)),
      kernel_(kernel),
      ordered_(lower::ordered_buffers(kernel)) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {pointer}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", &module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(0, llvm::Attribute::NonNull);
  function->addParamAttr(
      0, llvm::Attribute::get(context, llvm::Attribute::Dereferenceable, sizeof(KernelArgs)));
  entry_ = llvm::BasicBlock::Create(context, "entry", function);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "body", function);
  b.SetInsertPoint(entry_);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  bases_.resize(buffers.size());
  if (places == Places::kYes) begin_places();
}

// The least of debug information that lines of assembly need: one function of one file.
void KernelFrame::begin_places() {
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile("kernel", "");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "relay", true, "", 0, "",
                            llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  places_ = builder.createFunction(file, "kernel", "", file, 1, type, 1, llvm::DINode::FlagZero,
                                   llvm::DISubprogram::SPFlagDefinition);
  function->setSubprogram(places_);
  builder.finalize();
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  b.SetCurrentDebugLocation(llvm::DILocation::get(context, 1, 0, places_));
}

void KernelFrame::set_place(uint32_t origin) {
  b.SetCurrentDebugLocation(llvm::DILocation::get(context, origin + 1, 0, places_));
}

llvm::Value* KernelFrame::in_entry(const std::function<llvm::Value*()>& write) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_->getTerminator());
  return write();
}

std::span<const lower::Blocks::Counter> KernelFrame::counters() const {
  const auto* blocks = std::get_if<lower::Blocks>(&kernel_.body);
  if (blocks == nullptr) return {};
  return blocks->counters;
}

bool KernelFrame::counts_blocks(Dim term) const {
  bool counts = false;
  if (counters().empty() || !term.is_term()) return false;
  for_each_atom(term, [&](Dim atom) {
    for (const lower::Blocks::Counter& counter : counters()) counts |= atom == counter.symbol;
  });
  return counts;
}

llvm::Value* KernelFrame::where_known(Dim term, const std::function<llvm::Value*()>& write) {
  if (!counts_blocks(term)) return in_entry(write);
  RELAY_CHECK(in_block(), "a counter outside of its blocks");
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(block_->getTerminator());
  return write();
}

void KernelFrame::emit_block(std::span<llvm::Value* const> values,
                             const std::function<void()>& body) {
  block_ = new_block("block");
  b.CreateBr(block_);
  b.SetInsertPoint(block_);
  llvm::BasicBlock* parts = new_block("parts");
  b.CreateBr(parts);
  b.SetInsertPoint(parts);
  for (size_t k = 0; k < values.size(); ++k) dims_[counters()[k].symbol] = values[k];
  body();
  std::erase_if(dims_, [&](const auto& known) { return counts_blocks(known.first); });
  block_ = nullptr;
}

llvm::Value* KernelFrame::load_arg(size_t offset, llvm::Type* type, const char* name) {
  return in_entry([&]() -> llvm::Value* {
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), args(), offset);
    llvm::LoadInst* load = b.CreateLoad(type, at, name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  });
}

llvm::Value* KernelFrame::is_first() {
  if (is_first_ == nullptr) {
    llvm::Value* wide = load_arg(offsetof(KernelArgs, first), b.getInt64Ty(), "first");
    is_first_ = in_entry([&] { return b.CreateICmpNE(wide, int64(0)); });
  }
  return is_first_;
}

llvm::Value* KernelFrame::detail() {
  if (detail_ == nullptr) {
    detail_ = load_arg(offsetof(KernelArgs, detail), b.getPtrTy(), "detail");
  }
  return detail_;
}

llvm::Value* KernelFrame::functions() {
  if (functions_ == nullptr) {
    functions_ = load_arg(offsetof(KernelArgs, functions), b.getPtrTy(), "functions");
  }
  return functions_;
}

llvm::Value* KernelFrame::library_function(KernelFunction which) {
  llvm::Value* table = functions();
  return in_entry([&]() -> llvm::Value* {
    llvm::Value* at =
        b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, static_cast<uint64_t>(which));
    llvm::LoadInst* load = b.CreateLoad(b.getPtrTy(), at);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  });
}

llvm::Value* KernelFrame::dim(Dim term) {
  if (term.is_int()) return int64(term.as_int());
  if (auto found = dims_.find(term); found != dims_.end()) return found->second;
  llvm::Value* value = emit_dim(term);
  dims_.emplace(term, value);
  return value;
}

llvm::Value* KernelFrame::emit_dim(Dim term) {
  RELAY_CHECK(term.is_term(), "dimension " + term.str() + " in a kernel");
  auto argument = std::find(kernel_.dim_args.begin(), kernel_.dim_args.end(), term);
  if (argument != kernel_.dim_args.end()) {
    llvm::Value* dims = load_arg(offsetof(KernelArgs, dims), b.getPtrTy(), "dims");
    auto position = static_cast<uint64_t>(argument - kernel_.dim_args.begin());
    return in_entry([&]() -> llvm::Value* {
      llvm::LoadInst* load =
          b.CreateLoad(i64(), b.CreateConstInBoundsGEP1_64(i64(), dims, position), term.str());
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
      return load;
    });
  }
  const DimTerm& t = term.term();
  switch (t.op) {
    case DimOp::kSymbol:
    case DimOp::kValue:
      RELAY_UNREACHABLE("dimension " + term.str() + " is no argument of the kernel");
    case DimOp::kLinear: {
      llvm::Value* sum = int64(t.constant);
      for (const DimTerm::Part& part : t.parts) {
        llvm::Value* atom = dim(part.atom);
        sum = where_known(
            term, [&] { return b.CreateAdd(sum, b.CreateMul(atom, int64(part.coefficient))); });
      }
      return sum;
    }
    default: {
      llvm::Value* lhs = dim(t.lhs);
      llvm::Value* rhs = dim(t.rhs);
      return where_known(term, [&] { return emit_dim_op(t.op, lhs, rhs); });
    }
  }
}

llvm::Value* KernelFrame::emit_dim_op(DimOp op, llvm::Value* lhs, llvm::Value* rhs) {
  switch (op) {
    case DimOp::kMul:
      return b.CreateMul(lhs, rhs);
    case DimOp::kMin:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lhs, rhs);
    case DimOp::kMax:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lhs, rhs);
    case DimOp::kBroadcast:
      return b.CreateSelect(b.CreateICmpEQ(lhs, int64(1)), rhs, lhs);
    case DimOp::kFloorDiv:
    case DimOp::kFloorMod:
    case DimOp::kCeilDiv: {
      // A divisor that is 0 must only not trap; neither must the least number over -1.
      llvm::Value* zero = int64(0);
      llvm::Value* negates = b.CreateICmpEQ(rhs, int64(-1));
      llvm::Value* unfit = b.CreateOr(negates, b.CreateICmpEQ(rhs, zero));
      llvm::Value* safe = b.CreateSelect(unfit, int64(1), rhs);
      llvm::Value* dividend = b.CreateSelect(negates, b.CreateNeg(lhs), lhs);
      llvm::Value* quotient = b.CreateSDiv(dividend, safe);
      llvm::Value* rest = b.CreateSub(dividend, b.CreateMul(quotient, safe));
      llvm::Value* inexact = b.CreateICmpNE(rest, zero);
      llvm::Value* below = b.CreateICmpSLT(b.CreateXor(rest, safe), zero);
      if (op == DimOp::kCeilDiv) {
        llvm::Value* up = b.CreateAnd(inexact, b.CreateNot(below));
        return b.CreateAdd(quotient, b.CreateZExt(up, i64()));
      }
      llvm::Value* down = b.CreateAnd(inexact, below);
      if (op == DimOp::kFloorDiv) return b.CreateSub(quotient, b.CreateZExt(down, i64()));
      return b.CreateSelect(down, b.CreateAdd(rest, safe), rest);
    }
    default:
      RELAY_UNREACHABLE("operation of a dimension term");
  }
}

llvm::Value* KernelFrame::buffer(int32_t index) {
  auto at = static_cast<size_t>(index);
  if (bases_[at] != nullptr) return bases_[at];
  const lower::Buffer& buffer = buffers[at];
  if (buffer.same >= 0) return bases_[at] = this->buffer(buffer.same);
  if (buffer.role == lower::Buffer::Role::kScratch) {
    // A whole vector may be read from any element on.
    bases_[at] = scratch(buffer_bytes(buffer) + Dim(int64_t{target.vector_bytes()}));
    return bases_[at];
  }
  if (buffer.role == lower::Buffer::Role::kTape) {
    llvm::Value* slots = library_function(KernelFunction::kTape);
    auto* type = llvm::FunctionType::get(b.getPtrTy(), false);
    return bases_[at] = in_entry([&]() -> llvm::Value* {
             llvm::CallInst* call = b.CreateCall(type, slots, {}, "tape");
             call->setDoesNotThrow();
             return call;
           });
  }
  // Other buffers take no place in the list of arguments.
  uint64_t position = 0;
  for (size_t k = 0; k < at; ++k) position += buffers[k].is_argument();
  llvm::Value* list = load_arg(offsetof(KernelArgs, buffers), b.getPtrTy(), "buffers");
  bases_[at] = in_entry([&]() -> llvm::Value* {
    llvm::LoadInst* load =
        b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), list, position),
                     "buffer" + std::to_string(index));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    // Inputs may be somebody else's memory, or parts of tensors.
    if (buffer.role == lower::Buffer::Role::kOutput) {
      load->setMetadata(
          llvm::LLVMContext::MD_align,
          llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(b.getInt64(kOutputAlignment))));
    }
    return load;
  });
  return bases_[at];
}

llvm::Value* KernelFrame::stride(int32_t index, size_t dimension) {
  const std::vector<Dim>& dims = buffers[static_cast<size_t>(index)].dims;
  return dim(product(std::span<const Dim>(dims).subspan(dimension + 1)));
}

llvm::Value* KernelFrame::scratch(Dim bytes) {
  // Room for every block: extents do not fall with counters.
  if (counts_blocks(bytes)) {
    bytes = substitute(bytes, [&](Dim atom) -> Dim {
      for (const lower::Blocks::Counter& counter : counters())
        if (atom == counter.symbol) return max(counter.count - 1, 0);
      return atom;
    });
  }
  if (scratch_base_ == nullptr) {
    scratch_base_ = load_arg(offsetof(KernelArgs, scratch), b.getPtrTy(), "scratch");
  }
  llvm::Value* offset = dim(scratch_bytes_);
  scratch_bytes_ = scratch_bytes_ + ceil_div(bytes, kScratchAlignment) * Dim(kScratchAlignment);
  return in_entry([&] { return b.CreateInBoundsGEP(b.getInt8Ty(), scratch_base_, offset); });
}

llvm::AllocaInst* KernelFrame::alloca_register(llvm::Type* type, const char* name) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entry_, entry_->begin());
  return b.CreateAlloca(type, nullptr, name);
}

llvm::Instruction* KernelFrame::annotate(llvm::Instruction* access, int32_t buffer) {
  const int32_t same = buffers[static_cast<size_t>(buffer)].same;
  if (same >= 0) buffer = same;
  buffer = ordered_[static_cast<size_t>(buffer)];
  accesses_.push_back({access, static_cast<uint64_t>(buffer)});
  return access;
}

llvm::Instruction* KernelFrame::annotate_scratch(llvm::Instruction* access, int32_t region) {
  accesses_.push_back({access, kScratchKey | static_cast<uint64_t>(region)});
  return access;
}

void KernelFrame::finish_annotations() {
  std::vector<uint64_t> keys;
  for (const Access& access : accesses_) keys.push_back(access.key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  // Pairwise lists grow with the square; nobody needs them for so many buffers.
  if (keys.size() < 2 || keys.size() > 64) return;
  llvm::MDBuilder md(context);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("kernel");
  std::vector<llvm::Metadata*> scopes;
  for (size_t k = 0; k < keys.size(); ++k) {
    scopes.push_back(md.createAnonymousAliasScope(domain, "memory"));
  }
  for (const Access& access : accesses_) {
    auto own =
        static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), access.key) - keys.begin());
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(own));
    access.instruction->setMetadata(llvm::LLVMContext::MD_alias_scope,
                                    llvm::MDNode::get(context, {scopes[own]}));
    access.instruction->setMetadata(llvm::LLVMContext::MD_noalias,
                                    llvm::MDNode::get(context, others));
  }
}

int32_t KernelFrame::message_code(std::string_view message, uint32_t origin) {
  size_t i = 0;
  while (i < messages_.size() && (messages_[i] != message || origins_[i] != origin)) ++i;
  if (i == messages_.size()) {
    messages_.emplace_back(message);
    origins_.push_back(origin);
  }
  return static_cast<int32_t>(i) + 1;
}

llvm::AllocaInst* KernelFrame::failure_code() {
  if (code_ == nullptr) {
    code_ = alloca_register(b.getInt32Ty(), "code");
    in_entry(
        [&]() -> llvm::Value* { return b.CreateStore(b.getInt32(0), code_, /*isVolatile=*/true); });
  }
  return code_;
}

llvm::Value* KernelFrame::is_stopped() {
  llvm::Value* flag = b.CreateLoad(b.getInt8Ty(), stop_, /*isVolatile=*/true);
  return b.CreateICmpNE(flag, b.getInt8(0));
}

llvm::Value* KernelFrame::goes_on(bool may_fail) {
  if (stop_ == nullptr) stop_ = load_arg(offsetof(KernelArgs, stop), b.getPtrTy(), "stop");
  llvm::Value* ends = is_stopped();
  if (may_fail) {
    llvm::Value* code = b.CreateLoad(b.getInt32Ty(), failure_code(), /*isVolatile=*/true);
    ends = b.CreateOr(ends, b.CreateICmpNE(code, b.getInt32(0)));
  }
  return b.CreateNot(ends);
}

void KernelFrame::record_failure(std::string_view message, uint32_t origin, llvm::Value* index,
                                 llvm::Value* extent) {
  // Volatile, so that the code stays in memory and takes no register in loops that do not fail.
  llvm::Value* before = b.CreateLoad(b.getInt32Ty(), failure_code(), /*isVolatile=*/true);
  llvm::BasicBlock* first = new_block("first_failure");
  llvm::BasicBlock* after = new_block("failed");
  llvm::Value* keep = b.CreateICmpEQ(before, b.getInt32(0));
  llvm::Value* task = nullptr;
  llvm::Value* task_address =
      b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), detail(), offsetof(FailureDetail, task));
  if (tasks_ != nullptr) {
    // Tasks come in any order; the earliest of them counts.
    task = b.CreateLoad(i64(), tasks_);
    keep = b.CreateOr(keep, b.CreateICmpSLT(task, b.CreateLoad(i64(), task_address)));
  }
  b.CreateCondBr(keep, first, after);
  b.SetInsertPoint(first);
  b.CreateStore(b.getInt32(static_cast<uint32_t>(message_code(message, origin))), code_,
                /*isVolatile=*/true);
  llvm::Value* unset = int64(FailureDetail::kUnset);
  b.CreateStore(index != nullptr ? index : unset, detail());
  b.CreateStore(
      extent != nullptr ? extent : unset,
      b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), detail(), offsetof(FailureDetail, extent)));
  b.CreateStore(task != nullptr ? task : unset, task_address);
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

llvm::BasicBlock* KernelFrame::new_block(const char* name) {
  return llvm::BasicBlock::Create(context, name, function);
}

void KernelFrame::emit_if(llvm::Value* condition, const std::function<void()>& then,
                          bool unlikely) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) then();
    return;
  }
  llvm::BasicBlock* yes = new_block("then");
  llvm::BasicBlock* after = new_block("after");
  llvm::BranchInst* branch = b.CreateCondBr(condition, yes, after);
  if (unlikely) {
    branch->setMetadata(llvm::LLVMContext::MD_prof,
                        llvm::MDBuilder(context).createBranchWeights(1, 100000));
  }
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void KernelFrame::emit_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                            const std::function<void(llvm::Value* i)>& body) {
  emit_if(b.CreateICmpSLT(begin, end), [&] {
    llvm::AllocaInst* counter = alloca_register(i64(), "counter");
    b.CreateStore(begin, counter);
    llvm::BasicBlock* header = new_block("loop");
    llvm::BasicBlock* after = new_block("loop_end");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::Value* i = b.CreateLoad(i64(), counter);
    body(i);
    llvm::Value* next = b.CreateNSWAdd(i, step);
    b.CreateStore(next, counter);
    b.CreateCondBr(b.CreateICmpSLT(next, end), header, after);
    b.SetInsertPoint(after);
  });
}

void KernelFrame::emit_tasks(
    llvm::Value* n, const std::function<void(llvm::Value* first, llvm::Value* end)>& body) {
  parallel = true;
  llvm::Value* source = load_arg(offsetof(KernelArgs, tasks), b.getPtrTy(), "tasks");
  llvm::Value* take = in_entry([&] { return b.CreateLoad(b.getPtrTy(), source, "take"); });
  auto* range_type = llvm::ArrayType::get(i64(), 2);
  tasks_ = alloca_register(range_type, "range");
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), i64(), b.getPtrTy()}, false);
  llvm::BasicBlock* next = new_block("take");
  llvm::BasicBlock* taken = new_block("taken");
  llvm::BasicBlock* after = new_block("none_left");
  b.CreateBr(next);
  b.SetInsertPoint(next);
  llvm::CallInst* more = b.CreateCall(type, take, {source, n, tasks_});
  // It touches none of the tensors: what is known of them stays known.
  more->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  more->setDoesNotThrow();
  b.CreateCondBr(b.CreateICmpNE(more, b.getInt32(0)), taken, after);
  b.SetInsertPoint(taken);
  llvm::Value* first = b.CreateLoad(i64(), tasks_);
  llvm::Value* end = b.CreateLoad(i64(), b.CreateConstInBoundsGEP2_64(range_type, tasks_, 0, 1));
  body(first, end);
  b.CreateBr(next);
  b.SetInsertPoint(after);
}

void KernelFrame::emit_return() {
  // Elsewhere stores that pass the caches are ordered as others are.
  if (fence_at_end && target.is_x86()) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  llvm::Value* code = b.getInt32(0);
  if (code_ != nullptr) code = b.CreateLoad(b.getInt32Ty(), code_, /*isVolatile=*/true);
  if (stop_ != nullptr)
    code = b.CreateSelect(is_stopped(), llvm::ConstantInt::getSigned(b.getInt32Ty(), -1), code);
  b.CreateRet(code);
}

EmittedKernel KernelFrame::finish() {
  emit_return();
  finish_annotations();
  return {function->getName().str(), std::move(messages_), std::move(origins_), scratch_bytes_,
          parallel};
}

EmittedKernel emit_kernel(const lower::Kernel& kernel, llvm::Module& module, const Target& target,
                          Places places) {
  KernelFrame frame(kernel, module, target, places);
  if (const auto* nest = std::get_if<lower::Nest>(&kernel.body)) {
    emit_nest(*nest, frame);
  } else if (const auto* blocks = std::get_if<lower::Blocks>(&kernel.body)) {
    emit_blocks(*blocks, frame);
  } else {
    emit_contraction(std::get<lower::Contraction>(kernel.body), frame);
  }
  return frame.finish();
}

}  // namespace relay::codegen
