#include <relay/analysis/counts.h>

#include <algorithm>
#include <unordered_set>

#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

const Operator* called_op(const Expr* expr) {
  const Call* call = expr->as<Call>();
  const Op* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  return op == nullptr ? nullptr : op->op();
}

void count_ops(const Expr* root, std::map<std::string, int64_t>& counts) {
  post_order(root, [&](const Expr* expr) {
    if (const Operator* op = called_op(expr)) ++counts[op->name().str()];
  });
}

AttrValue attr(const Call& call, std::string_view name) {
  if (!call.attrs()) return {};
  for (NamedAttr& attr : call.attrs()->fields(false)) {
    if (attr.name == Name(name)) return std::move(attr.value);
  }
  return {};
}

/// The elements of an expression's type, all extents known.
int64_t elements(const Expr* expr) {
  auto count = num_elements(expr->type());
  if (!count) throw Error("the number of elements is not known here", expr->span());
  return *count;
}

int64_t extent(const Expr* expr, size_t axis) {
  const TensorType* tensor = expr->type() == nullptr ? nullptr : expr->type()->as<TensorType>();
  bool known = tensor != nullptr && tensor->has_rank() && axis < tensor->dims().size() &&
               tensor->dims()[axis].is_int();
  if (!known) throw Error("an extent is not known here", expr->span());
  return tensor->dims()[axis].as_int();
}

size_t rank(const Expr* expr) {
  const TensorType* tensor = expr->type() == nullptr ? nullptr : expr->type()->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank())
    throw Error("the rank is not known here", expr->span());
  return tensor->dims().size();
}

int64_t macs(const Call& call, std::string_view op) {
  if (call.args().size() < 2) return 0;
  const Expr* data = call.args()[0].get();
  const Expr* weight = call.args()[1].get();
  if (op.starts_with("nn.conv")) {
    // Each element of the result sums over the kernel of its output channel.
    AttrValue layout = attr(call, "kernel_layout");
    const auto* text = layout.get<std::string>();
    size_t channel = text == nullptr || text->empty() ? 0 : text->find('O');
    if (channel == std::string::npos || channel >= rank(weight)) return 0;
    int64_t channels = extent(weight, channel);
    return channels == 0 ? 0 : elements(&call) * (elements(weight) / channels);
  }
  if (op == "nn.dense") return elements(&call) * extent(data, rank(data) - 1);
  if (op == "nn.matmul" || op == "nn.batch_matmul") {
    AttrValue transposed = attr(call, "transpose_a");
    const bool* flag = transposed.get<bool>();
    size_t axes = rank(data);
    if (axes < 2) return 0;
    return elements(&call) * extent(data, axes - (flag != nullptr && *flag ? 2 : 1));
  }
  return 0;
}

}  // namespace

std::map<std::string, int64_t> op_frequencies(const Expr* root) {
  std::map<std::string, int64_t> counts;
  count_ops(root, counts);
  return counts;
}

std::map<std::string, int64_t> op_frequencies(const Module& module) {
  std::map<std::string, int64_t> counts;
  for (const auto& entry : module.functions()) count_ops(entry.function.get(), counts);
  return counts;
}

int64_t count_layers(const Expr* root, std::span<const std::string> ops) {
  std::unordered_set<const Operator*> counted;
  for (const std::string& name : ops) {
    if (const Operator* op = find_op(name)) counted.insert(op);
  }
  PointerMap<Expr, int64_t> depth;
  int64_t last = 0;
  post_order(root, [&](const Expr* expr) {
    last = 0;
    for (const ExprRef& operand : expr->operands()) {
      if (const int64_t* below = depth.find(operand.get())) last = std::max(last, *below);
    }
    if (const Operator* op = called_op(expr)) last += static_cast<int64_t>(counted.count(op));
    if (last > 0) depth[expr] = last;
  });
  return last;
}

int64_t total_macs(const Expr* root) {
  int64_t total = 0;
  post_order(root, [&](const Expr* expr) {
    if (const Operator* op = called_op(expr)) {
      total += macs(*static_cast<const Call*>(expr), op->name().view());
    }
  });
  return total;
}

}  // namespace relay
