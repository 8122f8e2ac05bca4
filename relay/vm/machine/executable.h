// A compiled program as plain data: made by the compiler, run by the machine, held by a file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <relay/runtime/arithmetic.h>
#include <relay/runtime/dim_code.h>
#include <relay/runtime/kernel.h>
#include <relay/runtime/library_kernel.h>
#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>
#include <relay/support/fork_mutex.h>

namespace relay::vm {

/// The value of an optional index (of a register, function, place, …) that is not given.
inline constexpr uint32_t kNone = ~uint32_t{0};

// ---- Places in source text ----------------------------------------------------------------------

/// A line of source text, or a part of it, kept so that an error can show it without the source.
struct SourceLine {
  std::string file;
  uint32_t line = 0;    // from 1
  uint32_t column = 1;  // of the first byte of `text`; above 1 when a very long line is cut
  std::string text;
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};
/// Executable::positions; the index 0 is the unknown place. `PositionTable` makes them from spans.
struct Position {
  uint32_t line = kNone;  // Executable::lines
  uint32_t column = 0;    // from 1
  uint32_t length = 0;
};

// ---- Bytecode -----------------------------------------------------------------------------------

/// The meanings of number operations are in relay/runtime/arithmetic.h.
using Unary = UnaryOp;
using Binary = BinaryOp;

/// `args` means Function::args[first … first + count). "operands" are entries of args that are
/// registers, with `kLast` set if the register is not read again: its value is then moved out.
/// Other register fields (dst, a, b, c) never have the flag.
enum class Op : uint8_t {
  kMove,       // dst ← a
  kTake,       // dst ← a, which is empty afterwards
  kConst,      // dst ← constants[a]
  kDrop,       // the registers in args become empty (frees what they hold)
  kUnary,      // dst ← unary(a), a number of type `dtype`
  kBinary,     // dst ← binary(a, b), numbers of type `dtype`; integers divided by 0 fail
  kCast,       // dst ← a, a number of type `dtype`, as `to`
  kBitcast,    // same bits
  kSelect,     // dst ← a ? b : c, any values, a is a bool
  kTuple,      // dst ← (operands…)
  kConstruct,  // dst ← constructors[a](operands…)
  kField,      // dst ← field b of the tuple or data value in a
  kUnpack,     // the fields of the tuple or data value in a go to the registers in args (kNone: not
               // wanted); a is empty afterwards. Moves the fields out if nobody else has the value
  kSwitch,     // continue at args[tag of the data value in a]; as many targets as constructors
  kClosure,    // dst ← closure of functions[a] capturing the operands
  kGlobal,     // dst ← closure of functions[a], which captures nothing
  kSelf,       // dst ← the running closure
  kCapture,    // dst ← captured value a of the running closure
  kCall,       // dst ← functions[a](operands…)
  kTailCall,   // return functions[a](operands…); takes no space
  kCallClosure,      // dst ← (closure in args[first])(the other operands…)
  kTailCallClosure,  // return (closure in args[first])(the other operands…)
  kReturn,           // a
  kJump,             // continue at a
  kBranch,           // unless the bool in a is true, continue at b
  kRefCreate,        // dst ← a new cell holding a
  kRefRead,          // dst ← the value in the cell in a
  kRefWrite,         // the cell in a ← b; dst ← ()
  kRunGraph,     // graphs[a]: args: operands, registers of outputs; the last b of both are of cells
  kCheckShapes,  // the values of args (registers without flag) fit checks[a]
  kFail,         // fails with messages[a]
  kFailUnless,   // fails with messages[b] unless the bool in a is true
  kNoMatch,      // fails: no clause fits the value in a
  kRefAdd,  // what the cell in the first operand holds grows by the second operand, a tensor of
            // floats of the same type; dst ← ()
  kCount
};

inline constexpr uint32_t kLast = uint32_t{1} << 31;

struct Instruction {
  Op op = Op::kReturn;
  uint8_t sub = 0;  // Unary or Binary
  DType dtype;
  DType to;
  uint32_t dst = kNone;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t first = 0;  // in Function::args
  uint32_t count = 0;
};

/// Registers hold values; the parameters come first. All others are empty at the start. Jump
/// targets are indices of instructions. Control never runs past the last instruction.
struct Function {
  std::string name;  // for call traces: "@main", "%f", "fn"
  uint32_t num_params = 0;
  uint32_t num_registers = 0;
  uint32_t num_captures = 0;
  std::vector<Instruction> code;
  std::vector<uint32_t> args;
  std::vector<uint32_t> positions;  // one for each instruction, or empty
};

// ---- Kernels and graphs -------------------------------------------------------------------------

/// A native kernel, or a library kernel of the runtime (then `library` is set).
struct Kernel {
  std::string name;            // "fused_add_tanh"; library: the operator's name
  std::string implementation;  // "pointwise", "contraction", …, "library"
  std::string source;          // its Relay text, for profiles
  uint32_t blob = kNone;       // Executable::blobs; kernels may share one
  /// For a kernel with a blob, the signature of its code: for each buffer 1 if it is written, and
  /// the number of sizes. Each launch has to match it.
  std::vector<uint8_t> writes;
  uint32_t num_dims = 0;
  std::string library;                // name for find_library_kernel
  std::vector<std::string> messages;  // of failures: code - 1; library: the failing operator
  std::vector<uint32_t> origins;  // the same: the entry of Launch::origins that fails; 0: unknown
  bool parallel = false;          // true if workers other than 0 have work
  /// Instead of a blob, for tests only: such an executable cannot be saved.
  KernelFn function = nullptr;
};

/// A tensor of a graph: dense, row-major. Sizes are slots of the graph's dims.
struct Place {
  DType dtype;
  /// kNone: counted by the library kernel that makes the tensor. Only results of the graph may be
  /// counted.
  std::vector<uint32_t> extents;
  /// The place whose memory it shares, and in which it lies. Chains must not be cycles.
  uint32_t alias = kNone;
  /// Slot: the first of that place's elements that it has, counted in elements of this one; kNone:
  /// the first.
  uint32_t offset = kNone;
  /// The constant (a tensor or number) of the executable that it is.
  uint32_t constant = kNone;
  uint32_t position = 0;  // of the operator that makes a tensor of such a size
  Device device;          // ignored for numbers, which are on none
};

/// One kernel call. All tensors are on one device, unless the library kernel copies between them.
struct Launch {
  struct Argument {
    uint32_t place = 0;
    bool written = false;  // false: only read
  };
  /// Argument numbers: the two may be the same memory if the read place is not used afterwards.
  /// Only if each element is read before it is written.
  struct InPlace {
    uint32_t written = 0;
    uint32_t read = 0;
    bool copy = false;  // in the same memory there is nothing to do
  };
  uint32_t kernel = 0;
  /// Native: one for each of the kernel's buffers but scratch, in order. Library: inputs, then
  /// outputs.
  std::vector<Argument> arguments;
  std::vector<uint32_t> dims;  // slots, KernelArgs::dims
  uint32_t scratch = kNone;    // slot: bytes for each worker
  uint32_t flops = kNone;      // slot
  uint32_t bytes = kNone;      // slot
  /// Slots: instructions by kind, for predictions (machine_model.h); kNone: not known.
  uint32_t products = kNone, steps = kNone, functions = kNone;
  std::vector<InPlace> in_place;
  // Library kernels.
  KernelParams params;
  uint32_t position = 0;
  std::vector<uint32_t> origins;  // positions of the operators in it; origin k is entry k - 1
};

/// A message with sizes in it: pieces[0] slot0 pieces[1] slot1 … The slots are of
/// `Graph::text_dims`.
struct SizeText {
  std::vector<std::string> pieces;
  std::vector<uint32_t> slots;
  SizeText() = default;
  SizeText(std::string text) : pieces{std::move(text)} {}  // NOLINT(google-explicit-constructor)
  SizeText(const char* text) : pieces{text} {}             // NOLINT(google-explicit-constructor)
};

/// a = b must hold for the sizes of a run.
struct DimCheck {
  uint32_t a = 0, b = 0;  // slots
  SizeText message;
  uint32_t position = 0;
};

/// The message if one of the slots first … last cannot be computed, in place of the arithmetic's
/// own; perhaps only for a division by zero. The first entry that fits counts.
struct DimFailure {
  uint32_t first = 0, last = 0;
  bool division = false;
  SizeText message;
  uint32_t position = 0;
};

/// A region of dataflow: kernel calls in order, over tensors in memory that the machine plans.
/// Inputs and results of rank 0 are numbers in registers.
struct Graph {
  std::string name;
  std::vector<DimInstruction> dims;
  std::vector<uint32_t> dim_positions;  // of dims, as far as known; 0 or missing: unknown
  std::vector<DimCheck> checks;
  std::vector<DimFailure> failures;
  /// Computed only for messages: a slot that fails is 0.
  std::vector<DimInstruction> text_dims;
  uint32_t num_inputs = 0;
  std::vector<Place> places;  // the inputs come first
  std::vector<Launch> launches;
  /// Places of the results: may be inputs, constants or aliases, and the same one twice.
  std::vector<uint32_t> outputs;
};

// ---- Entries
// -------------------------------------------------------------------------------------

/// A function that may be called from outside.
struct Entry {
  std::string name;  // "main"
  uint32_t function = 0;
  TypeCheck params;  // one part for each parameter; `what` is the bare name: "x"
  TypeCheck::Part result;
  /// The result, or the fields of a tuple that is the result.
  struct Result {
    std::string name;  // empty: the program gives none
    std::string type;
  };
  std::vector<Result> results;
};

// ---- All of it ----------------------------------------------------------------------------------

class Image;

/// A compiled program. Fill it in, then share it as `shared_ptr<const Executable>` and do not
/// change it again: any number of machines on any threads may run it.
struct Executable {
  std::string target = "baseline";  // instruction set of the blobs: baseline, avx2, avx512-vnni, …
  /// All instructions that their code may use beyond x86-64, or the name of another architecture
  /// (relay/runtime/cpu_features.h).
  std::vector<std::string> features;
  uint32_t kernel_abi = kKernelAbiVersion;
  std::vector<Entry> entries;
  std::vector<Function> functions;
  std::vector<Graph> graphs;
  std::vector<Kernel> kernels;
  std::vector<std::shared_ptr<const KernelBlob>> blobs;
  std::vector<Value> constants;  // numbers, tensors that are contiguous or uniform
  /// Only for an executable that is saved: constants, by their numbers, that are made while they
  /// are written, on any thread, each time with the same elements. Uniform tensors of their types
  /// stand for them. No machine runs such an executable.
  std::map<uint32_t, std::function<NDArray()>> late_constants;
  std::vector<const ConstructorInfo*> constructors;
  std::vector<TypeCheck> checks;
  std::vector<std::string> messages;
  std::vector<Position> positions{Position{}};
  std::vector<SourceLine> lines;
  /// What makers of the program wrote about it, by name; runs do not read it.
  std::map<std::string, std::string> notes;

  /// The data that machines derive from it when the first one starts; those of a copy begin anew.
  struct Derived {
    Derived() = default;
    Derived(const Derived&) {}
    Derived& operator=(const Derived&) { return *this; }
    ForkMutex mutex;
    std::weak_ptr<const Image> image;
  };
  mutable Derived derived;
};

/// Checks every index, register, jump target and operand, so that running it cannot leave the
/// machine's memory (kernels aside). Throws Error with the mistake and its place.
void verify(const Executable& executable);

/// The bytecode, graphs and signatures as text, for people.
std::string disassemble(const Executable& executable);

}  // namespace relay::vm
