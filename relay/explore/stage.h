// One stage of a program: its text, and its nodes as columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <relay/explore/tables.h>
#include <relay/graph/graph.h>
#include <relay/ir/module.h>
#include <relay/vm/machine/executable.h>

namespace relay::explore {

/// The nodes of a stage, a column for each fact, in an order in which operands come first. Numbers
/// are of the document's tables, or of this stage's nodes and scopes; -1 stands for nothing.
struct Nodes {
  std::vector<int32_t> kind, label, attrs, type, place, line, column, scope, constant, kernel;
  /// The node that binds a variable.
  std::vector<int32_t> binder;
  std::vector<std::vector<int32_t>> operands;
  /// Places of further operators that the node stands for, -1 where one is not known.
  std::vector<std::vector<int32_t>> origins;

  /// Adds a node about which nothing is known but these two; gives its number.
  int32_t add(int32_t node_kind, int32_t node_label);
  size_t size() const { return kind.size(); }
};

/// A region of a function in which nodes run: `owner` opens it, none for the function itself.
struct Scope {
  int32_t owner = -1;
  int32_t parent = -1;
};

struct StageText {
  std::vector<int32_t> lines;
  Nodes nodes;
  std::vector<Scope> scopes;
};

/// A module: text without the values of large constants.
StageText stage_of(const Module& module, Tables& tables);
/// Graphs of computations. Their positions are those of an executable that is not finished:
/// `settle_places` fills them in.
StageText stage_of(std::span<const graph::Graph> graphs, Tables& tables);
/// The graphs of an executable as launches of kernels; positions in the same way.
StageText stage_of(const vm::Executable& executable, Tables& tables);
/// Replaces positions of the executable by places.
void settle_places(StageText& stage, const vm::Executable& executable, Tables& tables);

/// The number of nodes that compute or hold something: all but names.
size_t count_nodes(const Module& module);

void write(JsonWriter& json, const StageText& stage);

}  // namespace relay::explore
