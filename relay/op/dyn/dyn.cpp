#include <relay/op/dyn/dyn.h>

#include <relay/op/shape/shape_attrs.h>

namespace relay {

std::optional<size_t> entries(const RelationCall& call, size_t input, const std::string& what) {
  Dim count = call.tensor(input).dims[0];
  if (count.has_variable()) return std::nullopt;
  call.require(count.is_int(), "the number of entries of " + what +
                                   " decides the rank and must be known, found " +
                                   call.input(input)->str());
  constexpr int64_t kMostAxes = NDArray::kMaxRank;
  call.require(count.as_int() <= kMostAxes, what + " has " + count.str() +
                                                " entries, a tensor has at most " +
                                                std::to_string(kMostAxes) + " axes");
  return static_cast<size_t>(count.as_int());
}

std::optional<std::vector<Dim>> extents(const RelationCall& call, size_t input,
                                        const std::string& what) {
  std::optional<size_t> count = entries(call, input, what);
  if (!count) return std::nullopt;
  std::vector<Dim> dims;
  for (size_t k = 0; k < *count; ++k) {
    Dim extent = call.value_dim(input, k);
    call.require_at_most(0, extent,
                         "an entry of " + what + " must not be negative, found " + extent.str());
    call.require_at_most(extent, kLargestExtent - 1, "an entry of " + what + " is beyond 2^60");
    dims.push_back(extent);
  }
  return dims;
}

// Adds after `min`: a may be the greatest int64.
Dim at_least(Dim a, Dim b) { return max(min(a - b, Dim(0)) + 1, Dim(0)); }
Dim same(Dim a, Dim b) { return Dim(1) - min(max(a - b, b - a), Dim(1)); }

Dim axis_value(const RelationCall& call, Dim axis, size_t rank, const std::string& what) {
  auto limit = static_cast<int64_t>(rank);
  std::string message =
      what + " is " + axis.str() + ", out of range for rank " + std::to_string(rank);
  call.require_at_most(axis, limit - 1, message);
  call.require_at_most(-limit, axis, message);
  return choose(at_least(axis, 0), axis, axis + limit);
}

}  // namespace relay
