#pragma once

#include <relay/support/error.h>

namespace relay {

/// An integer in a term does not fit into a Dim.
class DimRangeError final : public Error {
 public:
  DimRangeError() : Error("a dimension is out of range (2^61)") {}
};

}  // namespace relay
