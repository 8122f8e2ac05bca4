// What the plan of a contraction is made of: loads of values, and counts cut into pieces.
#pragma once

#include <vector>

#include <relay/lower/contraction_plan.h>

namespace relay::lower {

/// The loads of a value, each once.
std::vector<te::ScalarRef> loads_in(const te::ScalarRef& root);
/// True if a value depends on where it stands, besides by what it loads.
bool uses_axes(const te::ScalarRef& root);
/// The value with the placeholder `var` where it loads.
te::ScalarRef with_placeholder(const te::ScalarRef& root, const te::ScalarNode* load, uint32_t var);

/// A known count in as few pieces as `most` allows.
Cut cut_known(int64_t count, int64_t most);
Cut cut_unknown(Dim count, int64_t size);
/// Pieces that a packed operand prescribes.
Cut cut_panels(Dim count, int64_t size);

}  // namespace relay::lower
