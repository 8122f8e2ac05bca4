// Internal: the direct evaluator's form of scalar expressions, instructions on rows, in blocks.
//
// A block runs on the lanes (points) of its context. The stage's own context has the chunk of
// domain points; a fold that does not depend on those has a context of its own, with its axes as
// lanes. Values that do not depend on the lanes are single ("uniform") and are computed in the
// outermost block that binds their dependences. The arms of selects are blocks that run under a
// mask of active lanes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>
#include <relay/tensor_expr/rows.h>

namespace relay::te {

/// Gives stages their tensors and extents.
struct Environment {
  const Computation* computation = nullptr;
  std::span<const NDArray> inputs;
  std::vector<std::vector<NDArray>> results;  // of the stages so far
  std::function<int64_t(Dim)> dim;
  Device device;  // of what is made

  const NDArray& tensor(TensorId id) const {
    return id.is_input() ? inputs[static_cast<size_t>(id.index)]
                         : results[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }
};

struct LoopAxis {
  uint32_t id;
  int64_t extent;
};

/// Lanes of a context: some consecutive points of a box, in row-major order.
struct Lanes {
  std::vector<LoopAxis> axes;
  std::vector<int64_t> steps;  // points from one index of an axis to the next
  int64_t total = 1;
  int64_t capacity = 1;
  int64_t begin = 0;
  int64_t n = 1;
  uint64_t serial = 0;             // changes with every move
  std::vector<int64_t> first;      // indices of the first point
  std::vector<int64_t> low, high;  // bounds of each index over the chunk

  explicit Lanes(std::vector<LoopAxis> lane_axes);
  void move_to(int64_t new_begin, int64_t count);
  /// out[i] = constant + Σ coefficient * index over the lanes.
  void linear(std::span<const int64_t> coefficients, int64_t constant, int64_t* out) const;
};

using Reg = uint32_t;

struct Register {
  std::byte* data = nullptr;
  size_t offset = 0;
  DType dtype;
  uint32_t context = 0;
  bool wide = false;
};

struct Instr {
  enum class Code : uint8_t {
    kUnary,
    kBinary,
    kDivide,
    kSplat,
    kIndexRow,
    kLoad,
    kSelect,
    kFail,
    kFold,
    kReset,
    kForce
  };
  Code code;
  bool wide = false;
  Reg out = 0, a = 0, b = 0, c = 0;
  uint32_t extra = 0;
  union {
    rows::UnaryFn unary = nullptr;
    rows::BinaryFn binary;
    rows::DivideFn divide;
  };
  rows::UnaryFn round = nullptr;
};

struct Block {
  uint32_t context = 0;
  std::vector<Instr> code;
};

/// One term of an index: coefficient * register.
struct Term {
  int64_t coefficient;
  Reg reg;
};

struct LoadInfo {
  NDArray array;
  DType dtype;
  Bounds bounds{};
  alignas(8) std::byte fill[8] = {};
  struct Axis {
    int64_t extent = 0, stride = 0, constant = 0;
    std::vector<int64_t> lanes;  // coefficients of the lane axes; empty for none
    std::vector<Term> uniform, wide;
    int64_t low = 0, high = 0;      // of the lane part, for the chunk
    std::vector<int64_t> lane_row;  // its values, when needed
    uint64_t row_serial = 0;
    int64_t at = 0;  // the uniform part of the current run
  };
  std::vector<Axis> axes;
  bool affine = true;   // no wide terms
  bool stepped = true;  // the lanes' elements are `step` apart
  int64_t step = 0;
  std::vector<int64_t> coefficients;  // of the lane axes, in elements
  std::vector<int64_t> offsets;       // of the lanes' elements, for the chunk
  uint64_t serial = 0, offsets_serial = 0;
  int64_t base = 0;
  uint32_t context = 0;
};

struct SelectInfo {
  uint32_t then_block = 0, else_block = 0;
  std::vector<uint8_t> then_mask, else_mask;
};

struct FailInfo {
  std::string message;
  uint32_t block = 0;
};

struct ThunkInfo {
  uint32_t block = 0;
  bool wide = false;
  bool forced = false;         // some lane is valid
  std::vector<uint8_t> valid;  // empty: all
};

class Program;

struct FoldInfo {
  const ScalarNode* node = nullptr;
  bool rows = false;  // lanes run along the fold's axes
  uint32_t body = 0, where_block = 0, prologue = 0, context = 0;
  bool has_where = false;
  Reg where = 0;
  std::vector<LoopAxis> axes;
  std::vector<Reg> indices;  // for a loop
  int64_t total = 1;
  std::vector<Reg> values, accumulators;
  std::vector<DType> dtypes;
  bool blocked = false;  // a sum of floats
  Reg partial = 0;
  rows::BinaryFn combine = nullptr;
  rows::UnaryFn round = nullptr;
  alignas(8) std::byte identity[8] = {};
  // Custom combiners.
  std::unique_ptr<Program> combiner, identities;
  std::vector<std::vector<std::byte>> lhs, rhs, row, kept;
  std::vector<uint8_t> mask;
};

/// A nest of levels around expressions: level 0 runs once, and each further one binds placeholders
/// and axes, as lanes or one index at a time.
struct Level {
  std::vector<LoopAxis> uniform;
  std::vector<LoopAxis> lanes;  // of one level at most
  std::vector<ScalarRef> vars;  // placeholders, one value for each lane
};

struct Root {
  ScalarRef node;
  uint32_t level = 0;  // computed when this level runs
};

class Program {
 public:
  Program(const Environment& env, std::vector<Level> levels, std::vector<Root> roots);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Runs a level's block. Levels run from 0 on; set a level's indices before.
  void run(uint32_t level) { run_block(level_blocks_[level], nullptr); }
  void set_index(uint32_t axis, int64_t value);
  Lanes& lanes() { return contexts_[0]; }
  /// The values of root k, one for each lane.
  const void* root(size_t k) const { return registers_[roots_[k]].data; }
  /// The place for the values of placeholder `id`, one for each lane.
  void* var(uint32_t id) { return registers_[var_reg(id)].data; }
  void bind_var(uint32_t id, void* data) {
    registers_[var_reg(id)].data = static_cast<std::byte*>(data);
  }

