#include <relay/codegen/llvm/object.h>

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <array>
#include <atomic>
#include <mutex>
#include <span>

#include <relay/codegen/llvm/elf.h>
#include <relay/support/error.h>
#include <relay/support/threads.h>

namespace relay::codegen {

namespace {

/// The least processor of an architecture; targets say what they have beyond it.
struct Architecture {
  const char* triple;
  const char* cpu;
};
constexpr Architecture kX86{"x86_64-unknown-linux-gnu", "x86-64"};
constexpr Architecture kArm{"aarch64-unknown-linux-gnu", "generic"};

const Architecture& architecture_of(const Target& target) { return target.is_x86() ? kX86 : kArm; }

// The set that `Target` checks the machine for, and nothing that depends on the machine at hand:
// equal kernels give equal code everywhere.
std::string features_of(const Target& target) {
  std::string text;
  for (std::string_view feature : target.features())
    text.append(text.empty() ? "+" : ",+").append(feature);
  return target.isa == Target::Isa::kAvx512 ? text + ",-prefer-256-bit" : text;
}

const char* tuning_of(const Target& target) {
  switch (target.isa) {
    case Target::Isa::kBaseline:
      return "x86-64";
    case Target::Isa::kAvx2:
      return "x86-64-v3";
    case Target::Isa::kAvx512:
      return "x86-64-v4";
    case Target::Isa::kNeon:
      return "generic";
  }
  RELAY_UNREACHABLE("instruction set");
}

[[noreturn]] void fatal(void*, const char* reason, bool) {
  // LLVM would end the process. What it leaks on the way is small against that.
  throw InternalError(std::string("LLVM: ") + reason);
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();  // for inline assembly
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    llvm::install_fatal_error_handler(fatal);
  });
}

const llvm::Target& llvm_target(const Architecture& architecture) {
  initialize();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(architecture.triple, error);
  RELAY_CHECK(found != nullptr, error);
  return *found;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  const Architecture& architecture = architecture_of(target);
  std::unique_ptr<llvm::TargetMachine> machine(
      llvm_target(architecture)
          .createTargetMachine(architecture.triple, architecture.cpu, features_of(target), options,
                               llvm::Reloc::PIC_, llvm::CodeModel::Small,
                               llvm::CodeGenOptLevel::Default));
  RELAY_CHECK(machine != nullptr, "LLVM has no machine of this architecture");
  return machine;
}

void on_diagnostic(const llvm::DiagnosticInfo* info, void* errors) {
  if (info->getSeverity() != llvm::DS_Error) return;
  std::string& text = *static_cast<std::string*>(errors);
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  stream << '\n';
}

/// Begins `name(to, second, bytes)` of the module, which returns `to`; the builder stands inside.
llvm::Function* begin_memory_function(llvm::Module& module, const char* name, llvm::Type* second,
                                      llvm::IRBuilder<>& b) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(pointer, {pointer, second, llvm::Type::getInt64Ty(context)}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  return function;
}

/// Moves or sets bytes by one instruction of x86-64.
void write_by_instruction(llvm::Function* function, llvm::IRBuilder<>& b, bool copies) {
  llvm::Type* pointer = b.getPtrTy();
  llvm::Type* word = b.getInt64Ty();
  llvm::Value* from = function->getArg(1);
  if (!copies) from = b.CreateTrunc(from, b.getInt8Ty());
  auto* type = llvm::FunctionType::get(llvm::StructType::get(b.getContext(), {pointer, word}),
                                       {from->getType(), pointer, word}, false);
  auto* assembly =
      copies ? llvm::InlineAsm::get(type, "rep movsb", "={di},={cx},{si},0,1,~{si},~{memory}", true)
             : llvm::InlineAsm::get(type, "rep stosb", "={di},={cx},{al},0,1,~{memory}", true);
  b.CreateCall(assembly, {from, function->getArg(0), function->getArg(2)});
}

/// The same byte by byte. Volatile, or it would be recognised and call itself.
void write_by_bytes(llvm::Function* function, llvm::IRBuilder<>& b, bool copies) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::LLVMContext& context = b.getContext();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "bytes", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "end", function);
  llvm::Value* count = function->getArg(2);
  b.CreateCondBr(b.CreateICmpEQ(count, b.getInt64(0)), after, loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), before);
  llvm::Value* byte =
      copies ? b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), function->getArg(1), i))
             : b.CreateTrunc(function->getArg(1), b.getInt8Ty());
  b.CreateStore(byte, b.CreateGEP(b.getInt8Ty(), function->getArg(0), i), /*isVolatile=*/true);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpEQ(next, count), after, loop);
  b.SetInsertPoint(after);
}

