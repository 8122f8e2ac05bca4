// Numbers without a suffix, once inference has given them a type.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/module.h>

namespace relay {

/// The value of a constant or of a literal whose dtype is known, else nothing.
std::optional<NDArray> constant_array(const Expr* expr);

/// The module with each literal of known dtype made a constant. Functions without any are shared.
/// For text, a literal that is int32 stays: alone of all it is written without a suffix once it is
/// resolved, and read again it means the same.
enum class Resolve : uint8_t { kAll, kForText };
Module resolve_literals(const Module& module, Resolve which = Resolve::kAll);

/// Whether literals remain whose dtype depends on how their function is instantiated. What such a
/// function's body computes decides what they become, so nothing may be dropped from it.
bool has_open_literals(const Expr* root);

}  // namespace relay
