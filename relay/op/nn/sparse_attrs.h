// Attributes of operators on sparse matrices.
#pragma once

#include <cstdint>

#include <relay/ir/attrs.h>

namespace relay {

struct SparseDenseAttrs {
  bool sparse_lhs = false;
  RELAY_ATTRS(SparseDenseAttrs,
              (sparse_lhs,
               "True if the sparse matrix is the left factor, and the dense one the "
               "right, transposed."))
};
struct SparseConv2DAttrs {
  attr::Layout layout = attr::Layout("NHWC");
  attr::Sizes kernel_size = attr::Sizes({1, 1});
  RELAY_ATTRS(SparseConv2DAttrs, (layout, "NHWC or NCHW."),
              (kernel_size, "Odd extents; the data is padded by half of them."))
};

}  // namespace relay
