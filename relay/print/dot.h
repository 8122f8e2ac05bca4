// IR as a drawing: text for Graphviz.
#pragma once

#include <string>

#include <relay/ir/module.h>

namespace relay {

/// One cluster for each global function, one box for each node that computes; variables and
/// constants are written into the boxes that use them. Arrows go from an operand to its user; the
/// arrow from a region to its owner is dashed.
std::string print_dot(const Module& module);

}  // namespace relay
