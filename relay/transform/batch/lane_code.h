// Expressions about tensors with lanes.
#pragma once

#include <functional>

#include <relay/transform/batch/lane_facts.h>

namespace relay::lanes {

/// Field i of a tuple: the expression itself if the tuple is written out.
ExprRef field_of(const ExprRef& tuple, size_t i);

/// The rank and extents of a fact's tensor for one lane. Throws `Error` if they are not known.
std::span<const Dim> lane_dims(const LaneFacts& facts, LaneFacts::Id id, Span span);

/// Writes values of one form in another. `mask()` is a vector of bools, one for each lane.
class LaneCode {
 public:
  LaneCode(LaneFacts& facts, Dim lanes, bool masked, std::function<ExprRef()> mask)
      : facts_(facts), lanes_(std::move(lanes)), masked_(masked), mask_(std::move(mask)) {}

  /// A tensor that all lanes share, for each of them.
  ExprRef spread(const ExprRef& x, LaneFacts::Id id, Span span);
  /// A value of `from` as one of `to`.
  ExprRef coerce(const ExprRef& x, LaneFacts::Id from, LaneFacts::Id to, Span span);
  /// Where `condition`, which has lanes, holds x, else y; all tensors of the result have lanes. Of
  /// two functions, one that calls both: `masked` says that functions take the lanes that want
  /// them.
  ExprRef select(const ExprRef& condition, const ExprRef& x, const ExprRef& y, LaneFacts::Id id,
                 Span span);
  /// Zeros of the type that a value with lanes where `id` has them has.
  ExprRef zeros(LaneFacts::Id id, Span span);
  /// True for tensors of known extents and tuples of them.
  bool has_zeros(LaneFacts::Id id) const;
  /// A call of an operator on arguments of which some have lanes: the operator itself where it
  /// works element by element, else its form for lanes. `args` are written, `call` is as it was.
  ExprRef call_of(const Call& call, std::span<const ExprRef> args,
                  std::span<const LaneFacts::Id> ids);
  /// Tensors of a value: those of each lane of `mask`, and those of lane `number` for the others.
  ExprRef of_wanted(const ExprRef& mask, const ExprRef& number, const ExprRef& x, LaneFacts::Id id,
                    Span span);
  /// The value, computed only if a lane wants it; else zeros.
  ExprRef guarded(const ExprRef& mask, const ExprRef& value, LaneFacts::Id id, Span span);

 private:
  /// A value that has lanes in each of its tensors.
  ExprRef spread_all(const ExprRef& x, LaneFacts::Id id, Span span);
  /// Binds a tuple that is used more than once, if it is no name.
  static ExprRef with_name(const ExprRef& x, const std::function<ExprRef(const ExprRef&)>& body);

  ExprRef select_function(const ExprRef& condition, const ExprRef& x, const ExprRef& y,
                          LaneFacts::Id id, Span span);

  LaneFacts& facts_;
  Dim lanes_;
  bool masked_;
  std::function<ExprRef()> mask_;
};

}  // namespace relay::lanes
