// The numbers of constructors that are made before their data type.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// The tag of a constructor that no data type has numbered yet: give it to `make_constructor`.
inline constexpr uint32_t kUnnumbered = ~uint32_t{0};

/// Gives an unnumbered constructor its place among those of its data type, once. `TypeData::make`
/// calls it before other code can see the type.
void number_constructor(const Constructor& constructor, uint32_t tag);

}  // namespace relay
