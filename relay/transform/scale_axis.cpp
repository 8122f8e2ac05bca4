#include <relay/transform/scale_axis.h>

#include <cmath>

#include <relay/ir/tensor_types.h>
#include <relay/support/error.h>
#include <relay/transform/fusion.h>
#include <relay/transform/op_calls.h>

namespace relay {
namespace {

/// The dimension of a tensor of rank `rank` that a broadcast vector runs along. Null if it runs
/// along several; nothing inside if it is one number.
std::optional<std::optional<size_t>> vector_axis(const Expr* expr, size_t rank) {
  const TensorType* type = tensor_of(expr);
  if (type == nullptr || type->dims().size() > rank) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t d = 0; d < type->dims().size(); ++d) {
    if (type->dims()[d].is_int(1)) continue;
    if (axis) return std::nullopt;
    axis = rank - type->dims().size() + d;
  }
  return axis;
}

class Applier final : public Rewriter {
 public:
  Applier(const PointerMap<Expr, uint32_t>& removed,
          const std::unordered_map<const Expr*, std::vector<ScaledArgument>>& places)
      : removed_(removed), places_(places) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (const uint32_t* left = removed_.find(expr)) return operands[1 + *left];
    auto places = places_.find(expr);
    if (places == places_.end()) return rebuild(expr, operands);
    std::vector<ExprRef> changed(operands.begin(), operands.end());
    for (const ScaledArgument& place : places->second) {
      const TensorType* type = tensor_of(expr->operands()[1 + place.argument].get());
      const ExprRef& factors = vector(*place.scale, type->dims()[place.dim]);
      ExprRef& argument = changed[1 + place.argument];
      argument = with_factors(argument, factors, type->dims().size() - 1 - place.dim, place.divide,
                              place.scale->call->span());
    }
    return rebuild(expr, changed);
  }

  const ExprRef& vector(const ScaledCall& scale, Dim extent) {
    ExprRef& known = vectors_[&scale];
    if (!known) {
      std::optional<int64_t> repeats;
      if (!scale.axis) repeats = extent.as_int();
      known = factor_vector(run(ExprRef(scale.factors)), tensor_of(scale.factors)->dims(), repeats);
    }
    return known;
  }

  const PointerMap<Expr, uint32_t>& removed_;
  const std::unordered_map<const Expr*, std::vector<ScaledArgument>>& places_;
  std::unordered_map<const ScaledCall*, ExprRef> vectors_;
};

}  // namespace

ScaleFolder::ScaleFolder(const FunctionRef& function, const LazyEffects& effects, bool constants)
    : effects_(effects), view_(effects.program().view(function)), constants_(constants) {}

namespace {

bool has_dtype_of(const Expr* argument, const ScaledCall& scale) {
  const TensorType* type = tensor_of(argument);
  return type != nullptr && type->dtype() == tensor_of(scale.factors)->dtype();
}

}  // namespace

bool ScaleFolder::takes(const Expr* weight, const ScaledCall& scale) const {
  return (!constants_ || weight->is<Constant>()) && has_dtype_of(weight, scale);
}

bool ScaleFolder::is_vector(const Expr* expr, size_t dim, const ScaledCall& scale) {
  if (!has_dtype_of(expr, scale)) return false;
  const TensorType* type = tensor_of(expr);
  for (size_t d = 0; d < type->dims().size(); ++d) {
    if (d != dim && !type->dims()[d].is_int(1)) return false;
  }
  return true;
}

const CallScaling* ScaleFolder::scaling(const Expr* expr) {
  const Operator* op = called_op(expr);
  if (op == nullptr || tensor_of(expr) == nullptr) return nullptr;
  const auto& call = static_cast<const Call&>(*expr);
  auto [known, added] = known_.insert(call);
  if (!added) return *known ? &**known : nullptr;
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) {
    if (tensor_of(arg.get()) == nullptr) return nullptr;
    types.emplace_back(arg->type());
  }
  try {
    known->emplace(OpCall(op, call.attrs(), types, TypeRef(call.type())));
  } catch (const Error&) {
    return nullptr;  // says what is wrong when it runs
  }
  return &**known;
}

// True if a call sums products with a weight: nothing else can take factors in the end.
bool ScaleFolder::any_weight() {
  for (uint32_t id = 0; id < view_.size(); ++id) {
    if (view_.kind(id) != ExprKind::kCall) continue;
    const CallScaling* scaling = this->scaling(view_.expr(id));
    if (scaling == nullptr) continue;
    const size_t inputs = static_cast<const Call*>(view_.expr(id))->args().size();
    for (size_t i = 0; i < inputs; ++i) {
      if (scaling->is_weight(i)) return true;
    }
  }
  return false;
}

std::optional<ScaledCall> ScaleFolder::scaled_call(uint32_t node) {
  const auto* call = static_cast<const Call*>(view_.expr(node));
  const TensorType* type = tensor_of(call);
  if (type == nullptr || !type->dtype().is_float() || call->args().size() != 2 ||
      called_op(call) == nullptr) {
    return std::nullopt;
  }
  for (uint32_t data : {0u, 1u}) {
    const Expr* factors = call->args()[1 - data].get();
    const TensorType* scaled = tensor_of(call->args()[data].get());
    if (scaled == nullptr || !(scaled->shape() == type->shape())) continue;
    std::optional<std::optional<size_t>> axis = vector_axis(factors, type->dims().size());
    if (!axis) continue;
    const CallScaling* scaling = this->scaling(call);
    if (scaling == nullptr || !scaling->multiplies(data)) continue;
    ScaledCall result{node, call, data, factors, *axis};
    if (const auto* constant = factors->as<Constant>()) {
      constexpr double kSmall = 1e-10;
      result.positive = result.divides = true;
      for (int64_t i = 0; i < constant->data().size(); ++i) {
        double value = constant->data().element_as_double(i);
        result.positive &= value > 0;
        result.divides &= std::abs(value) >= kSmall;
      }
    } else if (constants_) {
      continue;
    }
    return result;
  }
  return std::nullopt;
}

std::vector<ScaledCall> ScaleFolder::scaled_calls() {
  std::vector<ScaledCall> result;
  if (!any_weight()) return result;
  const Scopes& scopes = view_.scopes();
  std::vector<char> in_kernel = primitive_regions(scopes.regions());
  const NodeEffects& acting = effects_.program().node_effects(view_);
  for (uint32_t id = 0; id < view_.size(); ++id) {
    if (view_.kind(id) != ExprKind::kCall || in_kernel[scopes.home(id)] != 0) continue;
    std::optional<ScaledCall> scaled = scaled_call(id);
    if (scaled && !acting.effectful(view_.operands(id)[2 - scaled->data]))
      result.push_back(*scaled);
  }
  return result;
}

void ScaleFolder::fold(const ScaledCall& scale,
                       std::vector<std::pair<const Call*, ScaledArgument>> places) {
  folded_.push_back(std::make_unique<ScaledCall>(scale));
  removed_[scale.call] = scale.data;
  for (auto& [call, place] : places) {
    place.scale = folded_.back().get();
    places_[call].push_back(place);
  }
}

FunctionRef ScaleFolder::finish(const FunctionRef& function) {
  if (folded_.empty()) return function;
  ExprRef result = Applier(removed_, places_).run(function);
  return FunctionRef(result->as<Function>());
}

}  // namespace relay
