// The steps from a function to one of many lanes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/transform/batch/batch.h>
#include <relay/transform/batch/lane_facts.h>
#include <relay/transform/batch/lane_gradients.h>

namespace relay::lanes {

/// The functions that run when `own` does, `own` first.
std::vector<Name> functions_from(const Module& module, const Name& own);

/// A function whose calls of itself are all in tail position: a loop. Lanes of it end at different
/// times if an `if` above such a call has a condition with lanes.
struct Loop {
  std::vector<bool> invariant;              // parameters that all turns pass on
  std::unordered_set<const Expr*> choices;  // ifs above calls of itself, all in tail position
  std::unordered_set<const Expr*> calls;    // of itself
};
/// Null if it is none.
std::unique_ptr<Loop> find_loop(const Function& function, const Name& name);

/// Operator calls, tuples and ifs over them alone, which may run for lanes that do not want them.
bool is_simple(const Expr* root);

/// The facts of all values of a program whose entry has lanes.
class ProgramLanes {
 public:
  /// `gradients` are functions whose lanes, if any, are all lanes of all that they take and give.
  ProgramLanes(const Module& whole, Module& target, const Name& own, const BatchForm& form,
               const Dim& lanes, const LaneGradients* gradients);

  LaneFacts& facts() { return facts_; }
  const std::vector<Name>& names() const { return names_; }
  LaneFacts::Id of(const Expr* expr) const { return ids_.at(expr); }
  /// Those of the fields that the call of a constructor fills.
  const std::vector<LaneFacts::Id>& fields(const Call& call) const { return fields_.at(&call); }
  /// The fact of a function, of its parameters and its result.
  LaneFacts::Id function(const Name& name) const { return functions_.at(name); }
  const Loop* loop(const Name& name) const {
    auto found = loops_.find(name);
    return found == loops_.end() ? nullptr : found->second.get();
  }
  /// True for an `if` whose condition has lanes.
  bool parts_lanes(const If* choice) const {
    return facts_.has_lanes(of(choice->condition().get()));
  }
  /// True if functions take a mask: the lanes that want the call.
  bool masked() const { return masked_; }
  /// Null if gradients are written out.
  const LaneGradients* gradients() const { return gradients_; }

 private:
  void visit(const Expr* expr);
  void visit_call(const Call& call);
  void visit_pattern(const Pattern* pattern, LaneFacts::Id data);
  LaneFacts::Id known(const Expr* expr);
  void put(const Expr* expr, LaneFacts::Id id);
  void set_inputs(const LaneAxes& axes, LaneFacts::Id id, const Expr* param);
  void solve();

  const Module& whole_;
  LaneFacts facts_;
  std::vector<Name> names_;
  PointerMap<Expr, LaneFacts::Id> ids_;
  PointerMap<Expr, std::vector<LaneFacts::Id>> fields_;
  std::unordered_map<Name, LaneFacts::Id> functions_;
  std::unordered_map<Name, std::unique_ptr<Loop>> loops_;
  std::unordered_map<const Expr*, const Loop*> loop_choices_;
  std::vector<const If*> ifs_;
  std::vector<const RefWrite*> writes_;
  bool masked_ = false;
  const LaneGradients* gradients_;
};

/// Writes the functions of the program for all lanes to `target`; gives that of the entry, on the
/// parameters and with the result as the caller has them.
FunctionRef write_lanes(const Module& whole, Module& target, const Name& own, ProgramLanes& lanes,
                        const BatchForm& form, const Dim& number);

}  // namespace relay::lanes
