// The layers that ConvertLayout leaves alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace relay {

/// Layers that ConvertLayout leaves as they are while one of these is the innermost of the thread:
/// calls with weights of the operators that it names, counted from 0 in the order in which they
/// run. The count goes on from pass to pass and begins anew where the configuration is entered.
struct LayoutConfig {
  std::vector<int64_t> skip_layers;
  int64_t seen = 0;

  /// Null where none has been entered.
  static LayoutConfig* current();
  static void enter(std::shared_ptr<LayoutConfig> config);
  static void exit();
};

}  // namespace relay
