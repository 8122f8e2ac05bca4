// Terms over a kernel's dimension arguments as text that is the same in every process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <relay/ir/dim.h>

namespace relay::codegen {

/// Writes a term over `symbols` as text, and reads it back (nothing if it is malformed).
std::string dim_to_text(Dim dim, std::span<const Dim> symbols);
std::optional<Dim> dim_from_text(std::string_view text, std::span<const Dim> symbols);

}  // namespace relay::codegen
