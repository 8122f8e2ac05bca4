// The identity of a kernel: equal texts, equal code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <relay/lower/loops.h>

namespace relay::codegen {

/// The kernel's content as text, the same in every process: names, and the ids of axes, registers
/// and symbols, do not show; symbols stand by their position among the dimension arguments.
std::string kernel_key(const lower::Kernel& kernel);

/// A term over `symbols` as text, and back (nothing if it is malformed).
std::string dim_to_text(Dim dim, std::span<const Dim> symbols);
std::optional<Dim> dim_from_text(std::string_view text, std::span<const Dim> symbols);

}  // namespace relay::codegen
