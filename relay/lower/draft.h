// A kernel under construction: buffers, registers, and scalar expressions turned into statements.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/lower/index_math.h>
#include <relay/lower/loops.h>
#include <relay/lower/lower.h>
#include <relay/lower/scalars.h>

namespace relay::lower {

/// A kernel with the tensors of its argument buffers.
struct DraftKernel {
  std::shared_ptr<Kernel> kernel;
  std::vector<te::TensorId> tensors;  // one for each buffer that is not scratch, in order
};

class Draft {
 public:
  explicit Draft(const te::Computation& computation)
      : computation_(computation),
        num_axes_(computation.num_axes),
        num_vars_(computation.num_vars) {}

  const te::Computation& computation() const { return computation_; }
  te::Axis new_axis(Dim extent) { return {num_axes_++, extent}; }
  uint32_t new_var() { return num_vars_++; }
  /// Reserves the next `count` registers.
  void reserve_vars(size_t count) { num_vars_ += static_cast<uint32_t>(count); }

  /// The buffer of a tensor, in its shape or as one row of all its elements.
  int32_t buffer(te::TensorId id, Buffer::Role role, bool flat);
  int32_t scratch(std::string name, DType dtype, std::vector<Dim> dims);
  /// A load from a buffer, in range.
  te::ScalarRef load(int32_t buffer, std::vector<te::ScalarRef> indices) const;

  /// The expression with its loads of tensors made loads of buffers; loads in range are flat,
  /// unless `keep_dims`. `axes` gives the replacements of axes.
  std::vector<te::ScalarRef> bind(std::span<const te::ScalarRef> roots, IndexMath& math,
                                  const std::unordered_map<uint32_t, te::ScalarRef>& axes = {},
                                  bool keep_dims = false);
  /// Called first for a load of a tensor, if set; null for the usual treatment. Indices are bound.
  std::function<te::ScalarRef(const te::ScalarNode& load, const std::vector<te::ScalarRef>& args)>
      intercept;

  Block& body() { return body_; }
  /// Each point of the loops stores elements of its own (Nest::stores_apart).
  void stores_apart() { stores_apart_ = true; }
  /// The kernel, its axes and registers numbered in order of appearance.
  DraftKernel finish(std::string name, std::string implementation, Dim flops);
  DraftKernel finish(std::string name, Contraction contraction, Dim flops);
  const std::vector<Buffer>& buffers() const { return buffers_; }
  uint32_t num_axes() const { return num_axes_; }
  uint32_t num_vars() const { return num_vars_; }

 private:
  const te::Computation& computation_;
  uint32_t num_axes_, num_vars_;
  std::vector<Buffer> buffers_;
  std::vector<te::TensorId> tensors_;  // beside buffers_
  std::vector<bool> flat_;
  Block body_;
  bool stores_apart_ = false;
};

/// The loops of a fold.
struct FoldLoops {
  int vector_axis = -1;  // position among the fold's axes, or -1: none
  uint32_t interleave = 1;
};

/// Turns expressions with folds into statements that leave their values in registers.
class Flattener {
 public:
  /// `in_lanes`: the statements stand in a vector loop.
  Flattener(Draft& draft, bool in_lanes) : draft_(draft), in_lanes_(in_lanes) {}
  /// The rest of the expression after statements in `block` have computed its folds.
  te::ScalarRef value(const te::ScalarRef& root, Block& block);
  /// Registers of a fold, computed by statements in `block`.
  std::vector<te::ScalarRef> fold(const te::ScalarRef& fold, Block& block);
  bool has_fold(const te::ScalarRef& node);
  /// Chooses the loops of a fold outside of vector loops; if not set, all are serial.
  std::function<FoldLoops(const te::ScalarNode& fold)> choose;
  /// Fold axes that run from a begin to an end of their own.
  std::unordered_map<uint32_t, std::pair<te::ScalarRef, te::ScalarRef>> clips;

 private:
  void fold_loops(const te::ScalarRef& fold, const std::vector<te::Axis>& axes, size_t at,
                  const std::vector<uint32_t>& vars, const FoldLoops& loops, Block& block);
  void fold_body(const te::ScalarRef& fold, const std::vector<uint32_t>& vars, Block& block);
  void hoist(const te::ScalarRef& fold, Block& block);
  te::ScalarRef choice(const te::ScalarNode& select, te::ScalarRef condition, Block& block);
  void remember(const te::ScalarRef& node, te::ScalarRef value);
  size_t mark() const { return order_.size(); }
  void forget(size_t mark);

  Draft& draft_;
  bool in_lanes_;
  std::unordered_map<const te::ScalarNode*, bool> has_fold_;
  std::vector<te::ScalarRef> alive_;  // keeps the addresses in it taken
  std::unordered_map<const te::ScalarNode*, te::ScalarRef> done_;
  std::unordered_map<const te::ScalarNode*, std::vector<te::ScalarRef>> registers_;
  std::vector<te::ScalarRef> order_;  // keys of done_ in order, alive
};

// Statements.
Stmt let(uint32_t var, te::ScalarRef value);
Stmt store(int32_t buffer, std::vector<te::ScalarRef> indices, te::ScalarRef value);
For loop(LoopKind kind, const te::Axis& axis);
/// Makes the block the body of a loop that takes its place.
void enclose(Block& block, For loop);
te::ScalarRef zero(DType dtype);

/// Visits every scalar of a block, for changes.
void for_each_scalar(Block& block, const std::function<void(te::ScalarRef&)>& visit);
/// Work of one evaluation of the expressions, folds included; over the terms of extents.
Dim flops_of(std::span<const te::ScalarRef> roots);

}  // namespace relay::lower
