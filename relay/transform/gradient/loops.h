// Loops: functions of tensors that call themselves in tail position alone. Forward they push what
// their turns begin with; backward a loop pops it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>

namespace relay::grad {

/// The loops that a function calls, and what differentiates them.
///
/// A loop is a function whose parameters and result are tensors of known extents, and tuples of
/// such; in which calls of itself are in tail position, below ifs; and in which all else is
/// operators, ifs over these and calls of other loops.
class Loops {
 public:
  /// One parameter or more that gradients are wanted for, and the functions for it.
  struct Slope {
    std::vector<bool> active;  // the parameters that get gradients
    Name run;                  // fn (x…) -> (result, record of the run)
    Name back;                 // fn (record, kept x…, gradient of the result) -> (gradients…)
    std::vector<size_t> kept;  // parameters that no turn changes, and that `back` wants
  };

  /// `whole` is typed, and its functions are monomorphic where loops call them. `target` gets
  /// functions and data types.
  Loops(const Module& whole, Module& target) : whole_(whole), target_(target) {}

  /// A typed copy of the function that calls loops of `target`; null if it refers to functions that
  /// are none.
  FunctionRef prepare(const FunctionRef& function);
  /// True for calls of loops of `target`.
  bool is_loop_call(const Expr* expr) const;
  /// The slope that differentiates the loop that is called for some of its parameters.
  const Slope& slope(const Call& call, const std::vector<bool>& active);
  /// Removes functions that were made and that `root` does not need.
  void remove_unused(const Expr* root);

 private:
  // A way through the body to a call of the loop, or to a result.
  struct Way {
    std::vector<std::pair<const Expr*, size_t>> path;  // lets, and ifs with the operand taken
    const Expr* end;
    bool again;  // the end is a call of the loop
  };
  struct Loop {
    std::string base;  // of the names of what belongs to it
    Name name;
    FunctionRef function;
    std::vector<Way> ways;
    std::vector<bool> invariant;  // parameters that all turns pass on
    std::map<std::vector<bool>, Slope> slopes;
  };
  // The gradient of a way: a function of some parameters and of the gradient of what it ends with.
  struct WayGradient {
    FunctionRef function;
    std::vector<size_t> params;
  };
  // The data types of a record: turns, the last first, and a run, which is a result's way and the
  // turns before it.
  struct Records {
    TypeRef turns, run;
    ConstructorRef start;
    std::vector<ConstructorRef> of_way;
  };
  class Renamer;

  const Loop* loop_of(const Name& name);
  bool make_loop(const Name& name, Loop& loop);
  bool rename_calls(const FunctionRef& function, const Name& own, const Name& renamed,
                    FunctionRef& result);
  static bool find_ways(Loop& loop);
  FunctionRef way_function(const Loop& loop, const Way& way, const std::vector<bool>& active);
  std::vector<bool> all_active(const Loop& loop, std::vector<bool> active);
  std::vector<WayGradient> way_gradients(const Loop& loop, const std::vector<bool>& active);
  Records make_records(const Loop& loop, std::span<const WayGradient> ways);
  void write_run(const Loop& loop, const Slope& slope, const Records& records,
                 std::span<const WayGradient> ways);
  void write_back(const Loop& loop, const Slope& slope, const Records& records,
                  std::span<const WayGradient> ways);
  void add_as(const Name& name, FunctionRef function);

  const Module& whole_;
  Module& target_;
  std::unordered_map<Name, Name> names_;  // in `whole` → in `target`; empty for what is no loop
  std::unordered_map<Name, Loop> loops_;  // by name in `target`
  std::vector<Name> made_;
};

}  // namespace relay::grad
