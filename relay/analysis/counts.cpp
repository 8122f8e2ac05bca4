#include <relay/analysis/counts.h>

#include <algorithm>
#include <unordered_set>

#include <relay/ir/visit.h>
#include <relay/op/registry/facts.h>
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

int64_t macs(const Call& call, const Operator* op) {
  if (op->definition() != DefinitionKind::kCompute || !op->pure()) return 0;
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
  for (const TypeRef& type : types) {
    if (!type) throw Error("the types are not known here", call.span());
  }
  AttrsRef attrs = call.attrs();
  if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
  Dim macs = cost_of(OpCall(op, attrs, types, TypeRef(call.type()))).macs;
  if (!macs.is_int()) throw Error("an extent is not known here", call.span());
  return macs.as_int();
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
      total += macs(*static_cast<const Call*>(expr), op);
    }
  });
  return total;
}

}  // namespace relay
