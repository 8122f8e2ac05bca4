#include <relay/program/call_graph.h>

#include <algorithm>
#include <unordered_set>

#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay {

CallGraph::CallGraph(const Module& module) {
  for (const auto& entry : module.functions()) {
    order_.push_back(entry.name);
    nodes_[entry.name];
  }
  for (const auto& entry : module.functions()) {
    Node& caller = nodes_[entry.name];
    std::unordered_set<Name> seen;
    // By operand place, since one GlobalVar node may stand in several.
    auto mention = [&](const Expr* expr) {
      const GlobalVar* global = expr->as<GlobalVar>();
      if (global == nullptr) return;
      auto callee = nodes_.find(global->name());
      if (callee == nodes_.end()) return;
      ++callee->second.references;
      ++caller.calls;
      if (global->name() == entry.name) caller.calls_itself = true;
      if (seen.insert(global->name()).second) caller.callees.push_back(global->name());
    };
    if (!entry.function->contains(ExprPart::kGlobal)) continue;
    post_order(entry.function.get(), [&](const Expr* expr) {
      for (const ExprRef& operand : expr->operands()) mention(operand.get());
    });
  }
  find_components();
}

// Tarjan's algorithm with a stack of its own: a set is complete when the walk leaves the function
// of it that was met first.
void CallGraph::find_components() {
  struct State {
    size_t index = 0;  // when it was met, from 1
    size_t low = 0;    // the first function met that it reaches and that is in no set yet
    size_t next = 0;   // callee
    bool done = false;
  };
  std::unordered_map<Name, State> states;
  std::vector<Name> stack;  // on the way here
  std::vector<Name> open;   // met, in no set yet
  size_t met = 0;
  auto enter = [&](const Name& name) {
    State& state = states[name];
    state.index = state.low = ++met;
    stack.push_back(name);
    open.push_back(name);
  };
  for (const Name& start : order_) {
    if (states[start].index == 0) enter(start);
    while (!stack.empty()) {
      const Name name = stack.back();
      const std::vector<Name>& callees = nodes_[name].callees;
      State& state = states[name];
      if (state.next < callees.size()) {
        const Name callee = callees[state.next++];
        const State& other = states[callee];
        if (other.index == 0) {
          enter(callee);
        } else if (!other.done) {
          state.low = std::min(state.low, other.index);
        }
        continue;
      }
      stack.pop_back();
      if (!stack.empty()) {
        State& caller = states[stack.back()];
        caller.low = std::min(caller.low, state.low);
      }
      if (state.low != state.index) continue;
      std::vector<Name>& component = components_.emplace_back();
      for (bool more = true; more; open.pop_back()) {
        component.push_back(open.back());
        states[open.back()].done = true;
        nodes_[open.back()].component = components_.size() - 1;
        more = open.back() != name;
      }
      std::reverse(component.begin(), component.end());
    }
  }
}

const CallGraph::Node& CallGraph::node(const Name& function) const {
  auto entry = nodes_.find(function);
  if (entry == nodes_.end()) throw Error("there is no function @" + function.str());
  return entry->second;
}

int64_t CallGraph::ref_count(const Name& function) const { return node(function).references; }
int64_t CallGraph::global_call_count(const Name& function) const { return node(function).calls; }
const std::vector<Name>& CallGraph::callees(const Name& function) const {
  return node(function).callees;
}

bool CallGraph::is_recursive(const Name& function) const {
  const Node& self = node(function);
  return self.calls_itself || components_[self.component].size() > 1;
}

std::vector<Name> CallGraph::reachable(const std::vector<Name>& from) const {
  std::unordered_set<Name> seen;
  std::vector<Name> stack(from);
  while (!stack.empty()) {
    Name name = stack.back();
    stack.pop_back();
    if (!seen.insert(name).second) continue;
    for (Name callee : node(name).callees) stack.push_back(callee);
  }
  std::vector<Name> result;
  for (const Name& name : order_) {
    if (seen.count(name) > 0) result.push_back(name);
  }
  return result;
}

Module reached_part(const Module& module, const std::vector<Name>& from) {
  const std::vector<Name> reached = CallGraph(module).reachable(from);
  const std::unordered_set<Name> kept(reached.begin(), reached.end());
  Module result = module;
  for (const auto& entry : module.functions()) {
    if (!kept.contains(entry.name)) result.remove_function(entry.name);
  }
  return result;
}

}  // namespace relay
