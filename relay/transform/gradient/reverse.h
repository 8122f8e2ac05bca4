// Reverse mode over calls of operators, tuples and ifs: what flows back from results to inputs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <relay/program/view.h>
#include <relay/transform/gradient/leaves.h>
#include <relay/transform/gradient/loops.h>

namespace relay::grad {

/// One typed function, its nodes by number, and gradients that flow back through it.
///
/// Nodes have the numbers of `Regions`; variables that no let binds have numbers behind them. Lets
/// disappear: a let's variable is its value. The new forward pass uses the old nodes, so that what
/// the backward pass needs is computed once. An `if` gives what its backward pass needs along with
/// its value: a slot holds a value of one type, of either branch, and the branch that does not
/// have it puts zeros there, which are constants.
class Reverse {
 public:
  static constexpr uint32_t kNone = Regions::kNone;
  /// With `loops`, their calls are dataflow.
  explicit Reverse(const Function* function, Loops* loops = nullptr);

  const Regions& regions() const { return regions_; }
  LeafTable& leaf_table() { return leaf_table_; }

  /// The number of what an operand stands for, past lets; kNone for names of operators and the
  /// like.
  uint32_t target(uint32_t node, size_t operand) const;
  uint32_t target_of(const Expr* expr, uint32_t node) const;
  uint32_t result_of(uint32_t region) const;
  /// The same with the expression: a name if the number is kNone.
  std::pair<uint32_t, const Expr*> origin(const Expr* expr, uint32_t node) const;
  /// The number of a variable; a new one if it has none.
  uint32_t variable(const Var* var);
  const Type* type(uint32_t id) const { return types_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(types_.size()); }

  /// True if the node is a call of an operator or of a loop, or an `if` over such, so that this
  /// class knows what flows back.
  bool is_dataflow(uint32_t id) const { return dataflow_[id]; }
  /// True if gradients flow to the node.
  bool varied(uint32_t id) const { return varied_[id]; }
  void set_varied(uint32_t id) { varied_[id] = true; }
  const ExprRef& value(uint32_t id) const { return values_[id]; }
  /// The value, which `make` gives if nobody set it. `leaf` gives a tensor in a value that holds
  /// other things, too.
  const ExprRef& value_of(uint32_t id);
  void when_missing(std::function<ExprRef(uint32_t)> make,
                    std::function<ExprRef(uint32_t, uint32_t)> leaf) {
    missing_ = std::move(make);
    missing_leaf_ = std::move(leaf);
  }
  void set_value(uint32_t id, ExprRef value) { values_[id] = std::move(value); }
  /// The group that a node belongs to: gradients of others leave the frame.
  void set_owner(uint32_t id, uint32_t owner) { owners_[id] = owner; }
  uint32_t owner(uint32_t id) const { return owners_[id]; }

  /// Computes a node's value, and those of the branches of an `if`, from the values of operands.
  void make_forward(uint32_t id);
  void forward_region(uint32_t region);
  /// Finds out alone to which nodes of a region gradients flow.
  void find_varied(uint32_t region);
  /// The value with the lets of ifs around it that `nodes` hold; for whole regions.
  ExprRef with_ifs(std::span<const uint32_t> nodes, ExprRef value);
  /// The nodes that run in a region, in order.
  std::vector<uint32_t> nodes_of(uint32_t region) const;
  /// Moves the lets of such ifs to a list.
  using Binding = std::pair<VarRef, ExprRef>;
  void take_ifs(std::span<const uint32_t> nodes, std::vector<Binding>& out);

  /// A frame collects gradients: those of its own nodes wait until `backward` meets the node; those
  /// of others are its result, in order of first mention.
  struct Outer {
    uint32_t id;
    uint32_t leaf;
    ExprRef gradient;
  };
  void open_frame(uint32_t owner);
  std::vector<Outer> close_frame();
  /// Adds to the gradient of a leaf of a node.
  void add(uint32_t id, uint32_t leaf, const ExprRef& gradient);
  /// Sends the gradients of these nodes, which are in order, to their operands.
  void backward(std::span<const uint32_t> nodes);

 private:
  struct Slot {
    TypeRef type;
    ExprRef values[2];
  };
  struct IfParts {
    VarRef saved;  // the new if: its value, and the slots
    std::vector<Slot> slots;
  };
  struct Frame {
    uint32_t owner;
    std::map<std::pair<uint32_t, uint32_t>, size_t> known;
    std::vector<Outer> outer;
  };
  struct Home {
    uint32_t region;
    const Type* type;
  };
  class Capture;

  /// The let that gives a variable a value that is no function; kNone for another variable.
  uint32_t let_of(const Var* var) const;
  void number_variables();
  void find_dataflow();
  bool branches_are_dataflow(uint32_t id) const;
  void forward_if(uint32_t id);
  ExprRef build_if(uint32_t id);
  ExprRef zeros_of_leaf(uint32_t id, uint32_t leaf);
  bool forward_loop(uint32_t id, std::span<const ExprRef> operands);
  void backward_call(uint32_t id, const Leaves& gradients);
  void backward_loop(uint32_t id, const Leaves& gradients);
  struct Recomputed;
  Recomputed led_to(uint32_t checkpoint) const;
  void find_savings();
  FunctionRef recomputation(const Recomputed& what, uint32_t result) const;
  void backward_checkpoint(uint32_t id, const Leaves& gradients);
  void backward_if(uint32_t id, const Leaves& gradients);
  std::vector<Outer> backward_branch(uint32_t region, const Leaves& gradients);
  ExprRef slot(uint32_t id, int branch, const ExprRef& value, const Type* type);
  void note(const ExprRef& value, uint32_t region, const Type* type);

  struct LoopRun {
    const Loops::Slope* slope;
    ExprRef call;  // the result and the record
  };

  const Function* function_;
  Loops* loops_;
  const View view_;
  const Regions& regions_;
  LeafTable leaf_table_;
  struct Origin {
    uint32_t id;
    const Expr* expr;
  };
  PointerMap<Var, Origin> let_origins_;
  PointerMap<Var, uint32_t> variables_;  // numbers of others
  std::vector<const Type*> types_;
  std::vector<bool> dataflow_;
  std::vector<bool> varied_;
  std::vector<ExprRef> values_;
  std::vector<uint32_t> owners_;
  std::vector<Leaves> gradients_;
  std::map<uint32_t, IfParts> ifs_;
  std::map<uint32_t, LoopRun> loop_runs_;
  std::map<uint32_t, Loops::Saving> savings_;  // of calls of loops that lead to checkpoints
  PointerMap<Expr, Home> homes_;               // of new forward nodes
  std::vector<Frame> frames_;
  std::function<ExprRef(uint32_t)> missing_;
  std::function<ExprRef(uint32_t, uint32_t)> missing_leaf_;
};

}  // namespace relay::grad
