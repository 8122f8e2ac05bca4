// Operators that others define, with their definitions in the place of their calls.
#pragma once

#include <functional>

#include <relay/transform/op_calls.h>

namespace relay {

/// The calls that are expanded.
struct Expansion {
  /// True for an operator whose calls are to be expanded; all by default.
  std::function<bool(const Operator& op)> wanted = {};
  /// What stands in the place of definitions, where the column has an entry.
  const OpColumn<ExpandFn>* forms = nullptr;
  /// Also inside of functions marked Primitive, and calls whose arguments only a run can check.
  bool everywhere = false;
  /// An annotation of its argument is no computation: it stays.
  bool keep_annotations = false;
};

/// The function with definitions in the place of calls.
FunctionRef with_definitions(const FunctionRef& function, const LazyEffects& effects,
                             const Expansion& expansion);
/// The same for all functions of a typed module, whose result is typed again. Definitions may be in
/// terms of operators that others define: that many `rounds` at most, until nothing changes.
Module with_definitions(Module module, const Expansion& expansion, int rounds = 1);

}  // namespace relay
