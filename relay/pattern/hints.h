// Helps for mistakes of people who know other notations.
#pragma once

#include <cstdint>
#include <string_view>

namespace relay::pattern {

/// The place in a rule where something else was expected.
enum class At : uint8_t {
  kElsewhere,
  kEntry,       // the word that begins an entry, its name, the colon
  kTableEntry,  // the same in a table of patterns
  kArrow,
  kEnd,  // behind what is written, and behind conditions
  kPattern,
  kWritten,
  kCondition,
  kComparison,
  kValue,
};

/// A sentence that says how to write what was meant by `found` at a place; empty if nothing is
/// known of it.
std::string_view hint(At place, std::string_view found);
/// The same for a character that begins no token.
std::string_view hint_for_character(std::string_view character);

}  // namespace relay::pattern
