// Loops: functions of tensors that call themselves in tail position alone. Forward they push what
// their turns begin with; backward a loop pops it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/transform/derived_data.h>

namespace relay::grad {

/// The positions that are true.
std::vector<size_t> positions_of(const std::vector<bool>& chosen);
TypeRef types_of(const Function& function, std::span<const size_t> params);
/// A variable with the name and the type of a parameter.
VarRef like_param(const Function& function, size_t i);

/// The loops that a function calls, and what differentiates them.
///
/// A loop is a function whose parameters and result are tensors of known extents, and tuples of
/// such; in which calls of itself are in tail position, below ifs; and in which all else is
/// operators, ifs over these and calls of other loops.
class Loops {
 public:
  /// How many turns save what they begin with. By default all do. With `few`, some do, at growing
  /// distances, and the turns between them run again backward: about the square root of the number
  /// of turns, or as many as fit in a number of bytes if `bytes` is not 0.
  struct Saving {
    bool few = false;
    int64_t bytes = 0;
    auto operator<=>(const Saving&) const = default;
  };
  /// One parameter or more that gradients are wanted for, and the functions for it.
  struct Slope {
    std::vector<bool> active;  // the parameters that get gradients
    Saving saving;
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
  const Slope& slope(const Call& call, const std::vector<bool>& active, Saving saving);
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
    std::map<std::pair<std::vector<bool>, Saving>, Slope> slopes;
  };
  // The gradient of a way: a function of some parameters and of the gradient of what it ends with.
  struct WayGradient {
    FunctionRef function;
    std::vector<size_t> params;
  };
  // The data types of a record: turns, the last first, and a run, which is a result's way and the
  // turns before it. If few are saved, the run has the number of turns, that of points, and points.
  struct Records {
    TypeRef turns, run;
    ConstructorRef start;
    std::vector<ConstructorRef> of_way;
  };
  // How the backward loop takes the record of a way apart, and what it calls next.
  struct BackClause {
    const WayGradient* gradient;
    ConstructorRef constructor;
    std::span<const VarRef> kept;
    ExprRef given;                  // the gradient of what the way ends with
    std::vector<const char*> tail;  // names of the record's last fields, which `next` takes first
    Name next;
  };
  class Renamer;
  class Points;

  const Loop* loop_of(const Name& name);
  bool make_loop(const Name& name, Loop& loop);
  bool rename_calls(const FunctionRef& function, const Name& own, const Name& renamed,
                    FunctionRef& result);
  static bool find_ways(Loop& loop);
  FunctionRef way_function(const Loop& loop, const Way& way, const std::vector<bool>& active);
  std::vector<bool> all_active(const Loop& loop, std::vector<bool> active);
  std::vector<WayGradient> way_gradients(const Loop& loop, const std::vector<bool>& active);
  Records make_records(const Loop& loop, std::span<const WayGradient> ways,
                       const std::vector<TypeRef>& behind_run);
  using EndOfWay = std::function<ExprRef(size_t way, const Expr* end)>;
  static ExprRef with_ends(const Loop& loop, const EndOfWay& end);
  static std::vector<ExprRef> record_fields(const Loop& loop, const WayGradient& way);
  void write_run(const Loop& loop, const Slope& slope, const Records& records,
                 std::span<const WayGradient> ways);
  static FunctionRef started(const Function& function, const Name& name,
                             std::span<const ExprRef> start, const TypeRef& result);
  static std::vector<VarRef> kept_params(const Loop& loop, const Slope& slope);
  static std::vector<VarRef> gradient_params(const Loop& loop, const Slope& slope);
  static TypeRef gradient_result(const Loop& loop, const Slope& slope);
  static void add_clause(const Loop& loop, const Slope& slope, const BackClause& clause,
                         std::vector<PatternRef>& patterns, std::vector<ExprRef>& bodies);
  Name write_turns_back(const Loop& loop, const Slope& slope, const Records& records,
                        std::span<const WayGradient> ways);
  void write_back(const Loop& loop, const Slope& slope, const Records& records,
                  std::span<const WayGradient> ways, std::vector<const char*> tail,
                  const Name& next);
  void add_as(const Name& name, FunctionRef function);

  const Module& whole_;
  Module& target_;
  std::unordered_map<Name, Name> names_;  // in `whole` → in `target`; empty for what is no loop
  std::unordered_map<Name, Loop> loops_;  // by name in `target`
  std::vector<Name> made_;
};

}  // namespace relay::grad
