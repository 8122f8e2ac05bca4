// Nodes that a converter of the caller converts.
#include <relay/import/onnx/context.h>
#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/strings.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay::onnx {
namespace {

OnnxNode::Attribute value_of(NodeContext& node, const Attribute& attribute) {
  switch (attribute.kind) {
    case AttributeKind::kInt:
      return attribute.i;
    case AttributeKind::kFloat:
      return static_cast<double>(attribute.f);
    case AttributeKind::kString:
      return std::string(attribute.s);
    case AttributeKind::kInts:
      return attribute.ints;
    case AttributeKind::kFloats:
      return std::vector<double>(attribute.floats.begin(), attribute.floats.end());
    case AttributeKind::kStrings:
      return std::vector<std::string>(attribute.strings.begin(), attribute.strings.end());
    case AttributeKind::kTensor:
      return node.attr_tensor(attribute.name);
    default:
      node.fail("the attribute " + quoted(attribute.name) + " is " +
                std::string(attribute_kind_text(attribute.kind)) +
                ", which converters of the caller do not get");
  }
}

}  // namespace

std::vector<GraphValue> Importer::call_converter(Scope& scope, const Node& node,
                                                 const OnnxConverter& converter) {
  refuse_strings(*this, scope, node);
  const int64_t opset = scope.opsets->version(node.domain).value_or(1);
  NodeContext context(*this, scope, node, opset);
  OnnxNode shown{std::string(node.op_type),
                 std::string(node.domain),
                 std::string(node.name),
                 opset,
                 {},
                 {},
                 {},
                 {}};
  for (std::string_view output : node.outputs) shown.outputs.emplace_back(output);
  for (const Attribute& written : node.attributes) {
    // In a function of the model it may stand for one that a call left out.
    const Attribute* given = attribute(scope, node, written.name);
    if (given != nullptr) shown.attributes[std::string(written.name)] = value_of(context, *given);
  }
  // Values are variables to the converter, so that what it asks about their types costs the same
  // wherever the node stands.
  std::unordered_map<const Var*, ExprRef> replacement;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    shown.inputs.emplace_back();
    shown.values.emplace_back();
    if (!context.has(i)) continue;
    const GraphValue value = context.input(i);
    const ExprRef own = expr(value);
    if (value.array()) shown.values.back() = value.array();
    if (own->is<Constant>()) {
      shown.inputs.back() = own;
      continue;
    }
    VarRef var = make_var(std::string(node.inputs[i]), value.shown());
    shown.inputs.back() = ExprRef(var);
    replacement.emplace(var.get(), own);
  }
  const std::vector<std::pair<ExprRef, TypeRef>> converted = converter(shown);
  if (converted.size() > node.outputs.size()) {
    fail(node, "its converter gives " + std::to_string(converted.size()) +
                   " results, the outputs are " + std::to_string(node.outputs.size()));
  }
  // All at once: what results share stays shared.
  std::vector<ExprRef> fields;
  for (const auto& [result, type] : converted) fields.push_back(result);
  const ExprRef all = make_tuple(fields);
  for (const VarRef& var : free_vars(all.get())) {
    if (!replacement.contains(var.get()))
      fail(node, "its converter gives an expression of %" + var->name().str() +
                     ", which is no input of the node");
  }
  const ExprRef placed = substitute(all, replacement);
  std::vector<GraphValue> results;
  for (size_t k = 0; k < converted.size(); ++k) {
    results.push_back(widened_half(made(placed->as<Tuple>()->fields()[k], converted[k].second)));
  }
  return results;
}

}  // namespace relay::onnx
