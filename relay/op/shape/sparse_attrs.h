// Attributes of sparse_to_dense.
#pragma once

#include <relay/ir/attrs.h>

namespace relay {

struct SparseToDenseAttrs {
  Required<attr::Shape> output_shape;
  RELAY_ATTRS(SparseToDenseAttrs, (output_shape, "Extents of the result."))
};

}  // namespace relay
