#pragma once

#include <relay/support/error.h>

namespace relay {

/// Thrown for an integer in a term that does not fit into a Dim.
class DimRangeError final : public Error {
 public:
  DimRangeError() : Error("a dimension is out of range (2^61)") {}
};

/// Thrown for a term that has more parts, or is nested deeper, than a Dim holds.
class DimSizeError final : public Error {
 public:
  DimSizeError() : Error("a dimension is too complex") {}
};

}  // namespace relay
