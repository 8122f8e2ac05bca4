// Loop nests: the work of a kernel, over the scalar expressions of tensor_expr (docs/lowering.md).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <relay/tensor_expr/origin.h>

namespace relay::lower {

/// Memory that a nest works on: dense, row-major. In the scalar expressions of a nest, a load from
/// `TensorId{-1, k}` reads buffer k.
struct Buffer {
  enum class Role : uint8_t {
    kInput,    // KernelArgs::buffers, read only
    kOutput,   // KernelArgs::buffers, written (and read back, if the nest reads it)
    kScratch,  // a piece of this worker's KernelArgs::scratch: private, kept in cache
    kTape,     // the thread's tape, which grows (relay/runtime/tape.h): int64; one in a nest
  };
  Role role = Role::kInput;
  std::string name;
  DType dtype;
  std::vector<Dim> dims;  // integers and terms over the nest's symbols; rank 0 is one element
  /// kScratch: the buffer whose memory this one is, in another shape; -1: memory of its own.
  int32_t same = -1;

  /// True if it is one of KernelArgs::buffers.
  bool is_argument() const { return role == Role::kInput || role == Role::kOutput; }
};

enum class LoopKind : uint8_t {
  kSerial,
  /// Outermost only, once in a nest: workers take contiguous pieces of the iterations, in any
  /// order. One worker runs a nest without such a loop.
  kParallel,
  /// `step` is ignored: as many lanes as the target has for the types in the body, the rest masked.
  /// Everything inside is per lane. A vector loop contains no other vector loop.
  kVector,
  /// Constant bounds: written out.
  kUnrolled,
  /// Around one vector loop with the same bounds each time, in it one store of one load in range.
  /// The store lies side by side along this loop's axis, the load along the vector loop's: squares
  /// with as many rows as a vector has lanes are turned in registers. Elements may be stored twice.
  kTurned
};

struct Stmt;
using Block = std::vector<Stmt>;

/// for axis in begin, begin + step … < end. The bounds are uniform int64 scalars.
struct For {
  LoopKind kind = LoopKind::kSerial;
  uint32_t axis = 0;  // id of the kIndex nodes whose values it gives
  te::ScalarRef begin;
  te::ScalarRef end;
  int64_t step = 1;
  /// Iterations (kVector: vectors) that run interleaved with accumulators of their own, joined
  /// after the loop in a fixed order; 1 for none. For reductions, to hide latency.
  uint32_t interleave = 1;
  bool reverse = false;  // kSerial: from the last to the first
  Block body;
};

/// A register with a value, from here to the end of the block; later expressions name it by a kVar
/// node of id `var`.
struct Let {
  uint32_t var = 0;
  te::ScalarRef value;
};

/// Changes a register of an enclosing block (scan carries), but not across the boundary of a vector
/// loop.
struct Set {
  uint32_t var = 0;
  te::ScalarRef value;
};

/// vars ⊕= values, for registers that an enclosing block let begin with the combiner's identity. If
/// the registers were let outside of an enclosing vector loop, each lane accumulates for itself and
/// the lanes are joined at the end of that loop.
struct Accumulate {
  std::vector<uint32_t> vars;
  te::Combiner combiner;
  std::vector<te::ScalarRef> values;
  te::ScalarRef
      where;  // bool or null: where it is false, values are not evaluated and nothing is joined
  uint32_t origin = 0;  // of the fold
};

/// buffer[indices] = value.
struct Store {
  int32_t buffer = 0;
  std::vector<te::ScalarRef> indices;  // int64, in range
  te::ScalarRef value;                 // of the buffer's dtype
};

/// If the condition varies along an enclosing vector loop, both blocks run masked, each only if
/// some lane takes it; loads and failures of other lanes do not happen.
struct If {
  te::ScalarRef condition;
  Block then_block;
  Block else_block;
};

/// Fails with message `code` of the nest if the condition is false (like te kFail, for statements).
struct Check {
  te::ScalarRef condition;
  std::string message;
  uint32_t origin = 0;  // as of scalars
  /// Optional: an index and the extent that it is outside of, evaluated only after a failure.
  te::ScalarRef index{}, extent{};
  /// Ends the kernel at once; otherwise it goes on with any value, and only leaves its loops.
  bool ends = false;
};

/// Room on the tape: register `room` has the number of slots that may be used. If `needed` is more,
/// the runtime is asked for that many, and the kernel ends with the message if it refuses.
struct Grow {
  uint32_t room = 0;
  te::ScalarRef needed;
  std::string message;
  uint32_t origin = 0;  // as of scalars
};

/// Runs its body once, and again each time the body comes to a `NextTurn`. Such a loop may be
/// endless, so the kernel leaves it when it has failed or when its run is stopped from outside. Not
/// inside of a vector loop.
struct Repeat {
  Block body;
};

/// Begins the body of the innermost Repeat around it once more. The last statement of its block.
struct NextTurn {};

struct Stmt {
  std::variant<For, Let, Set, Accumulate, Store, If, Check, Repeat, NextTurn, Grow> node;
};

/// A kernel as loops. Its scalars hold no kFold nodes (folds have become loops) and no placeholders
/// but registers.
struct Nest {
  std::vector<Buffer> buffers;
  Block body;
  uint32_t num_axes = 0;  // axis ids are below
  uint32_t num_vars = 0;  // register ids are below
  /// No element is stored twice: a store comes after all loads of its own point.
  bool stores_apart = false;
  /// Additions and multiplications are rounded one by one, so that comparisons of their results
  /// decide as they do in the direct evaluator.
  bool rounds_each = false;
};

/// Sizes in the plan of a contraction that somebody prefers to the planner's, having measured them;
/// 0: the planner's own, and so is what does not fit.
struct TileChoice {
  int32_t tile_rows = 0;        // of a tile
  int32_t panel_vectors = 0;    // of a panel, and so of a tile
  int32_t tiles_in_block = 0;   // row tiles that read the same panel in turn
  int32_t panels_in_block = 0;  // panels that read the same rows in turn

