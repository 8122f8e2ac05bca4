// The partial evaluator: runs what is known of a program and writes the rest.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/effects.h>
#include <relay/ir/module.h>
#include <relay/transform/partial/known.h>

namespace relay::partial {

struct Limits {
  int64_t max_unfold;  // activations of one function inside each other
  int64_t max_steps;   // for each global function
};

/// Evaluates functions of a module that are in A-normal form. All state is on explicit stacks.
///
/// Known functions are unfolded where they are called. A call inside of an activation of the same
/// function is unfolded if a known argument changed, and, below a branch that is decided only when
/// the program runs, if a number or data value became smaller; so unfolding ends. Everything else
/// is written: code in the order in which it ran, one let for each step.
class Machine {
 public:
  Machine(const Module& module, const Effects& effects, Limits limits);

  /// The function with another body; null if that takes more steps than the limit. Half of them
  /// unfold calls, the others write what is left.
  FunctionRef run(const FunctionRef& function);

 private:
  struct Activation {
    const Function* function;
    std::vector<Known*> arguments;
    uint32_t control;  // branches and literals around it that are decided later
  };
  // Code that is being written.
  struct Block {
    uint32_t id;
    std::vector<std::pair<VarRef, ExprRef>> lets;
  };
  using Store = std::unordered_map<const Known*, Known*>;  // what cells hold
  // An `if` or match both (all) of whose branches are written.
  struct Join {
    const Expr* owner;
    ExprRef head;
    std::vector<PatternRef> patterns;
    std::vector<ExprRef> bodies;
    Store before;
    std::optional<Store> after;
  };
  enum class Then : uint8_t {
    kPass,     // the value is that of the step that waits below
    kReturn,   // the same, and an activation ends
    kBranch,   // the value of a branch of the last join
    kLiteral,  // of a function literal that is written
    kRoot
  };
  struct Frame {
    const Expr* at;
    Scope* scope;
    Then then;
    Known* result = nullptr;
    Known* waiting = nullptr;  // the value of a let, until a closure in it is written
    Known* closure = nullptr;  // kLiteral
    std::vector<VarRef> params = {};
    Store store = {};  // to go back to
  };

  // Each gives null if a frame must be done first; the step is taken again then, or its value is
  // delivered.
  Known* step(const Expr* value, Scope* scope, const Var* into);
  Known* call(const Call& call, Scope* scope);
  Known* call_op(const Call& call, const std::vector<Known*>& arguments);
  Known* residual_call(const Call& call, Known* callee, const std::vector<Known*>& arguments);
  Known* choose(const If& choice, Scope* scope);
  Known* match(const Match& match, Scope* scope);
  Known* reference(const Expr* expr, Scope* scope);

  void deliver(Known* value);
  void finish(Known* value);
  void finish_branch(const ExprRef& atom);
  void finish_literal(const ExprRef& atom);
  void next_branch();

  Known* operand(const Expr* expr, const Scope* scope);
  ExprRef literal_as_it_is(const Function& function, Scope* scope);
  bool unfolds(const Function& function, const std::vector<Known*>& arguments) const;
  void unfold(const Known& closure, const Call& call, const std::vector<Known*>& arguments);
  Known* converted(const Var& var, const Type* from, Known* value);

  // Writing.
  bool ready(Known* value);  // false: a frame must be done first
  ExprRef atom(Known* value);
  Known* emit(ExprRef value, TypeRef annotation = {});
  void write_literal(Known* closure);
  void open_block();
  ExprRef close_block(ExprRef result);
  bool has_atom(const Known& value) const;
  /// True if the type mentions no variable of a function that is unfolded.
  bool can_write(const TypeRef& type) const;
  void reset();

  const Module& module_;
  const Effects& effects_;
  const Limits limits_;
  std::unordered_set<const Function*> recursive_;
  std::unordered_set<const Function*> opaque_;  // not to be looked into
  Values values_;
  std::vector<Frame> frames_;
  std::vector<Activation> activations_;
  std::unordered_map<const Function*, std::vector<size_t>> active_;
  std::vector<Block> blocks_;
  std::vector<bool> open_;
  std::vector<Join> joins_;
  Store store_;
  uint32_t control_ = 0;
  // Counts of this function: lets, steps, and elements of constants that were computed.
  int64_t written_ = 0;
  int64_t steps_ = 0;
  int64_t computed_ = 0;
  FunctionRef root_;
  FunctionRef done_;
  std::unordered_set<const TypeVar*> type_params_;  // of the function and of literals that are open
};

}  // namespace relay::partial
