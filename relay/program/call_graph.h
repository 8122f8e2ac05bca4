// Which global function refers to which.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

class CallGraph {
 public:
  explicit CallGraph(const Module& module);

  /// References to a function in the whole module, its own body included.
  int64_t ref_count(const Name& function) const;
  /// References to global functions in a function's body.
  int64_t global_call_count(const Name& function) const;
  /// True if a function may reach itself.
  bool is_recursive(const Name& function) const;
  /// Sets of functions that reach each other (most are of one function), those that are called
  /// before their callers.
  const std::vector<std::vector<Name>>& components() const { return components_; }
  /// The index of a function's set.
  size_t component(const Name& function) const { return node(function).component; }
  /// The functions that a function refers to, each once, in order of first mention.
  const std::vector<Name>& callees(const Name& function) const;
  /// Functions that can be reached from some, these included, in order of the module.
  std::vector<Name> reachable(const std::vector<Name>& from) const;

 private:
  struct Node {
    int64_t references = 0;
    int64_t calls = 0;
    std::vector<Name> callees;
    size_t component = 0;
    bool calls_itself = false;
  };
  const Node& node(const Name& function) const;
  void find_components();
  std::vector<Name> order_;
  std::vector<std::vector<Name>> components_;
  std::unordered_map<Name, Node> nodes_;
};

/// A module without the functions that none of `from` reaches.
Module reached_part(const Module& module, const std::vector<Name>& from);

}  // namespace relay
