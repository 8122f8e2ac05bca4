// Sums of products of two factors in stages: the beginning of every matcher of products,
// convolutions and their tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// The one fold in a value; null if there are none or several.
const te::ScalarNode* only_fold(const te::ScalarRef& value);

/// True if a fold is a sum, empty ones included, of products of two factors: `args[0]->args`.
bool sums_products(const te::ScalarNode& fold);

/// By what both factors of the sum of products that a map of one value has divide axes of the map.
std::unordered_map<uint32_t, int64_t> common_steps(const te::Map& map);

/// A sum of products of two loads, of float32 or of narrower numbers that are widened to it.
struct SumOfLoads {
  const te::ScalarNode* fold = nullptr;
  const te::ScalarNode* lhs = nullptr;
  const te::ScalarNode* rhs = nullptr;
};
/// The one fold of a map of one value, if it is such a sum in float32.
std::optional<SumOfLoads> sum_of_loads(const te::Map& map);

/// The axis, if an index is just one; else nothing.
std::optional<uint32_t> plain_axis(const te::ScalarRef& index);

}  // namespace relay::lower
