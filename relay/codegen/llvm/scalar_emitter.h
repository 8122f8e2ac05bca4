// Scalar expressions as LLVM values, for one element or for a vector of them.
//
// A value stays a scalar while it is the same for all lanes, and index arithmetic stays `base +
// lane · step` while it is linear. So the emitter knows which loads are broadcasts, contiguous,
// strided or gathers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/codegen/llvm/emit.h>
#include <relay/codegen/llvm/index_ranges.h>
#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

struct LaneValue {
  enum class Form : uint8_t {
    kUniform,  // base, for all lanes
    kLinear,   // base + lane * step; int64 only
    kVector    // a vector of as many lanes as the context has
  };
  Form form = Form::kUniform;
  llvm::Value* base = nullptr;
  llvm::Value* step = nullptr;  // kLinear: i64, uniform
  /// kVector of int64, perhaps: a place that all lanes share, and how far each is from it.
  llvm::Value* origin = nullptr;
  llvm::Constant* spread = nullptr;

  static LaneValue uniform(llvm::Value* v) { return {Form::kUniform, v}; }
  static LaneValue linear(llvm::Value* base, llvm::Value* step) {
    return {Form::kLinear, base, step};
  }
  static LaneValue vector(llvm::Value* v) { return {Form::kVector, v}; }
  static LaneValue spread_from(llvm::Value* v, llvm::Value* origin, llvm::Constant* spread) {
    return {Form::kVector, v, nullptr, origin, spread};
  }
  bool is_uniform() const { return form == Form::kUniform; }
  bool is_linear() const { return form == Form::kLinear; }
  bool is_vector() const { return form == Form::kVector; }
  explicit operator bool() const { return base != nullptr; }
};

/// A dependence beside axes and registers (te::kVarFlag): memory that the kernel writes.
inline constexpr uint32_t kMemoryFlag = 0x40000000u;
/// Axis ids, register ids with te::kVarFlag, buffer numbers with kMemoryFlag; sorted.
using Dependences = std::vector<uint32_t>;

/// Writes values at the frame's insertion point. Each node is computed once per region and
/// remembered until the region ends; a node that does not depend on a loop moves in front of it.
///
/// For your own piece of code: open a region, bind axes and registers in it, emit.
///   ScalarEmitter::Scope scope(emitter, ScalarEmitter::Scope::plain({axis}));
///   emitter.set_lanes(16, tail_mask);
///   emitter.bind_axis(axis, LaneValue::linear(column, frame.int64(1)));
///   llvm::Value* v = emitter.emit_wide(node);
class ScalarEmitter {
 public:
  /// Registers that only name expressions which never change.
  using Aliases = std::unordered_map<uint32_t, te::ScalarRef>;
  /// `roots`: all expressions that will be emitted (they are analysed together), and the results of
  /// custom combiners. `ranges`, of the loops around them: null if nothing is known of them.
  ScalarEmitter(KernelFrame& frame, std::span<const te::ScalarRef> roots, Aliases aliases = {},
                const IndexRanges* ranges = nullptr);
  ScalarEmitter(const ScalarEmitter&) = delete;
  ScalarEmitter& operator=(const ScalarEmitter&) = delete;

