// Floats that are fractions of extents: exporters compute sizes in floats (Shape, Cast, Div, Ceil,
// Cast), and the integers that come out at the end are terms again.
#pragma once

#include <vector>

#include <relay/import/onnx/graph_value.h>
#include <relay/import/onnx/importer.h>

namespace relay::onnx {

/// Says of the results of a node what fractions of extents they are, and, where they are integers
/// again, which terms.
void keep_fractions(const Importer& importer, const Scope& scope, const Node& node,
                    std::vector<GraphValue>& results);

}  // namespace relay::onnx