 private:
  friend class ProgramCompiler;

  Reg var_reg(uint32_t id) const;
  int64_t count(const Instr& instr, const Block& block) const {
    return instr.wide ? contexts_[block.context].n : 1;
  }
  template <class T>
  T* data(Reg reg) const {
    return reinterpret_cast<T*>(registers_[reg].data);
  }
  void run_block(uint32_t block, const uint8_t* mask);
  void run_select(const Instr& instr, const Block& block, const uint8_t* mask);
  void run_fail(const Instr& instr, const Block& block, const uint8_t* mask);
  void run_force(const Instr& instr, const Block& block, const uint8_t* mask);
  // program_load.cpp
  void run_load(const Instr& instr, const Block& block, const uint8_t* mask);
  void load_uniform(LoadInfo& load, void* out);
  void load_rows(LoadInfo& load, const Lanes& lanes, void* out, const uint8_t* mask);
  [[noreturn]] void refuse_lane(LoadInfo& load, const Lanes& lanes, int64_t lane);
  void load_general(LoadInfo& load, const Lanes& lanes, void* out, const uint8_t* mask);
  // program_fold.cpp
  void run_fold(const Instr& instr, const Block& block, const uint8_t* mask);
  void run_loop_fold(FoldInfo& fold, int64_t n, const uint8_t* mask);
  void run_row_fold(FoldInfo& fold);
  void start_fold(FoldInfo& fold, int64_t n);
  void join_rows(FoldInfo& fold, std::span<std::byte* const> lhs, std::span<std::byte* const> rhs,
                 std::span<std::byte* const> out, int64_t n, const uint8_t* mask);
  void reduce_custom(FoldInfo& fold, int64_t n, const uint8_t* mask);

  std::vector<Lanes> contexts_;
  std::vector<Register> registers_;
  std::vector<Block> blocks_;
  std::vector<LoadInfo> loads_;
  std::vector<SelectInfo> selects_;
  std::vector<FailInfo> fails_;
  std::vector<ThunkInfo> thunks_;
  std::vector<FoldInfo> folds_;
  std::vector<uint32_t> level_blocks_;
  std::vector<Reg> roots_;
  std::vector<std::pair<uint32_t, Reg>> index_regs_;  // axis id → register
  std::vector<std::pair<uint32_t, Reg>> var_regs_;
  std::unique_ptr<std::byte[]> arena_;
  std::vector<int64_t> scratch_row_, scratch_offsets_;
  std::vector<uint8_t> scratch_valid_;
};

}  // namespace relay::te
