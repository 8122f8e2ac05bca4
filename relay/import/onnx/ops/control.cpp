// If. Loop and Scan build on NodeContext::loop in the same way.
#include <relay/import/onnx/context.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

std::vector<GraphValue> convert_if(NodeContext& node) {
  GraphValue condition = node.input(0);
  const Graph& then_graph = node.attr_graph("then_branch");
  const Graph& else_graph = node.attr_graph("else_branch");
  node.require(condition.dtype().is_bool(), "the condition is no bool");
  Dim count = product(condition.dims());
  node.require(!count.is_int() || count.is_int(1),
               "the condition has " + count.str() + " elements, not 1");
  for (const Graph* graph : {&then_graph, &else_graph}) {
    node.require(graph->inputs.empty(), "a branch has inputs");
  }
  if (std::optional<Elements> known = node.known(0)) {
    Dim settled = node.settled((*known)[0]);
    if (settled.is_int()) return node.inline_graph(settled.is_int(0) ? else_graph : then_graph, {});
    condition = node.known_value({settled}, {}, kBool);
  }
  return node.choose(
      node.reshape(condition, std::initializer_list<Dim>{}),
      [&](NodeContext& inner) { return inner.graph_outcome(then_graph); },
      [&](NodeContext& inner) { return inner.graph_outcome(else_graph); });
}
RELAY_ONNX("If", 1, convert_if)

}  // namespace
}  // namespace relay::onnx
