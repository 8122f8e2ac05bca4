// Writes functions whose values have lanes.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/transform/batch/lane_code.h>
#include <relay/transform/batch/parts.h>

namespace relay::lanes {

/// A vector of bools, one for each lane.
TypeRef mask_type(const Dim& lanes);

/// A rewriter of functions of `lanes.names()`, which `names` renames. A mask is a vector that says
/// which lanes want what runs.
class LaneWriter final : public Rewriter {
 public:
  using Id = LaneFacts::Id;

  LaneWriter(ProgramLanes& lanes, std::unordered_map<Name, Name> names, const Dim& number)
      : lanes_(lanes),
        facts_(lanes.facts()),
        names_(std::move(names)),
        number_(number),
        code_(facts_, number, lanes.masked(), [this]() -> ExprRef { return masks_.back(); }) {}

  /// The lanes of a function that takes no mask.
  void push_mask(const VarRef& mask) { masks_.push_back(mask); }

  FunctionRef global(const Function& function, const Name& name);
  VarRef var_of(const Var* old);
  LaneCode& code() { return code_; }

 private:
  struct Branches {
    VarRef condition, then_mask, else_mask;
  };

  bool guards(const If* choice) const;
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef>) override;
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override;
  ExprRef write_tuple(const Expr* expr, std::span<const ExprRef> operands);
  ExprRef write_function(const Function& old, const ExprRef& body);
  ExprRef write_call(const Call& call, std::span<const ExprRef> operands);
  ExprRef write_if(const If& choice, std::span<const ExprRef> operands);
  ExprRef write_match(const Match& match, std::span<const ExprRef> operands);
  PatternRef write_pattern(const PatternRef& old);

  /// True if its results and gradients are finite for all finite arguments.
  bool is_finite(const Call& call) const;
  /// `written`, which is `branch` for all lanes, on the values of lanes that want it: what it would
  /// be for other lanes is never used, but may have no finite gradient, and zeros times that are no
  /// zeros.
  ExprRef for_wanted(const ExprRef& mask, const Expr* branch, const ExprRef& written);

  // Lanes that are not here keep what the reference holds.
  ExprRef write_ref(const RefWrite& write, std::span<const ExprRef> operands);

  // ---- Loops whose lanes end at different times ------------------------------------------------

  bool ends_apart(const Loop& loop) const;

  /// A turn: `(goes on, parameters)`, where lanes that are done keep their parameters. The loop
  /// goes on while a lane does; then all ends are computed.
  FunctionRef loop_function(const Function& old, const Name& name, const Loop& loop);
  ExprRef truth(bool value);
  ExprRef state_of(const ExprRef& goes_on, const std::vector<ExprRef>& values);

  /// Runs `make` on the end of a chain of lets, and writes the lets around its result.
  ExprRef after_lets(const Expr* tail, const std::function<ExprRef(const Expr*)>& make);
  ExprRef turn_of(const Expr* tail);
  ExprRef stay();

  /// A branch that only moves tensors runs for all lanes, another one only if a lane wants it.
  ExprRef turn_if_wanted(const ExprRef& condition, const Expr* branch);
  ExprRef joined(const ExprRef& condition, const ExprRef& x, const ExprRef& y, Span span);

  /// The value at the ends below `tail`; null if there are none.
  ExprRef end_of(const Expr* tail, Id result);

  struct CurrentLoop {
    const Function* function;
    const Loop* loop;
    std::vector<VarRef> kept;
  };

  ProgramLanes& lanes_;
  LaneFacts& facts_;
  std::unordered_map<Name, Name> names_;
  Dim number_;
  std::unordered_map<const Var*, VarRef> vars_;
  std::vector<VarRef> masks_;
  std::vector<Branches> branches_;
  CurrentLoop loop_{};
  LaneCode code_;
};

}  // namespace relay::lanes