  enum class RegionKind : uint8_t {
    kPlain,        // straight-line code: unrolled copies, blocks
    kConditional,  // may not run: nothing moves out of it
    kPreheader,    // in front of a loop, runs if the loop runs; code is added to it later
    kBody          // of a loop; the region before it must be its kPreheader
  };
  /// Opens a region; its values are forgotten at the end. `binds`: the axes and registers bound or
  /// changed inside, and memory written inside. Inherits lanes and mask.
  void push(RegionKind kind, Dependences binds);
  void pop();
  struct Scope {
    ScalarEmitter& emitter;
    Scope(ScalarEmitter& e, RegionKind kind, Dependences binds) : emitter(e) {
      e.push(kind, std::move(binds));
    }
    ~Scope() { emitter.pop(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
  /// For kPreheader, after it is opened: `block` ends with a branch to the loop (its last
  /// instruction), and code that moves out of the loop goes before that. `always`: the loop is
  /// known to run at least once, so code that may fail can move farther out.
  void set_preheader(llvm::BasicBlock* block, bool always);

  /// Changes the current region: from now on values are vectors of this many lanes (1: scalars),
  /// and only lanes in `mask` (null: all) may load, store or fail. `prefix`: the mask's lanes are
  /// the first ones.
  void set_lanes(unsigned lanes, llvm::Value* mask = nullptr, bool prefix = false);
  bool mask_is_prefix() const { return regions_.back().prefix; }
  unsigned lanes() const { return regions_.back().lanes; }
  llvm::Value* mask() const { return regions_.back().mask; }

  /// The value of an axis in this region: uniform, or linear with a vector's first value as base.
  void bind_axis(uint32_t axis, LaneValue value);
  /// The value of a register in this region, which never changes.
  void bind_var(uint32_t var, LaneValue value);
  /// A register in memory: scalar, or a vector of the current lanes.
  void bind_slot(uint32_t var, llvm::AllocaInst* slot);
  llvm::AllocaInst* slot(uint32_t var) const;  // null if it has none
  /// Forgets all values computed from changed dependences, in every region.
  void invalidate(const Dependences& changed);

  /// The node's value for the active lanes, in any form.
  LaneValue emit(const te::ScalarNode* node);
  LaneValue emit(const te::ScalarRef& node) { return emit(node.get()); }
  /// The node's value as one for all lanes; the node must not vary.
  llvm::Value* emit_uniform(const te::ScalarRef& node);
  /// The node's value as a vector of lanes() lanes; a scalar for one lane.
  llvm::Value* emit_wide(const te::ScalarRef& node);
  llvm::Value* widen(LaneValue value);

  /// The position of buffer[indices] in elements, for the active lanes; the indices are in range.
  LaneValue offset(int32_t buffer, std::span<const te::ScalarRef> indices);
  /// buffer[indices] = value, in active lanes; of overlapping lanes the last one stays.
  void store(int32_t buffer, std::span<const te::ScalarRef> indices, LaneValue value);
  void store(int32_t buffer, std::span<const te::ScalarRef> indices, const te::ScalarRef& value);
  /// Stores lane l of the k-th of n values (a power of two) to offset + n·l + k. Returns false, and
  /// does nothing, if the active lanes are not known.
  bool store_interleaved(int32_t buffer, llvm::Value* offset, std::span<const LaneValue> values);
  /// lhs ⊕ rhs, elementwise; all values as wide as the first.
  std::vector<llvm::Value*> combine(const te::Combiner& combiner, std::span<const DType> dtypes,
                                    std::span<llvm::Value* const> lhs,
                                    std::span<llvm::Value* const> rhs);
  /// The combiner's identity as scalars.
  std::vector<llvm::Value*> identity(const te::Combiner& combiner, std::span<const DType> dtypes);
  /// Joins the lanes of vectors to scalars, always in the same order.
  std::vector<llvm::Value*> join_lanes(const te::Combiner& combiner, std::span<const DType> dtypes,
                                       std::vector<llvm::Value*> vectors);
  /// True if any lane of a mask (i1 or vector of i1) is set: i1.
  llvm::Value* any(llvm::Value* mask);
  /// The conjunction of both; null is "all lanes".
  llvm::Value* and_mask(llvm::Value* mask, llvm::Value* condition);
  /// The description of a failure: an operator's message, perhaps with an index and the extent that
  /// it is outside of (else null), which are evaluated only for it.
  struct Failure {
    std::string_view message;
    uint32_t origin = 0;
    const te::ScalarNode* index = nullptr;
    const te::ScalarNode* extent = nullptr;
  };
  /// Fails in active lanes with a false condition.
  void check(const LaneValue& condition, const Failure& failure);

  /// Register ↔ memory form of a value of any width (bool, 16-bit floats).
  llvm::Value* from_memory(llvm::Value* value, DType dtype);
  llvm::Value* to_memory(llvm::Value* value, DType dtype);
  /// The value of a constant node.
  llvm::Constant* constant(const te::ScalarNode& node);

  /// The operands that make the value, without what only a message needs.
  static std::span<const te::ScalarRef> value_args(const te::ScalarNode* node);
  const Dependences& dependences(const te::ScalarNode* node) const { return facts(node).depends; }
  /// True if a masked load or store of such elements is one instruction.
  static bool has_masked_access(const Target& target, size_t element_bytes);
  KernelFrame& frame() { return frame_; }

 private:
  struct Facts {
    Dependences depends;
    bool unsafe = false;    // may fault or fail if it is evaluated without need
    bool lazy = false;      // a part of it is evaluated under a condition
    bool has_arms = false;  // this part is: of a select its arms, of a failure its value
    uint32_t own_cost = 0;  // of computing it from its operands
    uint32_t cost = 0;      // with all its operands, at most: what they share counts several times
  };
  struct Region {
    RegionKind kind = RegionKind::kPlain;
    Dependences binds;
    unsigned lanes = 1;
    llvm::Value* mask = nullptr;
    bool prefix = false;  // the mask's lanes
    llvm::BasicBlock* preheader = nullptr;
    bool always = false;
    std::unordered_map<const te::ScalarNode*, LaneValue> values;
    std::unordered_map<const te::ScalarNode*, LaneValue> divisors;
    std::unordered_map<uint32_t, LaneValue> bound;  // axes; registers with te::kVarFlag
    std::unordered_map<uint32_t, llvm::AllocaInst*> slots;
  };
  using NodeSet = std::unordered_set<const te::ScalarNode*>;

  // scalar_emitter.cpp
  const Facts& facts(const te::ScalarNode* node) const;
  const te::ScalarNode* alias_of(const te::ScalarNode* var) const;
  bool is_leaf(const te::ScalarNode* node) const;
  LaneValue leaf(const te::ScalarNode* node);
  LaneValue find(const te::ScalarNode* node, size_t region) const;
  LaneValue value_of(const te::ScalarNode* node);
  LaneValue arg(const te::ScalarNode* node, size_t k) { return value_of(node->args[k].get()); }
  size_t home_of(const Dependences& depends, bool unsafe, size_t region) const;
  /// Writes in an outer region: inline, or in front of its loop.
  LaneValue write_at(size_t home, const std::function<LaneValue()>& write);
  LaneValue write(const te::ScalarNode* node);

  // operands.cpp: what is computed before a node, and what only under a condition
  bool is_lazy(const te::ScalarNode* node) const { return facts(node).has_arms; }
  bool has_arms(const te::ScalarNode* node) const;
  /// True if computing the nodes with all their operands, each once, costs more than `limit`.
  bool costs_more(std::span<const te::ScalarRef> nodes, uint32_t limit) const;
  std::span<const te::ScalarRef> certain_args(const te::ScalarNode* node) const;
  std::span<const te::ScalarRef> lazy_args(const te::ScalarNode* node) const;
  NodeSet certain_below(const te::ScalarNode* root) const;
  std::vector<const te::ScalarNode*> operands(const te::ScalarNode* node, size_t region,
                                              const NodeSet& certain) const;

  // conditional.cpp
  /// Records that `bad` lanes (null if it is not one value for each lane) fail here.
  void record(const Failure& failure, llvm::Value* bad);
  LaneValue write_select(const te::ScalarNode* node);
  LaneValue write_fail(const te::ScalarNode* node);
  LaneValue blend(LaneValue condition, LaneValue a, LaneValue b);
  LaneValue merge(LaneValue a, llvm::BasicBlock* from_a, LaneValue b, llvm::BasicBlock* from_b);
  /// The value under one more condition, zero if no active lane takes it.
  llvm::Value* masked_arm(const te::ScalarNode* node, llvm::Value* taken);

  // memory.cpp
  LaneValue write_load(const te::ScalarNode* node);

  // arithmetic.cpp, divide.cpp, convert.cpp
  LaneValue write_unary(const te::ScalarNode* node);
  LaneValue write_binary(const te::ScalarNode* node);
  LaneValue write_divide(const te::ScalarNode* node);
  std::optional<LaneValue> aligned_quotients(const te::ScalarNode& node, const LaneValue& x,
                                             int64_t divisor);
  LaneValue checked_divisor(const te::ScalarNode* divisor, uint32_t origin);
  LaneValue write_cast(const te::ScalarNode* node);
  /// A cast that rounds to even by a sum, in one instruction; nothing for others.
  LaneValue write_rounded(const te::ScalarNode* node);
  LaneValue write_bitcast(const te::ScalarNode* node);
  LaneValue linear_compare(te::BinaryOp op, LaneValue x, LaneValue y);
  llvm::Value* binary_op(te::BinaryOp op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* round_narrow(llvm::Value* value, DType dtype);

  friend class MemoryAccess;

  KernelFrame& frame_;
  llvm::IRBuilder<>& b;
  std::vector<Region> regions_;
  std::unordered_map<const te::ScalarNode*, Facts> facts_;
  std::unordered_map<uint32_t, te::ScalarRef> aliases_;
  std::vector<te::ScalarRef> roots_;  // so that nodes stay alive
  uint64_t written_ = 0;
};

}  // namespace relay::codegen
