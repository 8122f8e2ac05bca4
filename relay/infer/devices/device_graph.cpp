#include <relay/infer/devices/device_graph.h>

#include <relay/ir/tensor_types.h>

namespace relay {

uint32_t Devices::Graph::find_short(uint32_t at) {
  uint32_t root = find(at);
  while (nodes[at].parent != kNoNode) at = std::exchange(nodes[at].parent, root);
  return root;
}

uint32_t Devices::Graph::add(NodeKind kind, std::span<const uint32_t> fields) {
  Node node;
  node.kind = kind;
  node.first = static_cast<uint32_t>(children.size());
  node.count = static_cast<uint32_t>(fields.size());
  children.insert(children.end(), fields.begin(), fields.end());
  nodes.push_back(node);
  return static_cast<uint32_t>(nodes.size() - 1);
}

uint32_t Devices::Graph::make(const Type* type) {
  int left = kMostParts;
  size_t nodes_before = nodes.size();
  size_t children_before = children.size();
  uint32_t result = make(type, left);
  if (left > 0) return result;
  nodes.resize(nodes_before);
  children.resize(children_before);
  return add(NodeKind::kOne);
}

uint32_t Devices::Graph::make(const Type* type, int& left) {
  if (--left <= 0 || type == nullptr) return add(NodeKind::kOne);
  if (is_number_type(type)) return add(NodeKind::kNone);
  std::vector<uint32_t> parts;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) parts.push_back(make(field.get(), left));
    return add(NodeKind::kTuple, parts);
  }
  if (const auto* function = type->as<FuncType>()) {
    for (const TypeRef& param : function->params()) parts.push_back(make(param.get(), left));
    parts.push_back(make(function->result().get(), left));
    return add(NodeKind::kFunction, parts);
  }
  if (const auto* cell = type->as<RefType>()) {
    parts.push_back(make(cell->value().get(), left));
    return add(NodeKind::kCell, parts);
  }
  return add(NodeKind::kOne);  // data values, type variables
}

uint32_t Devices::Graph::node_of(const Expr* expr) const {
  auto found = of.find(expr);
  return found == of.end() ? kNoNode : found->second;
}

uint32_t Devices::Graph::use_of(const Expr* parent, size_t operand) const {
  auto found = of_use.find({parent, operand});
  if (found != of_use.end()) return found->second;
  const Expr* expr = parent->operands()[operand].get();
  if (const auto* global = expr->as<GlobalVar>()) {
    auto known = globals.find(global->name());
    return known == globals.end() ? kNoNode : known->second;
  }
  return node_of(expr);
}

uint32_t Devices::Graph::first_in(uint32_t root) const {
  std::vector<uint32_t> stack{root};
  while (!stack.empty()) {
    uint32_t at = stack.back();
    stack.pop_back();
    if (at == kNoNode) continue;
    if (nodes[at].kind == NodeKind::kOne) return find(at);
    auto parts = fields(at);
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
  return kNoNode;
}

void Devices::Graph::leaves(uint32_t root, std::vector<Device>& result) const {
  std::vector<uint32_t> stack{root};
  while (!stack.empty()) {
    uint32_t at = stack.back();
    stack.pop_back();
    if (at == kNoNode) continue;
    if (nodes[at].kind == NodeKind::kOne) result.push_back(nodes[find(at)].device.value_or(kCpu));
    auto parts = fields(at);
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
}

Device Devices::Graph::device(uint32_t node) const {
  uint32_t one = first_in(node);
  return one == kNoNode ? kCpu : nodes[one].device.value_or(kCpu);
}

DeviceTree Devices::Graph::tree(uint32_t node) const {
  DeviceTree result;
  result.device = device(node);
  if (node == kNoNode || nodes[node].kind != NodeKind::kTuple) return result;
  for (uint32_t field : fields(node)) result.fields.push_back(tree(field));
  return result;
}

}  // namespace relay
