// Numbers without a suffix, after inference has given them a type.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/module.h>

namespace relay {

/// The value of a constant or of a literal whose dtype is known, else nothing.
std::optional<NDArray> constant_array(const Expr* expr);

/// The module with each literal of known dtype made a constant. Functions without any are shared.
/// For text, an int32 literal stays: it is the only resolved literal that is written without a
/// suffix, and it means the same if read again.
enum class Resolve : uint8_t { kAll, kForText };
Module resolve_literals(const Module& module, Resolve which = Resolve::kAll);

/// True if literals remain whose dtype depends on how their function is instantiated. The body of
/// such a function decides their dtype, so a pass must not drop anything from it.
bool has_open_literals(const Expr* root);

}  // namespace relay
