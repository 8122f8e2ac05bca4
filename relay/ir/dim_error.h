#pragma once

#include <relay/support/error.h>

namespace relay {

/// Thrown for an integer in a term that does not fit into a Dim.
class DimRangeError final : public Error {
 public:
  DimRangeError() : Error("a dimension is out of range (2^61)") {}
};

}  // namespace relay
