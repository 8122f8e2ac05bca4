// Loops that save few turns: points, which are states of some turns, and the turns between them
// again.
#pragma once

#include <string>
#include <vector>

#include <relay/transform/gradient/loops.h>

namespace relay::grad {

/// Writes the forward and the backward loop of a loop that saves few turns.
///
/// Forward, a turn whose number is a multiple of a distance pushes a point: its number, and the
/// parameters from which the turns after it can run again. If there are too many points, every
/// other one goes and the distance doubles. Nobody has to know the number of turns before:
///
/// - By default there may be twice as many points as a distance has turns, so that there are at
///   most √(2n) points after n turns, and at most √(2n) turns between two.
/// - With a number of bytes, points may take half of them.
///
/// Backward, the turns behind the last point run again and save what their gradients read. If they
/// are too many for the bytes that are free, more points are set between first.
class Loops::Points {
 public:
  Points(Loops& loops, const Loop& loop, std::span<const WayGradient> ways);

  /// Parameters that no turn changes, and that turns need to run again.
  const std::vector<size_t>& shared() const { return shared_; }
  /// Makes the data type of points; gives what ends the record of a run: its number of turns, that
  /// of points, and the points.
  std::vector<TypeRef> make_type();
  void write_run(const Slope& slope, const Records& records);
  /// The function that goes back over the points: of what ends the record, then of kept parameters
  /// and of gradients.
  Name write_back(const Slope& slope, const Records& records);

 private:
  using OfPoint = std::function<ExprRef(const ExprRef& at, const std::vector<ExprRef>& state,
                                        const ExprRef& before)>;
  void find_state();
  /// The number of states that the bytes are enough for.
  int64_t states(const Slope& slope) const;
  Name make_name(const char* what) const;
  ExprRef point(const ExprRef& turn, std::span<const ExprRef> state, const ExprRef& before) const;
  std::vector<VarRef> state_params() const;
  std::vector<ExprRef> next_state(const Expr* end) const;
  std::vector<ExprRef> with_shared(std::vector<ExprRef> state) const;
  ExprRef match_points(const VarRef& points, const ExprRef& none, const OfPoint& some) const;
  void add(const Name& name, std::vector<VarRef> params, ExprRef body, const TypeRef& result);
  void add_turns(const Name& name, const std::vector<VarRef>& own, const ExprRef& done,
                 const ExprRef& otherwise, const EndOfWay& again, const TypeRef& result);
  Name write_turned();
  Name write_thin();
  Name write_keep(const Slope& slope);
  Name write_again(const Records& records);
  Name write_spread();

  Loops& loops_;
  const Loop& loop_;
  std::span<const WayGradient> ways_;
  std::vector<size_t> state_, shared_;
  int64_t state_bytes_ = 0;
  TypeRef type_;
  ConstructorRef none_, point_;
};

}  // namespace relay::grad
