#include <relay/analysis/call_graph.h>

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
      if (seen.insert(global->name()).second) caller.callees.push_back(global->name());
    };
    post_order(entry.function.get(), [&](const Expr* expr) {
      for (const ExprRef& operand : expr->operands()) mention(operand.get());
    });
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
  std::vector<Name> reached = reachable(callees(function));
  return std::find(reached.begin(), reached.end(), function) != reached.end();
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

}  // namespace relay
