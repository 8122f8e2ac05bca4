// Graphs for tests, from text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <relay/graph/builder.h>
#include <relay/graph/rewrite.h>

#include <tests/unit/lower_cases.h>

namespace relay::testing {

/// The work of the @main of a program on inputs of these types; `open` are the same with extents
/// that are symbols of works.
graph::WorkRef work_of(const std::string& program, const std::vector<TypeRef>& types,
                       const std::string& name = "work", const std::vector<TypeRef>& open = {});

/// A packing for tests, whatever pays: a constant matrix that a sum of products reads at [n, k] is
/// read in panels of `width` rows.
graph::FormOf panels(int64_t width);

}  // namespace relay::testing