/// Where the code generator would call memcpy or memset: definitions of our own. Slow ones are
/// enough, kernels move their data themselves.
void define_memory_functions(llvm::Module& module, const Target& target) {
  bool copies = false, moves = false, sets = false;
  for (const llvm::Function& function : module) {
    switch (function.getIntrinsicID()) {
      case llvm::Intrinsic::memcpy:
        copies = true;
        break;
      case llvm::Intrinsic::memmove:
        moves = true;
        break;
      case llvm::Intrinsic::memset:
        sets = true;
        break;
      default:
        break;
    }
  }
  RELAY_CHECK(!moves, "a kernel with llvm.memmove");
  llvm::IRBuilder<> b(module.getContext());
  auto define = [&](const char* name, llvm::Type* second) {
    if (module.getFunction(name) != nullptr) return;
    llvm::Function* function = begin_memory_function(module, name, second, b);
    const bool is_copy = second->isPointerTy();
    target.is_x86() ? write_by_instruction(function, b, is_copy)
                    : write_by_bytes(function, b, is_copy);
    b.CreateRet(function->getArg(0));
  };
  if (copies) define("memcpy", b.getPtrTy());
  if (sets) define("memset", b.getInt32Ty());
}

void isolate(llvm::Module& module, const std::string& function, const Target& target) {
  llvm::Function* entry = module.getFunction(function);
  RELAY_CHECK(entry != nullptr && !entry->isDeclaration(),
              "the module does not define '" + function + "'");
  define_memory_functions(module, target);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.setLinkage(&f == entry ? llvm::GlobalValue::ExternalLinkage
                             : llvm::GlobalValue::InternalLinkage);
    f.setDSOLocal(true);
    f.addFnAttr(llvm::Attribute::NoUnwind);
    f.removeFnAttr(llvm::Attribute::UWTable);
    f.addFnAttr("no-builtins");
    f.addFnAttr("tune-cpu", tuning_of(target));
    // Without these the code generator splits 512-bit vectors, or narrows the argument types.
    if (target.isa == Target::Isa::kAvx512) {
      f.addFnAttr("prefer-vector-width", "512");
      f.addFnAttr("min-legal-vector-width", "512");
    }
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() || variable.hasAppendingLinkage()) continue;
    variable.setLinkage(llvm::GlobalValue::PrivateLinkage);
    variable.setDSOLocal(true);
  }
}

/// The little that explicit loops and vectors need. Unrolling and vectorising is the emitter's.
class Optimizer {
 public:
  Optimizer(llvm::TargetMachine& machine, Combine combine) : builder_(&machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
    passes_.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    if (combine == Combine::kYes)
      passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager loop_passes;
    loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes_.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  }
  void run(llvm::Module& module) {
    passes_.run(module, modules_);
    modules_.clear();
    components_.clear();
    functions_.clear();
    loops_.clear();
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::ModulePassManager passes_;
};

void check_module(llvm::Module& module, const std::string& function, const Target& target) {
  isolate(module, function, target);
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  if (llvm::verifyModule(module, &stream)) {
    throw InternalError("LLVM refuses the module of '" + function + "': " + stream.str());
  }
}

/// The passes of the code generator but for two that cost time and gain nothing here, nor does what
/// only they ask for: the models run as fast without.
class CodeGenPasses final : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override {
    if (is_left_out(*pass)) {
      delete pass;
    } else {
      llvm::legacy::PassManager::add(pass);
    }
  }

 private:
  static bool is_left_out(const llvm::Pass& pass) {
    // A fifth of the code generator's time.
    static const llvm::AnalysisID strength_reduction =
        std::unique_ptr<llvm::Pass>(llvm::createLoopStrengthReducePass())->getPassID();
    // Moves masks between files of registers: one or two per cent.
    return pass.getPassID() == strength_reduction ||
           pass.getPassName() == "X86 Domain Reassignment Pass";
  }
};

/// The code generator for files of one kind. Its passes are made once and run on one module after
/// the other: making them takes a third of the time of a small kernel.
class CodeGenerator {
 public:
  CodeGenerator(llvm::TargetMachine& machine, llvm::CodeGenFileType type) : stream_(bytes_) {
    const bool refused =
        machine.addPassesToEmitFile(passes_, stream_, nullptr, type, /*DisableVerify=*/true);
    RELAY_CHECK(!refused, "LLVM cannot write this kind of file");
  }
  std::span<const char> run(llvm::Module& module) {
    std::string errors;
    module.getContext().setDiagnosticHandlerCallBack(on_diagnostic, &errors);
    bytes_.clear();
    passes_.run(module);
    module.getContext().setDiagnosticHandlerCallBack(nullptr);
    RELAY_CHECK(errors.empty(), "LLVM: " + errors);
    return bytes_;
  }

 private:
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  CodeGenPasses passes_;
};

std::atomic<size_t> machines{0};

/// The compiler that a thread keeps for a target: making it takes longer than compiling a small
/// kernel.
class ThreadCompiler {
 public:
  explicit ThreadCompiler(const Target& target) : machine_(make_machine(target)) { ++machines; }

