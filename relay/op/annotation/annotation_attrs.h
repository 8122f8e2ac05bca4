// Attributes of annotations.
#pragma once

#include <string>

#include <relay/ir/attrs.h>

namespace relay {

struct CastHintAttrs {
  Required<DType> dtype;
  RELAY_ATTRS(CastHintAttrs, (dtype, "Dtype that the value may be kept in."))
};

}  // namespace relay
