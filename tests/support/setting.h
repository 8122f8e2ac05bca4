// Numbers that the environment may set: how many random programs a test makes, from which seed on.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace relay::testing {

/// The number in the variable of the environment, or `otherwise` without one.
inline uint32_t setting(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace relay::testing
