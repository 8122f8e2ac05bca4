// Attributes of annotations.
#pragma once

#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct CastHintAttrs {
  Required<DType> dtype;
  RELAY_ATTRS(CastHintAttrs, (dtype, "Dtype that the value may be kept in."))
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
