// The scales of an annotated network.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/qnn/qnn_attrs.h>
#include <relay/op/registry/forms.h>
#include <relay/support/error.h>
#include <relay/support/pointer_map.h>
#include <relay/support/suggest.h>
#include <relay/transform/entry.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/quantize/quantize.h>

namespace relay::quantizing {
namespace {

constexpr std::string_view kScale = "quantize.scale.";

int64_t bits_of(QuantizedKind kind, const Quantization& options) {
  return kind == QuantizedKind::kWeight ? options.weight_bits : options.input_bits;
}

// The greatest of the absolute values; nothing if it is no number that can be divided by.
std::optional<double> greatest(const NDArray& array) {
  const NDArray values = array.cast(kFloat64).contiguous();
  double most = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = std::abs(values.data<double>()[i]);
    if (!std::isfinite(value)) return std::nullopt;
    most = std::max(most, value);
  }
  return most > 0 ? std::optional(most) : std::nullopt;
}

double scale_of(const Expr* operand, QuantizedKind kind, const Quantization& options) {
  const double levels = std::exp2(static_cast<double>(bits_of(kind, options) - 1));
  const auto* weight = operand->as<Constant>();
  if (weight == nullptr) return options.global_scale / levels;
  const std::optional<double> most = greatest(weight->data());
  if (!most) return 1 / levels;
  const double scale = options.weights_by_powers ? std::exp2(std::ceil(std::log2(*most))) / levels
                                                 : *most / (levels - 1);
  return is_scale(scale) ? scale : 1 / levels;
}

// The scale of a quantize, null for another expression and another scale.
const Var* scale_in(const Expr* expr) {
  if (!call_attrs<QuantizeAttrs>(expr)) return nullptr;
  const Var* scale = static_cast<const Call*>(expr)->args()[1]->as<Var>();
  return scale != nullptr && scale_kind(*scale) ? scale : nullptr;
}

class ScaleBinder final : public Rewriter {
 public:
  ScaleBinder(const Quantization& options, const PointerMap<Var, double>& values)
      : options_(options), values_(values) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (const auto* var = expr->as<Var>()) {
      const double* value = values_.find(var);
      if (value != nullptr) return make_constant(NDArray::scalar(kFloat32, *value));
    }
    const Var* scale = scale_in(expr);
    if (scale == nullptr || !values_.contains(scale)) return rebuild(expr, operands);
    // Integers of fewer bits than their dtype has.
    const int64_t bits = bits_of(*scale_kind(*scale), options_);
    if (bits == 8) return rebuild(expr, operands);
    const double most = (std::exp2(static_cast<double>(bits - 1)) - 1) * values_.at(scale);
    std::vector<ExprRef> parts(operands.begin(), operands.end());
    parts[1] = make_clip(parts[1], -most, most, expr->span());
    return rebuild(expr, parts);
  }

  const Quantization& options_;
  const PointerMap<Var, double>& values_;
};

}  // namespace

bool is_scale(double number) {
  const auto stored = static_cast<float>(number);
  return stored > 0 && std::isfinite(stored);
}

VarRef make_scale(QuantizedKind kind, size_t number) {
  const std::string name =
      std::string(kScale) + std::to_string(static_cast<int>(kind)) + "." + std::to_string(number);
  return make_var(name, TensorType::make(std::span<const Dim>(), kFloat32));
}

std::optional<QuantizedKind> scale_kind(const Var& var) {
  std::string_view name = var.name().view();
  if (!name.starts_with(kScale)) return std::nullopt;
  name.remove_prefix(kScale.size());
  if (name.starts_with("1.")) return QuantizedKind::kInput;
  if (name.starts_with("2.")) return QuantizedKind::kWeight;
  return std::nullopt;
}

Module calibrate_quantized(const Module& module, const Quantization& options,
                           const std::unordered_map<std::string, double>& given) {
  const Module::FunctionEntry& entry = entry_of(module);
  const FunctionRef& main = entry.function;
  PointerMap<Var, const Expr*> operands;
  post_order(main->body().get(), [&](const Expr* expr) {
    if (const Var* scale = scale_in(expr))
      operands[scale] = static_cast<const Call*>(expr)->args()[0].get();
  });
  PointerMap<Var, double> values;
  std::vector<VarRef> params;
  std::vector<std::string> names;
  for (const VarRef& param : main->params()) {
    const Expr* const* operand = operands.find(param.get());
    if (operand == nullptr) {
      params.push_back(param);
      continue;
    }
    names.push_back(param->name().str());
    auto found = given.find(names.back());
    values[param.get()] =
        found != given.end() ? found->second : scale_of(*operand, *scale_kind(*param), options);
  }
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    Diagnostic unknown =
        Diagnostic::error("@" + entry.name.str() + " has no scale " + name, main->span());
    if (const std::string help = did_you_mean(name, names); !help.empty()) unknown.help(help);
    throw Error(std::move(unknown));
  }
  if (values.empty()) return module;
  Module result = module;
  result.update_function(entry.name, with_body(main, std::move(params),
                                               ScaleBinder(options, values).run(main->body())));
  return result;
}

}  // namespace relay::quantizing
