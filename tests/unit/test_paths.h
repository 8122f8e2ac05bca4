#pragma once

#include <string>

namespace relay::testing {

/// Root of the checkout the tests were built from.
std::string source_dir();

/// Optional folder with reference material beside the checkout: $RELAY_SHARED, else ../shared.
/// Empty if there is none.
std::string shared_dir();

}  // namespace relay::testing
