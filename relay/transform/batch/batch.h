// Functions of many lanes at once: docs/gradients.md says what they are and how they are made.
#pragma once

#include <optional>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// The axis of lanes in a value: of all tensors in it, or for each field of a tuple. A tree that
/// ends above a tuple or a data type speaks of all tensors there.
struct LaneAxes {
  std::optional<int64_t> axis = 0;  // nothing: all lanes share the value
  std::vector<LaneAxes> fields;     // if not empty, of a tuple; `axis` says nothing then
};

struct BatchForm {
  std::vector<LaneAxes> in;      // for each parameter
  LaneAxes out;                  // of the result
  std::optional<int64_t> lanes;  // their number; nothing if a call decides
  /// Gradients stay calls where that is possible, for lanes around these. Then all that they read
  /// has lanes.
  bool keep_gradients = false;
  int depth = 0;  // gradients around the function, whose lanes they wait for
};

/// `function`, one of `module`'s or one that calls functions of it, for each of many lanes: tensors
/// of its parameters and of its result get an axis with an entry for each lane.
///
/// The module gets the functions and data types that it needs beside it; none for dataflow. Throws
/// `Error`, with its place, where something cannot be done for many lanes at once.
FunctionRef batch(const FunctionRef& function, Module& module, const BatchForm& form);

}  // namespace relay
