// Attributes of annotations.
#pragma once

#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct CastHintAttrs {
  Required<DType> dtype;
  RELAY_ATTRS(CastHintAttrs, (dtype, "Dtype that the value may be kept in."))
};
struct CheckpointAttrs {
  int64_t bytes = 0;
  RELAY_ATTRS(
      CheckpointAttrs,
      (bytes,
       "Bytes of states that a loop which leads to it may keep; 0 stands for as many states "
       "as the square root of its number of turns."))
};
struct CompilerAttrs {
  Required<std::string> compiler;
  RELAY_ATTRS(CompilerAttrs, (compiler, "Name of the code generator, or \"default\"."))
};
struct DebugAttrs {
  std::string debug_func;
  RELAY_ATTRS(DebugAttrs, (debug_func, "Name of the value in the output."))
};
struct AssertAttrs {
  std::string message;
  RELAY_ATTRS(AssertAttrs, (message, "Says why the run fails."))
};

}  // namespace relay
