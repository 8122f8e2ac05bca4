// A module at one revision: views of its functions, and columns of the module.
#pragma once

#include <memory>
#include <unordered_map>

#include <relay/ir/effects.h>
#include <relay/ir/module.h>
#include <relay/program/call_graph.h>
#include <relay/program/view.h>
#include <relay/support/pointer_map.h>

namespace relay {

class Flow;

/// Which nodes of a view act: a column of the program, since it asks the functions that are called.
class NodeEffects {
 public:
  NodeEffects(const View& view, const Effects& effects);
  /// True if the evaluation of the node has an effect, its operands apart.
  bool acts(uint32_t id) const { return any_ && acts_[id]; }
  /// True if it or what is evaluated for it has an effect. A function literal has none.
  bool effectful(uint32_t id) const { return any_ && effectful_[id]; }
  bool any() const { return any_; }

 private:
  bool any_;
  std::vector<bool> acts_;
  std::vector<bool> effectful_;
};

/// The facts about a module that passes and analyses ask for. Copies are cheap and share what was
/// found.
///
/// A rewrite gives a new module, and `next` the program of it: functions that are the same nodes
/// keep their views, and columns of the module look at new functions only. So a pass over one
/// function of a thousand costs that function. Several threads may ask one program.
class Program {
 public:
  explicit Program(Module module);
  /// The program of a later revision of the module.
  Program next(Module module) const;

  const Module& module() const;
  /// The view of a function of the module, or of any other function.
  const View& view(const FunctionRef& function) const;
  /// The effects of the module's functions, and what calls of them do.
  const Effects& effects() const;
  /// The effects of the nodes of a view of this program.
  const NodeEffects& node_effects(const View& view) const;
  const CallGraph& call_graph() const;
  /// The operators that a function of the module names: a pass about others has nothing to do.
  const PointerSet<Operator>& operators(const FunctionRef& function) const;
  /// Which values are the same whatever the arguments of the program are (`Constancy` in flow.h).
  const Flow& constancy() const;
  /// The functions that calls may run, and their effects (`CallEffects` in flow.h).
  const Flow& call_effects() const;

 private:
  struct Data;
  explicit Program(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace relay