  bool operator==(const TileChoice&) const = default;
  /// "6 rows in a tile, 2 panels in a block".
  std::string str() const;
};

/// A sum of products: out[b…, m…, n…] = epilogue(Σ over k… of lhs · rhs). The index maps tell which
/// axes are batch, rows, columns and folded. Emitted as register tiles over packed panels.
struct Contraction {
  std::vector<Buffer> buffers;
  std::vector<te::Axis> batch, rows, columns, folded;
  te::ScalarRef lhs, rhs;  // the factors, already in the accumulator's dtype: loads, possibly cast
  DType accumulator;
  /// The value stored at (batch, rows, columns), with the sum as register `sum`; elementwise.
  te::ScalarRef epilogue;
  uint32_t sum = 0;
  int32_t out = 0;                       // buffer
  std::vector<te::ScalarRef> out_index;  // over batch, rows and columns
  uint32_t num_axes = 0;
  uint32_t num_vars = 0;
  uint32_t origin = 0;  // of the sum
  TileChoice chosen;
};

/// Nests and contractions that run in order for one block of the results, then for the next: the
/// tensors between them are of one block, in a worker's scratch, and never whole in memory.
struct Blocks {
  /// Counts blocks: in the parts, `symbol` is a number below `count`.
  struct Counter {
    Dim symbol;
    Dim count;
  };
  std::vector<Buffer> buffers;
  std::vector<Counter> counters;  // workers share the blocks of all counters in any order
  /// Each has the buffers of all. Nests have no parallel loops. Extents do not fall with counters.
  std::vector<std::variant<Nest, Contraction>> parts;
};

/// One native kernel, before it is compiled.
struct Kernel {
  std::string name;            // "fused_add_tanh"
  std::string implementation;  // template: pointwise, transpose, row, reduce, contraction, window,
                               // scan, update, blocks
  std::variant<Nest, Contraction, Blocks> body;
  /// Symbols that occur in dims, in the order of KernelArgs::dims. Each is a `Dim::symbol`.
  std::vector<Dim> dim_args;
  Dim flops;  // of one run, for profiles
  Dim bytes;  // read and written at least once
  /// The number of sums of products with rows and columns that loops of another template than
  /// "contraction" compute, which is too slow to be intended.
  size_t products_in_loops = 0;

  const std::vector<Buffer>& buffers() const;
  /// As text (`relay opt --emit=loops`), stable.
  std::string str() const;
  /// The same text; `origins` gets the operators that its pieces belong to, by their numbers in the
  /// kernel's group.
  std::string str(te::OriginRuns& origins) const;
};

/// The operator that a statement works for, beside its parts; 0: none alone.
uint32_t origin_of(const Stmt& stmt);

}  // namespace relay::lower
