#include <relay/infer/devices/devices.h>

#include <relay/infer/devices/device_graph.h>
#include <relay/ir/visit.h>

namespace relay {

std::optional<DeviceUse> device_use(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  const DeviceUseFn* found = op == nullptr ? nullptr : devices().find(op->op());
  if (found == nullptr) return std::nullopt;
  return (*found)(call->attrs());
}

bool uses_devices(const Module& module) {
  for (const Module::FunctionEntry& entry : module.functions()) {
    bool found = false;
    visit_each(entry.function.get(), [&](const Expr* expr) {
      found = device_use(expr).has_value();
      return !found;
    });
    if (found) return true;
  }
  return false;
}

Devices::~Devices() = default;

bool Devices::has_tensor(const Expr* expr) const {
  return graph_->first_in(graph_->node_of(expr)) != kNoNode;
}
bool Devices::has_tensor(const Expr* parent, size_t operand) const {
  return graph_->first_in(graph_->use_of(parent, operand)) != kNoNode;
}
Device Devices::of(const Expr* expr) const { return graph_->device(graph_->node_of(expr)); }
Device Devices::of(const Expr* parent, size_t operand) const {
  return graph_->device(graph_->use_of(parent, operand));
}
std::optional<Device> Devices::of_call(const Expr* call) const {
  for (size_t i = 1; i < call->operands().size(); ++i) {
    if (has_tensor(call, i)) return of(call, i);
  }
  return has_tensor(call) ? std::optional(of(call)) : std::nullopt;
}
DeviceTree Devices::tree(const Expr* expr) const { return graph_->tree(graph_->node_of(expr)); }
DeviceTree Devices::tree(const Expr* parent, size_t operand) const {
  return graph_->tree(graph_->use_of(parent, operand));
}
std::vector<Device> Devices::everywhere(const Function* function) const {
  std::vector<Device> result;
  post_order(function, [&](const Expr* expr) {
    for (size_t i = 0; i < expr->operands().size(); ++i)
      graph_->leaves(graph_->use_of(expr, i), result);
  });
  graph_->leaves(graph_->node_of(function), result);
  return result;
}
Span Devices::said_of(Device device) const {
  for (const Graph::Node& node : graph_->nodes) {
    if (node.device == device && node.said.known()) return node.said;
  }
  return {};
}

}  // namespace relay
