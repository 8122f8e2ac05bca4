#include <relay/op/registry/precision_rules.h>

#include <relay/op/registry/facts.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay {

OpColumn<PrecisionRule>& precision_rules() {
  static auto* column = new OpColumn<PrecisionRule>("precision_rule");
  return *column;
}

OpColumn<PrecisionFn>& attached_precision() {
  static auto* column = new OpColumn<PrecisionFn>("attached_precision");
  return *column;
}

namespace {

// True if results of the function lie close to one another whatever the argument is.
bool is_bounded(te::UnaryOp op) { return op == te::UnaryOp::kTanh || op == te::UnaryOp::kSigmoid; }

// True if it needs wide floats.
bool is_wide(const te::ScalarNode& node) {
  switch (node.kind) {
    case te::ScalarKind::kUnary:
      return scalar_op(node.unary).cost == ScalarCost::kFunction && !is_bounded(node.unary);
    case te::ScalarKind::kBinary:
      return scalar_op(node.binary).cost == ScalarCost::kFunction;
    case te::ScalarKind::kFold:
      return node.combiner->kind != te::Combiner::Kind::kMax &&
             node.combiner->kind != te::Combiner::Kind::kMin;
    default:
      return false;
  }
}

std::optional<PrecisionRule> derived(const OpCall& call) {
  const Dim macs = cost_of(call).macs;
  if (!macs.is_int() || macs.as_int() > 0) return PrecisionRule::kAlways;
  const te::Computation computation = build_computation(call);
  for (const te::Stage& stage : computation.stages) {
    if (std::holds_alternative<te::Library>(stage.body)) return std::nullopt;
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (is_wide(*node)) return PrecisionRule::kNever;
    }
  }
  return PrecisionRule::kFollows;
}

}  // namespace

std::optional<PrecisionRule> precision_rule(const OpCall& call) {
  if (const PrecisionRule* rule = precision_rules().find(call.op())) return *rule;
  try {
    // An operator that is defined by others is as wide as the widest of them.
    std::optional<PrecisionRule> result;
    for (const OpCall& part : primitive_calls(call)) {
      if (part.op()->definition() != DefinitionKind::kCompute || !part.op()->pure())
        return std::nullopt;
      const PrecisionRule* said = precision_rules().find(part.op());
      const std::optional<PrecisionRule> rule = said == nullptr ? derived(part) : *said;
      if (!rule) return std::nullopt;
      if (!result || *rule == PrecisionRule::kNever ||
          (*rule == PrecisionRule::kAlways && *result == PrecisionRule::kFollows))
        result = rule;
      if (*result == PrecisionRule::kNever) break;
    }
    return result;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_wide_tensor(const Type* type) {
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  return tensor != nullptr && tensor->has_dtype() && tensor->dtype() == kFloat32;
}

bool has_wide_fields(const Type* type) {
  const auto* tuple = type == nullptr ? nullptr : type->as<TupleType>();
  if (tuple == nullptr) return false;
  for (const TypeRef& field : tuple->fields()) {
    if (is_wide_tensor(field.get()) || has_wide_fields(field.get())) return true;
  }
  return false;
}

TypeRef with_floats(const TypeRef& type, DType from, DType to) {
  if (const auto* tensor = type->as<TensorType>()) {
    if (!tensor->has_dtype() || !(tensor->dtype() == from)) return type;
    return TensorType::make(tensor->shape(), BaseType::make(to));
  }
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return type;
  std::vector<TypeRef> fields;
  for (const TypeRef& field : tuple->fields()) fields.push_back(with_floats(field, from, to));
  return TupleType::make(std::move(fields));
}

}  // namespace relay
