// Maps whose neighbouring results are computed differently, by quotients and remainders of axes, as
// in the gradients of pools. Results of one quotient make a table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// True for quotients and remainders of indices.
bool is_division(const te::ScalarNode& node);

/// By what each axis is divided in a value; nothing if some axis is divided in several ways, ends
/// within a step, or is divided by more than a few.
std::optional<std::map<uint32_t, int64_t>> divisors_of(const te::ScalarRef& value,
                                                       std::span<const te::Axis> rows);

/// Remainders of all axes together that are worth a place of their own in a loop.
constexpr int64_t kMostPhases = 32;
/// How many remainders of all axes together there are.
int64_t phases_of(const std::map<uint32_t, int64_t>& divisors);

/// True if a condition counts with quotients or remainders of axes other than in the positions of
/// loads: neighbouring results then choose differently, and those of one remainder alike.
bool chooses_by_remainder(const te::ScalarRef& value);

/// True if results along an axis are elements of several lines in turn, as those of a pixel
/// shuffle: the axis' quotient is a place within lines, its remainder says which line. Loads that
/// do not depend on the axis are free to stand beside.
bool interleaves(const te::ScalarRef& value, const te::Axis& axis);

/// By stage: true if it chooses among a few elements (a maximum, say) and each of its results is
/// read by one table alone. Written out in its reader it is computed once for all of a table, in
/// registers, and its results need no memory.
std::vector<bool> choices_of_tables(const te::Computation& computation);

/// The value with its folds written out element by element; null if one does not choose among a
/// few.
te::ScalarRef written_out(const te::ScalarRef& value);

}  // namespace relay::lower