  const llvm::TargetMachine& machine() const { return *machine_; }

  void optimize(llvm::Module& module, Combine combine) {
    auto& optimizer = optimizers_[static_cast<size_t>(combine)];
    if (optimizer == nullptr) optimizer = std::make_unique<Optimizer>(*machine_, combine);
    optimizer->run(module);
  }
  /// The result is there until the thread generates again.
  std::span<const char> generate(llvm::Module& module, llvm::CodeGenFileType type) {
    auto& generator = generators_[type == llvm::CodeGenFileType::AssemblyFile ? 1 : 0];
    if (generator == nullptr) generator = std::make_unique<CodeGenerator>(*machine_, type);
    return generator->run(module);
  }

 private:
  const std::unique_ptr<llvm::TargetMachine> machine_;
  std::array<std::unique_ptr<Optimizer>, 2> optimizers_;
  std::array<std::unique_ptr<CodeGenerator>, 2> generators_;
};

std::unique_ptr<ThreadCompiler>& compiler_for(const Target& target) {
  thread_local std::array<std::unique_ptr<ThreadCompiler>, 32> compilers;
  const size_t extras = (target.dots ? 1 : 0) + (target.processor.bfloat16_pairs ? 2 : 0) +
                        (target.processor.matrix_tiles ? 4 : 0);
  auto& compiler = compilers[8 * static_cast<size_t>(target.isa) + extras];
  if (compiler == nullptr) compiler = std::make_unique<ThreadCompiler>(target);
  return compiler;
}

/// Calls `work` with the thread's compiler. LLVM expects no exceptions: one that has gone through
/// its frames left things as they were, so all of it is made anew.
template <class F>
auto with_compiler(const Target& target, F&& work) {
  std::unique_ptr<ThreadCompiler>& kept = compiler_for(target);
  auto compiler = std::move(kept);
  auto result = work(*compiler);
  kept = std::move(compiler);
  return result;
}

}  // namespace

size_t compilers_made() { return machines; }

void prepare_module(llvm::Module& module, const Target& target) {
  const llvm::TargetMachine& machine = compiler_for(target)->machine();
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
}

KernelBlob to_blob(llvm::Module& module, const std::string& function, const Target& target,
                   Combine combine) {
  check_module(module, function, target);
  return with_compiler(target, [&](ThreadCompiler& compiler) {
    compiler.optimize(module, combine);
    const auto object = compiler.generate(module, llvm::CodeGenFileType::ObjectFile);
    return link_object(std::as_bytes(object), function);
  });
}

std::string to_text(llvm::Module& module, const std::string& function, const Target& target,
                    Combine combine, Text text) {
  check_module(module, function, target);
  return with_compiler(target, [&](ThreadCompiler& compiler) {
    std::string result;
    compiler.optimize(module, combine);
    if (text == Text::kLlvm) {
      // Others who compile the text know the machine by this alone.
      for (llvm::Function& f : module) {
        if (f.isDeclaration()) continue;
        f.addFnAttr("target-cpu", architecture_of(target).cpu);
        f.addFnAttr("target-features", features_of(target));
      }
      llvm::raw_string_ostream stream(result);
      module.print(stream, nullptr);
    } else {
      const auto assembly = compiler.generate(module, llvm::CodeGenFileType::AssemblyFile);
      result.assign(assembly.data(), assembly.size());
    }
    return result;
  });
}

KernelBlob blob_of_ir_here(const std::string& text, const std::string& function,
                           const Target& target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic fault;
  auto module = llvm::parseAssemblyString(text, fault, context);
  if (module == nullptr) throw InternalError("LLVM IR: " + fault.getMessage().str());
  prepare_module(*module, target);
  return to_blob(*module, function, target);
}

KernelBlob blob_of_ir(const std::string& text, const std::string& function, const Target& target) {
  KernelBlob blob;
  with_stack(1, 1, [&](size_t) { blob = blob_of_ir_here(text, function, target); });
  return blob;
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

std::vector<std::string> code_features(const Target& target) {
  const Architecture& architecture = architecture_of(target);
  auto set_of = [&](const std::string& features) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        llvm_target(architecture)
            .createMCSubtargetInfo(architecture.triple, architecture.cpu, features));
  };
  const auto all = set_of(features_of(target)), basic = set_of("");
  RELAY_CHECK(all != nullptr && basic != nullptr, "LLVM has no machine of this architecture");
  std::vector<std::string> names;
  if (!target.is_x86()) names.emplace_back(target.architecture());
  for (const llvm::SubtargetFeatureKV& each : all->getAllProcessorFeatures()) {
    if (all->hasFeature(each.Value) && !basic->hasFeature(each.Value)) names.emplace_back(each.Key);
  }
  return names;
}

}  // namespace relay::codegen
